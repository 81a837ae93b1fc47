//! The observed workload.

use function_kit::value;
use pbjson_types::Struct;

use super::condition::Condition;
use super::{Problem, name_of};

/// The observed Deployment or StatefulSet.
#[derive(Debug)]
pub(crate) struct Workload {
    /// Replicas that its spec asks for.
    pub(crate) asked: Option<u32>,
    /// State that its controller reports; none before the first report.
    pub(crate) reported: Option<Reported>,
    /// True if a new revision is being rolled out.
    pub(crate) rolls_out: bool,
    /// Problem of the workload itself, not of its pods.
    pub(crate) problem: Option<Problem>,
}

/// State of a workload, as its controller reports it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reported {
    /// True if it is about the present spec.
    pub(crate) is_current: bool,
    /// Pods of any revision.
    pub(crate) replicas: u32,
    /// Pods of the present revision.
    pub(crate) updated: u32,
    /// Pods of any revision that are ready.
    pub(crate) ready: u32,
}

impl Reported {
    /// Pods of former revisions.
    pub(crate) fn outdated(self) -> u32 {
        self.replicas.saturating_sub(self.updated)
    }
}

impl Workload {
    pub(super) fn read(object: &Struct) -> Self {
        Self {
            asked: count(object, &["spec", "replicas"]),
            reported: reported(object),
            rolls_out: rolls_out(object),
            problem: problem(object),
        }
    }
}

fn reported(object: &Struct) -> Option<Reported> {
    let seen = value::integer(object, &["status", "observedGeneration"])?;
    // Kubernetes leaves out counts of 0.
    let counted = |key| count(object, &["status", key]).unwrap_or(0);
    Some(Reported {
        is_current: value::integer(object, &["metadata", "generation"])
            .is_none_or(|generation| generation <= seen),
        replicas: counted("replicas"),
        updated: counted("updatedReplicas"),
        ready: counted("readyReplicas"),
    })
}

/// Returns whether the controller reports a rollout that is not complete. A Deployment's condition
/// `Progressing` keeps the reason `NewReplicaSetAvailable` after a rollout, also while it scales.
fn rolls_out(object: &Struct) -> bool {
    const UNDER_WAY: [&str; 3] = [
        "NewReplicaSetCreated",
        "FoundNewReplicaSet",
        "ReplicaSetUpdated",
    ];
    let progress = Condition::of(object, "Progressing");
    let revision = |key| value::text(object, &["status", key]);
    progress.is_some_and(|progress| UNDER_WAY.contains(&progress.reason))
        || revision("updateRevision") != revision("currentRevision")
}

/// Problems that a Deployment's controller reports; a StatefulSet's reports none.
fn problem(object: &Struct) -> Option<Problem> {
    let refused = Condition::of(object, "ReplicaFailure")
        .filter(|failure| failure.status == Some(true))
        .map(|failure| ("ReplicaFailure", failure));
    let stuck = Condition::of(object, "Progressing")
        .filter(|progress| progress.reason == "ProgressDeadlineExceeded")
        .map(|progress| ("ProgressDeadlineExceeded", progress));
    refused.or(stuck).map(|(reason, condition)| Problem {
        reason: reason.to_owned(),
        message: format!(
            "{}: {}",
            name_of(object),
            condition.summary(&["FailedCreate", "FailedDelete", "ProgressDeadlineExceeded"])
        ),
    })
}

pub(super) fn count(object: &Struct, path: &[&str]) -> Option<u32> {
    u32::try_from(value::integer(object, path)?).ok()
}
