//! `spec.scaling`: what KEDA is told.

use serde::Deserialize;
use serde_json::{Map, Value};

/// Autoscaling, as KEDA's ScaledObject knows it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transform = crate::schema::rules::of_scaling))]
#[serde(rename_all = "camelCase", default)]
pub struct Scaling {
    /// Whether KEDA scales the actor; yes unless given.
    pub enabled: Option<bool>,
    /// Fewest replicas; 0 unless given.
    pub min_replica_count: Option<u32>,
    /// Most replicas; 10 unless given.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub max_replica_count: Option<u32>,
    /// Seconds between two looks at the queue; 30 unless given.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub polling_interval: Option<u32>,
    /// Seconds from the last message to zero; 300 unless given.
    pub cooldown_period: Option<u32>,
    /// Seconds after creation in which the actor is not scaled to zero.
    pub initial_cooldown_period: Option<u32>,
    /// Replicas while the queue is empty; below `minReplicaCount`.
    pub idle_replica_count: Option<u32>,
    /// Messages per replica; 5 unless given.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub queue_length: Option<u32>,
    /// What KEDA does when it cannot read the queue.
    pub fallback: Option<Map<String, Value>>,
    /// Finer points.
    pub advanced: Advanced,
    /// Triggers after the queue's own.
    pub additional_triggers: Vec<Map<String, Value>>,
}

/// `scaling.advanced`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Advanced {
    /// Whether the workload gets its replicas back when KEDA lets go of it.
    pub restore_to_original_replica_count: Option<bool>,
    /// Expression over the triggers' names.
    pub formula: Option<String>,
    /// Target of the formula; KEDA wants a text.
    pub target: Option<Value>,
    /// Activation threshold of the formula; KEDA wants a text.
    pub activation_target: Option<Value>,
    /// `AverageValue` or `Value`.
    pub metric_type: Option<String>,
    /// HPA behaviour, in place of ours.
    pub behavior: Option<Map<String, Value>>,
}

impl Scaling {
    /// Whether KEDA scales the actor: yes, unless said otherwise.
    pub fn enabled(&self) -> bool {
        self.enabled.unwrap_or(true)
    }

    /// Fewest replicas: 0.
    pub fn min(&self) -> u32 {
        self.min_replica_count.unwrap_or(0)
    }

    /// Most replicas: 10.
    pub fn max(&self) -> u32 {
        self.max_replica_count.unwrap_or(10)
    }

    /// Seconds between two looks at the queue: 30.
    pub fn polling_interval(&self) -> u32 {
        self.polling_interval.unwrap_or(30)
    }

    /// Seconds from the last message to zero: 300.
    pub fn cooldown_period(&self) -> u32 {
        self.cooldown_period.unwrap_or(300)
    }

    /// Messages per replica: 5.
    pub fn queue_length(&self) -> u32 {
        self.queue_length.unwrap_or(5)
    }
}
