//! Fields that have no effect: keys that the API does not know, and keys that flavors cannot set.
//! Names only, because a value may be a secret.

use actor::spec::unknown_fields;
use function_kit::{Code, Diagnostic, Location};
use merge::{FieldPath, Segment};
use serde_json::{Map, Value};

use crate::flavors::Flavor;

/// The notices on all documents, flavors first.
pub(crate) fn all(
    flavors: &[Flavor<'_>],
    own: &Map<String, Value>,
    ignored_keys: &[&str],
) -> Vec<Diagnostic> {
    let in_flavors = flavors.iter().flat_map(|flavor| {
        let name = flavor.name.as_str();
        let at = move |path: &FieldPath| Location::flavor(name, below("data", path));
        let unknown = unknown_fields(&flavor.document)
            .into_iter()
            .filter(|path| !is_ignored(path, ignored_keys))
            .map(move |path| {
                let message = format!("unknown field {:?} in flavor {name:?}", path.to_string());
                Diagnostic::warning(Code::UnknownField, at(&path), message)
            });
        let ignored = flavor
            .document
            .keys()
            .filter(|key| ignored_keys.contains(&key.as_str()))
            .map(move |key| {
                let message = format!("flavor {name:?} sets {key:?}, which is ignored");
                Diagnostic::warning(
                    Code::KeyIgnoredInFlavor,
                    at(&[key.as_str()].into()),
                    message,
                )
            });
        unknown.chain(ignored)
    });
    let in_actor = unknown_fields(own).into_iter().map(|path| {
        let message = format!("unknown field {:?} in the actor", path.to_string());
        Diagnostic::warning(
            Code::UnknownField,
            Location::actor(below("spec", &path)),
            message,
        )
    });
    in_flavors.chain(in_actor).collect()
}

fn is_ignored(path: &FieldPath, ignored_keys: &[&str]) -> bool {
    matches!(path.segments(), [Segment::Key(key)] if ignored_keys.contains(&key.as_str()))
}

fn below(root: &str, path: &FieldPath) -> FieldPath {
    let segments = path.segments().iter().cloned();
    std::iter::once(Segment::from(root))
        .chain(segments)
        .collect()
}
