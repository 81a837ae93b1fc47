//! `status` of an actor, as report-status writes it.

use serde::{Deserialize, Serialize};

use crate::binding::ObjectReference;
use crate::health::LastStart;

/// State of an actor, written by report-status. Crossplane keeps the conditions beside it.
/// Unknown is absent, never 0.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct StatusDocument {
    /// `Standalone`, or `Binding` if another owner's workload is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Status of the actor; also the reason of condition `ActorReady`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Details of the status, in one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Numbers of pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<Replicas>,
    /// Kind of the workload: `Deployment`, `StatefulSet` or that of the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// `Ready` or `NotReady`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<String>,
    /// Controller of the number of pods: `KEDA` or `Manual`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scaling: Option<String>,
    /// Time of the last change of the number of pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub last_scale_time: Option<String>,
    /// Direction of the last change: `Up` or `Down`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_scale_direction: Option<String>,
    /// Start of the newest pod that has become ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_start: Option<LastStart>,
    /// State of the queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueStatus>,
    /// Object that `workloadRef` names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved_target: Option<ObjectReference>,
    /// Number of times that another controller removed the added containers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conflict_count: Option<u32>,
    /// Time of the last conflict.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub last_conflict_time: Option<String>,
    /// Flavors in effect, in the order in which they are merged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flavors: Option<Vec<String>>,
    /// Generation of the actor that this status describes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// Pods of an actor, and how many there shall be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Replicas {
    /// Number of ready pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<u32>,
    /// Number of pods that crash or cannot pull an image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failing: Option<u32>,
    /// Number of pods that have not ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u32>,
    /// Desired number of pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub desired: Option<u32>,
    /// Minimum number of pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<u32>,
    /// Maximum number of pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<u32>,
}

/// The queue of an actor.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct QueueStatus {
    /// Name of the queue at the broker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// URL of the queue, on SQS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Number of waiting messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queued: Option<u64>,
    /// Number of messages in work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processing: Option<u64>,
    /// Number of dead-lettered messages, if dead-lettering is on; counted every five minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dead_lettered: Option<u64>,
}
