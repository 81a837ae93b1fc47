//! Lists and pages of JSON objects, of which one at a time is in memory.

use std::fmt;
use std::marker::PhantomData;
use std::ops::ControlFlow;

use serde::Deserializer;
use serde::de::{DeserializeOwned, DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Reason for which an answer is not parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Error {
    /// It is not JSON.
    #[error("the answer is not JSON")]
    NotJson,
    /// What is kept of it takes too much memory.
    #[error("what is read of the answer takes more than {} KiB", max >> 10)]
    TooLarge {
        /// Most memory, in bytes.
        max: usize,
    },
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
