//! A list of the pod, to which the template and the inline fields both give.

use function_kit::{Call, Code};
use merge::{FieldPath, Segment};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::findings::{Findings, below};
use crate::place::Place;

/// An item with where it comes from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Item {
    pub(crate) map: Map<String, Value>,
    pub(crate) place: Place,
}

/// The items of one list: the template's, then those given beside it.
#[derive(Debug)]
pub(crate) struct List {
    /// The field that names an item; none where items have no name.
    key: Option<&'static str>,
    pub(crate) items: Vec<Item>,
    of_template: usize,
}

impl List {
    /// Takes the list out of `parent`, a map of the template at `path`.
    pub(crate) fn take(
        call: &Call,
        parent: &mut Map<String, Value>,
        path: &FieldPath,
        field: &'static str,
        key: Option<&'static str>,
        findings: &mut Findings,
    ) -> Self {
        let path = below(path, field);
        let values = match parent.remove(field) {
            None => Vec::new(),
            Some(Value::Array(values)) => values,
            Some(_) => {
                findings.error_at(call, Code::InvalidValue, &path, "expected a list");
                Vec::new()
            }
        };
        let mut items = Vec::with_capacity(values.len());
        for (index, value) in values.into_iter().enumerate() {
            let path = below(&path, index);
            match value {
                Value::Object(map) if key.is_none_or(|key| has_text(&map, key)) => {
                    let place = Place::Spec(path);
                    items.push(Item { map, place });
                }
                Value::Object(_) => {
                    let key = key.unwrap_or_default();
                    let problem = format!("{key:?} is missing");
                    findings.error_at(call, Code::NameMissing, &path, &problem);
                }
                _ => findings.error_at(call, Code::InvalidValue, &path, "expected a map"),
            }
        }
        Self {
            key,
            of_template: items.len(),
            items,
        }
    }

    /// Adds what the spec gives in `field`, each with its index there. Where the
    /// template has an item of the same name, the template wins.
    pub(crate) fn append(
        &mut self,
        field: &'static str,
        given: impl IntoIterator<Item = (usize, Map<String, Value>)>,
    ) {
        for (index, map) in given {
            let place = Place::Spec(FieldPath::from([Segment::from(field), index.into()]));
            let item = Item { map, place };
            if !self.template_has(&item) {
                self.items.push(item);
            }
        }
    }

    fn template_has(&self, item: &Item) -> bool {
        let mut of_template = self.items[..self.of_template].iter();
        self.name(item)
            .is_some_and(|name| of_template.any(|own| self.name(own) == Some(name)))
    }

    fn name<'a>(&self, item: &'a Item) -> Option<&'a str> {
        item.map.get(self.key?)?.as_str()
    }

    /// The names of the items, with where they come from.
    pub(crate) fn names(&self) -> impl Iterator<Item = (&str, &Place)> {
        self.items
            .iter()
            .filter_map(|item| Some((self.name(item)?, &item.place)))
    }

    /// Keeps the first item of each name: for lists whose items are nothing but
    /// a name.
    pub(crate) fn drop_repeated(&mut self) {
        let mut seen = std::collections::BTreeSet::new();
        let key = self.key;
        self.items.retain(|item| {
            let name = key.and_then(|key| item.map.get(key)?.as_str());
            name.is_none_or(|name| seen.insert(name.to_owned()))
        });
    }

    /// Writes the list into `parent`; an empty one is left out.
    pub(crate) fn write(self, parent: &mut Map<String, Value>, field: &str) {
        if !self.items.is_empty() {
            let values = self.items.into_iter().map(|item| Value::Object(item.map));
            parent.insert(field.to_owned(), values.collect());
        }
    }
}

/// Items of the spec as maps, each with its index.
pub(crate) fn maps<T: Serialize>(items: &[T]) -> impl Iterator<Item = (usize, Map<String, Value>)> {
    items
        .iter()
        .enumerate()
        .filter_map(|(index, item)| match serde_json::to_value(item) {
            Ok(Value::Object(map)) => Some((index, map)),
            _ => None,
        })
}

fn has_text(map: &Map<String, Value>, key: &str) -> bool {
    map.get(key)
        .and_then(Value::as_str)
        .is_some_and(|text| !text.is_empty())
}
