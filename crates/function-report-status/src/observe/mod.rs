//! Observed state of an actor, read once from the request into types.

use actor::binding::RESOURCE_NAME as BINDING;
use actor::health::{AtProvider, RESOURCE_NAME as HEALTH, WATCH_FORBIDDEN};
use actor::names::EXTERNAL_NAME;
use actor::queue::RESOURCE_NAME as QUEUE;
use actor::spec::{Form, Spec, WorkloadRef};
use actor::status::ConditionType;
use function_kit::{Call, Identity, Note, value};
use pbjson_types::Struct;

use crate::composed::WORKLOADS;

use self::condition::Condition;

mod absence;
mod condition;
mod queue;
mod scaler;
mod target;
mod unsynced;
mod workload;

pub(crate) use absence::MissingObject;
pub(crate) use queue::Queue;
pub(crate) use scaler::{Scaler, State};
pub(crate) use target::Target;
pub(crate) use workload::Workload;

/// Observed state of an actor.
#[derive(Debug)]
pub(crate) struct Observation {
    /// True if the actor is being deleted.
    pub(crate) is_deleted: bool,
    /// True if KEDA is to scale it.
    pub(crate) scales: bool,
    /// Fewest and most replicas that there may be.
    pub(crate) bounds: Option<(u32, u32)>,
    /// Its queue's name at the broker.
    pub(crate) queue_name: Option<String>,
    /// Its queue.
    pub(crate) queue: ObservedObject<Queue>,
    /// Its workload.
    pub(crate) workload: ObservedObject<Workload>,
    /// Replicas that its workload is created with.
    pub(crate) created_with: Option<u32>,
    /// Its `ScaledObject`.
    pub(crate) scaler: ObservedObject<Scaler>,
    /// The `ScaledObject` of the target beside it.
    pub(crate) target_scaler: ObservedObject<Scaler>,
    /// State of its pods, as the provider reports it; only its history while that is outdated.
    pub(crate) health: AtProvider,
    /// Problem that keeps the provider from observing the pods: what it reports is of an earlier time.
    pub(crate) outdated: Option<Problem>,
    /// In mode Binding, the workload it works on.
    pub(crate) target: Option<Target>,
    /// Desired objects that are not as desired, for a reason.
    pub(crate) lacks: Vec<MissingObject>,
    /// Composition-resource names of the objects that this reconcile creates.
    pub(crate) awaited: Vec<String>,
    /// Diagnostics of earlier steps.
    pub(crate) notes: Vec<Note>,
    /// Conditions that the actor has already.
    pub(crate) shown: Vec<ConditionType>,
}

/// An object, as far as it has come.
#[derive(Debug)]
pub(crate) enum ObservedObject<T> {
    /// No step of this pipeline desires it.
    NotDesired,
    /// It is desired and does not exist.
    Missing,
    /// It exists.
    Present(T),
}

/// Something that keeps a part from doing its work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    /// Reason, for a condition.
    pub(crate) reason: String,
    /// Problem, in one line.
    pub(crate) message: String,
}

impl<T> ObservedObject<T> {
    fn read(call: &Call, name: &str, read: impl FnOnce(&Struct) -> T) -> Self {
        match (call.desired(name), call.observed(name)) {
            (None, _) => Self::NotDesired,
            (Some(_), None) => Self::Missing,
            (Some(_), Some(object)) => Self::Present(read(object)),
        }
    }

    /// The object, if it exists.
    pub(crate) fn present(&self) -> Option<&T> {
        match self {
            Self::Present(object) => Some(object),
            Self::NotDesired | Self::Missing => None,
        }
    }
}

impl Observation {
    /// Reads what can be known, and requires what is missing for the next call.
    pub(crate) fn of(call: &mut Call, identity: &Identity, spec: &Spec) -> Self {
        let absences = absence::find(call, identity);
        let notes = call.notes().to_vec();
        let workload_name = WORKLOADS
            .into_iter()
            .find(|name| call.desired(name).is_some())
            .unwrap_or_default();
        let queue_name = queue_name(call);
        let outdated = outdated(call);
        let health = at_provider(call).unwrap_or_default();
        let bound_to = spec
            .workload_ref
            .as_ref()
            .filter(|_| Form::of(spec) == Ok(Form::WorkloadRef))
            .map(WorkloadRef::object);
        Self {
            is_deleted: value::at(call.xr(), &["metadata", "deletionTimestamp"]).is_some(),
            scales: spec.scaling.enabled(),
            bounds: bounds(spec, call.desired(workload_name)),
            queue: ObservedObject::read(call, QUEUE, |object| {
                Queue::read(object, queue_name.as_deref().unwrap_or_default())
            }),
            workload: ObservedObject::read(call, workload_name, Workload::read),
            // The API server's default is 1.
            created_with: call
                .desired(workload_name)
                .map(|workload| workload::count(workload, &["spec", "replicas"]).unwrap_or(1)),
            scaler: ObservedObject::read(call, "scaled-object", Scaler::read),
            health: match outdated {
                None => health,
                Some(_) => AtProvider {
                    ever_ready: health.ever_ready,
                    last_scale: health.last_scale,
                    last_start: health.last_start,
                    ..AtProvider::default()
                },
            },
            outdated,
            target_scaler: ObservedObject::read(call, "scaled-object-target", Scaler::read),
            target: bound_to.map(|wanted| {
                call.observed(BINDING)
                    .map(|binding| Target::read(binding, &wanted))
                    .unwrap_or_default()
            }),
            lacks: absences.lacks,
            awaited: absences.awaited,
            shown: ConditionType::ALL
                .into_iter()
                .filter(|shown| value::condition(call.xr(), shown.as_str()).is_some())
                .collect(),
            queue_name,
            notes,
        }
    }

    /// Pods of any revision that are ready.
    pub(crate) fn ready(&self) -> Option<u32> {
        let reported = self
            .workload
            .present()
            .and_then(|workload| workload.reported);
        reported
            .map(|reported| reported.ready)
            .or(self.health.ready)
            .or_else(|| self.is_unreported().then_some(0))
    }

    /// Returns whether the workload of this actor has no pods because it does not exist, or its
    /// controller has not observed it yet.
    fn is_unreported(&self) -> bool {
        match &self.workload {
            ObservedObject::NotDesired => false,
            ObservedObject::Missing => true,
            ObservedObject::Present(workload) => workload.reported.is_none(),
        }
    }

    /// Replicas that are asked for, by the HPA if there is one; of a workload that does not exist, those
    /// that it is created with. At 0 an HPA does nothing: KEDA or a user has set that, or something
    /// else than 0 since, and the provider may not know it yet.
    pub(crate) fn desired(&self) -> Option<u32> {
        let asked = match &self.workload {
            ObservedObject::Present(workload) => workload.asked,
            ObservedObject::Missing => self.created_with,
            ObservedObject::NotDesired => None,
        };
        match (asked, self.health.desired) {
            (Some(0), _) | (None, None) => asked,
            (_, Some(0) | None) if asked.is_some() => asked,
            (_, by_hpa) => by_hpa,
        }
    }

    /// Pods that have not ended.
    pub(crate) fn live(&self) -> Option<u32> {
        let reported = self
            .workload
            .present()
            .and_then(|workload| workload.reported);
        self.health
            .total
            .or_else(|| reported.map(|reported| reported.replicas))
    }

    /// Returns whether a pod of the present revision is certainly ready: more are ready
    /// than there are of former revisions.
    pub(crate) fn current_pod_is_ready(&self) -> bool {
        let reported = self
            .workload
            .present()
            .and_then(|workload| workload.reported);
        let outdated = reported.map_or(0, workload::Reported::outdated);
        self.ready().is_some_and(|ready| ready > outdated)
    }

    /// Returns whether a pod has ever been ready.
    pub(crate) fn was_ever_ready(&self) -> bool {
        self.health.ever_ready || self.ready().is_some_and(|ready| ready > 0)
    }

    /// Returns whether the queue can take messages.
    pub(crate) fn queue_is_ready(&self) -> bool {
        match &self.queue {
            ObservedObject::Present(queue) => queue.ready,
            ObservedObject::Missing => false,
            ObservedObject::NotDesired => true, // it is somebody else's care
        }
    }
}

/// Fewest and most replicas: the spec's under KEDA, else what the workload is
/// rendered with.
fn bounds(spec: &Spec, workload: Option<&Struct>) -> Option<(u32, u32)> {
    if spec.scaling.enabled() {
        return Some((spec.scaling.min(), spec.scaling.max()));
    }
    let replicas = workload::count(workload?, &["spec", "replicas"])?;
    Some((replicas, replicas))
}

/// The queue's name: what its provider reports, else its external-name annotation.
fn queue_name(call: &Call) -> Option<String> {
    let external_name = ["metadata", "annotations", EXTERNAL_NAME];
    let observed = call.observed(QUEUE);
    observed
        .and_then(|queue| value::text(queue, &["status", "atProvider", "name"]))
        .or_else(|| value::text(observed?, &external_name))
        .or_else(|| value::text(call.desired(QUEUE)?, &external_name))
        .map(str::to_owned)
}

/// Returns the provider's report on the pods; none if it has another form, since an incomplete
/// status is better than none.
fn at_provider(call: &Call) -> Option<AtProvider> {
    let health = call.observed(HEALTH)?;
    let reported = value::map(health, &["status", "atProvider"])?;
    serde_json::from_value(value::struct_to_json(reported)).ok()
}

/// Returns why the provider's report on the pods is of an earlier time, if it is.
fn outdated(call: &Call) -> Option<Problem> {
    let synced = Condition::of(call.observed(HEALTH)?, "Synced")?;
    let is_outdated = synced.status == Some(false) && synced.reason == WATCH_FORBIDDEN;
    is_outdated.then(|| Problem {
        reason: WATCH_FORBIDDEN.to_owned(),
        message: synced.summary(&[WATCH_FORBIDDEN]),
    })
}

/// Kind and name of an object, as messages write them.
fn name_of(object: &Struct) -> String {
    let kind = value::text(object, &["kind"]).unwrap_or_default();
    let name = value::text(object, &["metadata", "name"]).unwrap_or_default();
    format!("{kind} {name:?}")
}
