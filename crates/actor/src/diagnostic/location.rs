//! Location of a diagnostic: a document and a field in it.

use std::collections::BTreeSet;
use std::fmt;

use merge::{FieldPath, Origin, Provenance, Segment};
use serde::{Deserialize, Serialize};

/// A document that an actor is made of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// The actor: the XR, or its claim.
    Actor,
    /// The flavor of that name.
    Flavor(String),
    /// The EnvironmentConfig with the platform's settings.
    Platform,
    /// The input that the Composition gives to the step.
    Input,
}

impl fmt::Display for Source {
    /// Writes the source as messages name it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Actor => f.write_str("the actor"),
            Self::Flavor(name) => write!(f, "flavor {name:?}"),
            Self::Platform => f.write_str("the platform's settings"),
            Self::Input => f.write_str("the step's input"),
        }
    }
}

/// A field of a document.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Location {
    /// The document.
    pub source: Source,
    /// The field, from the root of the document; empty for the document itself.
    #[serde(with = "field_path")]
    pub path: FieldPath,
}

impl Location {
    /// A field of the actor, from the root: `spec.image`.
    pub fn actor(path: impl Into<FieldPath>) -> Self {
        Self {
            source: Source::Actor,
            path: path.into(),
        }
    }

    /// A field of a flavor, from the root: `data.image`.
    pub fn flavor(name: impl Into<String>, path: impl Into<FieldPath>) -> Self {
        Self {
            source: Source::Flavor(name.into()),
            path: path.into(),
        }
    }

    /// A field of the platform's EnvironmentConfig, from the root: `data.transports`.
    pub fn platform(path: impl Into<FieldPath>) -> Self {
        Self {
            source: Source::Platform,
            path: path.into(),
        }
    }

    /// A field of the step's input, from the root: `platform.transports`.
    pub fn input(path: impl Into<FieldPath>) -> Self {
        Self {
            source: Source::Input,
            path: path.into(),
        }
    }

    /// The same field in the document as it is written, from which `removed` items of lists were
    /// removed before the merge.
    #[must_use]
    pub fn before_removal(self, removed: &[Self]) -> Self {
        let own = removed.iter().filter(|it| it.source == self.source);
        let own: Vec<&FieldPath> = own.map(|item| &item.path).collect();
        if own.is_empty() {
            return self;
        }
        let mut written: Vec<Segment> = Vec::new();
        for segment in self.path.segments() {
            let segment = match segment {
                Segment::Index(index) => {
                    let list = FieldPath::from(written.clone());
                    original_index(*index, &removed_from(&list, own.iter().copied())).into()
                }
                key @ Segment::Key(_) => key.clone(),
            };
            written.push(segment);
        }
        Self {
            path: written.into(),
            ..self
        }
    }

    /// The document and field that gave `path` of the resolved spec.
    ///
    /// Lists that several layers give are appended, so an index is that within the layer. A field
    /// that no document gives, or that several flavors give a part of, is located in the actor,
    /// where it can be set.
    pub fn in_spec(origins: &Provenance, path: &FieldPath) -> Self {
        match origins.of(path).and_then(Origin::layer) {
            Some(flavor) => Self::flavor(flavor, below("data", &within_layer(origins, path))),
            None => Self::actor(below("spec", path)),
        }
    }
}

/// `path` seen from a document whose field `root` it is below.
fn below(root: &str, path: &FieldPath) -> FieldPath {
    let segments = path.segments().iter().cloned();
    std::iter::once(Segment::from(root))
        .chain(segments)
        .collect()
}

/// The path with its first index counted from the first item of the same layer. Only the first
/// can differ: an item of a list is never split between layers.
fn within_layer(origins: &Provenance, path: &FieldPath) -> FieldPath {
    let mut segments = path.segments().to_vec();
    let first = segments
        .iter()
        .enumerate()
        .find_map(|(at, segment)| match segment {
            Segment::Index(index) => Some((at, *index)),
            Segment::Key(_) => None,
        });
    if let Some((at, index)) = first {
        let origin_of = |index: usize| {
            let item = segments[..at].iter().cloned().chain([index.into()]);
            origins.of(&item.collect())
        };
        let own = origin_of(index);
        let before = (0..index).filter(|other| origin_of(*other) == own).count();
        segments[at] = Segment::Index(before);
    }
    segments.into()
}

/// The indices of the items that are removed from a list.
pub(crate) fn removed_from<'a>(
    list: &FieldPath,
    removed: impl IntoIterator<Item = &'a FieldPath>,
) -> BTreeSet<usize> {
    let own = removed.into_iter().filter_map(|item| {
        let (last, parent) = item.segments().split_last()?;
        match last {
            Segment::Index(index) if parent == list.segments() => Some(*index),
            _ => None,
        }
    });
    own.collect()
}

/// The index that an item had before the items with the `removed` indices were removed.
pub(crate) fn original_index(index: usize, removed: &BTreeSet<usize>) -> usize {
    removed.iter().fold(index, |index, removed| {
        index + usize::from(*removed <= index)
    })
}

/// A path as a list of strings and numbers.
pub(super) mod field_path {
    use merge::FieldPath;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
    use serde_json::Value;

    pub(in super::super) fn serialize<S: Serializer>(
        path: &FieldPath,
        s: S,
    ) -> Result<S::Ok, S::Error> {
        path.to_json().serialize(s)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        d: D,
    ) -> Result<FieldPath, D::Error> {
        let document = Value::deserialize(d)?;
        FieldPath::from_json(&document).ok_or_else(|| D::Error::custom("not the path of a field"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn indices_count_the_items_that_were_removed_before_the_merge() {
        let path = |text: &str| -> FieldPath {
            let segment = |it: &str| it.parse().map_or_else(|_| it.into(), Segment::Index);
            text.split('.').map(segment).collect()
        };
        let removed = [
            Location::flavor("gpu", path("data.containers.0.env.1")),
            Location::flavor("gpu", path("data.containers.0.env.2")),
            Location::flavor("gpu", path("data.init.0")),
            Location::flavor("gpu", path("data.init.1.env.0")),
        ];
        let cases = [
            (
                "gpu",
                "data.containers.0.env.0",
                "data.containers.0.env.0",
                "before the removed ones",
            ),
            (
                "gpu",
                "data.containers.0.env.1.value",
                "data.containers.0.env.3.value",
                "after both",
            ),
            (
                "gpu",
                "data.containers.1.env.1",
                "data.containers.1.env.1",
                "another list",
            ),
            (
                "gpu",
                "data.init.0.env.0",
                "data.init.1.env.1",
                "a list in a moved item",
            ),
            ("spot", "data.init.0", "data.init.0", "another flavor"),
        ];
        for (flavor, merged, written, reason) in cases {
            let found = Location::flavor(flavor, path(merged)).before_removal(&removed);
            assert_eq!(found, Location::flavor(flavor, path(written)), "{reason}");
        }
    }

    #[test]
    fn a_field_of_the_resolved_spec_is_found_in_its_own_document() {
        let origins = Provenance::from_json(&json!({
            "resources": "gpu",
            "scaling": {"minReplicaCount": "gpu", "queueLength": "spot"},
            "volumes": ["gpu", "spot", "spot"],
            "stateProxy": "spot",
        }))
        .unwrap();
        let cases: [(Vec<Segment>, Location, &str); 8] = [
            (
                vec!["image".into()],
                Location::actor(["spec", "image"]),
                "the actor's own",
            ),
            (
                vec!["resources".into(), "limits".into()],
                Location::flavor("gpu", ["data", "resources", "limits"]),
                "a field inside what one flavor gives",
            ),
            (
                vec!["scaling".into(), "queueLength".into()],
                Location::flavor("spot", ["data", "scaling", "queueLength"]),
                "one leaf of a map of two flavors",
            ),
            (
                vec!["scaling".into(), "fallback".into()],
                Location::actor(["spec", "scaling", "fallback"]),
                "what nobody gives can be set in the actor",
            ),
            (
                vec!["scaling".into()],
                Location::actor(["spec", "scaling"]),
                "what several give a part of can be set in the actor",
            ),
            (
                vec!["volumes".into(), 2.into(), "name".into()],
                Location::flavor(
                    "spot",
                    vec!["data".into(), "volumes".into(), 1.into(), "name".into()],
                ),
                "the index counts within the flavor",
            ),
            (
                vec!["stateProxy".into(), 1.into()],
                Location::flavor("spot", vec!["data".into(), "stateProxy".into(), 1.into()]),
                "a list of one flavor alone",
            ),
            (vec![], Location::actor(["spec"]), "the whole spec"),
        ];
        for (path, expected, reason) in cases {
            let found = Location::in_spec(&origins, &path.into());
            assert_eq!(found, expected, "{reason}");
        }
    }
}
