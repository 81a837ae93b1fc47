//! Arbitrary documents, with so few keys that they meet often.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;

use crate::{Document, merge_all, position, take_away};

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (-2_i8..3).prop_map(|integral| Value::from(f64::from(integral))),
        Just(Value::from(-0.0)),
        "[a-c]{0,2}".prop_map(Value::from),
    ]
}

fn fields(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Document> {
    let key = select(vec!["a", "b", "c", "a.b", "a-b", ""]);
    btree_map(key.prop_map(str::to_owned), inner, 0..4)
        .prop_map(|fields| fields.into_iter().collect())
}

/// Any JSON.
pub(crate) fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            2 => fields(inner.clone()).prop_map(Value::from),
            1 => vec(inner, 0..4).prop_map(Value::from),
        ]
    })
}

pub(crate) fn document() -> impl Strategy<Value = Document> {
    fields(value())
}

pub(crate) fn top() -> impl Strategy<Value = Option<Document>> {
    proptest::option::of(document())
}

/// Layers that conflict more often than not.
pub(crate) fn layers() -> impl Strategy<Value = Vec<Document>> {
    vec(document(), 0..6)
}

/// Layers from which the second side of each conflict was taken away.
pub(crate) fn layers_without_conflicts() -> impl Strategy<Value = Vec<Document>> {
    layers().prop_map(|mut layers| {
        if let Err(conflicts) = merge_all(&layers, None) {
            for conflict in &conflicts {
                take_away(&mut layers[position(&conflict.second)], &conflict.path);
            }
        }
        layers
    })
}
