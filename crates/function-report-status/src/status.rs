//! `status` of an actor.
//!
//! Unknown values are absent, never 0. Known empty values (an empty message, an empty list) are
//! written, since Crossplane may keep the old value of a field that is omitted.

use actor::spec::{Form, Spec, WorkloadKind};
use actor::status::{QueueStatus, Replicas, StatusDocument, StatusReason};

use crate::observe::Observation;

/// The status of an actor with that status.
pub(crate) fn document(
    seen: &Observation,
    spec: Spec,
    (reason, message): (StatusReason, String),
    transport_is_ready: bool,
    observed_generation: Option<i64>,
) -> StatusDocument {
    let last_scale = seen.health.last_scale.as_ref();
    let target = seen.target.as_ref();
    let transport = if transport_is_ready {
        "Ready"
    } else {
        "NotReady"
    };
    let by_keda = seen.scales && !seen.is_not_scalable();
    let scaling = if by_keda { "KEDA" } else { "Manual" };
    StatusDocument {
        mode: Some(Form::of(&spec).unwrap_or(Form::Inline).mode().to_owned()),
        status: Some(reason.to_string()),
        message: Some(message),
        replicas: known(replicas(seen)),
        workload: Some(workload_kind(&spec).to_owned()),
        transport: Some(transport.to_owned()),
        scaling: Some(scaling.to_owned()),
        last_scale_time: last_scale.map(|scale| scale.time.clone()),
        last_scale_direction: last_scale.map(|scale| scale.direction.clone()),
        last_start: seen.health.last_start.clone(),
        queue: known(queue(seen)),
        resolved_target: target.and_then(|target| target.resolved.clone()),
        conflict_count: target.and_then(|target| target.conflict_count),
        last_conflict_time: target.and_then(|target| target.last_conflict_time.clone()),
        flavors: Some(spec.flavors),
        observed_generation,
    }
}

/// None where nothing is known.
fn known<T: Default + PartialEq>(facts: T) -> Option<T> {
    (facts != T::default()).then_some(facts)
}

fn replicas(seen: &Observation) -> Replicas {
    Replicas {
        ready: seen.ready(),
        failing: seen.health.failing,
        total: seen.health.total,
        desired: seen.desired(),
        min: seen.bounds.map(|(min, _)| min),
        max: seen.bounds.map(|(_, max)| max),
    }
}

fn queue(seen: &Observation) -> QueueStatus {
    let queue = seen.queue.present();
    QueueStatus {
        name: seen.queue_name.clone(),
        url: queue.and_then(|queue| queue.url.clone()),
        queued: queue.and_then(|queue| queue.queued),
        processing: queue.and_then(|queue| queue.processing),
        dead_lettered: queue.and_then(|queue| queue.dead_lettered),
    }
}

/// Kind of the workload: the one rendered, or in mode Binding the one named.
fn workload_kind(spec: &Spec) -> &str {
    match (&spec.workload_ref, &spec.workload) {
        (Some(target), _) => &target.kind,
        (None, Some(workload)) => workload.kind.as_str(),
        (None, None) => WorkloadKind::default().as_str(),
    }
}
