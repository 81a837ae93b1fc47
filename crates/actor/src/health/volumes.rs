//! Volumes that cannot be mounted.
//!
//! A kubelet that cannot mount a volume reports it in events alone: the pod's containers
//! stay in `ContainerCreating` without an event. What shows is that the pod does not
//! become ready to start containers, since volumes come before the sandbox; and the
//! objects that it mounts can be checked.

use super::finding::{Finding, PodView};
use super::mounted::{MountProblem, Mounted, MountedKind};
use super::pod::Pod;
use super::{HealthTimeouts, Time};

/// Waiting reasons of volumes. Source: cri-api, `pkg/errors`.
const REASONS: [&str; 2] = ["ImageVolumeMountFailed", "RROUnsupported"];
/// Waiting reasons of containers whose turn has not come.
const STARTING: [&str; 2] = ["ContainerCreating", "PodInitializing"];
/// Word in a scheduler's message when no node fits a pod because of its claims.
/// Source: Kubernetes, `pkg/scheduler/framework/plugins/volumebinding`.
const CLAIM: &str = "persistentvolumeclaim";

impl Pod {
    /// Returns the objects that the pod mounts and requires, in the order of its volumes.
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

    /// Returns whether the scheduler finds no node for it because of its claims.
    fn waits_for_claims(&self) -> bool {
        self.condition("PodScheduled").is_some_and(|scheduled| {
            scheduled.status == "False" && scheduled.message.to_lowercase().contains(CLAIM)
        })
    }

    /// Since when it has a node and none of its containers could be started, and whether
    /// its kubelet reports that this is not for want of an image. Kubelets before 1.29 do not.
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

/// Returns the objects that the pod mounts, to be checked: none unless it waits for claims or has been
/// stalled for the inspection timeout.
pub(super) fn questions(pod: &Pod, timeouts: &HealthTimeouts, now: Time) -> Vec<Mounted> {
    let is_slow = |(since, _): (Time, bool)| since.after(timeouts.inspection) <= now;
    if pod.waits_for_claims() || pod.stalled().is_some_and(is_slow) {
        pod.mounted().collect()
    } else {
        Vec::new()
    }
}

/// The next times at which the answer may be another one although the pod is the same.
pub(super) fn turns(pod: &Pod, timeouts: &HealthTimeouts, now: Time) -> Vec<Time> {
    let again = now.after(timeouts.mount);
    match pod.stalled() {
        Some((since, _)) => vec![
            since.after(timeouts.inspection),
            since.after(timeouts.mount),
            again,
        ],
        None if pod.waits_for_claims() => vec![again],
        None => Vec::new(),
    }
}

/// Returns the problem of the pod's volumes, if there is one.
pub(super) fn problem(view: &PodView<'_>) -> Option<Finding> {
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
    let mount_problems = pod
        .mounted()
        .filter_map(|mounted| Some((view.mount_problems.get(&mounted)?, mounted)));
    let mount_problem = mount_problems.min_by_key(|(mount_problem, mounted)| {
        let name = format!("{:?}", mounted.name);
        let is_told = words.is_some_and(|words| words.contains(&name));
        (!is_told, **mount_problem != MountProblem::Missing)
    });
    let mount_problem =
        mount_problem.map(|(mount_problem, mounted)| format!("{mounted} {mount_problem}"));
    let timeouts = view.timeouts.mount;
    let kubelet = || {
        let (since, is_certain) = stalled?;
        (is_certain && since.after(timeouts) <= view.now).then(|| {
            format!(
                "no container could be started in the first {} s on its node: a volume cannot be mounted, or \
                 the node's network fails; the events of the pod tell which",
                timeouts.as_secs()
            )
        })
    };
    let message = mount_problem
        .or_else(|| words.map(str::to_owned))
        .or_else(kubelet)?;
    Some(Finding::of_pod(&message))
}
