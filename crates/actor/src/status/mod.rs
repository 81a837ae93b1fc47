//! Status and conditions of an actor.

use std::fmt;

mod document;
pub mod reasons;

pub use document::{QueueStatus, Replicas, StatusDocument};

/// The status of an actor: the STATUS column and the reason of condition `ActorReady`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusReason {
    /// Pods run and no problem is known.
    Running,
    /// KEDA has scaled to zero because there are no messages.
    Napping,
    /// Some pods run, others fail.
    Degraded,
    /// The first objects or pods are being created.
    Creating,
    /// More pods are starting.
    ScalingUp,
    /// Pods are being removed.
    ScalingDown,
    /// Pods are being replaced.
    Updating,
    /// The actor is being deleted.
    Terminating,
    /// A flavor, or the deletion of a predecessor's objects, is awaited.
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
    /// All of them: ready ones, transitions, errors.
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

    /// Meaning, in one line.
    pub fn means(self) -> &'static str {
        match self {
            Self::Running => "pods run and no problem is known",
            Self::Napping => "scaled to zero until there is work",
            Self::Degraded => "at least one pod works, others fail",
            Self::Creating => "the first objects or pods are being created",
            Self::ScalingUp => "more pods are starting",
            Self::ScalingDown => "pods are being removed",
            Self::Updating => "pods are being replaced by those of a new spec",
            Self::Terminating => "the actor is being deleted",
            Self::Waiting => "a flavor, or the deletion of a predecessor's objects, is awaited",
            Self::TransportError => "no usable transport or queue exists",
            Self::ScalingError => "autoscaling does not work; the pods do",
            Self::WorkloadError => "the workload has no working pods",
            Self::PendingResources => "no node has room for a pod",
            Self::ImagePullError => "an image cannot be pulled",
            Self::RuntimeError => "the handler's container crashes",
            Self::SidecarError => "the sidecar crashes, or takes no messages though it is ready",
            Self::VolumeError => "a volume cannot be mounted",
            Self::ConfigError => "the spec is invalid, or a ConfigMap or Secret is missing",
        }
    }

    /// The name, as it is shown.
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

/// Type of a condition that the functions set on an actor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConditionType {
    /// All flavors exist and do not conflict.
    FlavorsResolved,
    /// The transport is valid and the queue exists.
    TransportReady,
    /// The workload exists and its pods work.
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

    /// Meaning of status True, in one line.
    pub fn means(self) -> &'static str {
        match self {
            Self::FlavorsResolved => "all flavors exist and do not conflict",
            Self::TransportReady => "the transport is valid and the queue exists",
            Self::WorkloadReady => "the workload exists and its pods work",
            Self::ScalingReady => "KEDA scales the workload; only on actors that scale or did",
            Self::TargetResolved => "the workload to bind to is found; only on bound actors",
            Self::ActorReady => "summary: the actor can do its work; the reason is the status",
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
