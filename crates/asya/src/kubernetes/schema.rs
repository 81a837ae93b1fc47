//! Types and fields of the pinned Kubernetes version, read from `schema.txt`.
//!
//! A block of the file is a type: its name, then a line for each field with its type. `!` marks
//! required fields, `[]T` lists, `{}T` maps of texts to `T`, `key=…` the fields that identify an item
//! of a list, `set` lists without repetitions.

use std::collections::BTreeMap;
use std::sync::OnceLock;

const TEXT: &str = include_str!("schema.txt");

/// The type of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Type {
    /// A text.
    Text,
    /// A whole number of that many bits.
    Integer(u32),
    /// `true` or `false`.
    Boolean,
    /// A quantity: a number, or a text such as `500m`.
    Quantity,
    /// A whole number, or a text such as `25%` or the name of a port.
    IntOrText,
    /// Anything.
    Any,
    /// A list.
    List(Box<Self>),
    /// A map with keys of the user's choice.
    Map(Box<Self>),
    /// The type of that name.
    Object(&'static str),
}

/// A field of a type.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    /// Its type.
    pub(crate) r#type: Type,
    /// True if it must be set.
    pub(crate) is_required: bool,
    /// Fields that identify an item of the list.
    pub(crate) keys: Vec<&'static str>,
    /// True if the list must not repeat an item.
    pub(crate) is_set: bool,
}

type Fields = BTreeMap<&'static str, Field>;

/// The fields of the type of that name; none if there is no such type.
pub(crate) fn fields_of(name: &str) -> Option<&'static Fields> {
    static TYPES: OnceLock<BTreeMap<&'static str, Fields>> = OnceLock::new();
    TYPES.get_or_init(read).get(name)
}

/// The pinned version, such as `v1.35.4`.
pub(crate) fn version() -> &'static str {
    let first = TEXT.lines().next().unwrap_or_default();
    let begin = first.find(" v").map_or(0, |at| at + 1);
    let rest = &first[begin..];
    rest.split(". ").next().unwrap_or(rest)
}

fn read() -> BTreeMap<&'static str, Fields> {
    let mut types: BTreeMap<&'static str, Fields> = BTreeMap::new();
    let mut current = "";
    for line in TEXT.lines().filter(|line| !line.starts_with('#')) {
        let Some(field) = line.strip_prefix(' ') else {
            current = line;
            types.entry(current).or_default();
            continue;
        };
        let mut words = field.split(' ');
        let name = words.next().unwrap_or_default();
        let r#type = Type::of(words.next().unwrap_or_default());
        let mut field = Field {
            r#type,
            is_required: name.ends_with('!'),
            keys: Vec::new(),
            is_set: false,
        };
        for word in words {
            match word.strip_prefix("key=") {
                Some(keys) => field.keys = keys.split(',').collect(),
                None => field.is_set |= word == "set",
            }
        }
        let name = name.trim_end_matches('!');
        types.entry(current).or_default().insert(name, field);
    }
    types
}

impl Type {
    /// A type by its name in the file.
    pub(crate) fn of(name: &'static str) -> Self {
        if let Some(items) = name.strip_prefix("[]") {
            return Self::List(Box::new(Self::of(items)));
        }
        if let Some(values) = name.strip_prefix("{}") {
            return Self::Map(Box::new(Self::of(values)));
        }
        match name {
            // The API server reads a time, and refuses other texts; only metadata has one.
            "string" | "Time" => Self::Text,
            "int32" => Self::Integer(32),
            "int64" => Self::Integer(64),
            "boolean" => Self::Boolean,
            "Quantity" => Self::Quantity,
            "IntOrString" => Self::IntOrText,
            "any" | "FieldsV1" => Self::Any,
            name => Self::Object(name),
        }
    }

    /// Its name, as `kubectl explain` shows it.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Text => "string".to_owned(),
            Self::Integer(_) => "integer".to_owned(),
            Self::Boolean => "boolean".to_owned(),
            Self::Quantity => "Quantity".to_owned(),
            Self::IntOrText => "integer or string".to_owned(),
            Self::Any => "any".to_owned(),
            Self::List(items) => format!("[]{}", items.name()),
            Self::Map(values) => format!("map[string]{}", values.name()),
            Self::Object(name) => (*name).to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_that_a_field_has_is_listed() {
        fn object(r#type: &Type) -> Option<&'static str> {
            match r#type {
                Type::List(inner) | Type::Map(inner) => object(inner),
                Type::Object(name) => Some(name),
                _ => None,
            }
        }
        let types = read();
        assert!(types.len() > 100, "{}", types.len());
        for (name, fields) in &types {
            for (field, it) in fields {
                if let Some(inner) = object(&it.r#type) {
                    assert!(types.contains_key(inner), "{name}.{field}: {inner}");
                }
                let keyed = !it.keys.is_empty() || it.is_set;
                assert!(
                    !keyed || matches!(it.r#type, Type::List(_)),
                    "{name}.{field}"
                );
            }
        }
        assert!(version().starts_with("v1."), "{}", version());
    }

    #[test]
    fn fields_have_type_keys_and_requirement() {
        let container = fields_of("Container").unwrap();
        assert!(container["name"].is_required && !container["image"].is_required);
        assert_eq!(container["env"].keys, ["name"]);
        assert_eq!(container["env"].r#type.name(), "[]EnvVar");
        assert_eq!(
            fields_of("ResourceRequirements").unwrap()["limits"]
                .r#type
                .name(),
            "map[string]Quantity"
        );
        assert!(fields_of("Nothing").is_none());
    }
}
