//! Fields of a pod that the classifier reads: a small part of the object.
//!
//! Reading a pod into these types drops everything else, such as env, mounts and
//! addresses, so that thousands of pods fit in memory and a change of anything else
//! is no change.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Time;

/// Label of a Deployment's pods that holds their revision.
const TEMPLATE_HASH: &str = "pod-template-hash";
/// Label of a StatefulSet's pods that holds their revision.
const REVISION_HASH: &str = "controller-revision-hash";

macro_rules! view {
    ($(#[$attribute:meta])* $name:ident {$($(#[$of_field:meta])* $field:ident: $type:ty,)*}) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        pub struct $name {
            $($(#[$of_field])* pub $field: $type,)*
        }
    };
}

view!(
    /// A pod.
    Pod {
        /// Name and labels.
        metadata: PodMetadata,
        /// Desired containers.
        spec: PodSpec,
        /// State that its kubelet and the scheduler report.
        status: PodStatus,
    }
);

view!(
    /// `metadata` of a pod.
    PodMetadata {
        /// Its name.
        name: String,
        /// Its labels.
        labels: BTreeMap<String, String>,
        /// When it was created.
        creation_timestamp: Option<Time>,
        /// Set once it is being deleted.
        deletion_timestamp: Option<Time>,
    }
);

view!(
    /// `spec` of a pod.
    PodSpec {
        /// Containers that run one after the other before the rest, and native sidecars.
        init_containers: Vec<Container>,
        /// Containers that run together.
        containers: Vec<Container>,
        /// Their volume mounts.
        volumes: Vec<Volume>,
    }
);

view!(
    /// A container as it shall run.
    Container {
        /// Its name.
        name: String,
        /// Its image.
        image: String,
        /// Probe that must succeed before the container counts as started.
        startup_probe: Option<Probe>,
    }
);

view!(
    /// The times of a probe.
    Probe {
        /// Seconds before the first attempt; 0 by default.
        initial_delay_seconds: Option<u32>,
        /// Seconds between attempts; 10 by default.
        period_seconds: Option<u32>,
        /// Attempts that must fail before the probe fails; 3 by default.
        failure_threshold: Option<u32>,
    }
);

view!(
    /// A volume, as far as it comes from an object that may be missing.
    Volume {
        /// Its name.
        name: String,
        /// A claim.
        persistent_volume_claim: Option<ClaimSource>,
        /// A ConfigMap.
        config_map: Option<ConfigMapSource>,
        /// A Secret.
        secret: Option<SecretSource>,
        /// Several of them.
        projected: Option<ProjectedSource>,
        /// A claim that is made for the pod.
        ephemeral: Option<EphemeralSource>,
    }
);

view!(
    /// The claim of a volume.
    ClaimSource {
        /// Name of the claim.
        claim_name: String,
    }
);

view!(
    /// The ConfigMap of a volume.
    ConfigMapSource {
        /// Name of the ConfigMap.
        name: String,
        /// True if it may be missing.
        optional: bool,
    }
);

view!(
    /// The Secret of a volume.
    SecretSource {
        /// Name of the Secret.
        #[serde(alias = "name")]
        secret_name: String,
        /// True if it may be missing.
        optional: bool,
    }
);

view!(
    /// The sources of a projected volume.
    ProjectedSource {
        /// In order.
        sources: Vec<Projection>,
    }
);

view!(
    /// One source of a projected volume.
    Projection {
        /// A ConfigMap.
        config_map: Option<ConfigMapSource>,
        /// A Secret.
        secret: Option<SecretSource>,
    }
);

view!(
    /// The mark of a volume whose claim is made for the pod.
    EphemeralSource {}
);

view!(
    /// `status` of a pod.
    PodStatus {
        /// Pending, Running, Succeeded, Failed or Unknown.
        phase: String,
        /// Reason of the phase, such as `Evicted`.
        reason: String,
        /// Message of the kubelet about the phase.
        message: String,
        /// Its conditions.
        conditions: Vec<PodCondition>,
        /// Init containers and native sidecars, as they are.
        init_container_statuses: Vec<ContainerStatus>,
        /// The other containers, as they are.
        container_statuses: Vec<ContainerStatus>,
    }
);

view!(
    /// A condition of a pod.
    PodCondition {
        /// Type of the condition.
        #[serde(rename = "type")]
        type_: String,
        /// `True`, `False` or `Unknown`.
        status: String,
        /// Reason, in CamelCase.
        reason: String,
        /// Message of the condition.
        message: String,
        /// Since when.
        last_transition_time: Option<Time>,
    }
);

view!(
    /// A container as it is.
    ContainerStatus {
        /// Its name.
        name: String,
        /// Number of restarts.
        restart_count: u32,
        /// Current state.
        state: ContainerState,
        /// Previous state.
        last_state: ContainerState,
    }
);

view!(
    /// State of a container; one of the three is set.
    ContainerState {
        /// It waits.
        waiting: Option<Waiting>,
        /// It runs.
        running: Option<Running>,
        /// It has ended.
        terminated: Option<Terminated>,
    }
);

view!(
    /// A container that waits.
    Waiting {
        /// Reason, in CamelCase.
        reason: String,
        /// Message of the kubelet.
        message: String,
    }
);

view!(
    /// A container that runs.
    Running {
        /// Since when.
        started_at: Option<Time>,
    }
);

view!(
    /// A container that has ended.
    Terminated {
        /// Type, in CamelCase.
        reason: String,
        /// Message of the container, or of the container runtime, about its end.
        message: String,
        /// Its exit code.
        exit_code: i32,
    }
);

impl Pod {
    /// Returns whether it has not ended; a pod that is being deleted has not.
    pub fn is_live(&self) -> bool {
        !matches!(self.status.phase.as_str(), "Succeeded" | "Failed")
    }

    /// Returns whether it is live and shall stay so.
    pub fn stays(&self) -> bool {
        self.is_live() && self.metadata.deletion_timestamp.is_none()
    }

    /// Returns whether it can take work, now and later.
    pub fn is_ready(&self) -> bool {
        self.stays() && self.condition_is("Ready", "True")
    }

    /// Returns whether it has each of these labels.
    pub fn has_labels(&self, labels: &BTreeMap<String, String>) -> bool {
        labels
            .iter()
            .all(|(key, value)| self.metadata.labels.get(key) == Some(value))
    }

    /// Returns the hash of the workload's revision from which it was created.
    pub fn revision(&self) -> Option<&str> {
        let labels = &self.metadata.labels;
        let label = |key| labels.get(key).map(String::as_str);
        label(TEMPLATE_HASH).or_else(|| label(REVISION_HASH))
    }

    /// All its containers as they are, init containers and native sidecars first: one
    /// that has not ended yet keeps the others from being started.
    pub fn container_statuses(&self) -> impl Iterator<Item = &ContainerStatus> {
        let status = &self.status;
        let init = status.init_container_statuses.iter();
        init.chain(&status.container_statuses)
    }

    pub(super) fn condition(&self, type_: &str) -> Option<&PodCondition> {
        let mut conditions = self.status.conditions.iter();
        conditions.find(|condition| condition.type_ == type_)
    }

    pub(super) fn condition_is(&self, type_: &str, status: &str) -> bool {
        self.condition(type_)
            .is_some_and(|condition| condition.status == status)
    }

    /// The image that a container shall run.
    pub(super) fn image_of(&self, container: &str) -> Option<&str> {
        let containers = self.spec.init_containers.iter();
        let mut containers = containers.chain(&self.spec.containers);
        let container = containers.find(|found| found.name == container)?;
        Some(&container.image)
    }
}
