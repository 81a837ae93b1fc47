//! Differences between two documents, at places that do not depend on the order of list items.

use std::collections::BTreeSet;
use std::fmt;

use function_kit::redacted;
use merge::{FieldPath, Segment};
use serde_json::{Map, Value, json};

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Keys that identify the items of a list, in the order in which they are tried. Two volume mounts
/// can have the name of one volume, so `mountPath` goes first.
const IDENTITIES: [&str; 4] = ["mountPath", "name", "envVar", "secretName"];
/// Mask of a new value that may be secret and differs from the old.
const HIDDEN_CHANGED: &str = "*** (changed)";
/// Mask of a value that may be secret.
const HIDDEN: &str = "***";

/// One step from a value to a value inside it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Into a map.
    Key(String),
    /// Into a list, to the item with this identity, such as its `name`.
    Item {
        /// The key that identifies the items.
        by: &'static str,
        /// Its value.
        is: String,
    },
    /// Into a list whose items have no identity, counted from 0: the index in the new list, or in the
    /// old list if the item is removed.
    Index(usize),
}

/// The place of a difference: `spec.template.spec.containers[asya-runtime].image`.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place(Vec<Step>);

impl Place {
    /// The place `step` further inside.
    fn then(&self, step: Step) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }

    /// Returns whether it is the value at these keys, or inside it.
    pub fn is_in(&self, keys: &[&str]) -> bool {
        let mut steps = self.0.iter();
        keys.iter().all(|key| {
            let step = steps.next();
            step.is_some_and(|step| matches!(step, Step::Key(own) if own == key))
        })
    }

    /// The keys and indices for programs; an item is a map of what it is known by.
    pub fn to_json(&self) -> Value {
        let step = |step: &Step| match step {
            Step::Key(key) => json!(key),
            Step::Item { by, is } => json!({*by: is}),
            Step::Index(index) => json!(index),
        };
        self.0.iter().map(step).collect()
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) if number == 0 => f.write_str(key)?,
                Step::Key(key) => write!(f, ".{key}")?,
                Step::Item { is, .. } => write!(f, "[{is}]")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// One difference. A value that one side lacks is one difference, not one for each field in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Place of the value.
    pub place: Place,
    /// Path and value in the old document; none if it is new.
    pub old: Option<(FieldPath, Value)>,
    /// Path and value in the new document; none if it is removed.
    pub new: Option<(FieldPath, Value)>,
}

/// Every difference, in the order of the documents.
pub fn between(old: &Value, new: &Value) -> Vec<Change> {
    let mut changes = Vec::new();
    let root = || At {
        path: Vec::new(),
        place: Place::default(),
    };
    values(old, &root(), new, &root(), &mut changes);
    changes
}

/// Both documents and their differences with secret values masked. A masked value that differs is
/// marked as changed.
pub(super) fn shown(old: &Map<String, Value>, new: &Map<String, Value>) -> Shown {
    let changes = between(&Value::Object(old.clone()), &Value::Object(new.clone()));
    let old = Value::Object(redacted(old));
    let mut new = Value::Object(redacted(new));
    let changes = changes.into_iter().map(|mut change| {
        if let Some((path, value)) = &mut change.old {
            *value = at(&old, path).cloned().unwrap_or_else(|| HIDDEN.into());
        }
        let before = change.old.as_ref().map(|(_, value)| value.clone());
        if let Some((path, value)) = &mut change.new {
            *value = at(&new, path).cloned().unwrap_or_else(|| HIDDEN.into());
            if before.as_ref() == Some(value) {
                *value = HIDDEN_CHANGED.into();
                if let Some(there) = at_mut(&mut new, path) {
                    *there = HIDDEN_CHANGED.into();
                }
            }
        }
        change
    });
    Shown {
        changes: changes.collect(),
        old,
        new,
    }
}

/// Two documents without what may be secret.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shown {
    /// The old document.
    pub old: Value,
    /// The new document.
    pub new: Value,
    /// Differences between them.
    pub changes: Vec<Change>,
}

fn at<'a>(document: &'a Value, path: &FieldPath) -> Option<&'a Value> {
    let mut segments = path.segments().iter();
    segments.try_fold(document, |value, segment| match segment {
        Segment::Key(key) => value.get(key),
        Segment::Index(index) => value.get(index),
    })
}

fn at_mut<'a>(document: &'a mut Value, path: &FieldPath) -> Option<&'a mut Value> {
    let mut segments = path.segments().iter();
    segments.try_fold(document, |value, segment| match segment {
        Segment::Key(key) => value.get_mut(key),
        Segment::Index(index) => value.get_mut(index),
    })
}

/// Path and place of a value in its own document.
#[derive(Debug, Clone)]
struct At {
    path: Vec<Segment>,
    place: Place,
}

impl At {
    fn then(&self, segment: impl Into<Segment>, step: Step) -> Self {
        let mut path = self.path.clone();
        path.push(segment.into());
        Self {
            path,
            place: self.place.then(step),
        }
    }

    fn with(self, value: &Value) -> (FieldPath, Value) {
        (self.path.into(), value.clone())
    }
}

fn values(old: &Value, old_at: &At, new: &Value, new_at: &At, changes: &mut Vec<Change>) {
    match (old, new) {
        _ if old == new => {}
        (Value::Object(old), Value::Object(new)) => maps(old, old_at, new, new_at, changes),
        (Value::Array(old), Value::Array(new)) => lists(old, old_at, new, new_at, changes),
        _ => changes.push(Change {
            place: new_at.place.clone(),
            old: Some(old_at.clone().with(old)),
            new: Some(new_at.clone().with(new)),
        }),
    }
}

fn removed(old: &Value, at: At, changes: &mut Vec<Change>) {
    changes.push(Change {
        place: at.place.clone(),
        old: Some(at.with(old)),
        new: None,
    });
}

fn added(new: &Value, at: At, changes: &mut Vec<Change>) {
    changes.push(Change {
        place: at.place.clone(),
        old: None,
        new: Some(at.with(new)),
    });
}

fn maps(
    old: &Map<String, Value>,
    old_at: &At,
    new: &Map<String, Value>,
    new_at: &At,
    changes: &mut Vec<Change>,
) {
    let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    for key in keys {
        let inside = |at: &At| at.then(key.as_str(), Step::Key(key.clone()));
        match (old.get(key), new.get(key)) {
            (Some(old), Some(new)) => values(old, &inside(old_at), new, &inside(new_at), changes),
            (Some(old), None) => removed(old, inside(old_at), changes),
            (None, Some(new)) => added(new, inside(new_at), changes),
            (None, None) => {}
        }
    }
}

fn lists(old: &[Value], old_at: &At, new: &[Value], new_at: &At, changes: &mut Vec<Change>) {
    let by = IDENTITIES
        .into_iter()
        .find_map(|by| Some((by, identities(old, by)?, identities(new, by)?)));
    match by {
        Some((by, old_names, new_names)) => {
            let step = |name: &str| Step::Item {
                by,
                is: name.to_owned(),
            };
            let mut kept = (Vec::new(), Vec::new());
            for (index, (name, item)) in old_names.iter().zip(old).enumerate() {
                if new_names.contains(name) {
                    kept.0.push(*name);
                } else {
                    removed(item, old_at.then(index, step(name)), changes);
                }
            }
            for (index, (name, item)) in new_names.iter().zip(new).enumerate() {
                let inside = new_at.then(index, step(name));
                match old_names.iter().position(|old| old == name) {
                    Some(before) => {
                        kept.1.push(*name);
                        let old_inside = old_at.then(before, step(name));
                        values(&old[before], &old_inside, item, &inside, changes);
                    }
                    None => added(item, inside, changes),
                }
            }
            if kept.0 != kept.1 {
                // Kubernetes compares lists in their order, and so restarts pods.
                changes.push(Change {
                    place: new_at.place.clone(),
                    old: Some((old_at.path.clone().into(), json!(kept.0))),
                    new: Some((new_at.path.clone().into(), json!(kept.1))),
                });
            }
        }
        None => unnamed(old, old_at, new, new_at, changes),
    }
}

/// The identities of the items; none unless every item has one and all are distinct.
fn identities<'a>(list: &'a [Value], by: &str) -> Option<Vec<&'a str>> {
    let names: Vec<&str> = list
        .iter()
        .map(|item| item.get(by)?.as_str())
        .collect::<Option<_>>()?;
    let distinct: BTreeSet<&&str> = names.iter().collect();
    (distinct.len() == names.len()).then_some(names)
}

/// Compares lists whose items have no identity. Between two common items, the first removed item
/// became the first added one, and so on.
fn unnamed(old: &[Value], old_at: &At, new: &[Value], new_at: &At, changes: &mut Vec<Change>) {
    let [old_texts, new_texts] =
        [old, new].map(|list| list.iter().map(Value::to_string).collect::<Vec<_>>());
    let old_inside = |index: usize| old_at.then(index, Step::Index(index));
    let new_inside = |index: usize| new_at.then(index, Step::Index(index));
    let diff = capture_diff_slices(Algorithm::Myers, &old_texts, &new_texts);
    for operation in diff.iter().filter(|it| !matches!(it, DiffOp::Equal { .. })) {
        let (mut olds, mut news) = (operation.old_range(), operation.new_range());
        let both = olds.len().min(news.len());
        for (i, j) in olds.by_ref().take(both).zip(news.by_ref().take(both)) {
            values(&old[i], &old_inside(i), &new[j], &new_inside(j), changes);
        }
        for i in olds {
            removed(&old[i], old_inside(i), changes);
        }
        for j in news {
            added(&new[j], new_inside(j), changes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `place: old -> new` for each difference.
    fn lines(changes: &[Change]) -> Vec<String> {
        let value = |side: &Option<(FieldPath, Value)>| match side {
            Some((_, value)) => value.to_string(),
            None => "-".to_owned(),
        };
        changes
            .iter()
            .map(|it| format!("{}: {} -> {}", it.place, value(&it.old), value(&it.new)))
            .collect()
    }

    #[test]
    fn differences_have_their_place() {
        let cases = [
            (json!({"a": 1}), json!({"a": 1}), vec![], "nothing"),
            (
                json!({"a": 1}),
                json!({"a": "1"}),
                vec![r#"a: 1 -> "1""#],
                "another type",
            ),
            (
                json!({"a": {"b": 1, "c": 2}}),
                json!({"a": {"c": 3, "d": {"e": 4}}}),
                vec!["a.b: 1 -> -", "a.c: 2 -> 3", r#"a.d: - -> {"e":4}"#],
                "a missing subtree is one difference",
            ),
            (
                json!([{"name": "x", "v": 1}, {"name": "y", "v": 2}]),
                json!([{"name": "n", "v": 0}, {"name": "x", "v": 1}, {"name": "y", "v": 3}]),
                vec![r#"[n]: - -> {"name":"n","v":0}"#, "[y].v: 2 -> 3"],
                "items are known by name, wherever they stand",
            ),
            (
                json!([{"name": "x"}, {"name": "y"}]),
                json!([{"name": "y"}, {"name": "x"}]),
                vec![r#": ["x","y"] -> ["y","x"]"#],
                "order counts",
            ),
            (
                json!([{"name": "v", "mountPath": "/a"}, {"name": "v", "mountPath": "/b"}]),
                json!([{"name": "v", "mountPath": "/a"}, {"name": "w", "mountPath": "/b"}]),
                vec![r#"[/b].name: "v" -> "w""#],
                "one volume is mounted twice",
            ),
            (
                json!(["a", "b", "c"]),
                json!(["x", "a", "c"]),
                vec![r#"[0]: - -> "x""#, r#"[1]: "b" -> -"#],
                "items without a name are known by their index",
            ),
            (
                json!([{"key": "a", "v": 1}, {"key": "b"}]),
                json!([{"key": "a", "v": 2}, {"key": "b"}]),
                vec!["[0].v: 1 -> 2"],
                "a replaced item differs inside",
            ),
        ];
        for (old, new, expected, reason) in cases {
            assert_eq!(lines(&between(&old, &new)), expected, "{reason}");
        }
    }

    #[test]
    fn secret_values_are_masked_and_marked_as_changed() {
        let map = |value: Value| value.as_object().unwrap().clone();
        let old = map(
            json!({"env": [{"name": "A", "value": "s1"}, {"name": "B", "value": "s2"}], "args": ["s3"]}),
        );
        let new = map(
            json!({"env": [{"name": "A", "value": "s1"}, {"name": "B", "value": "s4"},
            {"name": "C", "value": "s5"}], "args": []}),
        );
        let shown = shown(&old, &new);
        assert_eq!(
            lines(&shown.changes),
            [
                r#"args[0]: "***" -> -"#,
                r#"env[B].value: "***" -> "*** (changed)""#,
                r#"env[C]: - -> {"name":"C","value":"***"}"#,
            ]
        );
        assert_eq!(shown.new["env"][1]["value"], HIDDEN_CHANGED);
        assert_eq!(
            shown.new["env"][0]["value"], HIDDEN,
            "the same on both sides"
        );
    }

    #[test]
    fn a_place_is_in_every_place_above_it() {
        let changes = between(&json!({"a": {"b": [1]}}), &json!({"a": {"b": [2]}}));
        let place = &changes[0].place;
        for (keys, expected) in [
            (vec![], true),
            (vec!["a"], true),
            (vec!["a", "b"], true),
            (vec!["a", "c"], false),
            (vec!["a", "b", "0"], false),
        ] {
            assert_eq!(place.is_in(&keys), expected, "{keys:?}");
        }
        assert_eq!(place.to_json(), json!(["a", "b", 0]));
    }
}
