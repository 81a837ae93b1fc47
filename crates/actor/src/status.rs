//! What an actor says of itself: one word, and conditions.

use std::fmt;

mod document;

pub use document::{QueueStatus, Replicas, StatusDocument};

/// The word of the STATUS column; the reason of condition `ActorReady`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
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

impl Word {
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

impl fmt::Display for Word {
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
    /// The summary; its reason is the [`Word`].
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
