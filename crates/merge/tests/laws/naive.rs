//! The same questions answered in the most obvious way, to compare with.

use merge::{FieldPath, Segment};
use serde_json::{Value, map::Entry};

use crate::Document;

/// A copy in which integral numbers up to 2^53 are integers, by way of their text.
pub(crate) fn normalised(value: &Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => {
            let double = number.as_f64().expect("it is a double");
            let digits = format!("{double:.0}").parse::<i64>().ok();
            digits
                .filter(|_| double % 1.0 == 0.0)
                .filter(|integer| integer.unsigned_abs() <= 1 << 53)
                .map_or_else(|| value.clone(), Value::from)
        }
        Value::Array(items) => items.iter().map(normalised).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(key, field)| (key.clone(), normalised(field)))
            .collect(),
        other => other.clone(),
    }
}

/// The merged document of layers that do not conflict.
pub(crate) fn merged(layers: &[Document], top: Option<&Document>) -> Document {
    let mut document = Document::new();
    for layer in layers {
        merge_into(&mut document, layer);
    }
    for (key, value) in top.into_iter().flatten() {
        if !value.is_null() {
            document.insert(key.clone(), value.clone());
        }
    }
    document
        .into_iter()
        .map(|(key, value)| (key, normalised(&value)))
        .collect()
}

fn merge_into(document: &mut Document, layer: &Document) {
    for (key, added) in layer {
        match document.entry(key) {
            Entry::Vacant(entry) => {
                entry.insert(added.clone());
            }
            Entry::Occupied(mut entry) => match (entry.get_mut(), added) {
                (Value::Object(fields), Value::Object(added)) => merge_into(fields, added),
                (Value::Array(items), Value::Array(added)) => items.extend(added.iter().cloned()),
                (held, added) => unreachable!("{held} and {added} conflict on {key}"),
            },
        }
    }
}

/// The path of every scalar, empty map and empty list, in the order of the document.
pub(crate) fn leaf_paths(document: &Document) -> Vec<FieldPath> {
    document
        .iter()
        .flat_map(|(key, value)| leaf_paths_below(&[Segment::from(key.as_str())], value))
        .map(FieldPath::from)
        .collect()
}

fn leaf_paths_below(path: &[Segment], value: &Value) -> Vec<Vec<Segment>> {
    let children: Vec<(Segment, &Value)> = match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(key, field)| (key.as_str().into(), field))
            .collect(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(index, item)| (index.into(), item))
            .collect(),
        _ => Vec::new(),
    };
    if children.is_empty() {
        return vec![path.to_vec()];
    }
    children
        .into_iter()
        .flat_map(|(segment, child)| leaf_paths_below(&[path, &[segment]].concat(), child))
        .collect()
}
