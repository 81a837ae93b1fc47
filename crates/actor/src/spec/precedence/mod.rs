//! Precedence of the actor's inline fields over the pod template of a flavor.
//!
//! A flavor may give `workload` (or `runtime`), an actor inline fields such as `image`. Rendering
//! applies inline fields under a template, which is right for those of other flavors. What the
//! actor itself writes wins: it is removed from the flavor's template before the merge, so that
//! every step, and `asya explain`, has the same resolved spec. So are the variables by which a
//! flavor sets what the actor sets by a field, such as `resiliency.actorTimeout`.

use std::collections::BTreeSet;

use merge::{FieldPath, Segment};
use serde_json::{Map, Value};

use crate::diagnostic::{original_index, removed_from};
use crate::names::{HANDLER_VARIABLE, RUNTIME_CONTAINER};

mod variables;

type Document = Map<String, Value>;

/// Rule by which an inline field replaces something in a template.
enum Rule {
    /// The same field of the template is removed.
    Field(&'static str),
    /// The keys that both have are removed from the template's map of that name.
    Keys(&'static str),
    /// The same for the maps inside it: `limits` and `requests`. Lists inside it are removed.
    InnerKeys(&'static str),
    /// Items of that list with the same keys are removed. A key may be a path, with dots.
    Items(&'static str, &'static [&'static str]),
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
    ("env", Items("env", &["name"])),
    ("secretRefs", Items("env", &["name"])),
    ("volumeMounts", Items("volumeMounts", &["mountPath"])),
];

/// Inline fields that the pod spec of a template may set. Of `tolerations` and `imagePullSecrets` both
/// are kept.
const POD: [(&str, Rule); 11] = [
    ("nodeSelector", Keys("nodeSelector")),
    ("affinity", Keys("affinity")),
    ("securityContext", Keys("securityContext")),
    ("volumes", Items("volumes", &["name"])),
    ("initContainers", Items("initContainers", &["name"])),
    ("serviceAccountName", Field("serviceAccountName")),
    ("serviceAccountName", Field("serviceAccount")),
    ("priorityClassName", Field("priorityClassName")),
    ("runtimeClassName", Field("runtimeClassName")),
    (
        "terminationGracePeriodSeconds",
        Field("terminationGracePeriodSeconds"),
    ),
    // The keys by which the API server refuses duplicates.
    (
        "topologySpreadConstraints",
        Items(
            "topologySpreadConstraints",
            &["topologyKey", "whenUnsatisfiable"],
        ),
    ),
];

/// Inline fields that `metadata` of a template may set.
const METADATA: [(&str, Rule); 2] = [
    ("podLabels", Keys("labels")),
    ("podAnnotations", Keys("annotations")),
];

/// Inline fields that `workload` may set beside its template.
const WORKLOAD: [(&str, Rule); 3] = [
    ("replicas", Field("replicas")),
    ("strategy", Field("strategy")),
    // A claim takes the place of a volume of its name.
    ("volumes", Items("volumeClaimTemplates", &["metadata.name"])),
];

/// Inline fields that `runtime` of mode Binding may set.
const RUNTIME: [(&str, Rule); 6] = [
    ("image", Field("image")),
    ("handler", Field("handler")),
    ("containerSecurityContext", Keys("securityContext")),
    ("resources", InnerKeys("resources")),
    ("env", Items("env", &["name"])),
    ("secretRefs", Items("env", &["name"])),
];

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
    /// Name of the environment variable, where it is one.
    pub variable: Option<&'static str>,
}

/// Removes from a flavor's `workload` and `runtime` what the actor's own inline fields set, and from
/// all its environments the variables of what the actor sets by a field.
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
        yielding.remove_variables(runtime, &at);
    }
    if !is_own("env") {
        yielding.remove_variables(flavor, &[]);
    }
    if !is_own("sidecar")
        && let Some(sidecar) = map(flavor, "sidecar")
    {
        yielding.remove_variables(sidecar, &["sidecar".into()]);
    }
    yielding.remove_interpreter(flavor);
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

/// Returns whether the template of a resolved spec (its `workload` or `runtime`) sets what this leaf of
/// an inline field gives: the field has no effect then, because inline fields lie under the template.
pub fn is_set_by_template(document: &Document, leaf: &FieldPath) -> bool {
    let [Segment::Key(field), rest @ ..] = leaf.segments() else {
        return false;
    };
    let mut rules = [&CONTAINER[..], &POD, &METADATA, &WORKLOAD, &RUNTIME]
        .into_iter()
        .flatten();
    if !rules.any(|(inline, _)| inline == field) {
        return false;
    }
    let given = document.get(field).and_then(|value| narrowed(value, rest));
    let Some(given) = given else {
        return false;
    };
    let given = Document::from_iter([(field.clone(), given)]);
    ["workload", "runtime"].into_iter().any(|template| {
        let Some(template) = document.get_key_value(template) else {
            return false;
        };
        let template = Document::from_iter([(template.0.clone(), template.1.clone())]);
        let mut left = template.clone();
        yield_to_actor(&mut left, &given);
        left != template
    })
}

/// The value with nothing in it but what is on the path. Of a list item all fields are kept, because some
/// of them identify it.
fn narrowed(value: &Value, path: &[Segment]) -> Option<Value> {
    Some(match path {
        [] => value.clone(),
        [Segment::Key(key), rest @ ..] => {
            let inner = narrowed(value.get(key)?, rest)?;
            Value::Object(Document::from_iter([(key.clone(), inner)]))
        }
        [Segment::Index(index), rest @ ..] => {
            let mut item = value.get(index)?.clone();
            // A Secret's keys are variables of their own.
            if let [Segment::Key(list), Segment::Index(index), ..] = rest {
                let inner = item.get(list)?.get(index)?.clone();
                item[list] = Value::Array(vec![inner]);
            }
            Value::Array(vec![item])
        }
    })
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
                let handler = BTreeSet::from([vec![HANDLER_VARIABLE]]);
                self.remove_items(container, &at, ("env", &["name"]), &handler);
            }
            self.remove_variables(container, &at);
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
                    let Some(place) = map(place, field) else {
                        continue;
                    };
                    let at = below(at, *field);
                    for (key, given) in inner {
                        if given.is_array() {
                            if let Some(removed) = place.remove(key) {
                                let path = below(at.segments(), key.as_str());
                                self.lose(inline, &path, &removed, given);
                            }
                        } else {
                            // Quantities: there is nothing below them.
                            drop(remove_keys(place, key, given, at.segments()));
                        }
                    }
                }
                Items(field, keys) => {
                    let given_keys = given_keys(inline, given, keys);
                    let removed = self.remove_items(place, at, (field, keys), &given_keys);
                    // A variable is its name and its value, wherever that comes from.
                    for (path, item) in removed.iter().filter(|_| *field != "env") {
                        let own = given.as_array().into_iter().flatten();
                        let mut own = own.filter(|own| keys_of(own, keys) == keys_of(item, keys));
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
            variable: None,
        });
        self.yielded.lost.extend(lost);
    }

    /// Removes the items whose `keys` are among the given ones from the list in `field`. Returns them, each
    /// with its path in the flavor.
    fn remove_items(
        &mut self,
        place: &mut Document,
        at: &[Segment],
        (field, keys): (&str, &[&str]),
        given: &BTreeSet<Vec<&str>>,
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
            let is_kept = keys_of(item, keys).is_none_or(|keys| !given.contains(&keys));
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

/// The keys that the items of an inline list have in a template. A volume's claim template has the
/// volume's name as its own.
fn given_keys<'a>(inline: &str, given: &'a Value, keys: &[&str]) -> BTreeSet<Vec<&'a str>> {
    let items = given.as_array().into_iter().flatten();
    match inline {
        "secretRefs" => {
            let keys = items.filter_map(|secret| secret.get("keys")?.as_array());
            let variables = keys.flatten().filter_map(|key| key.get("envVar")?.as_str());
            variables.map(|variable| vec![variable]).collect()
        }
        "volumes" => items.filter_map(|item| keys_of(item, &["name"])).collect(),
        _ => items.filter_map(|item| keys_of(item, keys)).collect(),
    }
}

/// The values of the keys of an item; none where one is missing. Paths are compared without a slash at
/// the end, as the kubelet does.
fn keys_of<'a>(item: &'a Value, keys: &[&str]) -> Option<Vec<&'a str>> {
    let value = |key: &&str| {
        let found = key.split('.').try_fold(item, |item, part| item.get(part));
        let text = found?.as_str()?;
        Some(match text.trim_end_matches('/') {
            "" => text,
            trimmed => trimmed,
        })
    };
    keys.iter().map(value).collect()
}

fn map<'a>(parent: &'a mut Document, field: &str) -> Option<&'a mut Document> {
    parent.get_mut(field)?.as_object_mut()
}

fn text<'a>(map: &'a Document, key: &str) -> Option<&'a str> {
    map.get(key)?.as_str()
}

#[cfg(test)]
mod tests;
