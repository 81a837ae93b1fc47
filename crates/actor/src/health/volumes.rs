//! Volumes that cannot be mounted.
//!
//! A kubelet that cannot mount a volume says so in events alone: the pod's containers
//! stay in `ContainerCreating` without an event. What shows is that the pod does not
//! become ready to start containers, since volumes come before the sandbox; and the
//! objects that it mounts can be looked at.

use std::fmt;

use serde::Deserialize;

use super::pod::Pod;
use super::signal::{Finding, PodView};
use super::{Patience, Time};

/// Waiting reasons of volumes. Source: cri-api, `pkg/errors`.
const REASONS: [&str; 2] = ["ImageVolumeMountFailed", "RROUnsupported"];
/// Waiting reasons of containers whose turn has not come.
const STARTING: [&str; 2] = ["ContainerCreating", "PodInitializing"];
/// What a scheduler speaks of when no node can have a pod because of its claims.
/// Source: Kubernetes, `pkg/scheduler/framework/plugins/volumebinding`.
const CLAIM: &str = "persistentvolumeclaim";

/// An object that a pod mounts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub struct Mounted {
    /// Its kind.
    pub kind: MountedKind,
    /// Its name.
    pub name: String,
}

/// The kinds of object that a pod can mount and may find missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub enum MountedKind {
    /// A claim to storage.
    PersistentVolumeClaim,
    /// A ConfigMap.
    ConfigMap,
    /// A Secret.
    Secret,
}

/// Why such an object cannot be mounted.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Obstacle {
    /// It is not there.
    Missing,
    /// It is a claim without storage.
    #[serde(rename_all = "camelCase")]
    Unbound {
        /// Its phase.
        phase: String,
        /// Its storage class, where it names one.
        storage_class: Option<String>,
    },
}

impl fmt::Display for Mounted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            MountedKind::PersistentVolumeClaim => "PersistentVolumeClaim",
            MountedKind::ConfigMap => "ConfigMap",
            MountedKind::Secret => "Secret",
        };
        write!(f, "{kind} {:?}", self.name)
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("is not there"),
            Self::Unbound {
                phase,
                storage_class: None,
            } => write!(f, "is {phase}, and names no storage class"),
            Self::Unbound {
                phase,
                storage_class: Some(class),
            } => write!(f, "is {phase} (storage class {class:?})"),
        }
    }
}

impl Pod {
    /// What it mounts and cannot do without, in the order of its volumes.
    fn mounted(&self) -> impl Iterator<Item = Mounted> {
        let of = |kind, name: &str| Mounted {
            kind,
            name: name.to_owned(),
        };
        self.spec.volumes.iter().flat_map(move |volume| {
            let ephemeral = volume.ephemeral.as_ref();
            let ephemeral = ephemeral.map(|_| format!("{}-{}", self.metadata.name, volume.name));
            let claim = volume.persistent_volume_claim.as_ref();
            let claim = claim.map(|claim| claim.claim_name.clone()).or(ephemeral);
            let projected = volume.projected.iter();
            let projected = projected.flat_map(|projected| &projected.sources);
            let config_maps = projected
                .clone()
                .filter_map(|source| source.config_map.as_ref());
            let secrets = projected.filter_map(|source| source.secret.as_ref());
            let config_maps = volume.config_map.iter().chain(config_maps);
            let secrets = volume.secret.iter().chain(secrets);
            claim
                .map(|name| of(MountedKind::PersistentVolumeClaim, &name))
                .into_iter()
                .chain(
                    config_maps
                        .filter(|source| !source.optional)
                        .map(move |source| of(MountedKind::ConfigMap, &source.name)),
                )
                .chain(
                    secrets
                        .filter(|source| !source.optional)
                        .map(move |source| of(MountedKind::Secret, &source.secret_name)),
                )
        })
    }

    /// Whether the scheduler finds no node for it because of its claims.
    fn waits_for_claims(&self) -> bool {
        self.condition("PodScheduled").is_some_and(|scheduled| {
            scheduled.status == "False" && scheduled.message.to_lowercase().contains(CLAIM)
        })
    }

    /// Since when it has a node and none of its containers could be started, and whether
    /// its kubelet says that this is not for want of an image. Kubelets before 1.29 do not.
    fn stalled(&self) -> Option<(Time, bool)> {
        let is_starting = self.container_statuses().all(|container| {
            let waiting = container.state.waiting.as_ref();
            waiting.is_some_and(|waiting| STARTING.contains(&waiting.reason.as_str()))
        });
        let scheduled = self.condition("PodScheduled")?;
        if scheduled.status != "True" || !is_starting {
            return None;
        }
        match self.condition("PodReadyToStartContainers") {
            Some(can_start) if can_start.status == "False" => {
                Some((can_start.last_transition_time?, true))
            }
            Some(_) => None,
            None => Some((scheduled.last_transition_time?, false)),
        }
    }
}

/// What the pod mounts, once it is time to check that.
pub(super) fn questions(pod: &Pod, patience: &Patience, now: Time) -> Vec<Mounted> {
    let is_slow = |(since, _): (Time, bool)| since.after(patience.inspection) <= now;
    if pod.waits_for_claims() || pod.stalled().is_some_and(is_slow) {
        pod.mounted().collect()
    } else {
        Vec::new()
    }
}

/// The next times at which the answer may be another one although the pod is the same.
pub(super) fn turns(pod: &Pod, patience: &Patience, now: Time) -> Vec<Time> {
    let again = now.after(patience.mount);
    match pod.stalled() {
        Some((since, _)) => vec![
            since.after(patience.inspection),
            since.after(patience.mount),
            again,
        ],
        None if pod.waits_for_claims() => vec![again],
        None => Vec::new(),
    }
}

/// What is wrong with the pod's volumes.
pub(super) fn fault(view: &PodView<'_>) -> Option<Finding> {
    let pod = view.pod;
    if let Some(found) = view.waits_for(&REASONS) {
        return Some(found);
    }
    let (waits, stalled) = (pod.waits_for_claims(), pod.stalled());
    if !waits && stalled.is_none() {
        return None;
    }
    let unplaced = pod.condition("PodScheduled").filter(|_| waits);
    let words = unplaced.map(|unplaced| unplaced.message.as_str());
    // A claim may rightly wait for the pod's node, so one that is missing is reported first.
    let obstacles = pod
        .mounted()
        .filter_map(|mounted| Some((view.obstacles.get(&mounted)?, mounted)));
    let obstacle = obstacles.min_by_key(|(obstacle, mounted)| {
        let name = format!("{:?}", mounted.name);
        let is_told = words.is_some_and(|words| words.contains(&name));
        (!is_told, **obstacle != Obstacle::Missing)
    });
    let obstacle = obstacle.map(|(obstacle, mounted)| format!("{mounted} {obstacle}"));
    let patience = view.patience.mount;
    let kubelet = || {
        let (since, is_certain) = stalled?;
        (is_certain && since.after(patience) <= view.now).then(|| {
            format!(
                "no container could be started in the first {} s on its node: a volume cannot be mounted, or \
                 the node's network fails; the events of the pod tell which",
                patience.as_secs()
            )
        })
    };
    let message = obstacle
        .or_else(|| words.map(str::to_owned))
        .or_else(kubelet)?;
    Some(Finding::of_pod(&message))
}
