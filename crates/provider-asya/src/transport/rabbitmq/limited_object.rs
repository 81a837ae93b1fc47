//! JSON objects of which only what is read is kept.
//!
//! A megabyte of tiny objects takes a hundred times as much memory once it is parsed, and an observation keeps
//! some twenty answers. So only the fields that are read are kept, long texts are cut, and the memory of what
//! is kept is counted while it is parsed.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Number, Value};

use super::definition::{DEAD_LETTER_EXCHANGE, DEAD_LETTER_KEY, OWNER_ARGUMENT};
use super::limited_json::Error;

/// Most memory of one object, in bytes. A queue takes about 5 KiB.
pub(super) const OBJECT_MAX: usize = 32 << 10;
/// Most memory of an answer of which every field is kept, in bytes: the provider reads none.
const ANSWER_MAX: usize = 64 << 20;

/// Memory of a scalar with its place in an object.
const SCALAR: usize = 64;
/// Memory of an object or list: a node of a map has place for eleven entries.
const CONTAINER: usize = 704;
/// Longest text that is kept, in bytes; a longer one is cut.
const TEXT_MAX: usize = 4 << 10;
/// Longest key that is kept, in bytes; a longer one is dropped with its value.
const KEY_MAX: usize = 256;

/// Fields that are read, of queues, exchanges, policies, the overview and errors.
const READ: [&str; 22] = [
    "apply-to",
    ARGUMENTS_FIELD,
    "auto_delete",
    "consumers",
    "definition",
    "disable_stats",
    "durable",
    "effective_policy_definition",
    "error",
    "messages",
    "messages_ready",
    "messages_unacknowledged",
    "name",
    "online",
    "operator_policy",
    "pattern",
    "policy",
    "priority",
    "rabbitmq_version",
    "reason",
    "state",
    "type",
];
/// The arguments of a queue.
const ARGUMENTS_FIELD: &str = "arguments";
/// Arguments that are read.
const ARGUMENTS: [&str; 3] = [OWNER_ARGUMENT, DEAD_LETTER_EXCHANGE, DEAD_LETTER_KEY];

/// Fields of an answer that are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fields {
    /// Those that the provider reads.
    Read,
    /// Every one.
    All,
}

/// Parses an answer.
///
/// # Errors
/// It is not JSON, or what is kept of it takes too much memory.
pub(super) fn parse(body: &[u8], fields: Fields) -> Result<Value, Error> {
    let (max, keys) = match fields {
        Fields::Read => (OBJECT_MAX, Keys::Of(&READ)),
        Fields::All => (ANSWER_MAX, Keys::All),
    };
    let left = Cell::new(max);
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let parsed = Kept { left: &left, keys }.deserialize(&mut deserializer);
    let parsed = parsed.and_then(|value| deserializer.end().map(|()| value));
    let value = parsed.map_err(|_| Error::NotJson)?;
    if left.get() == 0 {
        return Err(Error::TooLarge { max });
    }
    Ok(value)
}

/// A queue of a list, with the fields that are read; null where they take too much memory.
#[derive(Debug)]
pub(super) struct Row(pub(super) Value);

impl<'de> Deserialize<'de> for Row {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let left = Cell::new(OBJECT_MAX);
        let keys = Keys::Of(&READ);
        let value = Kept { left: &left, keys }.deserialize(deserializer)?;
        Ok(Self(if left.get() == 0 { Value::Null } else { value }))
    }
}

/// Keys that are kept.
#[derive(Debug, Clone, Copy)]
enum Keys {
    Of(&'static [&'static str]),
    All,
}

impl Keys {
    /// Keys of an object under `key`.
    fn under(key: &str) -> Self {
        if key == ARGUMENTS_FIELD {
            Self::Of(&ARGUMENTS)
        } else {
            Self::All
        }
    }
}

/// Parses a value with the memory that is left. Once there is none, the rest is skipped.
#[derive(Clone, Copy)]
struct Kept<'a> {
    left: &'a Cell<usize>,
    keys: Keys,
}

impl Kept<'_> {
    /// Returns whether there is memory for a value, which it has then.
    fn take(self, bytes: usize) -> bool {
        let left = self.left.get().saturating_sub(bytes);
        self.left.set(left);
        left > 0
    }

    fn scalar(self, value: impl Into<Value>) -> Value {
        if self.take(SCALAR) {
            value.into()
        } else {
            Value::Null
        }
    }
}

impl<'de> DeserializeSeed<'de> for Kept<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Kept<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(self.scalar(Value::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(self.scalar(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(self.scalar(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(self.scalar(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(self.scalar(Number::from_f64(value).map_or(Value::Null, Value::Number)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        let text = &value[..value.floor_char_boundary(TEXT_MAX)];
        if self.take(SCALAR + text.len()) {
            return Ok(Value::from(text));
        }
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        if self.take(CONTAINER) {
            while self.left.get() > 0
                && let Some(item) = items.next_element_seed(self)?
            {
                list.push(item);
            }
        }
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        self.take(CONTAINER);
        while let Some(key) = entries.next_key_seed(Key(self.keys))? {
            let Some(key) = key.filter(|key| self.take(key.len())) else {
                entries.next_value::<IgnoredAny>()?;
                continue;
            };
            let keys = Keys::under(&key);
            let value = entries.next_value_seed(Kept { keys, ..self })?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

/// A key that is kept, or none.
struct Key(Keys);

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Option<String>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key {
    type Value = Option<String>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Option<String>, E> {
        let is_kept = match self.0 {
            Keys::Of(keys) => keys.contains(&key),
            Keys::All => key.len() <= KEY_MAX,
        };
        Ok(is_kept.then(|| key.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_that_are_read_are_kept_as_they_are() {
        let read = json!({"name": "q", "messages": 3, "durable": true, "priority": -1, "online": ["a", null],
            "arguments": {"x-asya-owner": "east/shop/cart"}, "definition": {"any": [1, 2.5, {}]}});
        let mut whole = read.clone();
        whole["pad"] = json!("x".repeat(2 << 20));
        whole["consumer_details"] = json!(vec![json!({"channel_details": {}}); 20_000]);
        whole["arguments"]["x-other"] = json!("x".repeat(1 << 20));
        let body = whole.to_string();
        assert_eq!(parse(body.as_bytes(), Fields::Read), Ok(read));
        let value = json!({"a": [1, -2, 2.5, "text", true, null, {"b": {}}], "messages": 3});
        let parsed = parse(value.to_string().as_bytes(), Fields::All);
        assert_eq!(parsed, Ok(value));
        for text in ["", "{", "<html>", "{} {}"] {
            let parsed = parse(text.as_bytes(), Fields::Read);
            assert_eq!(parsed, Err(Error::NotJson), "{text}");
        }
    }

    #[test]
    fn what_is_kept_takes_little_memory() {
        let long = "x".repeat(1 << 20);
        let cases = [
            ("a long text", json!({"name": long, "messages": 1}), true),
            ("a long key", json!({"definition": {&*long: 1}}), true),
            ("long texts", json!({"online": vec![&*long; 9]}), false),
            (
                "tiny objects",
                json!({"definition": vec![json!({"a": 1}); 400_000]}),
                false,
            ),
            (
                "tiny lists",
                json!({"online": vec![json!([]); 400_000]}),
                false,
            ),
            ("numbers", json!({"online": vec![1; 400_000]}), false),
        ];
        for (reason, value, expected) in cases {
            let body = value.to_string();
            let parsed = parse(body.as_bytes(), Fields::Read);
            assert_eq!(parsed.is_ok(), expected, "{reason}");
            let length = parsed.map_or(0, |value| value.to_string().len());
            assert!(length <= OBJECT_MAX, "{reason}: {length}");
            let rows: Vec<Row> = serde_json::from_str(&format!("[{body}]")).unwrap();
            assert_eq!(rows[0].0 != Value::Null, expected, "{reason}");
        }
        let repeated = format!("{{{}\"name\":1}}", "\"name\":\"text\",".repeat(10_000));
        let parsed = parse(repeated.as_bytes(), Fields::Read);
        assert_eq!(parsed, Err(Error::TooLarge { max: OBJECT_MAX }));
        let nested = format!("{}{}", "[".repeat(40), "]".repeat(40));
        assert!(parse(nested.as_bytes(), Fields::Read).is_ok());
    }
}
