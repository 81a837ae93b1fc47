//! Composing: complete objects from the desired state, references to them, and the XR's status.

use std::collections::BTreeMap;

use function_proto::v1::{Ready, Resource};
use pbjson_types::Struct;
use serde_json::{Map, Value, json};

use super::composite::{COMPOSITE, Composite, Observed, RESOURCE_NAME, controller};
use super::composition::Composition;
use super::conditions::{Condition, Conditions};
use super::engine::Outcome;
use super::event::Event;
use super::names;
use super::object::Object;

/// Labels of a legacy XR that go to everything composed.
const CLAIM_LABELS: [&str; 2] = ["crossplane.io/claim-name", "crossplane.io/claim-namespace"];

/// Names that a message lists before it only counts. Source: `DefaultFirstN` of
/// crossplane-runtime.
const NAMED_IN_MESSAGES: usize = 3;

/// Reason for which Crossplane cannot apply a desired object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ComposeError {
    /// It has no kind.
    #[error("desired composed resource {resource:?} has no kind")]
    NoKind {
        /// Name of the composed resource.
        resource: String,
    },
    /// Another owner controls it.
    #[error(
        "cannot render metadata for composed resource {resource:?}: cannot set controller reference: it is already controlled by {controller}"
    )]
    Controlled {
        /// Name of the composed resource.
        resource: String,
        /// Kind, name and UID of the controller.
        controller: String,
    },
    /// Its name is not valid in Kubernetes.
    #[error(
        "cannot apply composed resource {resource:?} because it has an invalid name {name:?}: it must be an RFC 1123 subdomain"
    )]
    InvalidName {
        /// Name of the composed resource.
        resource: String,
        /// Name of the object.
        name: String,
    },
}

/// The result of rendering an XR.
#[derive(Debug, Clone, PartialEq)]
pub struct Rendered {
    /// The XR as Crossplane writes it: status and references, without what its user wrote.
    pub composite: Object,
    /// The composed objects, by the name of the composed resource.
    pub composed: BTreeMap<String, Object>,
    /// Events that Crossplane would emit.
    pub events: Vec<Event>,
    /// The context that the last function left, if it left one.
    pub context: Option<Struct>,
    /// Composed resources that exist and are not desired any more: Crossplane
    /// would delete them.
    pub deleted: Vec<String>,
}

/// Completes the desired state as Crossplane does before it applies it.
///
/// # Errors
/// When an object could not be applied whatever the cluster is like.
pub(crate) fn compose(
    xr: &Composite,
    composition: &Composition,
    observed: &[Observed],
    outcome: Outcome,
) -> Result<Rendered, ComposeError> {
    let existing: BTreeMap<&str, &Object> = observed
        .iter()
        .map(|observed| (observed.resource_name.as_str(), &observed.object))
        .collect();
    let mut events = Vec::new();
    if xr.chosen_composition() != composition.name() {
        let message = format!("Successfully selected composition: {}", composition.name());
        events.push(Event::normal("SelectComposition", message));
    }
    events.extend(outcome.events);
    let desired: BTreeMap<String, Resource> = outcome.desired.resources.into_iter().collect();
    let mut composed = BTreeMap::new();
    let mut unready = Vec::new();
    for (resource, desired) in desired {
        if desired.ready != Ready::True as i32 {
            unready.push(resource.clone());
        }
        let object = desired.resource.as_ref().map(Object::from_struct);
        let existing = existing.get(resource.as_str()).copied();
        let object = complete(
            xr,
            &resource,
            object.unwrap_or_default(),
            existing,
            &mut events,
        )?;
        composed.insert(resource, object);
    }
    for resource in &unready {
        let message = format!("Composed resource {resource:?} is not yet ready");
        events.push(Event::normal(Event::COMPOSE, message));
    }
    let desired_xr = outcome.desired.composite.unwrap_or_default();
    let ready = match desired_xr.ready() {
        Ready::True => Condition::new("Ready", "True", "Available"),
        Ready::False => Condition::new("Ready", "False", "Creating"),
        Ready::Unspecified => readiness(&unready),
    };
    let status = status(xr, desired_xr.resource.as_ref(), outcome.conditions, ready);
    let deleted = existing
        .keys()
        .filter(|name| !composed.contains_key(**name));
    Ok(Rendered {
        deleted: deleted.map(|&name| name.to_owned()).collect(),
        composite: written(xr, &composed, status),
        composed,
        events,
        context: outcome.context,
    })
}

/// A desired object with the name, namespace, labels and owner that it will have.
fn complete(
    xr: &Composite,
    resource: &str,
    mut object: Object,
    existing: Option<&Object>,
    events: &mut Vec<Event>,
) -> Result<Object, ComposeError> {
    if object.kind().is_empty() {
        let resource = resource.to_owned();
        return Err(ComposeError::NoKind { resource });
    }
    if let Some(existing) = existing {
        for key in ["namespace", "name", "generateName"] {
            object.set_metadata(key, existing.metadata(key));
        }
    }
    let namespace = xr.object().namespace();
    if !namespace.is_empty() {
        if !object.namespace().is_empty() && object.namespace() != namespace {
            let message = format!(
                "cannot create composed resource {resource:?} in namespace {:?}, using XR namespace {namespace:?} instead",
                object.namespace()
            );
            events.push(Event::warning("NamespaceOverridden", message));
        }
        object.set_metadata("namespace", namespace);
    }
    if object.name().is_empty() && object.metadata("generateName").is_empty() {
        object.set_metadata("generateName", &format!("{}-", xr.root_name()));
    }
    let annotations = object.map_mut(&["metadata", "annotations"]);
    annotations.insert(RESOURCE_NAME.to_owned(), Value::from(resource));
    label(xr, object.map_mut(&["metadata", "labels"]));
    own(xr, resource, &mut object)?;
    if object.name().is_empty() {
        let name = names::generated(object.metadata("generateName"), xr.uid(), resource);
        object.set_metadata("name", &name);
    }
    if names::is_valid(object.name(), object.api_version(), object.kind()) {
        Ok(object)
    } else {
        Err(ComposeError::InvalidName {
            resource: resource.to_owned(),
            name: object.name().to_owned(),
        })
    }
}

fn label(xr: &Composite, labels: &mut Map<String, Value>) {
    labels.insert(COMPOSITE.to_owned(), Value::from(xr.root_name()));
    let of_claim = CLAIM_LABELS.map(|key| (key, xr.object().label(key)));
    if of_claim.iter().all(|(_, value)| !value.is_empty()) {
        labels.extend(of_claim.map(|(key, value)| (key.to_owned(), Value::from(value))));
    }
}

/// Makes the XR the controller of an object.
fn own(xr: &Composite, resource: &str, object: &mut Object) -> Result<(), ComposeError> {
    let owner = json!({
        "apiVersion": xr.object().api_version(),
        "kind": xr.object().kind(),
        "name": xr.object().name(),
        "uid": xr.uid(),
        "controller": true,
        "blockOwnerDeletion": true,
    });
    if let Some(other) = controller(object).filter(|other| other["uid"] != owner["uid"]) {
        let text = |key: &str| other[key].as_str().unwrap_or_default();
        return Err(ComposeError::Controlled {
            resource: resource.to_owned(),
            controller: format!("{} {:?} (UID {})", text("kind"), text("name"), text("uid")),
        });
    }
    let metadata = object.map_mut(&["metadata"]);
    let mut owners = match metadata.remove("ownerReferences") {
        Some(Value::Array(owners)) => owners,
        _ => Vec::new(),
    };
    match owners.iter_mut().find(|held| held["uid"] == owner["uid"]) {
        Some(held) => *held = owner,
        None => owners.push(owner),
    }
    metadata.insert("ownerReferences".to_owned(), Value::Array(owners));
    Ok(())
}

/// `Ready` of an XR on which no function has an opinion.
fn readiness(unready: &[String]) -> Condition {
    if unready.is_empty() {
        return Condition::new("Ready", "True", "Available");
    }
    let mut condition = Condition::new("Ready", "False", "Creating");
    condition.message = format!("Unready resources: {}", listed(unready));
    condition
}

/// Sorted names as Crossplane lists them.
fn listed(names: &[String]) -> String {
    let (shown, rest) = names.split_at(names.len().min(NAMED_IN_MESSAGES));
    match shown {
        _ if !rest.is_empty() => format!("{}, and {} more", shown.join(", "), rest.len()),
        [others @ .., last] if shown.len() == NAMED_IN_MESSAGES => {
            format!("{}, and {last}", others.join(", "))
        }
        _ => shown.join(", "),
    }
}

/// The XR's status: what the functions desire, with the conditions that it had,
/// those of the functions, and Crossplane's own.
fn status(
    xr: &Composite,
    desired: Option<&Struct>,
    returned: Vec<(Condition, bool)>,
    ready: Condition,
) -> Map<String, Value> {
    let desired = desired.map(Object::from_struct).unwrap_or_default();
    let desired = desired.get(&["status"]);
    let mut status = desired
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    let mut conditions = Conditions::of(desired);
    conditions.set_all(xr.initial_conditions());
    let mut of_claim: Vec<Value> = Vec::new();
    for (condition, for_claim) in returned {
        if Condition::is_reserved(&condition.r#type) {
            continue;
        }
        let r#type = Value::from(condition.r#type.as_str());
        if for_claim && xr.shows_conditions_on_a_claim() && !of_claim.contains(&r#type) {
            of_claim.push(r#type);
        }
        conditions.set(condition);
    }
    // By then Crossplane's renderer has lost the XR's generation.
    conditions.set(Condition::new("Synced", "True", "ReconcileSuccess"));
    conditions.set(ready);
    conditions.at_fixed_time().write(&mut status);
    if !of_claim.is_empty() {
        status.insert("claimConditionTypes".to_owned(), Value::Array(of_claim));
    }
    status
}

/// The XR as Crossplane writes it: references to what is composed, and status.
fn written(
    xr: &Composite,
    composed: &BTreeMap<String, Object>,
    status: Map<String, Value>,
) -> Object {
    let mut references: Vec<Value> = composed
        .values()
        .map(|object| xr.reference(object))
        .collect();
    references.sort_by_cached_key(|reference| {
        let text = |key: &str| reference[key].as_str().unwrap_or_default();
        ["apiVersion", "kind", "name", "namespace"]
            .map(text)
            .concat()
    });
    let mut written = Object::default();
    let identity = [
        ("apiVersion", xr.object().api_version()),
        ("kind", xr.object().kind()),
    ];
    for (key, text) in identity {
        written
            .map_mut(&[])
            .insert(key.to_owned(), Value::from(text));
    }
    written.set_metadata("name", xr.object().name());
    written.set_metadata("namespace", xr.object().namespace());
    let machinery = written.map_mut(xr.machinery().path());
    machinery.insert("resourceRefs".to_owned(), Value::Array(references));
    written
        .map_mut(&[])
        .insert("status".to_owned(), Value::Object(status));
    written
}
