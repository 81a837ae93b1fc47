//! Source of each leaf of a merged document.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::{FieldPath, Segment};

/// Origin of a leaf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The layer of this name.
    Layer(String),
    /// The overriding document.
    Top,
}

impl Origin {
    /// The layer's name; `None` for the overriding document.
    pub fn layer(&self) -> Option<&str> {
        match self {
            Self::Layer(name) => Some(name),
            Self::Top => None,
        }
    }
}

/// The origin of a top-level field that no layer set.
static TOP: Origin = Origin::Top;

/// The origin of every leaf of a merged document.
///
/// Leaves are scalars, empty maps and empty lists; an element of a list is never split between
/// origins. An empty map or list that several layers gave belongs to the first of them.
///
/// It is a tree, collapsed where a whole subtree has one origin, and holds only what layers set:
/// the overriding document replaces whole top-level fields, so a top-level field that is absent
/// from the tree is its own. [`to_json`](Self::to_json) shows the tree as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Provenance {
    fields: BTreeMap<String, Source>,
}

impl Provenance {
    /// Origins inside the fields that layers set, by top-level field.
    pub(crate) fn of_layers(fields: BTreeMap<String, Source>) -> Self {
        Self { fields }
    }

    /// The origin of the leaf or subtree at `path`, if it has exactly one.
    ///
    /// `None` if it has several, or if a subtree of several origins has nothing at `path`.
    ///
    /// # Caveats
    ///
    /// The tree does not know the document: it answers for paths that the document does not have
    /// as well, inside a collapsed subtree with the subtree's origin, and for a top-level field
    /// that no layer set with [`Origin::Top`].
    pub fn of(&self, path: &FieldPath) -> Option<&Origin> {
        let Some((first, rest)) = path.segments().split_first() else {
            return self.fields.is_empty().then_some(&TOP);
        };
        let Segment::Key(field) = first else {
            return None;
        };
        match self.fields.get(field) {
            None => Some(&TOP),
            Some(source) => rest.iter().try_fold(source, Source::at)?.whole(),
        }
    }

    /// Every leaf of the merged `document` with its origin, sorted by path.
    ///
    /// # Caveats
    ///
    /// `document` is the one that was merged together with this provenance. In any other, a leaf
    /// that the tree does not have counts as the overriding document's.
    pub fn leaves(&self, document: &Map<String, Value>) -> Vec<(FieldPath, Origin)> {
        let mut leaves = Vec::new();
        for (key, value) in document {
            let path = &mut vec![Segment::Key(key.clone())];
            collect_leaves(value, self.fields.get(key), path, &mut leaves);
        }
        leaves
    }

    /// A compact form that travels from one program to the next.
    ///
    /// An object with one entry for each top-level field that layers set. In it a string is the
    /// layer of the whole subtree, an object has one for each key, an array for each list element:
    ///
    /// ```
    /// use merge::{FieldPath, Origin, Provenance};
    /// use serde_json::json;
    ///
    /// let json = json!({
    ///     "resources": "gpu",
    ///     "scaling": {"maxReplicaCount": "gpu", "queueLength": "burst"},
    ///     "tolerations": ["gpu", "spot"],
    /// });
    /// let provenance = Provenance::from_json(&json).expect("a compact provenance");
    ///
    /// let origin = |path: &[&str]| provenance.of(&path.iter().copied().collect::<FieldPath>());
    /// assert_eq!(origin(&["resources", "limits"]).and_then(Origin::layer), Some("gpu"));
    /// assert_eq!(origin(&["scaling", "queueLength"]).and_then(Origin::layer), Some("burst"));
    /// assert_eq!(origin(&["scaling"]), None);
    /// assert_eq!(origin(&["image"]), Some(&Origin::Top));
    /// assert_eq!(provenance.to_json(), json);
    /// ```
    pub fn to_json(&self) -> Value {
        entries_to_json(&self.fields)
    }

    /// Reads what [`to_json`](Self::to_json) writes, collapsing what could be collapsed; `None`
    /// if it is anything else.
    pub fn from_json(json: &Value) -> Option<Self> {
        entries_from_json(json.as_object()?).map(Self::of_layers)
    }
}

/// The origins inside one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Everything in it has this origin.
    Whole(Origin),
    /// A map whose entries differ in origin.
    PerKey(BTreeMap<String, Self>),
    /// A list whose elements differ in origin.
    PerItem(Vec<Self>),
}

impl Source {
    /// A subtree that the layer of this name set.
    pub(crate) fn layer(name: &str) -> Self {
        Self::Whole(Origin::Layer(name.to_owned()))
    }

    /// A map with these entries; `None` if it has none.
    pub(crate) fn per_key(entries: BTreeMap<String, Self>) -> Option<Self> {
        match only_origin(entries.values()) {
            Some(origin) => Some(Self::Whole(origin.clone())),
            None => (!entries.is_empty()).then_some(Self::PerKey(entries)),
        }
    }

    /// A list with these elements; `None` if it has none.
    pub(crate) fn per_item(items: Vec<Self>) -> Option<Self> {
        match only_origin(items.iter()) {
            Some(origin) => Some(Self::Whole(origin.clone())),
            None => (!items.is_empty()).then_some(Self::PerItem(items)),
        }
    }

    fn whole(&self) -> Option<&Origin> {
        match self {
            Self::Whole(origin) => Some(origin),
            Self::PerKey(_) | Self::PerItem(_) => None,
        }
    }

    fn at(&self, segment: &Segment) -> Option<&Self> {
        match (self, segment) {
            (Self::Whole(_), _) => Some(self),
            (Self::PerKey(entries), Segment::Key(key)) => entries.get(key),
            (Self::PerItem(items), Segment::Index(index)) => items.get(*index),
            (Self::PerKey(_), Segment::Index(_)) | (Self::PerItem(_), Segment::Key(_)) => None,
        }
    }

    fn to_json(&self) -> Value {
        match self {
            Self::Whole(origin) => origin.layer().into(),
            Self::PerKey(entries) => entries_to_json(entries),
            Self::PerItem(items) => items.iter().map(Self::to_json).collect(),
        }
    }

    fn from_json(json: &Value) -> Option<Self> {
        match json {
            Value::String(name) => Some(Self::layer(name)),
            Value::Object(entries) => Self::per_key(entries_from_json(entries)?),
            Value::Array(items) => {
                Self::per_item(items.iter().map(Self::from_json).collect::<Option<_>>()?)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => None,
        }
    }
}

/// The origin of all of `parts`, if they have one in common.
fn only_origin<'a>(mut parts: impl Iterator<Item = &'a Source>) -> Option<&'a Origin> {
    let origin = parts.next()?.whole()?;
    parts
        .all(|part| part.whole() == Some(origin))
        .then_some(origin)
}

fn entries_to_json(entries: &BTreeMap<String, Source>) -> Value {
    entries
        .iter()
        .map(|(key, source)| (key.clone(), source.to_json()))
        .collect()
}

fn entries_from_json(entries: &Map<String, Value>) -> Option<BTreeMap<String, Source>> {
    entries
        .iter()
        .map(|(key, entry)| Some((key.clone(), Source::from_json(entry)?)))
        .collect()
}

/// Adds the leaves of `value`, which is at `path` and was set by `source`.
fn collect_leaves(
    value: &Value,
    source: Option<&Source>,
    path: &mut Vec<Segment>,
    leaves: &mut Vec<(FieldPath, Origin)>,
) {
    let mut descend = |segment: Segment, inner: &Value| {
        let inner_source = source.and_then(|source| source.at(&segment));
        path.push(segment);
        collect_leaves(inner, inner_source, path, leaves);
        path.pop();
    };
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (key, field) in fields {
                descend(Segment::Key(key.clone()), field);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (index, item) in items.iter().enumerate() {
                descend(Segment::Index(index), item);
            }
        }
        _ => {
            let origin = source.and_then(Source::whole).unwrap_or(&TOP);
            leaves.push((FieldPath::from(path.clone()), origin.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Origin, Provenance};
    use crate::{FieldPath, Segment};

    #[test]
    fn json_that_is_no_provenance_is_refused() {
        for (json, reason) in [
            (json!("a"), "the document as a whole has no origin"),
            (json!([]), "a document is a map"),
            (json!({"x": null}), "what the top set is absent"),
            (json!({"x": 1}), "an origin is a name"),
            (json!({"x": true}), "an origin is a name"),
            (json!({"x": {}}), "an empty map is a leaf and has an origin"),
            (
                json!({"x": []}),
                "an empty list is a leaf and has an origin",
            ),
            (json!({"x": {"y": ["a", null]}}), "at any depth"),
        ] {
            assert_eq!(Provenance::from_json(&json), None, "{reason}");
        }
    }

    #[test]
    fn subtrees_with_one_origin_are_collapsed() {
        let spread = json!({"x": {"y": ["a", "a"], "z": {"w": "a"}}, "l": [["a"], "b"]});
        let collapsed = json!({"x": "a", "l": ["a", "b"]});
        assert_eq!(
            Provenance::from_json(&spread).map(|provenance| provenance.to_json()),
            Some(collapsed)
        );
    }

    #[test]
    fn an_origin_is_returned_if_there_is_exactly_one() {
        let provenance =
            Provenance::from_json(&json!({"w": "a", "m": {"x": "a", "y": "b"}, "l": ["a", "b"]}))
                .unwrap();
        let layer = |name: &str| Some(Origin::Layer(name.to_owned()));
        for (path, expected, reason) in [
            (vec![], None, "layers and top may share the document"),
            (vec![0.into()], None, "a document is no list"),
            (vec!["w".into()], layer("a"), "a collapsed subtree"),
            (
                vec!["w".into(), 3.into(), "x".into()],
                layer("a"),
                "anything inside it",
            ),
            (vec!["m".into()], None, "a map of two layers"),
            (vec!["m".into(), "y".into()], layer("b"), "an entry of it"),
            (
                vec!["m".into(), "z".into()],
                None,
                "an entry that it does not have",
            ),
            (vec!["m".into(), 0.into()], None, "a map has no elements"),
            (
                vec!["l".into(), 1.into()],
                layer("b"),
                "an element of a list of two layers",
            ),
            (
                vec!["l".into(), 2.into()],
                None,
                "an element that it does not have",
            ),
            (vec!["l".into(), "x".into()], None, "a list has no keys"),
            (
                vec!["t".into()],
                Some(Origin::Top),
                "a field that no layer set",
            ),
            (
                vec!["t".into(), "x".into()],
                Some(Origin::Top),
                "anything inside it",
            ),
        ] as [(Vec<Segment>, _, _); 13]
        {
            assert_eq!(
                provenance.of(&FieldPath::from(path)),
                expected.as_ref(),
                "{reason}"
            );
        }
        assert_eq!(
            Provenance::default().of(&FieldPath::default()),
            Some(&Origin::Top),
            "without layers the whole document is the top's"
        );
    }

    #[test]
    fn leaves_of_another_document_count_as_the_tops() {
        let provenance = Provenance::from_json(&json!({"m": {"x": "a", "y": "b"}})).unwrap();
        let other = json!({"m": {"x": 1, "z": 1}, "t": []});
        let leaves = provenance.leaves(other.as_object().unwrap());
        let texts: Vec<_> = leaves
            .iter()
            .map(|(path, origin)| (path.to_string(), origin.layer()))
            .collect();
        assert_eq!(
            texts,
            [
                ("m.x".to_owned(), Some("a")),
                ("m.z".to_owned(), None),
                ("t".to_owned(), None)
            ]
        );
    }
}
