//! Fields that have no effect: keys that the API does not know, and keys that flavors cannot set.
//! Names only, because a value may be a secret.

use actor::spec::{Lost, keys_without_effect, unknown_fields};
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
    let replaced = flavors.iter().flat_map(|flavor| replaced(flavor, own));
    in_flavors.chain(in_actor).chain(replaced).collect()
}

/// The fields of a flavor that the actor replaces as a whole, with the keys that are lost by that.
fn replaced(flavor: &Flavor<'_>, own: &Map<String, Value>) -> Vec<Diagnostic> {
    let name = flavor.name.as_str();
    let fields = flavor.document.iter();
    let both = fields.filter_map(|(field, given)| {
        let own = own.get(field).filter(|own| !own.is_null())?;
        let lost = keys_without_effect(&FieldPath::from([field.as_str()]), given, own);
        (!lost.is_empty()).then_some((field, lost))
    });
    both.map(|(field, lost)| {
        let keys: Vec<String> = lost.iter().map(ToString::to_string).collect();
        let message = format!(
            "{} of flavor {name:?} has no effect: the actor's own {field:?} replaces the whole field",
            keys.join(", ")
        );
        let location = Location::flavor(name, below("data", &lost[0]));
        Diagnostic::info(Code::FlavorKeysReplaced, location, message)
            .related([Location::actor(["spec", field])])
    })
    .collect()
}

/// What a flavor loses to inline fields and the timeout of the actor.
pub(crate) fn yielded(flavor: &str, lost: &[Lost]) -> Vec<Diagnostic> {
    let mut by: Vec<&FieldPath> = lost.iter().map(|lost| &lost.by).collect();
    by.sort_unstable();
    by.dedup();
    let by = by.into_iter();
    by.map(|own| {
        let lost: Vec<&Lost> = lost.iter().filter(|lost| lost.by == *own).collect();
        let keys: Vec<String> = lost.iter().map(|lost| lost.path.to_string()).collect();
        let keys = keys.join(", ");
        let keys = match lost[0].variable {
            Some(variable) => format!("{variable} in {keys}"),
            None => keys,
        };
        let message = format!(
            "{keys} of flavor {flavor:?} has no effect: the actor's own \"{own}\" replaces it"
        );
        let location = Location::flavor(flavor, below("data", &lost[0].path));
        Diagnostic::info(Code::FlavorKeysReplaced, location, message)
            .related([Location::actor(below("spec", own))])
    })
    .collect()
}

/// `replicas` that KEDA sets in its place.
pub(crate) fn replicas_while_scaling(
    resolved: &Map<String, Value>,
    locate: impl Fn(&FieldPath) -> Location,
) -> Option<Diagnostic> {
    let is_off = resolved
        .get("scaling")
        .is_some_and(|scaling| scaling["enabled"] == Value::Bool(false));
    let inline = resolved.get("replicas").filter(|count| !count.is_null());
    let workload = resolved
        .get("workload")
        .and_then(|workload| workload.get("replicas"));
    let path = match (inline, workload) {
        (Some(_), _) => FieldPath::from(["replicas"]),
        (None, Some(_)) => FieldPath::from(["workload", "replicas"]),
        (None, None) => return None,
    };
    (!is_off).then(|| {
        let message = format!("{path} has no effect while scaling is on");
        Diagnostic::warning(Code::ReplicasWhileScaling, locate(&path), message)
            .help("set scaling.minReplicaCount, or scaling.enabled: false")
    })
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
