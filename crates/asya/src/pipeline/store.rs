//! The objects that exist, as far as functions may ask for them.

use std::collections::BTreeMap;

use function_sdk_rust::proto::v1::{
    Resource, ResourceSelector, Resources, resource_selector::Match,
};

use super::object::Object;

/// Objects by API version, kind, namespace and name. Of two with the same
/// identity the later one counts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Store<'a>(BTreeMap<Identity<'a>, &'a Object>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Identity<'a> {
    api_version: &'a str,
    kind: &'a str,
    namespace: &'a str,
    name: &'a str,
}

impl<'a> Store<'a> {
    /// A store of these objects.
    pub(crate) fn of(objects: impl Iterator<Item = &'a Object>) -> Self {
        let identified = objects.map(|object| {
            let identity = Identity {
                api_version: object.api_version(),
                kind: object.kind(),
                namespace: object.namespace(),
                name: object.name(),
            };
            (identity, object)
        });
        Self(identified.collect())
    }

    /// What Crossplane answers to a selector: the one object of that name, or all
    /// that match, sorted by namespace and name. A name without namespace is that
    /// of a cluster-scoped object.
    pub(crate) fn select(&self, selector: &ResourceSelector) -> Resources {
        let namespace = selector.namespace.as_deref().unwrap_or_default();
        let items = match &selector.r#match {
            Some(Match::MatchName(name)) => {
                let identity = Identity {
                    api_version: &selector.api_version,
                    kind: &selector.kind,
                    namespace,
                    name,
                };
                self.0
                    .get(&identity)
                    .into_iter()
                    .copied()
                    .map(item)
                    .collect()
            }
            labels => {
                let wanted = match labels {
                    Some(Match::MatchLabels(labels)) => Some(&labels.labels),
                    _ => None,
                };
                let has_labels = |object: &Object| {
                    let mut wanted = wanted.into_iter().flatten();
                    wanted.all(|(key, value)| {
                        let label = object.get(&["metadata", "labels", key]);
                        label.is_some_and(|label| label == value.as_str())
                    })
                };
                let matching = self.0.iter().filter(|(identity, object)| {
                    identity.api_version == selector.api_version
                        && identity.kind == selector.kind
                        && (namespace.is_empty() || identity.namespace == namespace)
                        && has_labels(object)
                });
                matching.map(|(_, object)| item(object)).collect()
            }
        };
        Resources { items }
    }
}

fn item(object: &Object) -> Resource {
    Resource {
        resource: Some(object.to_struct()),
        ..Resource::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use function_sdk_rust::proto::v1::MatchLabels;
    use serde_json::json;

    fn object(kind: &str, namespace: &str, name: &str, label: &str) -> Object {
        let document = json!({
            "apiVersion": "v1", "kind": kind,
            "metadata": {"namespace": namespace, "name": name, "labels": {"l": label}},
        });
        Object::from(document.as_object().unwrap().clone())
    }

    #[test]
    fn selectors_find_what_crossplane_finds() {
        let objects = [
            object("ConfigMap", "b", "two", "x"),
            object("ConfigMap", "a", "two", "x"),
            object("ConfigMap", "a", "one", "y"),
            object("ConfigMap", "", "global", "x"),
            object("Secret", "a", "two", "x"),
            object("ConfigMap", "a", "one", "z"),
        ];
        let store = Store::of(objects.iter());
        let by_label = |label: &str| {
            let labels = [("l".to_owned(), label.to_owned())].into();
            Some(Match::MatchLabels(MatchLabels { labels }))
        };
        let by_name = |name: &str| Some(Match::MatchName(name.to_owned()));
        let cases = [
            (
                "v1",
                "ConfigMap",
                Some("a"),
                by_name("two"),
                vec!["a/two"],
                "by name",
            ),
            (
                "v1",
                "ConfigMap",
                Some("c"),
                by_name("two"),
                vec![],
                "not in that namespace",
            ),
            (
                "v1",
                "ConfigMap",
                None,
                by_name("two"),
                vec![],
                "no namespace is cluster scope",
            ),
            (
                "v1",
                "ConfigMap",
                None,
                by_name("global"),
                vec!["/global"],
                "cluster scope",
            ),
            (
                "v2",
                "ConfigMap",
                Some("a"),
                by_name("two"),
                vec![],
                "another version",
            ),
            (
                "v1",
                "ConfigMap",
                None,
                by_label("x"),
                vec!["/global", "a/two", "b/two"],
                "by label",
            ),
            (
                "v1",
                "ConfigMap",
                Some("a"),
                by_label("x"),
                vec!["a/two"],
                "in one namespace",
            ),
            (
                "v1",
                "ConfigMap",
                None,
                by_label("z"),
                vec!["a/one"],
                "the later of two counts",
            ),
            (
                "v1",
                "ConfigMap",
                Some("a"),
                None,
                vec!["a/one", "a/two"],
                "every one",
            ),
            ("v1", "Pod", None, None, vec![], "no such kind"),
        ];
        for (api_version, kind, namespace, r#match, expected, reason) in cases {
            let found = store.select(&ResourceSelector {
                api_version: api_version.to_owned(),
                kind: kind.to_owned(),
                namespace: namespace.map(str::to_owned),
                r#match,
            });
            let names: Vec<_> = found
                .items
                .iter()
                .map(|item| Object::from_struct(item.resource.as_ref().unwrap()))
                .map(|object| format!("{}/{}", object.namespace(), object.name()))
                .collect();
            assert_eq!(names, expected, "{reason}");
        }
    }
}
