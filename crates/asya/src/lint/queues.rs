//! Queues of actors: which of them are the same at a broker.

use std::collections::BTreeMap;

use actor::diagnostic::Code;
use actor::names::EXTERNAL_NAME;
use actor::queue::RESOURCE_NAME as QUEUE;
use function_kit::value;
use pipeline::Outcome;
use serde_json::Value;

use super::across::{Rendered, actor_name, beside, namespace_of};
use super::document::Document;
use super::finding::Finding;

/// A queue of an actor at a broker.
#[derive(Debug)]
pub(super) struct Queue {
    /// Its name at the broker.
    pub(super) name: String,
    /// Kind and name of the ProviderConfig, and the region or virtual host.
    place: String,
    /// Dead-letter and retry queues that the provider creates beside it.
    derived: Vec<Derived>,
}

/// A queue that the provider creates for another one.
#[derive(Debug)]
struct Derived {
    name: String,
    /// Its purpose, as messages name it.
    purpose: &'static str,
}

impl Queue {
    /// The queue of a rendered actor; none without one.
    pub(super) fn of(outcome: &Outcome) -> Option<Self> {
        let queue = outcome.desired.resources.get(QUEUE)?.resource.as_ref()?;
        let queue = value::struct_to_json(queue);
        let text = |path: &str| {
            queue
                .pointer(path)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let name = queue["metadata"]["annotations"][EXTERNAL_NAME].as_str()?;
        let place = [
            "/spec/providerConfigRef/kind",
            "/spec/providerConfigRef/name",
            "/spec/forProvider/sqs/region",
            "/spec/forProvider/sqs/accountId",
            "/spec/forProvider/rabbitmq/vhost",
        ];
        (!name.is_empty()).then(|| Self {
            derived: derived(name, &queue["spec"]["forProvider"]),
            name: name.to_owned(),
            place: place.map(text).join("/"),
        })
    }

    /// The queue without those beside it, for an actor whose flavors are not all known.
    pub(super) fn without_derived(self) -> Self {
        Self {
            derived: Vec::new(),
            ..self
        }
    }
}

/// Names as the provider gives them: `rabbitmq/definition.rs` and `sqs/attributes.rs` of its transports.
fn derived(name: &str, settings: &Value) -> Vec<Derived> {
    let (rabbitmq, sqs) = (&settings["rabbitmq"], &settings["sqs"]);
    let mut found = Vec::new();
    let mut add = |name, purpose| found.push(Derived { name, purpose });
    if rabbitmq["deadLetter"]["enabled"] == true {
        add(format!("{name}-dlq"), "the dead-letter queue");
    }
    if sqs["deadLetter"]["enabled"] == true {
        let letters = match name.strip_suffix(".fifo") {
            Some(name) => format!("{name}-dlq.fifo"),
            None => format!("{name}-dlq"),
        };
        add(letters, "the dead-letter queue");
    }
    let delays = rabbitmq["retryDelaysSeconds"].as_array();
    for delay in delays.into_iter().flatten().filter_map(Value::as_f64) {
        add(format!("{name}-retry-{delay}"), "a retry queue");
    }
    found
}

/// Reports actors whose messages go to one queue; those with one name in one namespace are reported already.
pub(super) fn check(rendered: &[Rendered<'_>], namespace: &str, findings: &mut Vec<Finding>) {
    let mut first: BTreeMap<(&str, &str), &Document> = BTreeMap::new();
    let with_queue = || {
        let with_queue = rendered.iter();
        with_queue.filter_map(|it| Some((it.document, it.queue.as_ref()?)))
    };
    let identity = |it: &Document| {
        let namespace = namespace_of(it, namespace).to_owned();
        (namespace, actor_name(it).to_owned())
    };
    for (document, queue) in with_queue() {
        match first.get(&(queue.place.as_str(), queue.name.as_str())) {
            Some(earlier) if identity(earlier) != identity(document) => {
                let (namespace, name) = identity(earlier);
                let message = format!(
                    "actor {:?} would take messages of actor {name:?} in namespace {namespace:?}: both have queue {:?}",
                    document.object.name(),
                    queue.name
                );
                findings.push(shared(document, earlier, message));
            }
            Some(_) => {}
            None => {
                first.insert((&queue.place, &queue.name), document);
            }
        }
    }
    for (owner, queue) in with_queue() {
        for Derived { name, purpose } in &queue.derived {
            let Some(document) = first.get(&(queue.place.as_str(), name.as_str())) else {
                continue;
            };
            let (namespace, actor) = identity(owner);
            let message = format!(
                "actor {:?} would take messages of actor {actor:?} in namespace {namespace:?}: its queue {name:?} is also {purpose} of that actor",
                document.object.name(),
            );
            findings.push(shared(document, owner, message));
        }
    }
}

fn shared(document: &Document, other: &Document, message: String) -> Finding {
    let path = ["metadata", "name"];
    beside(document, other, Code::QueueShared, path.into(), message)
}
