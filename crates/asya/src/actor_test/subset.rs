//! Subset check: mismatches between an expectation and a document.

use merge::Segment;
use serde_json::{Map, Value};

use crate::table::shown;

/// Keys that identify the items of a list, in the order in which they are tried. Two volume mounts
/// can have the name of one volume, so `mountPath` goes first.
const IDENTITIES: [&str; 2] = ["mountPath", "name"];

/// A field that differs from its expectation.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Mismatch {
    /// Path in the expectation.
    pub(super) path: Vec<Segment>,
    /// Place in the object: `spec.template.spec.containers[asya-runtime].image`.
    pub(super) place: String,
    /// The expected and the actual value.
    pub(super) problem: String,
}

/// Returns the differences for which `expected` is not a part of `found`.
///
/// Each key of a map must exist, with the expected value in it; `null` stands for a
/// key that does not exist. Each item of a list must exist, in any order. Everything
/// else must be equal; whole numbers may be written with a fraction of zero.
pub(super) fn mismatches(expected: &Value, found: &Value) -> Vec<Mismatch> {
    let mut mismatches = Vec::new();
    let at = At {
        path: Vec::new(),
        place: String::new(),
    };
    values(expected, found, &at, &mut mismatches);
    mismatches
}

#[derive(Debug, Clone)]
struct At {
    path: Vec<Segment>,
    place: String,
}

impl At {
    fn key(&self, key: &str) -> Self {
        let place = match self.place.as_str() {
            "" => key.to_owned(),
            place => format!("{place}.{key}"),
        };
        self.then(key.into(), place)
    }

    fn item(&self, index: usize, shown: &str) -> Self {
        self.then(index.into(), format!("{}[{shown}]", self.place))
    }

    fn then(&self, segment: Segment, place: String) -> Self {
        let mut path = self.path.clone();
        path.push(segment);
        Self { path, place }
    }

    fn mismatch(&self, problem: String) -> Mismatch {
        Mismatch {
            path: self.path.clone(),
            place: self.place.clone(),
            problem,
        }
    }
}

fn values(expected: &Value, found: &Value, at: &At, mismatches: &mut Vec<Mismatch>) {
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => maps(expected, found, at, mismatches),
        (Value::Array(expected), Value::Array(found)) => {
            for (index, expected) in expected.iter().enumerate() {
                item(index, expected, found, at, mismatches);
            }
        }
        _ if is_same(expected, found) => {}
        _ => mismatches.push(at.mismatch(format!(
            "expected {}, found {}",
            shown(expected),
            shown(found)
        ))),
    }
}

fn is_same(expected: &Value, found: &Value) -> bool {
    match (expected.as_f64(), found.as_f64()) {
        (Some(expected), Some(found)) => expected.total_cmp(&found).is_eq(),
        _ => expected == found,
    }
}

fn maps(
    expected: &Map<String, Value>,
    found: &Map<String, Value>,
    at: &At,
    mismatches: &mut Vec<Mismatch>,
) {
    for (key, expected) in expected {
        let at = at.key(key);
        match (expected, found.get(key)) {
            (Value::Null, None) => {}
            (Value::Null, Some(found)) if !found.is_null() => {
                let problem = format!("expected nothing, found {}", shown(found));
                mismatches.push(at.mismatch(problem));
            }
            (expected, Some(found)) => values(expected, found, &at, mismatches),
            (expected, None) => {
                let problem = format!("expected {}, found nothing", shown(expected));
                mismatches.push(at.mismatch(problem));
            }
        }
    }
}

/// Compares an item of a list with the item of the same identity, else with any.
fn item(index: usize, expected: &Value, found: &[Value], at: &At, mismatches: &mut Vec<Mismatch>) {
    let named = IDENTITIES.into_iter().find_map(|by| {
        let name = expected.get(by)?.as_str()?;
        Some((by, name))
    });
    let label = match named {
        Some((_, name)) => name.to_owned(),
        None => index.to_string(),
    };
    let at_item = at.item(index, &label);
    let candidates = found.iter().filter(|item| {
        named.is_none_or(|(by, name)| item.get(by).and_then(Value::as_str) == Some(name))
    });
    let nearest = candidates
        .map(|found| {
            let mut inner = Vec::new();
            values(expected, found, &at_item, &mut inner);
            inner
        })
        .min_by_key(Vec::len);
    match (nearest, named) {
        (Some(inner), _) if inner.is_empty() => {}
        (Some(inner), Some(_)) => mismatches.extend(inner),
        (_, Some((by, name))) => {
            let others = found.iter().filter_map(|item| item.get(by)?.as_str());
            let others: Vec<&str> = others.collect();
            let found = if others.is_empty() {
                "found none".to_owned()
            } else {
                format!("found {}", others.join(", "))
            };
            let problem = format!("expected an item with {by} {name:?}, {found}");
            mismatches.push(at_item.mismatch(problem));
        }
        (_, None) => {
            let problem = format!(
                "expected an item {}, found {}",
                shown(expected),
                shown(&Value::Array(found.to_vec()))
            );
            mismatches.push(at_item.mismatch(problem));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_part_matches_and_missing_fields_are_reported() {
        let containers = json!({"c": [{"name": "a", "image": "1"}, {"name": "b", "image": "2"}]});
        let mounts = json!([{"name": "v", "mountPath": "/a"}, {"name": "v", "mountPath": "/b"}]);
        let cases = [
            (json!({}), json!({"a": 1}), vec![], "an empty expectation"),
            (
                json!({"a": 3}),
                json!({"a": 3.0, "b": 1}),
                vec![],
                "numbers have no form",
            ),
            (
                json!({"a": "3"}),
                json!({"a": 3}),
                vec![r#"a: expected "3", found 3"#],
                "texts are no numbers",
            ),
            (
                json!({"a": {"b": 1}}),
                json!({"a": 2}),
                vec![r#"a: expected {"b":1}, found 2"#],
                "another type",
            ),
            (
                json!({"a": {"b": 1}}),
                json!({}),
                vec![r#"a: expected {"b":1}, found nothing"#],
                "not there",
            ),
            (json!({"a": null}), json!({"b": 1}), vec![], "absence"),
            (
                json!({"a": null}),
                json!({"a": null}),
                vec![],
                "nothing in it",
            ),
            (
                json!({"a": null}),
                json!({"a": 1}),
                vec!["a: expected nothing, found 1"],
                "no absence",
            ),
            (
                json!({"c": [{"name": "b", "image": "2"}]}),
                containers.clone(),
                vec![],
                "an item by its name",
            ),
            (
                json!({"c": [{"name": "b", "image": "3"}, {"name": "x"}]}),
                containers,
                vec![
                    r#"c[b].image: expected "3", found "2""#,
                    r#"c[x]: expected an item with name "x", found a, b"#,
                ],
                "only the item of that name counts",
            ),
            (
                json!([{"name": "v", "mountPath": "/b"}]),
                mounts.clone(),
                vec![],
                "mounts by their path",
            ),
            (
                json!([{"name": "v"}]),
                mounts,
                vec![],
                "the name may be there twice",
            ),
            (
                json!(["b", "a"]),
                json!(["a", "x", "b"]),
                vec![],
                "in any order",
            ),
            (
                json!([{"key": "gpu"}]),
                json!([{"key": "cpu"}]),
                vec![r#"[0]: expected an item {"key":"gpu"}, found [{"key":"cpu"}]"#],
                "no such item",
            ),
            (
                json!([]),
                json!([1]),
                vec![],
                "an empty list asks for nothing",
            ),
        ];
        for (expected, found, problems, reason) in cases {
            let mismatches = mismatches(&expected, &found).into_iter();
            let lines: Vec<String> = mismatches
                .map(|it| format!("{}: {}", it.place, it.problem))
                .collect();
            let problems: Vec<String> = problems.into_iter().map(str::to_owned).collect();
            assert_eq!(lines.len(), problems.len(), "{reason}: {lines:?}");
            for (line, problem) in lines.iter().zip(&problems) {
                // A text has quotes only if it would read as another type.
                assert_eq!(line, problem, "{reason}");
            }
        }
    }
}
