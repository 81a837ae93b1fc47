//! A JSON parser with a limit on the number of values.
//!
//! A megabyte of tiny objects takes a hundred times as much memory once it is parsed. So values are
//! counted while they are parsed, and fields that are large and not read are dropped.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeOwned, DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Most values of one answer.
const VALUES_MAX: usize = 20_000;
/// Most objects of a list of which only some fields are kept.
const OBJECTS_MAX: usize = 50_000;
/// Values that an object or list counts for, by its memory.
const CONTAINER: usize = 8;

/// Fields that are not read. Each can have an entry for every consumer, channel or node.
const DROPPED: [&str; 8] = [
    "consumer_details",
    "deliveries",
    "incoming",
    "message_stats",
    "backing_queue_status",
    "garbage_collection",
    "listeners",
    "contexts",
];

/// Reason for which an answer is not parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Error {
    /// It is not JSON.
    #[error("the answer is not JSON")]
    NotJson,
    /// It has too many values.
    #[error("the answer has more than {VALUES_MAX} values")]
    TooManyValues,
}

/// Parses a list, of whose objects only the fields of `T` are kept, and of which the rest is dropped where
/// it has more than 50,000.
pub(super) fn parse_list<T: DeserializeOwned>(body: &[u8]) -> Result<Vec<T>, Error> {
    struct Objects<T>(PhantomData<T>);

    impl<'de, T: DeserializeOwned> Visitor<'de> for Objects<T> {
        type Value = Vec<T>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("a list")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<T>, A::Error> {
            let mut list = Vec::new();
            while list.len() < OBJECTS_MAX
                && let Some(item) = items.next_element()?
            {
                list.push(item);
            }
            while items.next_element::<IgnoredAny>()?.is_some() {}
            Ok(list)
        }
    }

    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let list = serde::Deserializer::deserialize_seq(&mut deserializer, Objects(PhantomData));
    list.map_err(|_| Error::NotJson)
}

/// Parses an answer.
pub(super) fn parse(body: &[u8]) -> Result<Value, Error> {
    let left = Cell::new(VALUES_MAX);
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let parsed = Limited(&left).deserialize(&mut deserializer);
    let parsed = parsed.and_then(|value| deserializer.end().map(|()| value));
    parsed.map_err(|_| {
        if left.get() == 0 {
            Error::TooManyValues
        } else {
            Error::NotJson
        }
    })
}

#[derive(Clone, Copy)]
struct Limited<'a>(&'a Cell<usize>);

impl Limited<'_> {
    fn take<E: serde::de::Error>(self, count: usize) -> Result<(), E> {
        match self.0.get().checked_sub(count) {
            Some(left) if left > 0 => {
                self.0.set(left);
                Ok(())
            }
            _ => {
                self.0.set(0);
                Err(E::custom("too many values"))
            }
        }
    }
}

impl<'de> DeserializeSeed<'de> for Limited<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Limited<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Value, E> {
        self.take(1).map(|()| Value::Null)
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Value, E> {
        self.take(1).map(|()| Value::Bool(value))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Value, E> {
        self.take(1).map(|()| Value::from(value))
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Value, E> {
        self.take(1).map(|()| Value::from(value))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        self.take(1)
            .map(|()| Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Value, E> {
        self.take(1).map(|()| Value::from(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        self.take(CONTAINER)?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        self.take(CONTAINER)?;
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if DROPPED.contains(&key.as_str()) {
                entries.next_value::<IgnoredAny>()?;
            } else {
                let value = entries.next_value_seed(self)?;
                map.insert(key, value);
            }
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_parsed_as_they_are() {
        let value = json!({"a": [1, -2, 2.5, "text", true, null, {"b": {}}], "messages": 3});
        assert_eq!(parse(value.to_string().as_bytes()), Ok(value));
        for text in ["", "{", "<html>", "{} {}"] {
            assert_eq!(parse(text.as_bytes()), Err(Error::NotJson), "{text}");
        }
    }

    #[test]
    fn millions_of_tiny_objects_are_refused() {
        let maps = format!("[{}{{\"a\":1}}]", "{\"a\":1},".repeat(400_000));
        assert_eq!(parse(maps.as_bytes()), Err(Error::TooManyValues));
        let nested = format!("{}{}", "[".repeat(100), "]".repeat(100));
        assert!(parse(nested.as_bytes()).is_ok());
    }

    #[test]
    fn a_list_ends_after_its_limit() {
        let list = format!("[{}null]", "1,".repeat(OBJECTS_MAX + 10));
        let parsed = parse_list::<u8>(list.as_bytes());
        assert_eq!(parsed.map(|list| list.len()), Ok(OBJECTS_MAX));
        assert_eq!(parse_list::<u8>(b"{}"), Err(Error::NotJson));
    }

    #[test]
    fn large_fields_that_are_not_read_cost_nothing() {
        let consumers = "{\"channel_details\":{\"name\":\"a\",\"node\":\"b\"}},".repeat(20_000);
        let queue =
            format!("{{\"name\":\"q\",\"consumer_details\":[{consumers}{{}}],\"messages\":1}}");
        assert_eq!(
            parse(queue.as_bytes()),
            Ok(json!({"name": "q", "messages": 1}))
        );
    }
}
