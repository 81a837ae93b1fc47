//! `ActorHealth`, the provider's object that watches one actor's pods, and the
//! classifier that finds their problem.
//!
//! [`classify`] is pure: pods, workload and scalers come as [`Facts`], the time as a
//! [`Time`], the previous status as an [`AtProvider`]. What it has to know
//! of the objects that a stuck pod waits for, [`questions`] lists beforehand.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::managed::Condition;

mod classify;
mod evicted;
mod facts;
mod finding;
mod image;
mod last_start;
mod mounted;
mod pod;
mod signal;
mod startup;
mod time;
mod volumes;

pub use classify::{Verdict, classify, foreign_scaler, questions};
pub use facts::{Facts, HealthTimeouts, Revision, Scaler, Workload};
pub use finding::quote;
pub use last_start::LastStart;
pub use mounted::{MountProblem, Mounted, MountedKind};
pub use pod::{Pod, PodMetadata, PodSpec, PodStatus};
pub use time::{NotATime, Time};

/// Kind of the object.
pub const KIND: &str = "ActorHealth";
/// Name of the composed resource.
pub const RESOURCE_NAME: &str = "health";
/// Condition that is True while the provider requests a reconcile of the actor when one of its
/// EnvironmentConfigs changes.
pub const ENVIRONMENT_WATCHED: &str = "EnvironmentWatched";
/// Reason of the condition `Synced` while the provider may not watch pods, workloads or scalers: the
/// status is that of an earlier time.
pub const WATCH_FORBIDDEN: &str = "WatchForbidden";

/// `spec` of an ActorHealth.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct HealthSpec {
    /// Pods to watch.
    pub for_provider: ForProvider,
}

/// `status` of an ActorHealth.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct HealthStatus {
    /// Observed state of the pods.
    pub at_provider: AtProvider,
    /// Conditions of the object.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

/// Pods and workload that an ActorHealth watches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ForProvider {
    /// Name of the actor.
    pub actor: String,
    /// Workload that creates the pods.
    pub workload: WorkloadReference,
    /// Labels of the pods.
    pub pod_selector: BTreeMap<String, String>,
    /// EnvironmentConfigs that the actor was rendered with: its flavors and the platform's
    /// settings. The provider requests a reconcile of the actor when one of them changes. At most
    /// 9.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(max = 9)))]
    pub environment_configs: Vec<UsedEnvironmentConfig>,
}

/// An EnvironmentConfig, in the version that was used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UsedEnvironmentConfig {
    /// Name of the EnvironmentConfig.
    pub name: String,
    /// Version that was used: the first 8 characters of its uid, and its generation. Absent for an
    /// object that was read from a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

impl UsedEnvironmentConfig {
    /// The EnvironmentConfig of that name, by its metadata.
    pub fn new(name: &str, uid: Option<&str>, generation: Option<i64>) -> Self {
        let version = uid.zip(generation).map(|(uid, generation)| {
            let uid = uid.get(..8).unwrap_or(uid);
            format!("{uid}.{generation}")
        });
        Self {
            name: name.to_owned(),
            version,
        }
    }
}

/// A workload in the actor's namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkloadReference {
    /// `Deployment` or `StatefulSet`.
    pub kind: String,
    /// Name of the workload.
    pub name: String,
}

/// `status.atProvider` of an ActorHealth. Unknown is absent, never 0.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct AtProvider {
    /// Number of ready pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<u32>,
    /// Number of pods that crash or cannot pull an image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failing: Option<u32>,
    /// Number of pods of any revision that have not ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u32>,
    /// Number of pods that the HPA or the workload asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub desired: Option<u32>,
    /// Last change of the number of pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_scale: Option<LastScale>,
    /// Start of the newest pod that has become ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_start: Option<LastStart>,
    /// Problem of the pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<Signal>,
    /// True once a pod has been ready.
    pub ever_ready: bool,
    /// Time (RFC 3339) of a scale-up from 0 replicas in progress. Absent once a pod is ready,
    /// and once the startup time is over: that of the startup probe of a running container, else
    /// 10 minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starting_since: Option<String>,
    /// Message of the kubelet about pods that are no longer ready. Absent while a pod is ready, while
    /// the actor scales up from 0, and before a pod was ready for the first time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unready: Option<String>,
    /// Autoscaler of another owner on the same workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub foreign_scaler: Option<ForeignScaler>,
}

/// A change of the number of replicas.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LastScale {
    /// Time of the change, RFC 3339.
    pub time: String,
    /// `Up` or `Down`.
    pub direction: String,
    /// Number of pods before.
    pub from: u32,
    /// Number of pods after.
    pub to: u32,
}

/// A problem of an actor's pods.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Signal {
    /// Status that this problem gives the actor: one of its pod statuses, such as `RuntimeError`.
    #[serde(alias = "word")]
    pub reason: String,
    /// Container with the problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// Message of the kubelet or scheduler.
    pub message: String,
    /// Number of live pods with the problem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pods: Option<u32>,
    /// Since when, RFC 3339.
    pub since: String,
}

/// A scaler of somebody else's on our workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ForeignScaler {
    /// Group and version.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Name.
    pub name: String,
}
