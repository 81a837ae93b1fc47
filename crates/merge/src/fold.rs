//! The fold over the layers.
//!
//! While folding, values are only referred to: what one layer alone sets is not even looked into,
//! and nothing is copied before it is known that there is no conflict.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::provenance::Source;
use crate::{Conflict, ConflictKind, Conflicts, FieldPath, Layer, Merged, Provenance, number};

/// Merges `layers` in order, without their top-level keys that are in `not_compared`.
pub(crate) fn layers(
    layers: &[Layer<'_>],
    not_compared: &BTreeSet<&str>,
) -> Result<Merged, Conflicts> {
    let mut fields = Fields::new();
    let mut conflicts = Vec::new();
    for layer in layers {
        let compared = layer
            .document
            .iter()
            .filter(|(key, _)| !not_compared.contains(key.as_str()));
        Addition {
            layer: layer.name,
            path: Vec::new(),
            conflicts: &mut conflicts,
        }
        .add_fields(&mut fields, compared);
    }
    if let Some(conflicts) = Conflicts::sorted(conflicts) {
        return Err(conflicts);
    }
    let (document, sources) = settle_fields(fields);
    Ok(Merged {
        document,
        provenance: Provenance::of_layers(sources),
    })
}

/// Merged fields of one map, of the layers so far.
type Fields<'a> = BTreeMap<&'a str, Held<'a>>;

/// Merged value of one field, of the layers so far. Layers are given by name.
enum Held<'a> {
    /// One layer set it, or the first of several that conflict.
    Whole { by: &'a str, value: &'a Value },
    /// A list to which several layers may have appended, each its own run.
    List {
        first: &'a str,
        runs: Vec<(&'a str, &'a [Value])>,
    },
    /// A map to which several layers may have contributed.
    Map { first: &'a str, fields: Fields<'a> },
}

impl<'a> Held<'a> {
    /// Makes a map or list of one layer ready to take in another's.
    fn open(&mut self) {
        let Self::Whole { by, value } = *self else {
            return;
        };
        match value {
            Value::Object(fields) => {
                let fields = fields
                    .iter()
                    .map(|(key, value)| (key.as_str(), Self::Whole { by, value }))
                    .collect();
                *self = Self::Map { first: by, fields };
            }
            Value::Array(items) => {
                *self = Self::List {
                    first: by,
                    runs: vec![(by, items)],
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn first(&self) -> &'a str {
        match self {
            Self::Whole { by, .. } => by,
            Self::List { first, .. } | Self::Map { first, .. } => first,
        }
    }

    fn type_name(&self) -> &'static str {
        match self {
            Self::Whole { value, .. } => type_name(value),
            Self::List { .. } => "list",
            Self::Map { .. } => "map",
        }
    }
}

/// One layer that is merged into the result of the layers before it.
struct Addition<'a, 'c> {
    /// The name of the layer.
    layer: &'a str,
    /// The keys from the root of the document to where the addition is.
    path: Vec<&'a str>,
    conflicts: &'c mut Vec<Conflict>,
}

impl<'a> Addition<'a, '_> {
    fn add_fields(
        &mut self,
        held: &mut Fields<'a>,
        added: impl Iterator<Item = (&'a String, &'a Value)>,
    ) {
        for (key, value) in added {
            match held.entry(key) {
                Entry::Vacant(entry) => {
                    entry.insert(Held::Whole {
                        by: self.layer,
                        value,
                    });
                }
                Entry::Occupied(mut entry) => {
                    self.path.push(key);
                    self.add(entry.get_mut(), value);
                    self.path.pop();
                }
            }
        }
    }

    fn add(&mut self, held: &mut Held<'a>, value: &'a Value) {
        held.open();
        match (held, value) {
            (Held::Map { fields, .. }, Value::Object(added)) => {
                self.add_fields(fields, added.iter());
            }
            (Held::List { runs, .. }, Value::Array(added)) => runs.push((self.layer, added)),
            (held, value) => self.conflict(held, value),
        }
    }

    fn conflict(&mut self, held: &Held<'_>, value: &Value) {
        let two_scalars =
            matches!(held, Held::Whole { .. }) && !(value.is_object() || value.is_array());
        self.conflicts.push(Conflict {
            path: self.path.iter().copied().collect::<FieldPath>(),
            first: held.first().to_owned(),
            second: self.layer.to_owned(),
            kind: if two_scalars {
                ConflictKind::SetTwice
            } else {
                ConflictKind::TypeMismatch {
                    first: held.type_name(),
                    second: type_name(value),
                }
            },
        });
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "list",
        Value::Object(_) => "map",
    }
}

/// Copies what is held into a document, and returns who set it.
fn settle(held: Held<'_>) -> (Value, Source) {
    match held {
        Held::Whole { by, value } => (number::normalised(value), Source::layer(by)),
        Held::List { first, runs } => {
            let items = runs
                .iter()
                .flat_map(|(_, items)| *items)
                .map(number::normalised)
                .collect();
            let sources = runs
                .iter()
                .flat_map(|(by, items)| items.iter().map(|_| Source::layer(by)))
                .collect();
            (
                Value::Array(items),
                Source::per_item(sources).unwrap_or_else(|| Source::layer(first)),
            )
        }
        Held::Map { first, fields } => {
            let (fields, sources) = settle_fields(fields);
            (
                Value::Object(fields),
                Source::per_key(sources).unwrap_or_else(|| Source::layer(first)),
            )
        }
    }
}

fn settle_fields(held: Fields<'_>) -> (Map<String, Value>, BTreeMap<String, Source>) {
    let mut document = Map::new();
    let mut sources = BTreeMap::new();
    for (key, held) in held {
        let (value, source) = settle(held);
        document.insert(key.to_owned(), value);
        sources.insert(key.to_owned(), source);
    }
    (document, sources)
}
