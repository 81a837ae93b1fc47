//! Desired objects that are not there, or that the API server will not change.
//!
//! Crossplane records a reference to each object before it applies it, so an
//! object that has a reference and is not observed was refused, was deleted, or
//! belongs to another owner. Which of them, the object itself shows where there is
//! one: it is required by name. A refusal (an *Invalid* answer) shows in the XR's
//! `Synced` as a list of names, without the API server's error.

use actor::labels;
use actor::names::ActorName;
use function_kit::{Call, Identity, value};
use pbjson_types::Struct;

use super::unsynced::Unsynced;
use crate::composed::Part;

/// Desired objects that are missing or not as desired.
#[derive(Debug, Default)]
pub(crate) struct Absences {
    /// Missing objects with a known reason, sorted by composition-resource name.
    pub(crate) lacks: Vec<MissingObject>,
    /// Composition-resource names of those that this reconcile creates, sorted.
    pub(crate) awaited: Vec<String>,
}

/// One object that is not as desired.
#[derive(Debug)]
pub(crate) struct MissingObject {
    /// Role of the object.
    pub(crate) part: Part,
    /// Its kind and name.
    object: String,
    why: Why,
}

#[derive(Debug, PartialEq, Eq)]
enum Why {
    /// It is that of an actor of the same name that was deleted, and is not deleted yet.
    Predecessors,
    /// It is another actor's.
    OtherActors { owner: String },
    /// It is another owner's.
    OtherControllers { owner: String },
    /// The API server refused it.
    Refused { describe: String },
    /// Applying it ended the reconcile before this one.
    Failed { error: String },
    /// It was deleted, and this reconcile creates it again.
    Deleted,
}

impl MissingObject {
    /// Returns whether it is another actor's.
    pub(crate) fn is_other_actors(&self) -> bool {
        matches!(self.why, Why::OtherActors { .. })
    }

    /// Returns whether it belongs to a deleted actor of the same name.
    pub(crate) fn is_predecessors(&self) -> bool {
        self.why == Why::Predecessors
    }

    /// The reason, for a condition.
    pub(crate) fn reason(&self) -> &'static str {
        match self.why {
            Why::Predecessors => "PredecessorDeleting",
            Why::OtherActors { .. } => "NameTaken",
            Why::OtherControllers { .. } => "OwnedByAnother",
            Why::Refused { .. } => "Refused",
            Why::Failed { .. } => "NotApplied",
            Why::Deleted => "Deleted",
        }
    }

    /// Problems of all these objects, in one line; empty without problems.
    pub(crate) fn message(lacks: &[&Self]) -> String {
        let alike = lacks.chunk_by(|one, next| one.why == next.why);
        let messages: Vec<String> = alike
            .filter_map(|lacks| {
                let objects: Vec<&str> = lacks.iter().map(|lack| lack.object.as_str()).collect();
                Some(lacks.first()?.why.message(&objects.join(", ")))
            })
            .collect();
        messages.join("; ")
    }
}

impl Why {
    fn message(&self, objects: &str) -> String {
        match self {
            Self::Predecessors => {
                format!("waiting until {objects} of the deleted actor of the same name is deleted")
            }
            Self::OtherActors { owner } => format!(
                "the name is taken: {owner} owns {objects}; create this actor under another name"
            ),
            Self::OtherControllers { owner } => format!(
                "{owner} owns {objects}: remove it there, or create this actor under another name"
            ),
            Self::Refused { describe } => format!(
                "the API server refused {objects}: its error is in the events of '{describe}'"
            ),
            Self::Failed { error } => error.clone(),
            Self::Deleted => format!("deleted and being created again: {objects}"),
        }
    }
}

/// A desired object of ours that is not observed, or named in `Synced`.
struct Suspect {
    resource: String,
    part: Part,
    api_version: String,
    kind: String,
    name: String,
    is_observed: bool,
}

/// Finds objects that are missing or not as desired. Adds the requirements that explain why.
pub(super) fn find(call: &mut Call, identity: &Identity) -> Absences {
    let unsynced = Unsynced::read(call.xr());
    let mut absences = Absences::default();
    for suspect in suspects(call, &unsynced) {
        let is_named = unsynced.names(&suspect.resource);
        // Objects are applied in any order: where the last reconcile was cut short, a
        // reference does not prove that the object ever existed.
        let was_applied = is_named
            || !unsynced.cut_the_pass_short()
                && has_reference(call.xr(), identity.legacy, &suspect);
        if suspect.is_observed || was_applied {
            let why = why(call, identity, &unsynced, &suspect);
            absences.lacks.push(MissingObject {
                part: suspect.part,
                object: format!("{} {:?}", suspect.kind, suspect.name),
                why,
            });
        } else {
            absences.awaited.push(suspect.resource);
        }
    }
    absences
}

fn suspects(call: &Call, unsynced: &Unsynced) -> Vec<Suspect> {
    call.desired_names()
        .into_iter()
        .filter_map(|resource| {
            let part = Part::of(&resource)?;
            let is_observed = call.observed(&resource).is_some();
            if is_observed && !unsynced.names(&resource) {
                return None;
            }
            let object = call.desired(&resource)?;
            let text = |path: &[&str]| value::text(object, path).unwrap_or_default().to_owned();
            Some(Suspect {
                part,
                api_version: text(&["apiVersion"]),
                kind: text(&["kind"]),
                name: text(&["metadata", "name"]),
                is_observed,
                resource,
            })
        })
        .collect()
}

fn why(call: &mut Call, identity: &Identity, unsynced: &Unsynced, suspect: &Suspect) -> Why {
    if let Unsynced::Failed { error, .. } = unsynced
        && unsynced.names(&suspect.resource)
    {
        return Why::Failed {
            error: error.clone(),
        };
    }
    let describe = describe_command(call.xr());
    if suspect.is_observed {
        return Why::Refused { describe };
    }
    let own = |path: &[&str]| value::text(call.xr(), path).map(str::to_owned);
    let uid = own(&["metadata", "uid"]);
    let (own_kind, own_name) = (own(&["kind"]), own(&["metadata", "name"]));
    let found = call.require(
        &format!("owner-{}", suspect.resource),
        (&suspect.api_version, &suspect.kind),
        &suspect.name,
        Some(&identity.namespace),
    );
    let object = found.and_then(|found| found.first().copied());
    let other = object
        .and_then(controller)
        .filter(|owner| value::text(owner, &["uid"]) != uid.as_deref());
    match other {
        Some(owner) => {
            // An owner with the name of this XR and another UID no longer exists. A legacy XR has a
            // name of its own, so that its objects are recognised by their actor and deletion.
            let has_own_name = value::text(owner, &["kind"]) == own_kind.as_deref()
                && value::text(owner, &["name"]) == own_name.as_deref();
            if has_own_name || is_deleted_of(object, &identity.actor) {
                return Why::Predecessors;
            }
            let text = |key| value::text(owner, &[key]).unwrap_or_default();
            let name = format!("{} {:?}", text("kind"), text("name"));
            if is_actor(text("apiVersion"), text("kind")) {
                Why::OtherActors { owner: name }
            } else {
                Why::OtherControllers { owner: name }
            }
        }
        None if object.is_some() || unsynced.may_name(&suspect.resource) => {
            Why::Refused { describe }
        }
        None => Why::Deleted,
    }
}

/// Returns whether the object belongs to an actor of that name and is being deleted.
fn is_deleted_of(object: Option<&Struct>, actor: &ActorName) -> bool {
    object.is_some_and(|object| {
        value::at(object, &["metadata", "deletionTimestamp"]).is_some()
            && value::text(object, &["metadata", "labels", labels::ACTOR]) == Some(actor.as_str())
    })
}

/// Returns whether Crossplane has a reference to the object. In a legacy XR references lie
/// in `spec` itself.
fn has_reference(xr: &Struct, legacy: bool, suspect: &Suspect) -> bool {
    let path: &[&str] = if legacy {
        &["spec", "resourceRefs"]
    } else {
        &["spec", "crossplane", "resourceRefs"]
    };
    let wanted = [
        ("apiVersion", &suspect.api_version),
        ("kind", &suspect.kind),
        ("name", &suspect.name),
    ];
    value::list(xr, path)
        .iter()
        .filter_map(value::as_struct)
        .any(|reference| {
            wanted
                .iter()
                .all(|(key, wanted)| value::text(reference, &[key]) == Some(wanted))
        })
}

/// The controller among an object's owners.
fn controller(object: &Struct) -> Option<&Struct> {
    value::list(object, &["metadata", "ownerReferences"])
        .iter()
        .filter_map(value::as_struct)
        .find(|owner| value::boolean(owner, &["controller"]) == Some(true))
}

/// Returns whether that kind is an actor: a namespaced XR, or the XR behind a claim.
fn is_actor(api_version: &str, kind: &str) -> bool {
    let group = api_version.split_once('/').map(|(group, _)| group);
    group == Some(actor::GROUP) && kind.strip_prefix('X').unwrap_or(kind) == actor::KIND
}

fn describe_command(xr: &Struct) -> String {
    let kind = value::text(xr, &["kind"]).unwrap_or(actor::KIND);
    let name = value::text(xr, &["metadata", "name"]).unwrap_or_default();
    let command = format!("kubectl describe {} {name}", kind.to_lowercase());
    match value::text(xr, &["metadata", "namespace"]) {
        Some(namespace) => format!("{command} -n {namespace}"),
        None => command,
    }
}
