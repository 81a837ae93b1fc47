//! Documents with the place of every field.

use std::collections::BTreeMap;
use std::fmt;

use merge::{FieldPath, Segment};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use serde_saphyr::{Location, Spanned};

use super::{YamlError, integers, options, read_error};

/// A place in a text: line and column as editors count them, from 1, the column in
/// characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: u64,
    /// The column.
    pub column: u64,
}

impl From<Location> for Position {
    fn from(location: Location) -> Self {
        Self {
            line: location.line(),
            column: location.column(),
        }
    }
}

/// A document and where its fields stand.
#[derive(Debug, Clone, PartialEq)]
pub struct Located {
    /// The document.
    pub value: Value,
    /// Positions of its fields.
    pub positions: Positions,
}

/// Positions of the fields of a document. A field of a map is where its key is, an item of a list is
/// where it begins; what an alias brings in is where the alias is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Positions {
    own: Position,
    fields: BTreeMap<String, Self>,
    items: Vec<Self>,
}

impl Positions {
    /// Returns the position of the field at `path`; if there is none, of the nearest one that
    /// it would be in.
    pub fn of(&self, path: &FieldPath) -> Position {
        let mut found = self;
        for segment in path.segments() {
            match found.at(segment) {
                Some(inner) => found = inner,
                None => break,
            }
        }
        found.own
    }

    /// The positions of the fields inside the value at `path`; those of the nearest value that it
    /// would be in, if there is none.
    #[must_use]
    pub fn inside(&self, path: &FieldPath) -> Self {
        let mut found = self;
        for segment in path.segments() {
            match found.at(segment) {
                Some(inner) => found = inner,
                None => break,
            }
        }
        found.clone()
    }

    fn at(&self, segment: &Segment) -> Option<&Self> {
        match segment {
            Segment::Key(key) => self.fields.get(key),
            Segment::Index(index) => self.items.get(*index),
        }
    }
}

/// Every document of a YAML stream, as [`documents`](super::documents) reads them,
/// each with the places of its fields.
pub fn located(text: &str) -> Result<Vec<Located>, YamlError> {
    let documents: Vec<Spanned<Node>> =
        serde_saphyr::from_multiple_with_options(text, options(text))
            .map_err(|error| read_error(&error))?;
    Ok(documents
        .into_iter()
        .filter(|document| !document.value.value.is_null())
        .map(|document| Located {
            positions: document.value.inner.at(document.referenced),
            value: integers(document.value.value),
        })
        .collect())
}

/// A value and the places inside it. It does not know its own.
struct Node {
    value: Value,
    inner: Inner,
}

#[derive(Default)]
struct Inner {
    fields: BTreeMap<String, Positions>,
    items: Vec<Positions>,
}

impl Inner {
    fn at(self, own: Location) -> Positions {
        Positions {
            own: own.into(),
            fields: self.fields,
            items: self.items,
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl NodeVisitor {
    #[expect(
        clippy::unnecessary_wraps,
        reason = "every method of the visitor returns its result"
    )]
    fn scalar<E>(value: impl Into<Value>) -> Result<Node, E> {
        Ok(Node {
            value: value.into(),
            inner: Inner::default(),
        })
    }
}

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any YAML value")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Node, E> {
        Self::scalar(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Node, E> {
        Self::scalar(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Node, E> {
        Self::scalar(value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Node, E> {
        Self::scalar(value)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Node, E> {
        Self::scalar(value)
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Node, E> {
        Self::scalar(value)
    }

    fn visit_unit<E: Error>(self) -> Result<Node, E> {
        Self::scalar(Value::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Node, E> {
        Self::scalar(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        Node::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
        let mut values = Vec::new();
        let mut inner = Inner::default();
        while let Some(item) = list.next_element::<Spanned<Node>>()? {
            inner.items.push(item.value.inner.at(item.referenced));
            values.push(item.value.value);
        }
        Ok(Node {
            value: Value::Array(values),
            inner,
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut values = Map::new();
        let mut inner = Inner::default();
        while let Some((key, field)) = map.next_entry::<Spanned<String>, Node>()? {
            let positions = field.inner.at(key.referenced);
            inner.fields.insert(key.value.clone(), positions);
            values.insert(key.value, field.value);
        }
        Ok(Node {
            value: Value::Object(values),
            inner,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::documents;
    use super::*;

    fn position(line: u64, column: u64) -> Position {
        Position { line, column }
    }

    #[test]
    fn positions_are_those_of_keys_and_of_the_start_of_items() {
        let text = "# a comment\nspec:\n  env:\n  - name: A\n    value: ä\n  - {name: B, 'value': 2}\n  \"quoted\": x\n---\nkind: K\n";
        let documents = located(text).unwrap();
        let place = |document: usize, path: &[Segment]| {
            let path: FieldPath = path.iter().cloned().collect();
            documents[document].positions.of(&path)
        };
        let cases: [(usize, &[Segment], _, _); 9] = [
            (0, &[], position(2, 1), "the document"),
            (0, &["spec".into()], position(2, 1), "a key"),
            (
                0,
                &["spec".into(), "env".into()],
                position(3, 3),
                "a key inside",
            ),
            (
                0,
                &["spec".into(), "env".into(), 0.into()],
                position(4, 5),
                "an item",
            ),
            (
                0,
                &["spec".into(), "env".into(), 1.into(), "value".into()],
                position(6, 15),
                "a quoted key in a flow map",
            ),
            (
                0,
                &["spec".into(), "quoted".into()],
                position(7, 3),
                "a quoted key",
            ),
            (
                0,
                &["spec".into(), "env".into(), 7.into(), "x".into()],
                position(3, 3),
                "the nearest that there is",
            ),
            (1, &[], position(9, 1), "the second document"),
            (1, &["kind".into()], position(9, 1), "its key"),
        ];
        for (document, path, expected, reason) in cases {
            assert_eq!(place(document, path), expected, "{reason}");
        }
    }

    #[test]
    fn content_of_an_alias_has_the_position_of_the_alias() {
        let documents = located("base: &b\n- 1\nlist:\n- *b\n").unwrap();
        let path = FieldPath::from([Segment::from("list"), 0.into()]);
        assert_eq!(documents[0].positions.of(&path), position(4, 3));
    }

    #[test]
    fn documents_are_the_same_with_and_without_their_places() {
        let texts = [
            "a: 0755\nb: on\nc: 1.0\nd: 1.5\ne: '5'\nf: ~\ng: [1, -2, {}]\nh: 18446744073709551615\n",
            "---\n---\na: &x {b: 1}\nc: *x\nd:\n  <<: *x\n  e: 2\n--- text\n",
            "y: 1\n1: 2\ntrue: 3\n? long\n: 4\n",
            "",
        ];
        for text in texts {
            let values: Vec<Value> = located(text)
                .unwrap()
                .into_iter()
                .map(|located| located.value)
                .collect();
            assert_eq!(values, documents(text).unwrap(), "{text:?}");
        }
        for text in ["a: 1\na: 2", "a: [", "a: b: c"] {
            let (with, without) = (located(text).unwrap_err(), documents(text).unwrap_err());
            assert_eq!(with.to_string(), without.to_string(), "{text:?}");
        }
    }

    #[test]
    fn syntax_errors_have_their_position() {
        let error = located("a: 1\nb:\n  c: 1\n  c: 2\n").unwrap_err();
        let YamlError::Read {
            position: found, ..
        } = error
        else {
            panic!("{error}")
        };
        assert_eq!(found, Some(position(4, 3)));
    }
}
