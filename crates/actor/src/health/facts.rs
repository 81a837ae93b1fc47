//! Facts about an actor other than its pods.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;

use super::{ForProvider, ForeignScaler, MountProblem, Mounted, Pod, WorkloadReference};
use crate::labels;

/// Annotation of a Deployment's `ReplicaSet`s that numbers them. Source: Kubernetes,
/// `pkg/controller/deployment/util`.
const NUMBER: &str = "deployment.kubernetes.io/revision";
/// Label of a Deployment's `ReplicaSet`s and of their pods.
const HASH: &str = "pod-template-hash";

/// State of an actor at one time.
#[derive(Debug, Clone)]
pub struct Facts<'a> {
    /// The actor, its workload and its pods' labels.
    pub target: &'a ForProvider,
    /// The workload; none where there is none.
    pub workload: Option<&'a Workload>,
    /// A Deployment's revisions, in any order.
    pub revisions: Vec<&'a Revision>,
    /// Pods of the actor's namespace, at least all that have the labels; in any order.
    pub pods: Vec<&'a Pod>,
    /// Scalers of the namespace, at least all that scale the workload; none where they
    /// are not known yet.
    pub scalers: Option<Vec<&'a Scaler>>,
    /// Problems of the objects that stuck pods mount; objects without a problem are not in it.
    pub mount_problems: &'a BTreeMap<Mounted, MountProblem>,
}

/// Times after which a state counts as a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HealthTimeouts {
    /// Time that a pod has to mount its volumes before the objects that it mounts are read. Default:
    /// 10 s.
    pub inspection: Duration,
    /// Time that it has before its volumes or its network count as a problem. Default: 1 min.
    pub mount: Duration,
    /// Time that a container must run after a restart before its crashes no longer count. Default: 1
    /// min.
    pub settle: Duration,
}

impl Default for HealthTimeouts {
    fn default() -> Self {
        Self {
            inspection: Duration::from_secs(10),
            mount: Duration::from_mins(1),
            settle: Duration::from_mins(1),
        }
    }
}

/// A Deployment or StatefulSet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Workload {
    /// Its UID.
    pub uid: String,
    /// Replicas that it asks for; Kubernetes takes none for 1.
    pub replicas: Option<u32>,
    /// `status.updateRevision` of a StatefulSet.
    pub update_revision: Option<String>,
}

impl Workload {
    /// The present revision, as its pods' labels name it; none where that is not known.
    pub(super) fn revision<'a>(&'a self, revisions: &[&'a Revision]) -> Option<&'a str> {
        let own = revisions.iter().filter(|found| found.owner == self.uid);
        let newest = own.max_by_key(|revision| (revision.number, &revision.hash));
        let update = self.update_revision.as_deref();
        update.or_else(|| newest.map(|revision| revision.hash.as_str()))
    }
}

/// A revision of a Deployment: what is needed of its `ReplicaSet`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Revision {
    /// UID of the Deployment.
    pub owner: String,
    /// Its number; a Deployment that is rolled back gives an old `ReplicaSet` a new one.
    pub number: u64,
    /// Value of its pods' label.
    pub hash: String,
}

impl Revision {
    /// Reads labels and annotations of a `ReplicaSet` that `owner` controls; none where
    /// they are not those of a Deployment's.
    pub fn read(
        owner: &str,
        labels: &BTreeMap<String, String>,
        annotations: &BTreeMap<String, String>,
    ) -> Option<Self> {
        Some(Self {
            owner: owner.to_owned(),
            number: annotations.get(NUMBER)?.parse().ok()?,
            hash: labels.get(HASH)?.clone(),
        })
    }
}

/// An HPA or ScaledObject.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Scaler {
    /// Group, version, kind and name of itself.
    #[serde(flatten)]
    pub itself: ForeignScaler,
    /// Workload that it scales.
    pub target: WorkloadReference,
    /// The actor that it belongs to, by its label.
    #[serde(default)]
    pub actor: Option<String>,
    /// If true, KEDA has made it for a ScaledObject, which then is the scaler to speak of.
    #[serde(default)]
    pub is_kedas: bool,
    /// Replicas that an HPA has seen.
    #[serde(default)]
    pub seen: Option<u32>,
    /// Replicas that an HPA wants.
    #[serde(default)]
    pub desired: Option<u32>,
}

impl Scaler {
    /// Label of the actor that a scaler belongs to.
    pub const ACTOR: &'static str = labels::ACTOR;

    /// Returns whether it scales the workload of another owner's actor, or of nobody's.
    pub(super) fn is_foreign(&self, actor: &str) -> bool {
        !self.is_kedas && self.actor.as_deref() != Some(actor)
    }
}

/// Replicas that are asked for.
///
/// At 0 an HPA does nothing: KEDA or a user has set that. What an HPA wants counts only
/// while it speaks of the replicas that there are now; it looks every 15 s, and its last
/// value from before a scale-down to 0 would be taken for the first one after it.
pub(super) fn desired(workload: &Workload, scalers: &[&Scaler]) -> u32 {
    let asked = workload.replicas.unwrap_or(1);
    if asked == 0 {
        return 0;
    }
    let wanted = scalers
        .iter()
        .filter(|scaler| scaler.seen == Some(asked))
        .filter_map(|scaler| scaler.desired.filter(|desired| *desired > 0));
    wanted.max().unwrap_or(asked)
}
