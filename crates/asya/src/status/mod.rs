//! The state of actors that live, with what each depends on: flavors, queue, workload,
//! scaling.
//!
//! Everything is what the actor's own conditions and status say, and beside it what is
//! wrong with the objects that it is made of. Pure: [`crate::inputs`] asks the cluster.

mod form;

use std::collections::{BTreeMap, BTreeSet};

use actor::labels;
use actor::queue::{self, AtProvider};
use actor::status::{ConditionType, QueueStatus, StatusDocument, StatusReason};

pub use form::{json, trees};

use pipeline::{COMPOSITE, Object};

/// The state of one actor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActorState {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its state in a word.
    pub word: String,
    /// Whether it does what it shall.
    pub health: Health,
    /// Its state in a line, where there is something to say.
    pub message: String,
    /// Its queue, as far as it is known.
    pub queue: QueueStatus,
    /// What it depends on, in the order in which one follows from the other.
    pub branches: Vec<Branch>,
}

/// Something that an actor depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// What it is: `flavors`, `target`, `queue`, `workload`, `scaling` or `crossplane`.
    pub name: &'static str,
    /// Whether it is as it shall be.
    pub health: Health,
    /// What is known of it.
    pub summary: String,
    /// Why it is not as it shall be, or what else its condition tells.
    pub message: String,
    /// What is wrong with objects of it.
    pub objects: Vec<String>,
}

/// Whether something is as it shall be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    /// It is.
    Good,
    /// It is not.
    Bad,
    /// Nobody knows yet.
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

    /// Reason and message; of a condition that holds, the message alone.
    fn told(self) -> String {
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
    let states = sorted.into_values();
    states.map(|actor| state(actor, objects)).collect()
}

fn is_actor(object: &Object) -> bool {
    object.kind() == actor::KIND && object.api_version().starts_with(actor::GROUP)
}

fn state(actor: &Object, objects: &[Object]) -> ActorState {
    let status: StatusDocument = actor
        .get(&["status"])
        .and_then(|status| serde_json::from_value(status.clone()).ok())
        .unwrap_or_default();
    let own: Vec<&Object> = objects
        .iter()
        .filter(|object| is_of(object, actor))
        .collect();
    let (word, health, message) = summary(actor, &status);
    let queue = live_queue(&status, &own);
    ActorState {
        namespace: actor.namespace().to_owned(),
        name: actor.name().to_owned(),
        branches: branches(actor, &status, &queue, &own, &message),
        word,
        health,
        message,
        queue,
    }
}

/// Whether an object is one that the actor, or what Crossplane made of the claim, is
/// made of.
fn is_of(object: &Object, actor: &Object) -> bool {
    let claim = (
        object.label(labels::CLAIM_NAMESPACE),
        object.label(labels::CLAIM_NAME),
    );
    let of = (actor.namespace(), actor.name());
    !is_actor(object) && (claim == of || (object.namespace(), object.label(COMPOSITE)) == of)
}

/// StatusReason, health and message of an actor as a whole.
fn summary(actor: &Object, status: &StatusDocument) -> (String, Health, String) {
    let deleted = actor.metadata("deletionTimestamp");
    if !deleted.is_empty() {
        // No function is asked about an actor that is being deleted, so its status is old.
        return (
            StatusReason::Terminating.to_string(),
            Health::Bad,
            format!("since {deleted}"),
        );
    }
    let ready = condition(actor, ConditionType::ActorReady.as_str());
    let Some(ready) = ready else {
        let message = "nothing is known yet: no function has looked at it".to_owned();
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

/// What the actor depends on. What its own line tells already is not told again.
fn branches(
    actor: &Object,
    status: &StatusDocument,
    live: &QueueStatus,
    own: &[&Object],
    told: &str,
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
            Some(it) if !told.is_empty() && it.message == told => it.reason.to_owned(),
            Some(it) => it.told(),
            None => String::new(),
        };
        let objects = own.iter().filter(|object| kinds.contains(&object.kind()));
        branches.push(Branch {
            name,
            health: condition.map_or(Health::Unknown, Condition::health),
            summary,
            message,
            objects: objects.flat_map(|object| faults(object)).collect(),
        });
    }
    let synced = condition(actor, "Synced").filter(|synced| synced.health() == Health::Bad);
    if let Some(synced) = synced {
        branches.push(Branch {
            name: "crossplane",
            health: Health::Bad,
            summary: String::new(),
            message: synced.told(),
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

/// The queue as its own object shows it, which its provider writes; where there is none,
/// as the actor's status does, which is copied from there when Crossplane looks next.
fn live_queue(status: &StatusDocument, own: &[&Object]) -> QueueStatus {
    let object = own.iter().find(|object| object.kind() == queue::KIND);
    let seen = object
        .and_then(|object| object.get(&["status", "atProvider"]))
        .and_then(|seen| serde_json::from_value::<AtProvider>(seen.clone()).ok());
    let told = status.queue.clone().unwrap_or_default();
    match seen {
        Some(seen) => QueueStatus {
            name: seen.name.or(told.name),
            url: seen.url.or(told.url),
            queued: seen.queued,
            processing: seen.processing,
            dead_lettered: seen.dead_lettered,
        },
        None => told,
    }
}

fn counted(queue: &QueueStatus) -> String {
    let counts = [
        (queue.queued, "waiting"),
        (queue.processing, "in work"),
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
    headed(status.scaling.as_deref(), &parts)
}

/// `head: part, part`, as far as there is anything.
fn headed(head: Option<&str>, parts: &[String]) -> String {
    let parts = Some(parts.join(", ")).filter(|parts| !parts.is_empty());
    let pieces = head.map(str::to_owned).into_iter().chain(parts);
    pieces.collect::<Vec<_>>().join(": ")
}

/// What is wrong with an object, by its own conditions.
fn faults(object: &Object) -> Vec<String> {
    /// Each with the status that is no good. That an object is not available is not
    /// told: an actor may sleep.
    const FAULTS: [(&str, &str); 4] = [
        ("Synced", "False"),
        ("Ready", "False"),
        ("Progressing", "False"),
        ("ReplicaFailure", "True"),
    ];
    let named = format!("{} {}", object.kind(), object.name());
    let mut faults: Vec<String> = FAULTS
        .into_iter()
        .filter_map(|(r#type, bad)| {
            let found = condition(object, r#type).filter(|found| found.status == bad)?;
            let told = match found.message {
                "" => found.reason.to_owned(),
                message => format!("{}: {message}", found.reason),
            };
            Some(format!("{named}: {type}={bad}, {told}"))
        })
        .collect();
    let deleted = object.metadata("deletionTimestamp");
    if !deleted.is_empty() {
        faults.push(format!("{named}: is being deleted since {deleted}"));
    }
    faults
}

/// Kinds with conditions, by the names that kubectl knows: singular ones, since not every
/// kind has a plural of its own.
const KINDS: [(&str, &str); 6] = [
    ("Queue", "queue.provider.asya.sh"),
    ("WorkloadBinding", "workloadbinding.provider.asya.sh"),
    ("Deployment", "deployment.apps"),
    ("StatefulSet", "statefulset.apps"),
    ("ActorHealth", "actorhealth.provider.asya.sh"),
    ("ScaledObject", "scaledobject.keda.sh"),
];

/// The kinds of objects that actors refer to: what there is to ask a cluster for. Legacy
/// actors have Crossplane's references beside their own fields.
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
