//! Keys that Kubernetes' tools take for booleans.
//!
//! To them an unquoted `y:` is the boolean true, and the key becomes `"true"`. Our
//! reader keeps `y`, so what is rendered here would differ from what is applied.

use std::collections::BTreeSet;

use serde_json::Value;

/// Words that are booleans in YAML 1.1, as Kubernetes' tools read it.
const WORDS: [&str; 16] = [
    "y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "n", "N", "no", "No", "NO", "off", "Off",
    "OFF",
];

/// The keys of `documents` that stand unquoted in `text` and are such words.
pub(super) fn bare_keys(text: &str, documents: &[Value]) -> BTreeSet<&'static str> {
    let mut keys = BTreeSet::new();
    for document in documents {
        collect(document, &mut keys);
    }
    keys.retain(|key| stands_bare(text, key));
    keys
}

fn collect(value: &Value, keys: &mut BTreeSet<&'static str>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                keys.extend(WORDS.into_iter().find(|word| word == key));
                collect(value, keys);
            }
        }
        Value::Array(list) => list.iter().for_each(|item| collect(item, keys)),
        _ => {}
    }
}

/// Whether the word stands before a colon somewhere, with nothing but the
/// beginnings of a map or list before it.
fn stands_bare(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].trim_start_matches(' ');
        before.is_none_or(|before| " \n{,".contains(before)) && after.starts_with(':')
    })
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
            ("day: 1\nnoon: 2", vec![], "part of a word"),
            ("a: y", vec![], "a value"),
            ("a: |\n  y: 1", vec![], "in a text"),
            ("true: 1", vec![], "the same key either way"),
        ];
        for (text, expected, reason) in cases {
            let documents = actor::yaml::documents(text).unwrap();
            let found: Vec<_> = bare_keys(text, &documents).into_iter().collect();
            assert_eq!(found, expected, "{text:?}: {reason}");
        }
    }
}
