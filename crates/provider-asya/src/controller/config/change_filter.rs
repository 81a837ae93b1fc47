//! Filters watch events of configs: only changes of a spec concern the Queues that use it.

use std::collections::BTreeMap;

use kube::runtime::watcher::Event;
use kube::{Resource, ResourceExt as _};

/// Namespace and name.
type Name = (Option<String>, String);

/// Uid and generation.
type Version = (Option<String>, Option<i64>);

/// Filter of watch events.
///
/// Objects of the first list are not changes: all Queues are reconciled at start. Objects of a list
/// after a broken watch may be.
#[derive(Debug, Default)]
pub(super) struct ChangeFilter {
    versions: BTreeMap<Name, Version>,
    is_complete: bool,
}

impl ChangeFilter {
    /// The config whose spec is new or has changed, by an event.
    pub(super) fn changed<'a, K: Resource>(&mut self, event: &'a Event<K>) -> Option<&'a K> {
        match event {
            Event::Apply(object) | Event::InitApply(object) => {
                let key = (object.namespace(), object.name_any());
                let version = (object.uid(), object.meta().generation);
                let old = self.versions.insert(key, version.clone());
                (self.is_complete && old != Some(version)).then_some(object)
            }
            Event::Delete(object) => {
                self.versions
                    .remove(&(object.namespace(), object.name_any()));
                None
            }
            Event::Init => None,
            Event::InitDone => {
                self.is_complete = true;
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::kinds::ClusterProviderConfig;

    fn config(uid: &str, generation: i64) -> ClusterProviderConfig {
        let metadata = json!({"name": "main", "uid": uid, "generation": generation});
        serde_json::from_value(json!({"metadata": metadata, "spec": {"sqs": {}}})).unwrap()
    }

    #[test]
    fn only_changes_after_the_first_list_pass() {
        let mut filter = ChangeFilter::default();
        let events = [
            ("list starts", Event::Init, false),
            ("first list", Event::InitApply(config("a", 1)), false),
            ("list ends", Event::InitDone, false),
            ("status", Event::Apply(config("a", 1)), false),
            ("spec", Event::Apply(config("a", 2)), true),
            ("another list starts", Event::Init, false),
            ("unchanged", Event::InitApply(config("a", 2)), false),
            ("changed in between", Event::InitApply(config("a", 3)), true),
            ("the other list ends", Event::InitDone, false),
            ("deleted", Event::Delete(config("a", 3)), false),
            ("another of its name", Event::Apply(config("b", 1)), true),
        ];
        for (reason, event, expected) in events {
            assert_eq!(filter.changed(&event).is_some(), expected, "{reason}");
        }
    }
}
