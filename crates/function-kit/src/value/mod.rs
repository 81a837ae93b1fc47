//! Looking into protobuf Structs without converting them.
//!
//! A request carries far more than a step reads, so what is not needed stays as
//! it came.

mod read;

use pbjson_types::{ListValue, Struct, Value, value::Kind};
use serde_json::Value as Json;

pub(crate) use read::read;

/// The value at a path of map keys.
pub fn at<'a>(object: &'a Struct, path: &[&str]) -> Option<&'a Value> {
    let (last, parents) = path.split_last()?;
    parents
        .iter()
        .try_fold(object, |object, key| as_struct(object.fields.get(*key)?))?
        .fields
        .get(*last)
}

/// The map at a path of map keys.
pub fn map<'a>(object: &'a Struct, path: &[&str]) -> Option<&'a Struct> {
    as_struct(at(object, path)?)
}

/// The text at a path of map keys.
pub fn text<'a>(object: &'a Struct, path: &[&str]) -> Option<&'a str> {
    match at(object, path)?.kind.as_ref()? {
        Kind::StringValue(text) => Some(text),
        _ => None,
    }
}

/// The whole number at a path of map keys.
pub fn integer(object: &Struct, path: &[&str]) -> Option<i64> {
    match at(object, path)?.kind.as_ref()? {
        Kind::NumberValue(number) => whole(*number),
        _ => None,
    }
}

/// The whole number that it is; none from where on a double skips some.
fn whole(number: f64) -> Option<i64> {
    const LARGEST: f64 = 9_007_199_254_740_992.0; // 2^53
    #[expect(
        clippy::cast_possible_truncation,
        reason = "checked to be integral and at most 2^53"
    )]
    (number.fract() == 0.0 && number.abs() <= LARGEST).then_some(number as i64)
}

/// The truth value at a path of map keys.
pub fn boolean(object: &Struct, path: &[&str]) -> Option<bool> {
    match at(object, path)?.kind.as_ref()? {
        Kind::BoolValue(truth) => Some(*truth),
        _ => None,
    }
}

/// The items of the list at a path of map keys; empty where there is none.
pub fn list<'a>(object: &'a Struct, path: &[&str]) -> &'a [Value] {
    match at(object, path).and_then(|value| value.kind.as_ref()) {
        Some(Kind::ListValue(list)) => &list.values,
        _ => &[],
    }
}

/// A value that is a map.
pub fn as_struct(value: &Value) -> Option<&Struct> {
    match value.kind.as_ref()? {
        Kind::StructValue(object) => Some(object),
        _ => None,
    }
}

/// A map as a JSON document.
pub fn to_map(object: &Struct) -> serde_json::Map<String, serde_json::Value> {
    let entries = object.fields.iter();
    entries
        .map(|(key, value)| (key.clone(), pb_to_json(value)))
        .collect()
}

/// A map as a JSON value. See [`pb_to_json`] for numbers.
pub fn struct_to_json(object: &Struct) -> Json {
    Json::Object(to_map(object))
}

/// A value of protobuf as a JSON value.
///
/// Protobuf has one type of numbers, doubles: whole ones up to 2^53 become integers again, so that
/// `replicas: 3` fits an integer field. NaN and infinity become null.
pub fn pb_to_json(value: &Value) -> Json {
    match &value.kind {
        None | Some(Kind::NullValue(_)) => Json::Null,
        Some(Kind::NumberValue(number)) => {
            whole(*number).map_or_else(|| Json::from(*number), Json::from)
        }
        Some(Kind::StringValue(text)) => Json::String(text.clone()),
        Some(Kind::BoolValue(truth)) => Json::Bool(*truth),
        Some(Kind::StructValue(object)) => struct_to_json(object),
        Some(Kind::ListValue(list)) => list.values.iter().map(pb_to_json).collect(),
    }
}

/// A JSON value as a value of protobuf, copied. Numbers become doubles.
pub fn json_to_pb(value: &Json) -> Value {
    into_pb(value.clone())
}

/// A JSON document as a map, copied.
pub fn json_to_struct(document: &serde_json::Map<String, Json>) -> Struct {
    into_struct(document.clone())
}

/// A JSON document as a map, moved and not copied.
pub fn into_struct(document: serde_json::Map<String, Json>) -> Struct {
    let entries = document.into_iter();
    Struct {
        fields: entries.map(|(key, value)| (key, into_pb(value))).collect(),
    }
}

/// A JSON value as a value of protobuf, moved and not copied.
pub fn into_pb(value: Json) -> Value {
    let kind = match value {
        Json::String(text) => Kind::StringValue(text),
        Json::Array(items) => Kind::ListValue(ListValue {
            values: items.into_iter().map(into_pb).collect(),
        }),
        Json::Object(map) => Kind::StructValue(into_struct(map)),
        Json::Null => Kind::NullValue(0),
        Json::Bool(truth) => Kind::BoolValue(truth),
        Json::Number(number) => Kind::NumberValue(number.as_f64().unwrap_or(f64::NAN)),
    };
    Value { kind: Some(kind) }
}

/// The text entries of the map at a path, sorted; others are passed over.
pub fn texts(object: &Struct, path: &[&str]) -> std::collections::BTreeMap<String, String> {
    let entries = map(object, path).map(|map| &map.fields);
    entries
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| match value.kind.as_ref()? {
            Kind::StringValue(text) => Some((key.clone(), text.clone())),
            _ => None,
        })
        .collect()
}

/// The condition of that type in `status.conditions`.
pub fn condition<'a>(object: &'a Struct, r#type: &str) -> Option<&'a Struct> {
    list(object, &["status", "conditions"])
        .iter()
        .filter_map(as_struct)
        .find(|condition| text(condition, &["type"]) == Some(r#type))
}
