//! Changes to a request, each at some place in it.

use function_kit::cases::{any, form};
use function_proto::v1::{Resource, RunFunctionRequest, State};
use pbjson_types::{Struct, value::Kind};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::corpus::Corpus;

/// Numbers that JSON does not have and a request can. A text stands for each, until the document
/// becomes a request.
const NUMBERS: [(&str, f64); 3] = [
    ("!nan", f64::NAN),
    ("!infinity", f64::INFINITY),
    ("!minus-infinity", f64::NEG_INFINITY),
];
/// Stands for a value of no kind at all, which the wire format allows.
const NO_KIND: &str = "!no-kind";

/// Keys whose values make no difference between two requests of the same kind.
const NOT_MUTATED: [&str; 2] = ["reason", "capabilities"];

/// Keys that steps read, so that new maps are covered too.
const KEYS: [&str; 24] = [
    "additionalTriggers",
    "advanced",
    "containers",
    "data",
    "enabled",
    "env",
    "flavors",
    "image",
    "metadata",
    "mount",
    "name",
    "namespace",
    "requests",
    "resources",
    "scaling",
    "spec",
    "stateProxy",
    "status",
    "template",
    "transports",
    "type",
    "value",
    "valueFrom",
    "workload",
];
const TEXTS: [&str; 12] = [
    "",
    "a",
    "asya-runtime",
    "rabbitmq",
    "sqs",
    "1e999",
    "-1",
    "99999999999999999999h",
    "two\nlines",
    "ä\u{0}\u{202e}",
    "!nan",
    "!no-kind",
];

/// One change; a place is the number of a value in the order in which they are written.
#[derive(Debug, Clone)]
pub(crate) enum Mutation {
    Replace {
        place: usize,
        by: Value,
    },
    Remove {
        place: usize,
    },
    Insert {
        place: usize,
        key: &'static str,
        value: Value,
    },
    /// Takes a value of another request.
    Graft {
        place: usize,
        request: usize,
        other: usize,
    },
    /// Wraps a value into so many maps.
    Bury {
        place: usize,
        depth: usize,
    },
    /// Makes a list of so many copies of a value.
    Repeat {
        place: usize,
        times: usize,
    },
}

impl Mutation {
    /// Any mutation with requests of a corpus of that size.
    pub(crate) fn any(requests: usize) -> impl Strategy<Value = Self> {
        let place = any::<u16>().prop_map(usize::from);
        let other = any::<u16>().prop_map(usize::from);
        let key = prop::sample::select(&KEYS[..]);
        prop_oneof![
            4 => (place.clone(), junk()).prop_map(|(place, by)| Self::Replace { place, by }),
            2 => place.clone().prop_map(|place| Self::Remove { place }),
            2 => (place.clone(), key, junk())
                .prop_map(|(place, key, value)| Self::Insert { place, key, value }),
            4 => (place.clone(), 0..requests, other)
                .prop_map(|(place, request, other)| Self::Graft { place, request, other }),
            1 => (place.clone(), 1..20_usize)
                .prop_map(|(place, depth)| Self::Bury { place, depth }),
            1 => (place, 2..40_usize).prop_map(|(place, times)| Self::Repeat { place, times }),
        ]
    }

    /// Changes the request, unless it has no such place.
    pub(crate) fn apply(self, document: &mut Value, corpus: &Corpus) {
        match self {
            Self::Replace { place, by } => at(document, place, |value| *value = by),
            Self::Remove { place } => at(document, place, |value| match value {
                Value::Object(map) => {
                    let key = map.keys().nth(place % map.len().max(1)).cloned();
                    key.and_then(|key| map.remove(&key));
                }
                Value::Array(list) => drop(list.pop()),
                other => *other = Value::Null,
            }),
            Self::Insert {
                place,
                key,
                value: new,
            } => at(document, place, |value| match value {
                Value::Object(map) => drop(map.insert(key.to_owned(), new)),
                Value::Array(list) => list.push(new),
                other => *other = json!({key: new}),
            }),
            Self::Graft {
                place,
                request,
                other,
            } => {
                let mut graft = Value::Null;
                let mut giver = corpus.requests[request].clone();
                at(&mut giver, other, |value| graft = value.take());
                at(document, place, |value| *value = graft);
            }
            Self::Bury { place, depth } => at(document, place, |value| {
                for _ in 0..depth {
                    *value = json!({"metadata": value.take()});
                }
            }),
            Self::Repeat { place, times } => at(document, place, |value| match value {
                Value::Array(list) if !list.is_empty() => {
                    *list = list
                        .iter()
                        .cycle()
                        .take(times * list.len())
                        .cloned()
                        .collect();
                }
                other => *other = vec![other.clone(); times].into(),
            }),
        }
    }
}

fn junk() -> impl Strategy<Value = Value> {
    prop_oneof![
        3 => any::value(&KEYS, &TEXTS),
        1 => prop::sample::select(vec![
            json!(-1), json!(0), json!(1.5), json!(1e300), json!(4_294_967_296_u64), json!("!nan"),
            json!("!infinity"), json!("!no-kind"), json!({}), json!([]), json!([[[]]]), json!("x".repeat(300)),
        ]),
    ]
}

/// Does `change` to the value at a place of the request, below the parts that every request has.
fn at(document: &mut Value, place: usize, change: impl FnOnce(&mut Value)) {
    let Value::Object(parts) = document else {
        return;
    };
    let parts = parts
        .iter_mut()
        .filter(|(key, _)| !NOT_MUTATED.contains(&key.as_str()));
    let mut parts: Vec<&mut Value> = parts.map(|(_, part)| part).collect();
    let all: usize = parts.iter().map(|part| count(part)).sum();
    if all == 0 {
        return;
    }
    let mut left = place % all;
    for part in &mut parts {
        let size = count(part);
        if left < size {
            if let Some(value) = nth(part, &mut left) {
                change(value);
            }
            return;
        }
        left -= size;
    }
}

/// The values in a document, itself included.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Object(map) => map.values().map(count).sum(),
        Value::Array(list) => list.iter().map(count).sum(),
        _ => 0,
    }
}

/// The value that so many others are before.
fn nth<'a>(value: &'a mut Value, left: &mut usize) -> Option<&'a mut Value> {
    if *left == 0 {
        return Some(value);
    }
    *left -= 1;
    match value {
        Value::Object(map) => map.values_mut().find_map(|value| nth(value, left)),
        Value::Array(list) => list.iter_mut().find_map(|value| nth(value, left)),
        _ => None,
    }
}

/// The request, with the values in it that no document can have.
pub(crate) fn request(document: &Value) -> Result<RunFunctionRequest, String> {
    let mut parts: Map<String, Value> = document.as_object().cloned().unwrap_or_default();
    // Capabilities come from the golden cases alone.
    parts.remove("reason");
    let mut request = form::request(&Value::Object(parts))?;
    let states = [&mut request.observed, &mut request.desired];
    for State {
        composite,
        resources,
    } in states.into_iter().flatten()
    {
        let objects = composite.iter_mut().chain(resources.values_mut());
        objects.for_each(enrich_resource);
    }
    let required = request.required_resources.values_mut();
    let required = required.chain(request.extra_resources.values_mut());
    required
        .flat_map(|found| &mut found.items)
        .for_each(enrich_resource);
    for part in [&mut request.context, &mut request.input]
        .into_iter()
        .flatten()
    {
        enrich(part);
    }
    Ok(request)
}

fn enrich_resource(resource: &mut Resource) {
    resource.resource.iter_mut().for_each(enrich);
}

fn enrich(object: &mut Struct) {
    object.fields.values_mut().for_each(enrich_value);
}

fn enrich_value(value: &mut pbjson_types::Value) {
    match &mut value.kind {
        Some(Kind::StringValue(text)) if text == NO_KIND => value.kind = None,
        Some(Kind::StringValue(text)) => {
            let number = NUMBERS.iter().find(|(name, _)| name == text);
            if let Some((_, number)) = number {
                value.kind = Some(Kind::NumberValue(*number));
            }
        }
        Some(Kind::StructValue(map)) => enrich(map),
        Some(Kind::ListValue(list)) => list.values.iter_mut().for_each(enrich_value),
        _ => {}
    }
}
