//! A JSON parser with a limit on the number of values.
//!
//! A megabyte of tiny objects takes a hundred times as much memory once it is parsed. So values are
//! counted while they are parsed, and fields that are large and not read are dropped.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::ControlFlow;

use serde::Deserializer;
use serde::de::{DeserializeOwned, DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Most values of one answer.
const VALUES_MAX: usize = 20_000;
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
    /// A page has more items than were asked for.
    #[error("the page has more items than its size")]
    TooManyItems,
}

/// Parses a list of objects, of which only the fields of `T` are read, and passes each to `visit` until that
/// breaks.
///
/// # Errors
/// The answer is not a list.
pub(super) fn parse_list<T: DeserializeOwned>(
    body: &[u8],
    mut visit: impl FnMut(T) -> ControlFlow<()>,
) -> Result<(), Error> {
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let mut list = Objects::new(&mut visit, usize::MAX);
    let parsed = deserializer.deserialize_seq(&mut list);
    parsed
        .and_then(|()| deserializer.end())
        .map_err(|_| Error::NotJson)
}

/// Parses a page of a list as [`parse_list`] does; returns the number of pages.
///
/// # Errors
/// The answer is not a page, or has more than `max` items.
pub(super) fn parse_page<T: DeserializeOwned>(
    body: &[u8],
    max: usize,
    mut visit: impl FnMut(T) -> ControlFlow<()>,
) -> Result<u32, Error> {
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let mut items = Objects::new(&mut visit, max);
    let parsed = deserializer.deserialize_map(Page(&mut items));
    let parsed = parsed.and_then(|pages| deserializer.end().map(|()| pages));
    parsed.map_err(|_| {
        if items.is_too_long {
            Error::TooManyItems
        } else {
            Error::NotJson
        }
    })
}

/// Objects of a list: one at a time is in memory.
struct Objects<'a, T, F> {
    visit: &'a mut F,
    left: usize,
    is_too_long: bool,
    is_over: bool,
    kind: PhantomData<T>,
}

impl<'a, T, F> Objects<'a, T, F> {
    fn new(visit: &'a mut F, max: usize) -> Self {
        Self {
            visit,
            left: max,
            is_too_long: false,
            is_over: false,
            kind: PhantomData,
        }
    }
}

impl<'de, T: DeserializeOwned, F: FnMut(T) -> ControlFlow<()>> DeserializeSeed<'de>
    for &mut Objects<'_, T, F>
{
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, T: DeserializeOwned, F: FnMut(T) -> ControlFlow<()>> Visitor<'de>
    for &mut Objects<'_, T, F>
{
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while !self.is_over
            && let Some(item) = items.next_element()?
        {
            let Some(left) = self.left.checked_sub(1) else {
                self.is_too_long = true;
                return Err(serde::de::Error::custom(Error::TooManyItems));
            };
            self.left = left;
            self.is_over = (self.visit)(item).is_break();
        }
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }
}

/// A page of a list, whose items are visited; its value is the number of pages.
struct Page<'a, 'b, T, F>(&'a mut Objects<'b, T, F>);

/// Fields of a page that are read.
#[derive(serde::Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum PageField {
    Items,
    PageCount,
    #[serde(other)]
    Other,
}

impl<'de, T: DeserializeOwned, F: FnMut(T) -> ControlFlow<()>> Visitor<'de> for Page<'_, '_, T, F> {
    type Value = u32;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a page of a list")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<u32, A::Error> {
        let (mut pages, mut has_items) = (0, false);
        while let Some(field) = entries.next_key()? {
            match field {
                PageField::Items => {
                    has_items = true;
                    entries.next_value_seed(&mut *self.0)?;
                }
                PageField::PageCount => pages = entries.next_value()?,
                PageField::Other => {
                    entries.next_value::<IgnoredAny>()?;
                }
            }
        }
        if has_items {
            Ok(pages)
        } else {
            Err(serde::de::Error::missing_field("items"))
        }
    }
}

/// A text, or none where the value has another type, which is skipped.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Text(pub(super) Option<String>);

impl<'de> serde::Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Text, E> {
        Ok(Text(None))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Text, E> {
        Ok(Text(None))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Text, E> {
        Ok(Text(None))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Text, E> {
        Ok(Text(None))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Text, E> {
        Ok(Text(None))
    }

    fn visit_str<E>(self, value: &str) -> Result<Text, E> {
        Ok(Text(Some(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Text, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Text(None))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Text, A::Error> {
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Text(None))
    }
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
    fn a_list_is_visited_until_the_visitor_breaks() {
        let mut visited = Vec::new();
        let visit = |item: u8| {
            visited.push(item);
            if item == 2 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        assert_eq!(parse_list(b"[1, 2, 3, null]", visit), Ok(()));
        assert_eq!(visited, [1, 2]);
        let visit = |_: u8| ControlFlow::Continue(());
        assert_eq!(parse_list(b"{}", visit), Err(Error::NotJson));
    }

    #[test]
    fn a_page_has_no_more_items_than_were_asked_for() {
        let many = format!("{{\"items\":[{}{{}}]}}", "{},".repeat(2_800_000));
        let repeated = format!("{{{}\"page_count\":2}}", "\"items\":[{}],".repeat(3));
        let cases = [
            (
                "two items",
                "{\"x\":[[1]],\"items\":[{},{}],\"page_count\":7}",
                Ok(7),
            ),
            ("none", "{\"items\":[]}", Ok(0)),
            ("millions", &many, Err(Error::TooManyItems)),
            ("three lists", &repeated, Err(Error::TooManyItems)),
            ("no list", "{\"page_count\":1}", Err(Error::NotJson)),
            ("a list", "[]", Err(Error::NotJson)),
        ];
        for (reason, body, expected) in cases {
            let mut visited = 0;
            let visit = |_: IgnoredAny| {
                visited += 1;
                ControlFlow::Continue(())
            };
            assert_eq!(parse_page(body.as_bytes(), 2, visit), expected, "{reason}");
            assert!(visited <= 2, "{reason}");
        }
    }

    #[test]
    fn only_texts_are_kept_as_texts() {
        for (json, expected) in [
            ("\"a\"", Some("a")),
            ("null", None),
            ("-1", None),
            ("2.5", None),
            ("[{},[]]", None),
            ("{\"a\":{}}", None),
        ] {
            let text: Text = serde_json::from_str(json).unwrap();
            assert_eq!(text.0.as_deref(), expected, "{json}");
        }
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
