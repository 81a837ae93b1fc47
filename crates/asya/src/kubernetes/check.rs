//! Values against the types of Kubernetes.

use std::collections::BTreeSet;

use actor::diagnostic::Code;
use merge::Segment;
use serde_json::{Map, Value};

use super::rules;
use super::schema::{Field, Type, fields_of, version};
use super::walk::{Depth, Problem, Walk};
use crate::nearest::nearest;

/// Returns everything in the value that the API server of the pinned version rejects.
pub(crate) fn check(r#type: &Type, value: &Value, path: &[Segment], depth: Depth) -> Vec<Problem> {
    let mut check = Check(Walk::new(path, depth));
    check.value(r#type, value, None);
    check.0.problems
}

/// Checks values on the way down.
struct Check(Walk);

impl Check {
    fn below(
        &mut self,
        segment: impl Into<Segment>,
        r#type: &Type,
        value: &Value,
        field: Option<&Field>,
    ) {
        self.0.path.push(segment.into());
        self.value(r#type, value, field);
        self.0.path.pop();
    }

    fn value(&mut self, r#type: &Type, value: &Value, field: Option<&Field>) {
        if value.is_null() {
            return;
        }
        if let Some(expected) = mismatch(r#type, value) {
            let text = format!("expected {expected}, found {}", kind_of(value));
            if *r#type == Type::Text && !value.is_object() && !value.is_array() {
                return self
                    .0
                    .report_with(&[], Code::InvalidValue, text, "put it in quotes");
            }
            return self.0.report(&[], Code::InvalidValue, text);
        }
        match (r#type, value) {
            (Type::List(items), Value::Array(list)) => self.list(items, list, field),
            (Type::Map(values), Value::Object(map)) => {
                for (key, value) in map {
                    self.below(key.as_str(), values, value, None);
                }
            }
            (Type::Object(name), Value::Object(map)) => self.object(name, map),
            (Type::Integer(32), value)
                if value.as_i64().is_some_and(|it| i32::try_from(it).is_err()) =>
            {
                self.0
                    .report(&[], Code::InvalidValue, "does not fit into 32 bits");
            }
            (Type::Integer(_), value) if value.as_i64().is_none() => {
                self.0
                    .report(&[], Code::InvalidValue, "does not fit into 64 bits");
            }
            (Type::Quantity, value) => {
                if let Err(error) = actor::quantity::text(value) {
                    self.0.report(&[], Code::InvalidQuantity, error.to_string());
                }
            }
            _ => {}
        }
        rules::of_value(&mut self.0, r#type, value);
    }

    fn list(&mut self, items: &Type, list: &[Value], field: Option<&Field>) {
        // Lists are appended, never merged item by item, so an item is whole.
        let depth = self.0.depth;
        if depth == Depth::Partial {
            self.0.depth = Depth::Field;
        }
        for (index, item) in list.iter().enumerate() {
            if item.is_null() {
                self.0.report(
                    &[index.into()],
                    Code::InvalidValue,
                    "expected a value, found nothing",
                );
            }
            self.below(index, items, item, None);
        }
        self.0.depth = depth;
        if let Some(field) = field {
            self.repetitions(list, field);
        }
    }

    /// Items that the API server takes for the same.
    fn repetitions(&mut self, list: &[Value], field: &Field) {
        let mut known = BTreeSet::new();
        for (index, item) in list.iter().enumerate() {
            let identity = match (item, field.is_set) {
                (item, true) => Some(item.to_string()),
                (Value::Object(map), _) if !field.keys.is_empty() => identity(map, &field.keys),
                _ => None,
            };
            let Some(identity) = identity else { continue };
            if !known.insert(identity.clone()) {
                let path = match field.keys.first() {
                    Some(key) => vec![index.into(), (*key).into()],
                    None => vec![index.into()],
                };
                let text = format!("{identity} is given more than once");
                self.0.report(&path, Code::DuplicateName, text);
            }
        }
    }

    fn object(&mut self, name: &'static str, map: &Map<String, Value>) {
        let Some(fields) = fields_of(name) else {
            return;
        };
        if let Some(claims) = map.get("volumeClaimTemplates").and_then(Value::as_array) {
            let names = claims
                .iter()
                .filter_map(|it| it["metadata"]["name"].as_str());
            self.0.claims.extend(names.map(str::to_owned));
        }
        let mut has_unknown = false;
        for (key, value) in map {
            match fields.get(key.as_str()) {
                Some(field) => self.below(key.as_str(), &field.r#type, value, Some(field)),
                None => {
                    has_unknown = true;
                    self.unknown(key, fields.keys().copied());
                }
            }
        }
        // What is missing is most often what is misspelt.
        let depth = self.0.depth;
        if has_unknown {
            self.0.depth = Depth::Partial;
        }
        if self.0.is_whole() {
            let is_missing = |value: Option<&Value>| value.is_none_or(Value::is_null);
            let missing: Vec<&str> = fields
                .iter()
                .filter(|(key, field)| field.is_required && is_missing(map.get(**key)))
                .map(|(key, _)| *key)
                .filter(|key| !rules::is_given_by_default(name, key))
                .collect();
            for key in missing {
                self.0.report(
                    &[],
                    Code::RequiredFieldMissing,
                    format!("has no {key:?}, which Kubernetes requires"),
                );
            }
        }
        rules::of_object(&mut self.0, name, map);
        self.0.depth = depth;
    }

    fn unknown(&mut self, key: &str, known: impl Iterator<Item = &'static str>) {
        let known: Vec<&str> = known.collect();
        let help = match nearest(key, known.iter().copied()) {
            Some(meant) => format!("did you mean {meant:?}?"),
            None => format!("Kubernetes {} has no such field here", version()),
        };
        self.0
            .report_with(&[key.into()], Code::UnknownField, String::new(), help);
    }
}

/// The values of the fields that identify an item; none if the first of them is missing.
fn identity(item: &Map<String, Value>, keys: &[&str]) -> Option<String> {
    let first = item.get(*keys.first()?)?;
    let rest = keys[1..].iter().map(|key| match item.get(*key) {
        Some(value) => value.to_string(),
        // The one key that the API server sets by default.
        None if *key == "protocol" => "\"TCP\"".to_owned(),
        None => "null".to_owned(),
    });
    let parts: Vec<String> = std::iter::once(first.to_string()).chain(rest).collect();
    Some(parts.join(" "))
}

/// Returns the type that is expected, if the value has another one.
fn mismatch(r#type: &Type, value: &Value) -> Option<&'static str> {
    let (fits, expected) = match r#type {
        Type::Text => (value.is_string(), "a text"),
        Type::Integer(_) => (value.is_i64() || value.is_u64(), "a whole number"),
        Type::Boolean => (value.is_boolean(), "true or false"),
        Type::Quantity => (value.is_string() || value.is_number(), "a quantity"),
        Type::IntOrText => (
            value.is_string() || value.is_i64() || value.is_u64(),
            "a whole number or a text",
        ),
        Type::List(_) => (value.is_array(), "a list"),
        Type::Map(_) | Type::Object(_) => (value.is_object(), "a map"),
        Type::Any => (true, ""),
    };
    (!fits).then_some(expected)
}

/// Returns the type of a value, as messages name it.
pub(crate) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    }
}
