//! What is worth telling of documents that merge well: keys that the API does not
//! know, and keys that flavors cannot set. Names only, for a value may be a secret.

use actor::spec::unknown_fields;
use serde_json::{Map, Value};

use crate::flavors::Flavor;

/// The notices on all documents, flavors first, joined; none where there are none.
pub(crate) fn of(
    flavors: &[Flavor<'_>],
    own: &Map<String, Value>,
    left_out: &[&str],
) -> Option<String> {
    let of_flavors = flavors.iter().flat_map(|flavor| {
        let name = flavor.name.as_str();
        let unknown = unknown_texts(&flavor.document)
            .filter(|field| !left_out.contains(&field.as_str()))
            .map(move |field| format!("unknown field {field:?} in flavor {name:?}"));
        let ignored = flavor
            .document
            .keys()
            .filter(|key| left_out.contains(&key.as_str()))
            .map(move |key| format!("flavor {name:?} sets {key:?}, which is ignored"));
        unknown.chain(ignored)
    });
    let of_actor = unknown_texts(own).map(|field| format!("unknown field {field:?} in the actor"));
    let notices: Vec<String> = of_flavors.chain(of_actor).collect();
    (!notices.is_empty()).then(|| notices.join("; "))
}

/// The unknown fields of a document, as messages name them.
fn unknown_texts(document: &Map<String, Value>) -> impl Iterator<Item = String> {
    let unknown = unknown_fields(document).into_iter();
    unknown.map(|path| path.to_string())
}
