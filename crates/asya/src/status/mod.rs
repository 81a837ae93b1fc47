//! The state of live actors and of what each depends on: flavors, queue, workload, scaling.
//!
//! The source is the actor's own conditions and status, and the failing conditions of its objects.
//! Pure: [`crate::inputs`] reads the cluster.

mod form;
pub mod top;

use std::collections::{BTreeMap, BTreeSet};

use actor::labels;
use actor::queue::{self, AtProvider};
use actor::status::{ConditionType, QueueStatus, Replicas, StatusDocument, StatusReason};

pub use form::{json, table, trees};

use pipeline::{COMPOSITE, Object};

/// The state of one actor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActorState {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its status, such as `Running`.
    pub status: String,
    /// True if it is ready.
    pub health: Health,
    /// Details in one line; may be empty.
    pub message: String,
    /// Its queue; unknown fields are missing.
    pub queue: QueueStatus,
    /// Its flavors, in order.
    pub flavors: Vec<String>,
    /// Its pods; unknown counts are missing.
    pub replicas: Replicas,
    /// Its dependencies in the order of the steps.
    pub branches: Vec<Branch>,
}

/// A dependency of an actor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// Name: `flavors`, `target`, `queue`, `workload`, `scaling` or `crossplane`.
    pub name: &'static str,
    /// True if it is ready.
    pub health: Health,
    /// Its state in short: names and counts.
    pub summary: String,
    /// Reason and message of its condition.
    pub message: String,
    /// Failing conditions of its objects.
    pub objects: Vec<String>,
}

/// Health of an actor or a dependency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    /// Ready.
    Good,
    /// Not ready.
    Bad,
    /// No condition yet.
    Unknown,
}

/// A condition of an object.
#[derive(Debug, Clone, Copy)]
struct Condition<'a> {
    status: &'a str,
    reason: &'a str,
    message: &'a str,
}

impl Condition<'_> {
    fn health(self) -> Health {
        match (self.status, self.reason) {
            // Turned off is not broken.
            ("True", _) | ("False", "ScalingDisabled") => Health::Good,
            ("False", _) => Health::Bad,
            _ => Health::Unknown,
        }
    }

    /// Reason and message; the message alone if the condition is True.
    fn text(self) -> String {
        match (self.status, self.reason, self.message) {
            ("True", _, message) => message.to_owned(),
            (_, reason, "") => reason.to_owned(),
            (_, reason, message) => format!("{reason}: {message}"),
        }
    }
}

/// The state of every actor among the objects, sorted by namespace and name.
pub fn states(objects: &[Object]) -> Vec<ActorState> {
    let actors = objects.iter().filter(|object| is_actor(object));
    let sorted: BTreeMap<_, _> = actors
        .map(|actor| ((actor.namespace(), actor.name()), actor))
        .collect();
    let owned = by_owner(objects);
    let states = sorted.into_values();
    states.map(|actor| state(actor, &owned)).collect()
}

fn is_actor(object: &Object) -> bool {
    object.kind() == actor::KIND && object.api_version().starts_with(actor::GROUP)
}

/// Namespace and name of an actor.
type Identity<'a> = (&'a str, &'a str);

/// Composed objects by their actor: by its claim, and by the XR that composed them.
fn by_owner(objects: &[Object]) -> BTreeMap<Identity<'_>, Vec<&Object>> {
    let mut owned: BTreeMap<Identity<'_>, Vec<&Object>> = BTreeMap::new();
    for object in objects.iter().filter(|object| !is_actor(object)) {
        let claim = (
            object.label(labels::CLAIM_NAMESPACE),
            object.label(labels::CLAIM_NAME),
        );
        let composite = (object.namespace(), object.label(COMPOSITE));
        owned.entry(composite).or_default().push(object);
        if claim != composite {
            owned.entry(claim).or_default().push(object);
        }
    }
    owned
}

fn state(actor: &Object, owned: &BTreeMap<Identity<'_>, Vec<&Object>>) -> ActorState {
    let status: StatusDocument = actor
        .get(&["status"])
        .and_then(|status| serde_json::from_value(status.clone()).ok())
        .unwrap_or_default();
    let own = owned.get(&(actor.namespace(), actor.name()));
    let own = own.map_or(&[][..], Vec::as_slice);
    let (reason, health, message) = summary(actor, &status);
    let queue = live_queue(&status, own);
    ActorState {
        namespace: actor.namespace().to_owned(),
        name: actor.name().to_owned(),
        branches: branches(actor, &status, &queue, own, &message),
        status: reason,
        health,
        message,
        queue,
        replicas: status.replicas.unwrap_or_default(),
        flavors: status.flavors.unwrap_or_default(),
    }
}

impl ActorState {
    /// Ready and desired pods, such as `2/5`; `-` if neither is known.
    pub fn pods(&self) -> String {
        let shown = |count: Option<u32>| count.map_or_else(|| "?".to_owned(), |it| it.to_string());
        match (self.replicas.ready, self.replicas.desired) {
            (None, None) => "-".to_owned(),
            (ready, desired) => format!("{}/{}", shown(ready), shown(desired)),
        }
    }
}

/// Status, health and message of an actor as a whole.
fn summary(actor: &Object, status: &StatusDocument) -> (String, Health, String) {
    let deleted = actor.metadata("deletionTimestamp");
    if !deleted.is_empty() {
        // No function runs for an actor that is being deleted, so its status is outdated.
        return (
            StatusReason::Terminating.to_string(),
            Health::Bad,
            format!("since {deleted}"),
        );
    }
    let ready = condition(actor, ConditionType::ActorReady.as_str());
    let Some(ready) = ready else {
        let message = "no function has run for it yet".to_owned();
        return ("Unknown".to_owned(), Health::Unknown, message);
    };
    let message = match ready.message {
        "" => status.message.clone().unwrap_or_default(),
        message => message.to_owned(),
    };
    (ready.reason.to_owned(), ready.health(), message)
}

fn condition<'a>(object: &'a Object, r#type: &str) -> Option<Condition<'a>> {
    let conditions = object.get(&["status", "conditions"])?.as_array()?;
    let found = conditions.iter().find(|it| it["type"] == r#type)?;
    let text = |key: &str| found[key].as_str().unwrap_or_default();
    Some(Condition {
        status: text("status"),
        reason: text("reason"),
        message: text("message"),
    })
}

/// The dependencies of an actor. A message equal to `shown`, the actor's own, is not repeated.
fn branches(
    actor: &Object,
    status: &StatusDocument,
    live: &QueueStatus,
    own: &[&Object],
    shown: &str,
) -> Vec<Branch> {
    let mut branches = Vec::new();
    let parts = [
        (
            "flavors",
            ConditionType::FlavorsResolved,
            flavors(status),
            &[][..],
        ),
        (
            "target",
            ConditionType::TargetResolved,
            target(status),
            &["WorkloadBinding"],
        ),
        (
            "queue",
            ConditionType::TransportReady,
            counted(live),
            &[queue::KIND],
        ),
        (
            "workload",
            ConditionType::WorkloadReady,
            workload(status),
            &["Deployment", "StatefulSet", "ActorHealth"],
        ),
        (
            "scaling",
            ConditionType::ScalingReady,
            scaling(status),
            &["ScaledObject"],
        ),
    ];
    for (name, r#type, summary, kinds) in parts {
        let condition = condition(actor, r#type.as_str());
        if condition.is_none() && summary.is_empty() {
            continue;
        }
        let message = match condition {
            Some(it) if !shown.is_empty() && it.message == shown => it.reason.to_owned(),
            Some(it) => it.text(),
            None => String::new(),
        };
        let objects = own.iter().filter(|object| kinds.contains(&object.kind()));
        branches.push(Branch {
            name,
            health: condition.map_or(Health::Unknown, Condition::health),
            summary,
            message,
            objects: objects.flat_map(|object| problems(object)).collect(),
        });
    }
    let synced = condition(actor, "Synced").filter(|synced| synced.health() == Health::Bad);
    if let Some(synced) = synced {
        branches.push(Branch {
            name: "crossplane",
            health: Health::Bad,
            summary: String::new(),
            message: synced.text(),
            objects: Vec::new(),
        });
    }
    branches
}

fn flavors(status: &StatusDocument) -> String {
    match &status.flavors {
        Some(flavors) if flavors.is_empty() => "none".to_owned(),
        Some(flavors) => flavors.join(", "),
        None => String::new(),
    }
}

fn target(status: &StatusDocument) -> String {
    let target = status.resolved_target.as_ref();
    target.map(ToString::to_string).unwrap_or_default()
}

/// The queue from the status of its Queue object, which the provider writes; without one, from the
/// actor's status, into which Crossplane copies it on its next reconciliation.
fn live_queue(status: &StatusDocument, own: &[&Object]) -> QueueStatus {
    let object = own.iter().find(|object| object.kind() == queue::KIND);
    let observed = object
        .and_then(|object| object.get(&["status", "atProvider"]))
        .and_then(|status| serde_json::from_value::<AtProvider>(status.clone()).ok());
    let copied = status.queue.clone().unwrap_or_default();
    match observed {
        Some(observed) => QueueStatus {
            name: observed.name.or(copied.name),
            url: observed.url.or(copied.url),
            queued: observed.queued,
            processing: observed.processing,
            dead_lettered: observed.dead_lettered,
        },
        None => copied,
    }
}

fn counted(queue: &QueueStatus) -> String {
    let counts = [
        (queue.queued, "queued"),
        (queue.processing, "processing"),
        (queue.dead_lettered, "dead-lettered"),
    ];
    let counts = counts.into_iter();
    let parts = counts.filter_map(|(count, what)| Some(format!("{} {what}", count?)));
    headed(queue.name.as_deref(), &parts.collect::<Vec<_>>())
}

fn workload(status: &StatusDocument) -> String {
    let pods = status.replicas.unwrap_or_default();
    let mut parts = Vec::new();
    if let (Some(ready), Some(desired)) = (pods.ready, pods.desired) {
        parts.push(format!("{ready} of {desired} pods ready"));
    }
    let failing = pods.failing.filter(|failing| *failing > 0);
    parts.extend(failing.map(|failing| format!("{failing} failing")));
    headed(status.workload.as_deref(), &parts)
}

fn scaling(status: &StatusDocument) -> String {
    let pods = status.replicas.unwrap_or_default();
    let mut parts = Vec::new();
    if let (Some(min), Some(max)) = (pods.min, pods.max) {
        parts.push(format!("{min} to {max} pods"));
    }
    if let (Some(direction), Some(time)) = (&status.last_scale_direction, &status.last_scale_time) {
        parts.push(format!("last {} {time}", direction.to_lowercase()));
    }
    parts.extend(status.last_start.as_ref().map(|start| {
        let (scheduled, started) = (start.scheduled_seconds, start.started_seconds);
        format!(
            "last pod ready after {} s (scheduled {scheduled} s, started {started} s)",
            start.ready_seconds
        )
    }));
    headed(status.scaling.as_deref(), &parts)
}

/// `head: part, part`; missing parts are left out.
fn headed(head: Option<&str>, parts: &[String]) -> String {
    let parts = Some(parts.join(", ")).filter(|parts| !parts.is_empty());
    let pieces = head.map(str::to_owned).into_iter().chain(parts);
    pieces.collect::<Vec<_>>().join(": ")
}

/// Failing conditions of an object.
fn problems(object: &Object) -> Vec<String> {
    /// Condition types with their failing status. `Available` is not among them: an actor may be
    /// scaled to zero.
    const PROBLEMS: [(&str, &str); 4] = [
        ("Synced", "False"),
        ("Ready", "False"),
        ("Progressing", "False"),
        ("ReplicaFailure", "True"),
    ];
    let named = format!("{} {}", object.kind(), object.name());
    let mut problems: Vec<String> = PROBLEMS
        .into_iter()
        .filter_map(|(r#type, bad)| {
            let found = condition(object, r#type).filter(|found| found.status == bad)?;
            let text = match found.message {
                "" => found.reason.to_owned(),
                message => format!("{}: {message}", found.reason),
            };
            Some(format!("{named}: {type}={bad}, {text}"))
        })
        .collect();
    let deleted = object.metadata("deletionTimestamp");
    if !deleted.is_empty() {
        problems.push(format!("{named}: is being deleted since {deleted}"));
    }
    problems
}

/// Kinds with conditions and their names for kubectl: singular, since not every kind has a distinct
/// plural.
const KINDS: [(&str, &str); 6] = [
    ("Queue", "queue.provider.asya.sh"),
    ("WorkloadBinding", "workloadbinding.provider.asya.sh"),
    ("Deployment", "deployment.apps"),
    ("StatefulSet", "statefulset.apps"),
    ("ActorHealth", "actorhealth.provider.asya.sh"),
    ("ScaledObject", "scaledobject.keda.sh"),
];

/// Kinds of the composed objects of actors, by the names that kubectl accepts. Legacy actors have
/// `resourceRefs` beside their own fields.
pub fn composed_kinds(actors: &[Object]) -> Vec<&'static str> {
    const REFERENCES: [&[&str]; 2] = [
        &["spec", "crossplane", "resourceRefs"],
        &["spec", "resourceRefs"],
    ];
    let lists = actors
        .iter()
        .flat_map(|actor| REFERENCES.map(|path| actor.get(path)?.as_array()));
    let kinds: BTreeSet<&str> = lists
        .flatten()
        .flatten()
        .filter_map(|reference| reference["kind"].as_str())
        .collect();
    let is_there = |kind: &&(&str, &str)| kinds.contains(kind.0);
    KINDS
        .iter()
        .filter(is_there)
        .map(|(_, name)| *name)
        .collect()
}
