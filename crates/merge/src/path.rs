//! Paths of fields in a document.

use std::fmt;

use serde_json::Value;

/// One step from a value to a value inside it.
///
/// Keys come before indices, keys are ordered by their bytes, indices by number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Segment {
    /// Into a map, such as `minReplicaCount`.
    Key(String),
    /// Into a list, counted from 0.
    Index(usize),
}

impl From<&str> for Segment {
    fn from(key: &str) -> Self {
        Self::Key(key.to_owned())
    }
}

impl From<String> for Segment {
    fn from(key: String) -> Self {
        Self::Key(key)
    }
}

impl From<usize> for Segment {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

/// The way from the root of a document to one of its fields, such as `scaling.minReplicaCount`.
///
/// Paths are ordered segment by segment, a field before what is inside it: the order in which a
/// document is written.
///
/// `Display` joins the keys with `.`, each as it is, and shows an index as `[0]`. That form is
/// for people: a key may itself contain dots, so programs use [`segments`](Self::segments) or
/// [`to_json`](Self::to_json).
///
/// ```
/// use merge::{FieldPath, Segment};
/// use serde_json::json;
///
/// let path = FieldPath::from(["nodeSelector", "cloud.google.com/gke-spot"]);
/// assert_eq!(path.to_string(), "nodeSelector.cloud.google.com/gke-spot");
/// assert_eq!(path.to_json(), json!(["nodeSelector", "cloud.google.com/gke-spot"]));
///
/// let path = FieldPath::from([Segment::from("env"), 0.into(), "name".into()]);
/// assert_eq!(path.to_string(), "env[0].name");
/// assert_eq!(FieldPath::from_json(&json!(["env", 0, "name"])), Some(path));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldPath(Vec<Segment>);

impl FieldPath {
    /// The steps from the root; none for the document itself.
    pub fn segments(&self) -> &[Segment] {
        &self.0
    }

    /// A list of strings (keys) and numbers (indices).
    pub fn to_json(&self) -> Value {
        self.0
            .iter()
            .map(|segment| match segment {
                Segment::Key(key) => Value::from(key.as_str()),
                Segment::Index(index) => Value::from(*index),
            })
            .collect()
    }

    /// Reads what [`to_json`](Self::to_json) writes; `None` if it is anything else.
    pub fn from_json(json: &Value) -> Option<Self> {
        json.as_array()?
            .iter()
            .map(|segment| match segment {
                Value::String(key) => Some(Segment::Key(key.clone())),
                Value::Number(index) => index
                    .as_u64()
                    .and_then(|index| usize::try_from(index).ok())
                    .map(Segment::Index),
                _ => None,
            })
            .collect()
    }
}

impl<S: Into<Segment>> FromIterator<S> for FieldPath {
    fn from_iter<I: IntoIterator<Item = S>>(segments: I) -> Self {
        Self(segments.into_iter().map(Into::into).collect())
    }
}

impl<S: Into<Segment>, const N: usize> From<[S; N]> for FieldPath {
    fn from(segments: [S; N]) -> Self {
        segments.into_iter().collect()
    }
}

impl From<Vec<Segment>> for FieldPath {
    fn from(segments: Vec<Segment>) -> Self {
        Self(segments)
    }
}

impl From<FieldPath> for Vec<Segment> {
    fn from(path: FieldPath) -> Self {
        path.0
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Key(key) if position == 0 => f.write_str(key)?,
                Segment::Key(key) => write!(f, ".{key}")?,
                Segment::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{FieldPath, Segment};

    #[test]
    fn a_path_is_shown_for_people_and_listed_for_programs() {
        for (segments, text, json, reason) in [
            (vec![], "", json!([]), "the document itself"),
            (
                vec!["image".into()],
                "image",
                json!(["image"]),
                "a key stands alone",
            ),
            (
                vec!["a.b".into(), "c".into()],
                "a.b.c",
                json!(["a.b", "c"]),
                "no key is quoted",
            ),
            (
                vec!["".into(), "".into()],
                ".",
                json!(["", ""]),
                "an empty key is a key",
            ),
            (
                vec!["0".into()],
                "0",
                json!(["0"]),
                "a key of digits is no index",
            ),
            (
                vec!["env".into(), 2.into(), 0.into(), "name".into()],
                "env[2][0].name",
                json!(["env", 2, 0, "name"]),
                "an index follows its list",
            ),
        ] {
            let path = FieldPath::from(segments);
            assert_eq!(path.to_string(), text, "{reason}");
            assert_eq!(path.to_json(), json, "{reason}");
            assert_eq!(FieldPath::from_json(&json), Some(path), "{reason}");
        }
    }

    #[test]
    fn json_that_is_no_path_is_refused() {
        for json in [
            json!("a.b"),
            json!({}),
            json!([null]),
            json!([-1]),
            json!([1.5]),
            json!([[]]),
        ] {
            assert_eq!(FieldPath::from_json(&json), None, "{json}");
        }
    }

    #[test]
    fn paths_are_ordered_segment_by_segment() {
        let sorted: Vec<FieldPath> = vec![
            FieldPath::default(),
            FieldPath::from(["a"]),
            FieldPath::from(["a", "b"]),
            FieldPath::from([Segment::from("a"), 9.into()]),
            FieldPath::from([Segment::from("a"), 10.into()]),
            FieldPath::from(["a-b"]),
            FieldPath::from(["a.b"]),
        ];
        let mut shuffled = sorted.clone();
        shuffled.reverse();
        shuffled.sort();
        assert_eq!(shuffled, sorted);
    }
}
