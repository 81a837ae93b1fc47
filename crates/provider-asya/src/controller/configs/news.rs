//! Which events of a watch are news to those who use a config.

use std::collections::BTreeMap;

use kube::runtime::watcher::Event;
use kube::{Resource, ResourceExt as _};

/// Namespace and name.
type Name = (Option<String>, String);

/// Uid and generation.
type Version = (Option<String>, Option<i64>);

/// What was heard of each config.
///
/// What a watch shows at first is no news: whoever uses a config looks at it
/// anyway. What it shows when it begins anew, after a break, may be.
#[derive(Debug, Default)]
pub(super) struct News {
    heard: BTreeMap<Name, Version>,
    is_complete: bool,
}

impl News {
    /// The config that is new or has changed, its status left out of account.
    pub(super) fn of<'a, K: Resource>(&mut self, event: &'a Event<K>) -> Option<&'a K> {
        match event {
            Event::Apply(object) | Event::InitApply(object) => {
                let key = (object.namespace(), object.name_any());
                let version = (object.uid(), object.meta().generation);
                let was = self.heard.insert(key, version.clone());
                (self.is_complete && was != Some(version)).then_some(object)
            }
            Event::Delete(object) => {
                self.heard.remove(&(object.namespace(), object.name_any()));
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
    fn a_config_is_news_when_it_changes_and_not_when_it_is_first_seen() {
        let mut news = News::default();
        let events = [
            ("begins", Event::Init, false),
            ("seen at first", Event::InitApply(config("a", 1)), false),
            ("all is seen", Event::InitDone, false),
            ("status", Event::Apply(config("a", 1)), false),
            ("spec", Event::Apply(config("a", 2)), true),
            ("begins anew", Event::Init, false),
            ("as it was", Event::InitApply(config("a", 2)), false),
            ("changed in between", Event::InitApply(config("a", 3)), true),
            ("all is seen again", Event::InitDone, false),
            ("gone", Event::Delete(config("a", 3)), false),
            ("another of its name", Event::Apply(config("b", 1)), true),
        ];
        for (reason, event, expected) in events {
            assert_eq!(news.of(&event).is_some(), expected, "{reason}");
        }
    }
}
