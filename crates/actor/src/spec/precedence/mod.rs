//! Precedence of the actor's inline fields over the pod template of a flavor.
//!
//! A flavor may give `workload` (or `runtime`), an actor inline fields such as `image`. Rendering
//! applies inline fields under a template, which is right for those of other flavors. What the
//! actor itself writes wins: it is removed from the flavor's template before the merge, so that
//! every step, and `asya explain`, has the same resolved spec. So are the variables by which a
//! flavor sets the timeout, where the actor sets `resiliency.actorTimeout`.

use std::collections::BTreeSet;

use merge::{FieldPath, Segment};
use serde_json::{Map, Value};

use crate::diagnostic::{original_index, removed_from};
use crate::names::{HANDLER_VARIABLE, RUNTIME_CONTAINER};
use crate::timeout;

type Document = Map<String, Value>;

/// Rule by which an inline field replaces something in a template.
enum Rule {
    /// The same field of the template is removed.
    Field(&'static str),
    /// The keys that both have are removed from the template's map of that name.
    Keys(&'static str),
    /// The same for the maps inside it: `limits` and `requests`.
    InnerKeys(&'static str),
    /// Items of that list with the same key are removed.
    Items(&'static str, &'static str),
}

use Rule::{Field, InnerKeys, Items, Keys};

/// Inline fields that the container `asya-runtime` of a template may set.
const CONTAINER: [(&str, Rule); 12] = [
    ("image", Field("image")),
    ("imagePullPolicy", Field("imagePullPolicy")),
    ("args", Field("args")),
    ("livenessProbe", Field("livenessProbe")),
    ("readinessProbe", Field("readinessProbe")),
    ("startupProbe", Field("startupProbe")),
    ("lifecycle", Keys("lifecycle")),
    ("containerSecurityContext", Keys("securityContext")),
    ("resources", InnerKeys("resources")),
    ("env", Items("env", "name")),
    ("secretRefs", Items("env", "name")),
    ("volumeMounts", Items("volumeMounts", "mountPath")),
];

/// Inline fields that the pod spec of a template may set. Of `tolerations`,
/// `topologySpreadConstraints` and `imagePullSecrets` both are kept.
const POD: [(&str, Rule); 10] = [
    ("nodeSelector", Keys("nodeSelector")),
    ("affinity", Keys("affinity")),
    ("securityContext", Keys("securityContext")),
    ("volumes", Items("volumes", "name")),
    ("initContainers", Items("initContainers", "name")),
    ("serviceAccountName", Field("serviceAccountName")),
    ("serviceAccountName", Field("serviceAccount")),
    ("priorityClassName", Field("priorityClassName")),
    ("runtimeClassName", Field("runtimeClassName")),
    (
        "terminationGracePeriodSeconds",
        Field("terminationGracePeriodSeconds"),
    ),
];

/// Inline fields that `metadata` of a template may set.
const METADATA: [(&str, Rule); 2] = [
    ("podLabels", Keys("labels")),
    ("podAnnotations", Keys("annotations")),
];

/// Inline fields that `workload` may set beside its template.
const WORKLOAD: [(&str, Rule); 2] = [
    ("replicas", Field("replicas")),
    ("strategy", Field("strategy")),
];

/// Inline fields that `runtime` of mode Binding may set.
const RUNTIME: [(&str, Rule); 5] = [
    ("image", Field("image")),
    ("handler", Field("handler")),
    ("resources", InnerKeys("resources")),
    ("env", Items("env", "name")),
    ("secretRefs", Items("env", "name")),
];

/// Field of the actor that replaces the timeout variables of its flavors.
const TIMEOUT_FIELD: [&str; 2] = ["resiliency", "actorTimeout"];

/// Removals from a flavor; its lists are numbered as the flavor numbers them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Yielded {
    /// The removed items of lists, after which later indices differ from the flavor's.
    pub removed: Vec<FieldPath>,
    /// Keys and items that the actor does not repeat, and so have no effect.
    pub lost: Vec<Lost>,
}

/// A key or item of a flavor that has no effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// The key or item in the flavor.
    pub path: FieldPath,
    /// The actor's field that replaces it.
    pub by: FieldPath,
}

impl Lost {
    /// Returns whether it is a variable with a timeout.
    pub fn is_timeout(&self) -> bool {
        self.by == FieldPath::from(TIMEOUT_FIELD)
    }
}

/// Removes from a flavor's `workload` and `runtime` what the actor's own inline fields set, and from
/// all its environments a timeout that the actor sets.
///
/// A `workload`, `runtime`, `env` or `sidecar` of the actor's own replaces the flavor's as a whole,
/// which is the merge's part: then nothing is removed from it.
pub fn yield_to_actor(flavor: &mut Document, own: &Document) -> Yielded {
    let mut yielding = Yielding {
        own,
        yielded: Yielded::default(),
    };
    let is_own = |field: &str| own.get(field).is_some_and(|value| !value.is_null());
    if !is_own("workload")
        && let Some(workload) = map(flavor, "workload")
    {
        yielding.workload(workload);
    }
    if !is_own("runtime")
        && let Some(runtime) = map(flavor, "runtime")
    {
        let at = ["runtime".into()];
        yielding.apply(&RUNTIME, runtime, &at);
        yielding.remove_timeout(runtime, &at);
    }
    if !is_own("env") {
        yielding.remove_timeout(flavor, &[]);
    }
    if !is_own("sidecar")
        && let Some(sidecar) = map(flavor, "sidecar")
    {
        yielding.remove_timeout(sidecar, &["sidecar".into()]);
    }
    yielding.yielded
}

/// The keys of `given` that are not in `own`, and lists that are replaced. A value that both give
/// is overridden on purpose.
pub fn keys_without_effect(path: &FieldPath, given: &Value, own: &Value) -> Vec<FieldPath> {
    match (given, own) {
        (Value::Object(given), Value::Object(own)) => {
            let keys = given.iter();
            keys.flat_map(|(key, given)| {
                let path = below(path.segments(), key.as_str());
                match own.get(key) {
                    None => vec![path],
                    Some(own) => keys_without_effect(&path, given, own),
                }
            })
            .collect()
        }
        (Value::Array(given), Value::Array(own))
            if given.iter().any(|item| !own.contains(item)) =>
        {
            vec![path.clone()]
        }
        _ => Vec::new(),
    }
}

/// A flavor that gives way to an actor.
struct Yielding<'a> {
    own: &'a Document,
    yielded: Yielded,
}

impl Yielding<'_> {
    fn workload(&mut self, workload: &mut Document) {
        let template_at = ["workload", "template"].map(Segment::from);
        let below = |keys: &[&str]| -> Vec<Segment> {
            let keys = keys.iter().map(|key| Segment::from(*key));
            template_at.iter().cloned().chain(keys).collect()
        };
        self.apply(&WORKLOAD, workload, &template_at[..1]);
        let Some(template) = map(workload, "template") else {
            return;
        };
        if let Some(metadata) = map(template, "metadata") {
            self.apply(&METADATA, metadata, &below(&["metadata"]));
        }
        let Some(pod) = map(template, "spec") else {
            return;
        };
        self.apply(&POD, pod, &below(&["spec"]));
        let containers = pod.get_mut("containers").and_then(Value::as_array_mut);
        let containers = containers.into_iter().flatten().enumerate();
        for (index, container) in containers {
            let Some(container) = container.as_object_mut() else {
                continue;
            };
            if text(container, "name") != Some(RUNTIME_CONTAINER) {
                continue;
            }
            let mut at = below(&["spec", "containers"]);
            at.push(index.into());
            self.apply(&CONTAINER, container, &at);
            if is_set(self.own.get("handler")) {
                let handler = BTreeSet::from([HANDLER_VARIABLE]);
                self.remove_items(container, &at, ("env", "name"), &handler);
            }
            self.remove_timeout(container, &at);
        }
    }

    /// Applies rules to the map at the path `at`.
    fn apply(&mut self, rules: &[(&str, Rule)], place: &mut Document, at: &[Segment]) {
        for (inline, rule) in rules {
            let Some(given) = self.own.get(*inline).filter(|given| is_set(Some(given))) else {
                continue;
            };
            match rule {
                Field(field) => {
                    if let Some(removed) = place.remove(*field) {
                        self.lose(inline, &below(at, *field), &removed, given);
                    }
                }
                Keys(field) => {
                    for (path, removed, given) in remove_keys(place, field, given, at) {
                        self.lose(inline, &path, &removed, given);
                    }
                }
                InnerKeys(field) => {
                    let inner = given.as_object().into_iter().flatten();
                    if let Some(place) = map(place, field) {
                        // Quantities: there is nothing below them.
                        inner.for_each(|(key, given)| drop(remove_keys(place, key, given, at)));
                    }
                }
                Items(field, key) => {
                    let names = names(inline, given, key);
                    let removed = self.remove_items(place, at, (field, key), &names);
                    // A variable is its name and its value, wherever that comes from.
                    for (path, item) in removed.iter().filter(|_| *field != "env") {
                        let own = given.as_array().into_iter().flatten();
                        let mut own = own.filter(|own| own.get(*key) == item.get(*key));
                        if let Some(own) = own.next() {
                            self.lose(inline, path, item, own);
                        }
                    }
                }
            }
        }
    }

    /// Records the keys of a removed value that the actor's field `inline` does not repeat.
    fn lose(&mut self, inline: &str, path: &FieldPath, removed: &Value, given: &Value) {
        let lost = keys_without_effect(path, removed, given);
        let by = FieldPath::from([inline]);
        let lost = lost.into_iter().map(|path| Lost {
            path,
            by: by.clone(),
        });
        self.yielded.lost.extend(lost);
    }

    /// Removes the timeout from the environment in `place`, if the actor sets one.
    fn remove_timeout(&mut self, place: &mut Document, at: &[Segment]) {
        let [field, key] = TIMEOUT_FIELD;
        let own = self.own.get(field).and_then(|own| own.get(key));
        if !is_set(own) {
            return;
        }
        let variable = BTreeSet::from([timeout::VARIABLE]);
        let removed = self.remove_items(place, at, ("env", "name"), &variable);
        let lost = removed.into_iter().map(|(path, _)| Lost {
            path,
            by: FieldPath::from(TIMEOUT_FIELD),
        });
        self.yielded.lost.extend(lost);
    }

    /// Removes the items whose `key` is one of the names from the list in `field`. Returns them, each
    /// with its path in the flavor.
    fn remove_items(
        &mut self,
        place: &mut Document,
        at: &[Segment],
        (field, key): (&str, &str),
        names: &BTreeSet<&str>,
    ) -> Vec<(FieldPath, Value)> {
        let mut removed = Vec::new();
        let Some(Value::Array(items)) = place.get_mut(field) else {
            return removed;
        };
        let list = below(at, field);
        // An earlier rule may have removed items of the same list.
        let earlier = removed_from(&list, &self.yielded.removed);
        let mut index = 0;
        items.retain(|item| {
            let name = item.as_object().and_then(|item| text(item, key));
            let is_kept = name.is_none_or(|name| !names.contains(name));
            if !is_kept {
                let path = below(list.segments(), original_index(index, &earlier));
                removed.push((path, item.clone()));
            }
            index += 1;
            is_kept
        });
        if items.is_empty() {
            place.remove(field);
        }
        let paths = removed.iter().map(|(path, _)| path.clone());
        self.yielded.removed.extend(paths);
        removed
    }
}

/// Returns whether a value counts as given: an empty text or list does not, as everywhere in the spec.
fn is_set(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(items)) => !items.is_empty(),
        Some(_) => true,
    }
}

/// Removes the keys of `given` from the map in a field, and the map if nothing is left of it. Returns
/// the path of each removed value below `at`, the value, and that of `given`.
fn remove_keys<'a>(
    place: &mut Document,
    field: &str,
    given: &'a Value,
    at: &[Segment],
) -> Vec<(FieldPath, Value, &'a Value)> {
    let Some(own) = map(place, field) else {
        return Vec::new();
    };
    let map_at = below(at, field);
    let keys = given.as_object().into_iter().flatten();
    let removed = keys.filter_map(|(key, given)| {
        let path = below(map_at.segments(), key.as_str());
        own.remove(key).map(|removed| (path, removed, given))
    });
    let removed = removed.collect();
    if own.is_empty() {
        place.remove(field);
    }
    removed
}

/// A path and one step further.
fn below(path: &[Segment], segment: impl Into<Segment>) -> FieldPath {
    path.iter().cloned().chain([segment.into()]).collect()
}

/// The names that the items of an inline list have in a template.
fn names<'a>(inline: &str, given: &'a Value, key: &str) -> BTreeSet<&'a str> {
    let items = given.as_array().into_iter().flatten();
    if inline == "secretRefs" {
        let keys = items.filter_map(|secret| secret.get("keys")?.as_array());
        let variables = keys.flatten().filter_map(|key| key.get("envVar")?.as_str());
        return variables.collect();
    }
    items.filter_map(|item| item.get(key)?.as_str()).collect()
}

fn map<'a>(parent: &'a mut Document, field: &str) -> Option<&'a mut Document> {
    parent.get_mut(field)?.as_object_mut()
}

fn text<'a>(map: &'a Document, key: &str) -> Option<&'a str> {
    map.get(key)?.as_str()
}

#[cfg(test)]
mod tests;
