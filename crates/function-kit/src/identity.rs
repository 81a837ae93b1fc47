//! Identity of a request's actor, for all forms of an XR.

use std::collections::BTreeMap;

use actor::diagnostic::{Code, Diagnostic, Location};
use actor::labels;
use actor::names::{ActorName, LABEL_MAX};
use pbjson_types::Struct;
use serde_json::{Value, json};

use crate::{StepError, value};

/// An actor's identity. In a v2 XR it is the object's own; a legacy XR is
/// cluster-scoped and carries its claim's namespace and name in labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Name of the object that the user wrote: the XR, or the claim.
    pub name: String,
    /// Its namespace, and that of everything composed.
    pub namespace: String,
    /// The actor: `spec.actor`, else the name.
    pub actor: ActorName,
    /// Labels of the XR.
    pub labels: BTreeMap<String, String>,
    /// Annotations of the XR.
    pub annotations: BTreeMap<String, String>,
    /// True if the XR is a legacy one.
    pub legacy: bool,
}

/// The actor that a log line is about, as the XR names it, unchecked. Enough for a step that
/// composes nothing, which so works in a Composition of any XR.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// The actor: `spec.actor`, else the claim's name, else the XR's.
    pub actor: String,
    /// Namespace of the XR, or of the claim; empty where it has none.
    pub namespace: String,
    /// True if the XR is a legacy one.
    pub legacy: bool,
}

impl Subject {
    /// Reads the subject from an observed XR.
    pub fn read(xr: &Struct) -> Self {
        let legacy = is_legacy(xr);
        let label = |key| value::text(xr, &["metadata", "labels", key]).filter(|_| legacy);
        let own = |key| value::text(xr, &["metadata", key]);
        let actor = value::text(xr, &["spec", "actor"])
            .or_else(|| label(labels::CLAIM_NAME))
            .or_else(|| own("name"));
        let namespace = own("namespace").or_else(|| label(labels::CLAIM_NAMESPACE));
        Self {
            actor: actor.unwrap_or_default().to_owned(),
            namespace: namespace.unwrap_or_default().to_owned(),
            legacy,
        }
    }
}

impl Identity {
    /// Reads the identity from an observed XR.
    ///
    /// # Errors
    /// When it has no name or no namespace, or no valid actor name follows.
    pub fn read(xr: &Struct) -> Result<Self, StepError> {
        let labels = value::texts(xr, &["metadata", "labels"]);
        let own_namespace = value::text(xr, &["metadata", "namespace"]);
        let legacy = is_legacy(xr);
        let name = labels
            .get(labels::CLAIM_NAME)
            .filter(|_| legacy)
            .map(String::as_str)
            .or_else(|| value::text(xr, &["metadata", "name"]))
            .filter(|name| !name.is_empty())
            .ok_or_else(|| {
                let location = Location::actor(["metadata", "name"]);
                let message = "the composite resource has no name";
                StepError::config(Diagnostic::error(Code::ActorUnnamed, location, message))
            })?
            .to_owned();
        let namespace = own_namespace
            .or_else(|| labels.get(labels::CLAIM_NAMESPACE).map(String::as_str))
            .filter(|namespace| !namespace.is_empty())
            .ok_or_else(|| {
                let location = Location::actor(["metadata", "namespace"]);
                let message = format!("{name:?} has no namespace");
                let diagnostic = Diagnostic::error(Code::ActorWithoutNamespace, location, message)
                    .help("create it as a namespaced AsyncActor, or through a claim");
                StepError::config(diagnostic)
            })?
            .to_owned();
        let actor = actor_name(&name, value::text(xr, &["spec", "actor"]))?;
        let annotations = value::texts(xr, &["metadata", "annotations"]);
        Ok(Self {
            name,
            namespace,
            actor,
            labels,
            annotations,
            legacy,
        })
    }

    /// The field that names the actor: `spec.actor`, else `metadata.name`.
    pub fn location_of_name(xr: &Struct) -> Location {
        Location::actor(match value::text(xr, &["spec", "actor"]) {
            Some(_) => ["spec", "actor"],
            None => ["metadata", "name"],
        })
    }

    /// `metadata` of one composed object.
    pub fn metadata(&self, name: &str, component: &str) -> Value {
        json!({
            "name": name,
            "namespace": self.namespace,
            "labels": labels::of_object(&self.actor, component, &self.labels),
        })
    }
}

/// Returns whether an XR is a legacy one: cluster-scoped, with its machinery in `spec`.
pub(crate) fn is_legacy(xr: &Struct) -> bool {
    value::text(xr, &["metadata", "namespace"]).is_none()
}

fn actor_name(name: &str, explicit: Option<&str>) -> Result<ActorName, StepError> {
    if let Some(actor) = explicit {
        return actor.parse().map_err(|error| {
            let location = Location::actor(["spec", "actor"]);
            let message = format!("spec.actor: {error}");
            StepError::config(Diagnostic::error(Code::InvalidActorName, location, message))
        });
    }
    name.parse().map_err(|_| {
        let location = Location::actor(["metadata", "name"]);
        let message = format!("the object's name {name:?} cannot name an actor");
        let diagnostic =
            Diagnostic::error(Code::InvalidActorName, location, message).help(format!(
                "set spec.actor to a name of at most {LABEL_MAX} lower-case letters, digits and '-'"
            ));
        StepError::config(diagnostic)
    })
}
