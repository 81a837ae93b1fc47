//! `status` of an actor, as report-status writes it.

use serde::{Deserialize, Serialize};

use crate::binding::ObjectReference;

/// What an actor says of itself. Conditions are beside it: Crossplane keeps them.
/// Unknown is absent, never 0.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct StatusDocument {
    /// `Standalone`, or `Binding` where another operator owns the workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The state in a word; also the reason of condition `ActorReady`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// The state in a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Pods, and how many there shall be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<Replicas>,
    /// Kind of the workload: `Deployment`, `StatefulSet` or that of the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// `Ready` or `NotReady`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<String>,
    /// Who sets the number of replicas: `KEDA` or `Manual`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scaling: Option<String>,
    /// When the number of replicas last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub last_scale_time: Option<String>,
    /// `Up` or `Down`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_scale_direction: Option<String>,
    /// The queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueStatus>,
    /// The object that `workloadRef` stands for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved_target: Option<ObjectReference>,
    /// How often another controller has undone the binding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conflict_count: Option<u32>,
    /// When it last did.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub last_conflict_time: Option<String>,
    /// The flavors that are in effect, as they are applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flavors: Option<Vec<String>>,
    /// The generation of the actor that this describes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// Pods of an actor, and how many there shall be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Replicas {
    /// Pods that are ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<u32>,
    /// Pods that crash or cannot pull an image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failing: Option<u32>,
    /// Pods that have not ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u32>,
    /// Pods that there shall be now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub desired: Option<u32>,
    /// The fewest that there may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<u32>,
    /// The most that there may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<u32>,
}

/// The queue of an actor.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct QueueStatus {
    /// Its name at the transport.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its URL, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Messages that wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queued: Option<u64>,
    /// Messages that are worked on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processing: Option<u64>,
    /// Messages that were given up, where dead-lettering is on; counted every five minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dead_lettered: Option<u64>,
}
