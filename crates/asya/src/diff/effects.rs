//! Effects of changed objects on existing pods and queues.

use std::collections::BTreeMap;

use actor::binding::{ADAPTER_RESOURCE_NAME, RESOURCE_NAME as BINDING};
use actor::queue::RESOURCE_NAME as QUEUE;
use actor::spec::WorkloadKind;
use serde_json::{Map, Value, json};

use super::changes::{Change, between};
use pipeline::Object;

/// Fields of the spec of a `StatefulSet` that can change; the API server refuses changes of all
/// others. Source: `ValidateStatefulSetUpdate` of Kubernetes 1.35.
const CHANGEABLE_IN_STATEFULSET: [&str; 7] = [
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
    "revisionHistoryLimit",
];
/// Name of a queue at the broker.
const EXTERNAL_NAME: &str = "crossplane.io/external-name";

/// Objects of one actor, by composed resource.
pub(super) type Objects = BTreeMap<String, Object>;

/// An effect on pods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pods {
    /// The template differs: every pod is replaced by a new one.
    Restart {
        /// Kind and name of the workload.
        workload: String,
    },
    /// The template differs, and the workload replaces a pod only when it is deleted.
    RestartWhenDeleted {
        /// Kind and name of the workload.
        workload: String,
    },
    /// The workload is new.
    Start {
        /// Kind and name of the workload.
        workload: String,
    },
    /// The workload is deleted.
    Stop {
        /// Kind and name of the workload.
        workload: String,
    },
    /// The API server refuses the change: until it is reverted, nothing of the workload changes.
    Refused {
        /// Kind and name of the workload.
        workload: String,
        /// The immutable field.
        field: String,
    },
}

/// Effects of changed objects on pods.
pub(super) fn pods(old: &Objects, new: &Objects) -> Vec<Pods> {
    let mut pods = Vec::new();
    let workloads = [
        WorkloadKind::Deployment.resource_name(),
        WorkloadKind::StatefulSet.resource_name(),
        ADAPTER_RESOURCE_NAME,
    ];
    for resource in workloads {
        match (old.get(resource), new.get(resource)) {
            (Some(old), Some(new)) => of_workload(old, new, &mut pods),
            (Some(old), None) => pods.push(Pods::Stop {
                workload: named(old),
            }),
            (None, Some(new)) => pods.push(Pods::Start {
                workload: named(new),
            }),
            (None, None) => {}
        }
    }
    let [old, new] = [old, new].map(|objects| objects.get(BINDING).map(injected));
    if old != new {
        // Containers are injected into a foreign workload's pods, and removed, by a restart.
        let targets = [old, new].into_iter().flatten().flatten();
        let mut targets: Vec<String> = targets.map(|(target, _)| target).collect();
        targets.dedup();
        pods.extend(
            targets
                .into_iter()
                .map(|workload| Pods::Restart { workload }),
        );
    }
    pods
}

fn of_workload(old: &Object, new: &Object, pods: &mut Vec<Pods>) {
    let workload = named(new);
    if new.kind() == "StatefulSet" {
        let [before, after] = [old, new].map(|object| {
            let spec = object.get(&["spec"]).and_then(Value::as_object).cloned();
            let mut spec = spec.unwrap_or_default();
            spec.retain(|field, _| !CHANGEABLE_IN_STATEFULSET.contains(&field.as_str()));
            Value::Object(spec)
        });
        if let Some(change) = between(&before, &after).first() {
            pods.push(Pods::Refused {
                workload,
                field: format!("spec.{}", change.place),
            });
            return;
        }
    }
    let template = ["spec", "template"];
    if old.get(&template) != new.get(&template) {
        let strategy = new.get(&["spec", "updateStrategy", "type"]);
        let waits = strategy.and_then(Value::as_str) == Some("OnDelete");
        pods.push(if waits {
            Pods::RestartWhenDeleted { workload }
        } else {
            Pods::Restart { workload }
        });
    }
}

/// The target of a binding and the template injected into its pods; none if nothing is injected.
fn injected(binding: &Object) -> Option<(String, Value)> {
    let template = binding.get(&["spec", "forProvider", "template"])?;
    if template.as_object().is_none_or(Map::is_empty) {
        return None;
    }
    let target = binding.get(&["spec", "forProvider", "targetRef"])?;
    let text = |key: &str| target[key].as_str().unwrap_or_default();
    let target = format!("{} {}", text("kind"), text("name"));
    Some((target, template.clone()))
}

fn named(object: &Object) -> String {
    format!("{} {}", object.kind(), object.name())
}

/// An effect on a queue.
#[derive(Debug, Clone, PartialEq)]
pub enum Queue {
    /// It is created.
    Create,
    /// Its settings change in place: no message is lost.
    Settings,
    /// Only the Queue object differs: the queue itself is not written to.
    Object,
    /// It is deleted, with every message in it.
    Delete,
    /// It is deleted once it is empty.
    DeleteIfEmpty,
    /// The object is deleted, and the queue stays.
    Orphan,
    /// A live queue keeps its value of a field; only new actors get the desired one.
    Withheld {
        /// The field.
        field: String,
        /// The value that the queue keeps.
        kept: Value,
        /// The desired value.
        wanted: Value,
    },
}

/// Effects of changed objects on an actor's queue. `fresh` has the objects of a new actor on each
/// side, whose queue does not exist yet.
pub(super) fn queue(old: &Objects, new: &Objects, fresh: [&Objects; 2]) -> Vec<Queue> {
    let mut effects = Vec::new();
    match (old.get(QUEUE), new.get(QUEUE)) {
        (None, None) => {}
        (None, Some(_)) => effects.push(Queue::Create),
        (Some(old), None) => effects.push(deletion(old)),
        (Some(old), Some(new)) => {
            if settings(old) != settings(new) {
                effects.push(Queue::Settings);
            } else if old != new {
                effects.push(Queue::Object);
            }
            let [fresh_old, fresh_new] = fresh.map(|objects| objects.get(QUEUE));
            let before = withheld(old, fresh_old);
            let now = withheld(new, fresh_new).into_iter();
            effects.extend(now.filter(|effect| !before.contains(effect)));
        }
    }
    effects
}

fn deletion(queue: &Object) -> Queue {
    let policies = queue.get(&["spec", "managementPolicies"]);
    let policies = policies.and_then(Value::as_array);
    let may_delete = policies.is_none_or(|policies| {
        let mut policies = policies.iter();
        policies.any(|policy| policy == "*" || policy == "Delete")
    });
    let if_empty = queue.get(&["spec", "forProvider", "deleteOnlyIfEmpty"]);
    match (may_delete, if_empty.and_then(Value::as_bool)) {
        (false, _) => Queue::Orphan,
        (true, Some(true)) => Queue::DeleteIfEmpty,
        (true, _) => Queue::Delete,
    }
}

/// The settings that the provider writes to the queue.
fn settings(queue: &Object) -> [Option<&Value>; 2] {
    ["sqs", "rabbitmq"].map(|r#type| queue.get(&["spec", "forProvider", r#type]))
}

/// Fields in which a live queue keeps another value than a new actor would get.
fn withheld(queue: &Object, fresh: Option<&Object>) -> Vec<Queue> {
    let Some(fresh) = fresh else {
        return Vec::new();
    };
    let document = |queue: &Object| {
        let provider = queue.get(&["spec", "providerConfigRef"]);
        let [sqs, rabbitmq] = settings(queue);
        let mut document = json!({"name": queue.annotation(EXTERNAL_NAME)});
        for (key, value) in [
            ("sqs", sqs),
            ("rabbitmq", rabbitmq),
            ("providerConfigRef", provider),
        ] {
            if let Some(value) = value {
                document[key] = value.clone();
            }
        }
        document
    };
    let value = |side: Option<(_, Value)>| side.map(|(_, value)| value).unwrap_or_default();
    let differences = between(&document(queue), &document(fresh)).into_iter();
    differences
        .map(|Change { place, old, new }| Queue::Withheld {
            field: place.to_string(),
            kept: value(old),
            wanted: value(new),
        })
        .collect()
}
