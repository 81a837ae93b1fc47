//! Actors with their queues, workloads, scalers and flavors, and the routes between them.
//!
//! Pure: [`crate::inputs`] reads files and clusters.

mod form;

use std::collections::{BTreeMap, BTreeSet};

use actor::labels;
use actor::platform::EndActors;
use actor::queue;
use actor::status::StatusDocument;
use function_kit::value;
use pipeline::{EngineError, Functions, Inputs, Object, RenderError, outcome};
use serde_json::Value;

use crate::render_result::resolved_spec;
use crate::steps::up_to_scaling;

pub use form::{dot, json, mermaid, tree};

/// Graph of actors and routes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Graph {
    /// The actors, sorted by namespace and name.
    pub actors: Vec<Actor>,
    /// Routes of messages: names of actors, in order.
    pub routes: Vec<Vec<String>>,
    /// Actors at which routes end.
    pub ends: EndActors,
}

/// An actor and what belongs to it; what is not known is missing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Actor {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The name by which routes mention it: `spec.actor`, else its own.
    pub route_name: String,
    /// Its flavors, in order.
    pub flavors: Vec<String>,
    /// Name of its queue.
    pub queue: Option<String>,
    /// Name of its transport.
    pub transport: Option<String>,
    /// Kind and name of the workload that its messages reach.
    pub workload: Option<String>,
    /// Scaler of the workload, and the range of its pods.
    pub scaler: Option<String>,
    /// Error for which it cannot be rendered.
    pub problem: Option<String>,
}

impl Graph {
    /// The graph of actors with these routes.
    pub fn new(mut actors: Vec<Actor>, routes: Vec<Vec<String>>, ends: EndActors) -> Self {
        actors.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
        Self {
            actors,
            routes,
            ends,
        }
    }

    /// Names in routes that no actor has, each once.
    pub fn unknown(&self) -> Vec<&str> {
        let known: BTreeSet<&str> = self
            .actors
            .iter()
            .map(|it| it.route_name.as_str())
            .collect();
        let named = self.routes.iter().flatten().map(String::as_str);
        let unknown: BTreeSet<&str> = named
            .filter(|name| !known.contains(name) && !self.ends.is_end(name))
            .collect();
        unknown.into_iter().collect()
    }

    /// The actors that come directly after each actor in a route, by their names in routes.
    fn next(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let mut next: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for route in &self.routes {
            let end = std::iter::once(self.ends.sink.as_str());
            let after = route.iter().skip(1).map(String::as_str).chain(end);
            for (from, to) in route.iter().zip(after) {
                if from != to {
                    next.entry(from).or_default().insert(to);
                }
            }
        }
        next
    }
}

/// The actor of a case, as the functions render it.
pub fn rendered(inputs: &Inputs, functions: &Functions) -> Actor {
    let object = inputs.composite.object();
    let mut actor = Actor {
        namespace: object.namespace().to_owned(),
        name: object.name().to_owned(),
        route_name: route_name(object),
        flavors: texts(object.get(&["spec", "flavors"])),
        ..Actor::default()
    };
    let inputs = Inputs {
        composition: up_to_scaling(inputs.composition.clone()),
        ..inputs.clone()
    };
    let outcome = match outcome(&inputs, functions) {
        Ok(outcome) => outcome,
        Err(error) => {
            actor.problem = Some(match error {
                RenderError::Engine(EngineError::Fatal { messages, .. }) => messages.join("; "),
                error => error.lines().join("; "),
            });
            return actor;
        }
    };
    let spec = resolved_spec(&outcome);
    let transport = spec.as_ref().and_then(|spec| spec["transport"].as_str());
    actor.transport = transport.map(str::to_owned);
    let resources: BTreeMap<_, _> = outcome.desired.resources.iter().collect();
    for resource in resources.into_values() {
        let Some(resource) = &resource.resource else {
            continue;
        };
        let text = |path: &[&str]| value::text(resource, path).unwrap_or_default().to_owned();
        let (kind, name) = (text(&["kind"]), text(&["metadata", "name"]));
        match kind.as_str() {
            queue::KIND => {
                let external = text(&["metadata", "annotations", actor::names::EXTERNAL_NAME]);
                actor.queue = Some(if external.is_empty() { name } else { external });
                let broker = ["sqs", "rabbitmq"]
                    .into_iter()
                    .find(|broker| value::at(resource, &["spec", "forProvider", broker]).is_some());
                if actor.transport.is_none() {
                    actor.transport = broker.map(str::to_owned);
                }
            }
            "Deployment" | "StatefulSet" => actor.workload = Some(format!("{kind} {name}")),
            "WorkloadBinding" if actor.workload.is_none() => {
                let target =
                    [&["spec", "target", "kind"][..], &["spec", "target", "name"]].map(text);
                actor.workload = Some(target.join(" "));
            }
            "ScaledObject" => {
                let number = |field: &str| value::integer(resource, &["spec", field]);
                let min = number("minReplicaCount").unwrap_or(0);
                let max = number("maxReplicaCount").unwrap_or(100);
                actor.scaler = Some(format!("KEDA: {min} to {max} pods"));
            }
            _ => {}
        }
    }
    actor
}

/// The live actors among objects of a cluster.
pub fn live(objects: &[Object]) -> Vec<Actor> {
    let is_actor = |object: &&Object| {
        object.kind() == actor::KIND && object.api_version().starts_with(actor::GROUP)
    };
    objects.iter().filter(is_actor).map(of_live).collect()
}

fn of_live(object: &Object) -> Actor {
    let status: StatusDocument = object
        .get(&["status"])
        .and_then(|status| serde_json::from_value(status.clone()).ok())
        .unwrap_or_default();
    let pods = status.replicas.unwrap_or_default();
    let range = match (pods.min, pods.max) {
        (Some(min), Some(max)) => format!(": {min} to {max} pods"),
        _ => String::new(),
    };
    Actor {
        namespace: object.namespace().to_owned(),
        name: object.name().to_owned(),
        route_name: route_name(object),
        flavors: status
            .flavors
            .unwrap_or_else(|| texts(object.get(&["spec", "flavors"]))),
        queue: status.queue.and_then(|queue| queue.name),
        transport: status.transport,
        workload: status
            .workload
            .map(|kind| format!("{kind} {}", route_name(object))),
        scaler: status.scaling.map(|scaler| format!("{scaler}{range}")),
        problem: None,
    }
}

fn route_name(object: &Object) -> String {
    let own = object.get(&["spec", "actor"]).and_then(Value::as_str);
    let claim = object.label(labels::CLAIM_NAME);
    match own.filter(|name| !name.is_empty()) {
        Some(name) => name.to_owned(),
        None if !claim.is_empty() => claim.to_owned(),
        None => object.name().to_owned(),
    }
}

fn texts(list: Option<&Value>) -> Vec<String> {
    let list = list.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(|it| Some(it.as_str()?.to_owned()))
        .collect()
}

/// The route of a message: the actor that it is at, and those that it still visits. None if the
/// document is no message.
pub fn route_of(message: &Value) -> Option<Vec<String>> {
    let route = message.get("route")?;
    let mut names = texts(route.get("prev"));
    let current = route.get("curr").and_then(Value::as_str);
    names.extend(current.filter(|it| !it.is_empty()).map(str::to_owned));
    names.extend(texts(route.get("next")));
    (!names.is_empty()).then_some(names)
}
