//! Tags of requests.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use function_proto::v1::{Resource, Resources, RunFunctionRequest, State};
use pbjson_types::value::Kind;
use pbjson_types::{Struct, Value};

/// The hash of a request, equal for equal requests. Maps of a message have no order, so the hashes of
/// their entries are added.
pub(crate) fn tag(request: &RunFunctionRequest) -> String {
    let resources = |fetched: &std::collections::HashMap<String, Resources>| {
        entries(fetched.iter().map(|(key, found)| {
            let items = found.items.iter().map(resource);
            (key.as_str(), list(items))
        }))
    };
    let schemas = request
        .required_schemas
        .iter()
        .map(|(key, schema)| (key.as_str(), optional(schema.openapi_v3.as_ref(), fields)));
    let parts = [
        optional(request.observed.as_ref(), state),
        optional(request.desired.as_ref(), state),
        optional(request.input.as_ref(), fields),
        optional(request.context.as_ref(), fields),
        resources(&request.extra_resources),
        resources(&request.required_resources),
        entries(schemas),
    ];
    format!("{:016x}", list(parts.into_iter()))
}

fn state(state: &State) -> u64 {
    let composed = state.resources.iter();
    let composed = entries(composed.map(|(name, it)| (name.as_str(), resource(it))));
    list([optional(state.composite.as_ref(), resource), composed].into_iter())
}

fn resource(resource: &Resource) -> u64 {
    let object = optional(resource.resource.as_ref(), fields);
    list([object, u64::from(resource.ready.unsigned_abs())].into_iter())
}

fn fields(object: &Struct) -> u64 {
    let fields = object.fields.iter();
    entries(fields.map(|(key, it)| (key.as_str(), value(it))))
}

fn value(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    match &value.kind {
        None | Some(Kind::NullValue(_)) => 0.hash(&mut hasher),
        Some(Kind::BoolValue(truth)) => (1, truth).hash(&mut hasher),
        Some(Kind::NumberValue(number)) => (2, number.to_bits()).hash(&mut hasher),
        Some(Kind::StringValue(text)) => (3, text).hash(&mut hasher),
        Some(Kind::ListValue(items)) => {
            (4, list(items.values.iter().map(self::value))).hash(&mut hasher);
        }
        Some(Kind::StructValue(object)) => (5, fields(object)).hash(&mut hasher),
    }
    hasher.finish()
}

/// The hash of a part that may be missing.
fn optional<T>(part: Option<&T>, hash: impl Fn(&T) -> u64) -> u64 {
    part.map_or(0, |part| list([hash(part)].into_iter()))
}

/// The hash of parts in their order.
fn list(parts: impl Iterator<Item = u64>) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut count = 0_usize;
    for part in parts {
        part.hash(&mut hasher);
        count += 1;
    }
    count.hash(&mut hasher);
    hasher.finish()
}

/// The hash of entries in any order.
fn entries<'a>(entries: impl Iterator<Item = (&'a str, u64)>) -> u64 {
    let hash = |entry: (&str, u64)| {
        let mut hasher = DefaultHasher::new();
        entry.hash(&mut hasher);
        hasher.finish()
    };
    entries.map(hash).fold(0, u64::wrapping_add)
}
