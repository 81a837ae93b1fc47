//! `spec.scaling`: what KEDA is configured with.

use serde::Deserialize;
use serde_json::{Map, Value};

/// Autoscaling, as KEDA's ScaledObject knows it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transform = crate::schema::rules::of_scaling))]
#[serde(rename_all = "camelCase", default)]
pub struct Scaling {
    /// If true, KEDA scales the actor. Default: true.
    pub enabled: Option<bool>,
    /// Minimum number of pods. Default: 0.
    pub min_replica_count: Option<u32>,
    /// Maximum number of pods, at least 1. Default: 10.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub max_replica_count: Option<u32>,
    /// Seconds between two reads of the queue while there is no pod. Default: 30.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub polling_interval: Option<u32>,
    /// Seconds from the last message until the last pod is removed. Default: 300.
    pub cooldown_period: Option<u32>,
    /// Seconds after creation during which the actor is not scaled to zero. Default: KEDA's, 0.
    pub initial_cooldown_period: Option<u32>,
    /// Number of pods while the queue is empty. Must be below `minReplicaCount`.
    pub idle_replica_count: Option<u32>,
    /// Messages per pod. Default: 5.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub queue_length: Option<u32>,
    /// Number of pods while KEDA cannot read the queue, as in KEDA.
    pub fallback: Option<Map<String, Value>>,
    /// Formula, HPA behaviour and other KEDA settings.
    pub advanced: Advanced,
    /// KEDA triggers in addition to the queue's, which is named `queue`.
    pub additional_triggers: Vec<Map<String, Value>>,
}

/// `scaling.advanced`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Advanced {
    /// If true, the workload gets its former number of pods back when the ScaledObject is deleted.
    /// Default: false; true for bound workloads.
    pub restore_to_original_replica_count: Option<bool>,
    /// Expression over the names of triggers. Requires `target`.
    pub formula: Option<String>,
    /// Target value of the formula.
    pub target: Option<Value>,
    /// Activation threshold of the formula.
    pub activation_target: Option<Value>,
    /// Metric type of the formula: `AverageValue` or `Value`.
    pub metric_type: Option<String>,
    /// HPA behaviour. Replaces the default: up by 10 pods or 100 % a minute, down by one pod a
    /// minute after 5 minutes.
    pub behavior: Option<Map<String, Value>>,
}

impl Scaling {
    /// Returns whether KEDA scales the actor. Default: true.
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
