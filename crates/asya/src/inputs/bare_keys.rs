//! Unquoted keys that Kubernetes' tools read as booleans.
//!
//! To them an unquoted `y:` is the boolean true, and the key becomes `"true"`. Our
//! reader keeps `y`, so what is rendered here would differ from what is applied.

use actor::yaml::Located;
use merge::{FieldPath, Segment};
use serde_json::Value;

/// Keys that are booleans in YAML 1.1, as Kubernetes' tools read it.
const BOOLEANS: [&str; 16] = [
    "y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "n", "N", "no", "No", "NO", "off", "Off",
    "OFF",
];

/// Paths of the unquoted keys of a document of `text` that are booleans in YAML 1.1.
pub(super) fn bare_keys(text: &str, document: &Located) -> Vec<FieldPath> {
    let mut keys = Vec::new();
    collect(&document.value, &mut Vec::new(), &mut keys);
    if keys.is_empty() {
        return keys;
    }
    let lines: Vec<&str> = text.lines().collect();
    keys.retain(|path| stands_bare(&lines, document, path));
    keys
}

fn collect(value: &Value, path: &mut Vec<Segment>, keys: &mut Vec<FieldPath>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                path.push(key.as_str().into());
                if BOOLEANS.contains(&key.as_str()) {
                    keys.push(path.clone().into());
                }
                collect(value, path, keys);
                path.pop();
            }
        }
        Value::Array(list) => {
            for (index, item) in list.iter().enumerate() {
                path.push(index.into());
                collect(item, path, keys);
                path.pop();
            }
        }
        _ => {}
    }
}

/// Returns whether the last key of a path begins with itself where it stands, and not with a
/// quote.
fn stands_bare(lines: &[&str], document: &Located, path: &FieldPath) -> bool {
    let Some(Segment::Key(key)) = path.segments().last() else {
        return false;
    };
    let position = document.positions.of(path);
    let index = |number: u64| usize::try_from(number.saturating_sub(1)).ok();
    let rest = index(position.line)
        .and_then(|line| lines.get(line))
        .zip(index(position.column))
        .and_then(|(line, column)| line.char_indices().nth(column).map(|(at, _)| &line[at..]));
    rest.is_some_and(|rest| rest.starts_with(key.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_would_become_booleans_are_found() {
        let cases = [
            ("y: 1", vec!["y"], "a bare key"),
            ("a:\n  - on: 1\n    off : 2", vec!["off", "on"], "in a list"),
            ("a: {no: 1, b: 2}", vec!["no"], "in a flow map"),
            ("'y': 1\n\"on\": 2", vec![], "quoted"),
            ("day: 1\nnoon: 2", vec![], "part of a key"),
            ("a: y", vec![], "a value"),
            ("a: |\n  y: 1", vec![], "in a text"),
            ("a: y\n'y': 1", vec![], "a value beside a quoted key"),
            ("ä: {y: 1}", vec!["y"], "after a character of two bytes"),
            ("true: 1", vec![], "the same key either way"),
        ];
        for (text, expected, reason) in cases {
            let documents = actor::yaml::located(text).unwrap();
            let paths = bare_keys(text, &documents[0]);
            let key = |path: &FieldPath| path.segments().last().unwrap().clone();
            let found: Vec<Segment> = paths.iter().map(key).collect();
            let expected: Vec<Segment> = expected.into_iter().map(Segment::from).collect();
            assert_eq!(found, expected, "{text:?}: {reason}");
        }
    }
}
