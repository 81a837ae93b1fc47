//! Objects that exist, by what functions can require.

use std::collections::BTreeMap;

use function_proto::v1::{Resource, ResourceSelector, Resources, resource_selector::Match};

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

    /// Returns the objects that a selector matches: the one object of that name, or all
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
    use function_proto::v1::MatchLabels;
    use serde_json::json;

    fn object(kind: &str, namespace: &str, name: &str, label: &str) -> Object {
        let document = json!({
            "apiVersion": "v1", "kind": kind,
            "metadata": {"namespace": namespace, "name": name, "labels": {"l": label}},
        });
        Object::from(document.as_object().unwrap().clone())
    }

    fn by_name(name: &str) -> Option<Match> {
        Some(Match::MatchName(name.to_owned())).filter(|_| !name.is_empty())
    }

    fn by_label(label: &str) -> Option<Match> {
        let labels = [("l".to_owned(), label.to_owned())].into();
        Some(Match::MatchLabels(MatchLabels { labels })).filter(|_| !label.is_empty())
    }

    #[test]
    fn selectors_match_as_in_crossplane() {
        let objects = [
            object("ConfigMap", "b", "two", "x"),
            object("ConfigMap", "a", "two", "x"),
            object("ConfigMap", "a", "one", "y"),
            object("ConfigMap", "", "global", "x"),
            object("Secret", "a", "two", "x"),
            object("ConfigMap", "a", "one", "z"),
        ];
        let store = Store::of(objects.iter());
        let find = |kind: &str, namespace: &str, r#match| {
            let (api_version, kind) = kind.split_once(' ').unwrap();
            let found = store.select(&ResourceSelector {
                api_version: api_version.to_owned(),
                kind: kind.to_owned(),
                namespace: Some(namespace.to_owned()).filter(|namespace| !namespace.is_empty()),
                r#match,
            });
            let items = found.items.iter().filter_map(|item| item.resource.as_ref());
            let objects = items.map(Object::from_struct);
            let names = objects.map(|found| format!("{}/{}", found.namespace(), found.name()));
            names.collect::<Vec<_>>().join(" ")
        };
        let (v1, v2) = ("v1 ConfigMap", "v2 ConfigMap");
        for (found, expected, reason) in [
            (find(v1, "a", by_name("two")), "a/two", "by name"),
            (find(v1, "c", by_name("two")), "", "not in that namespace"),
            (
                find(v1, "", by_name("two")),
                "",
                "no namespace is cluster scope",
            ),
            (find(v1, "", by_name("global")), "/global", "cluster scope"),
            (find(v2, "a", by_name("two")), "", "another version"),
            (
                find(v1, "", by_label("x")),
                "/global a/two b/two",
                "by label",
            ),
            (find(v1, "a", by_label("x")), "a/two", "in one namespace"),
            (
                find(v1, "", by_label("z")),
                "a/one",
                "the later of two counts",
            ),
            (find(v1, "a", None), "a/one a/two", "every one"),
            (find("v1 Pod", "", None), "", "no such kind"),
        ] {
            assert_eq!(found, expected, "{reason}");
        }
    }
}
