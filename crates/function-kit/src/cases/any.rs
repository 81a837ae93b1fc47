//! Documents of any content, for property tests.

use proptest::prelude::*;
use serde_json::{Value, json};

/// Any value. Maps have some of `keys` and texts are from `texts`, so that documents
/// get past a step's first check.
pub fn value(
    keys: &'static [&'static str],
    texts: &'static [&'static str],
) -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(texts).prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 48, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            map_of(keys, inner),
        ]
    })
}

/// Any map of such values.
pub fn map(
    keys: &'static [&'static str],
    texts: &'static [&'static str],
) -> impl Strategy<Value = Value> {
    map_of(keys, value(keys, texts))
}

fn map_of(
    keys: &'static [&'static str],
    value: impl Strategy<Value = Value>,
) -> impl Strategy<Value = Value> {
    prop::collection::btree_map(prop::sample::select(keys), value, 0..6).prop_map(|map| json!(map))
}
