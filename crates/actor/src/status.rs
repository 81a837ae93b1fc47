//! What an actor says of itself: one word, and conditions.

use std::fmt;

mod document;
pub mod reasons;

pub use document::{QueueStatus, Replicas, StatusDocument};

/// The word of the STATUS column; the reason of condition `ActorReady`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusReason {
    /// All is well and pods run.
    Running,
    /// Scaled to zero for want of messages.
    Napping,
    /// Some pods run, others fail.
    Degraded,
    /// The first pods are on their way.
    Creating,
    /// More pods are on their way.
    ScalingUp,
    /// Pods are being removed.
    ScalingDown,
    /// Pods are being replaced.
    Updating,
    /// The actor is being deleted.
    Terminating,
    /// A flavor is missing.
    Waiting,
    /// No usable transport or queue.
    TransportError,
    /// Autoscaling does not work.
    ScalingError,
    /// The workload does not work.
    WorkloadError,
    /// No node has room.
    PendingResources,
    /// An image cannot be pulled.
    ImagePullError,
    /// The handler's container crashes.
    RuntimeError,
    /// The sidecar crashes.
    SidecarError,
    /// A volume cannot be mounted.
    VolumeError,
    /// The spec is invalid, or a ConfigMap or Secret is missing.
    ConfigError,
}

impl StatusReason {
    /// All of them: what is well, what is under way, what is wrong.
    pub const ALL: [Self; 18] = [
        Self::Running,
        Self::Napping,
        Self::Degraded,
        Self::Creating,
        Self::ScalingUp,
        Self::ScalingDown,
        Self::Updating,
        Self::Terminating,
        Self::Waiting,
        Self::TransportError,
        Self::ScalingError,
        Self::WorkloadError,
        Self::PendingResources,
        Self::ImagePullError,
        Self::RuntimeError,
        Self::SidecarError,
        Self::VolumeError,
        Self::ConfigError,
    ];

    /// What it means, in a line.
    pub fn means(self) -> &'static str {
        match self {
            Self::Running => "all is well and pods run",
            Self::Napping => "scaled to zero until there is work",
            Self::Degraded => "some pods work, others fail",
            Self::Creating => "the first objects or pods are on their way",
            Self::ScalingUp => "more pods are on their way",
            Self::ScalingDown => "pods are being removed",
            Self::Updating => "pods are being replaced by those of a new spec",
            Self::Terminating => "the actor is being deleted",
            Self::Waiting => "a flavor is missing",
            Self::TransportError => "there is no usable transport or queue",
            Self::ScalingError => "autoscaling does not work; the pods do",
            Self::WorkloadError => "the workload makes no pods that work",
            Self::PendingResources => "no node has room for a pod",
            Self::ImagePullError => "an image cannot be pulled",
            Self::RuntimeError => "the handler's container crashes",
            Self::SidecarError => "the sidecar crashes",
            Self::VolumeError => "a volume cannot be mounted",
            Self::ConfigError => "the spec is invalid, or a ConfigMap or Secret is missing",
        }
    }

    /// The word as it is shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "Running",
            Self::Napping => "Napping",
            Self::Degraded => "Degraded",
            Self::Creating => "Creating",
            Self::ScalingUp => "ScalingUp",
            Self::ScalingDown => "ScalingDown",
            Self::Updating => "Updating",
            Self::Terminating => "Terminating",
            Self::Waiting => "Waiting",
            Self::TransportError => "TransportError",
            Self::ScalingError => "ScalingError",
            Self::WorkloadError => "WorkloadError",
            Self::PendingResources => "PendingResources",
            Self::ImagePullError => "ImagePullError",
            Self::RuntimeError => "RuntimeError",
            Self::SidecarError => "SidecarError",
            Self::VolumeError => "VolumeError",
            Self::ConfigError => "ConfigError",
        }
    }
}

impl fmt::Display for StatusReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The conditions of an actor that are ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConditionType {
    /// The flavors are there and do not contradict each other.
    FlavorsResolved,
    /// The transport is valid and the queue is there.
    TransportReady,
    /// The workload is there and its pods are well.
    WorkloadReady,
    /// KEDA scales the workload.
    ScalingReady,
    /// The workload to bind to is found.
    TargetResolved,
    /// The summary; its reason is the [`StatusReason`].
    ActorReady,
}

impl ConditionType {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 6] = [
        Self::FlavorsResolved,
        Self::TransportReady,
        Self::WorkloadReady,
        Self::ScalingReady,
        Self::TargetResolved,
        Self::ActorReady,
    ];

    /// What it says when it is True, in a line.
    pub fn means(self) -> &'static str {
        match self {
            Self::FlavorsResolved => "the flavors are there and do not contradict each other",
            Self::TransportReady => "the transport is valid and the queue is there",
            Self::WorkloadReady => "the workload is there and its pods are well",
            Self::ScalingReady => "KEDA scales the workload; only on actors that scale or did",
            Self::TargetResolved => "the workload to bind to is found; only on bound actors",
            Self::ActorReady => "the summary: the actor can do its work; its reason is the word",
        }
    }

    /// The type as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FlavorsResolved => "FlavorsResolved",
            Self::TransportReady => "TransportReady",
            Self::WorkloadReady => "WorkloadReady",
            Self::ScalingReady => "ScalingReady",
            Self::TargetResolved => "TargetResolved",
            Self::ActorReady => "ActorReady",
        }
    }
}

impl fmt::Display for ConditionType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
