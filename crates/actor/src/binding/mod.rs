//! `WorkloadBinding`, the provider's object that binds one actor to a workload
//! which another controller owns.
//!
//! Crossplane cannot compose what somebody else's controller owns, so the functions
//! say in this object what is wanted and the provider does it. The functions know what
//! an adapter and a sidecar are; the provider applies [`ForProvider::template`] and
//! knows neither. [`targets`] is the table of what can be bound to, which both read.
//!
//! # Resolving
//! Whatever the strategy, the provider finds the target and the workload behind it and
//! reports both in [`AtProvider`], together with [`AtProvider::target_ref`], what they
//! were found for: the functions use nothing of an answer about another target. A
//! target that is found no longer keeps the last answer; only [`TARGET_RESOLVED`] reports
//! that it was deleted. So nothing that runs is taken down because a target is made anew.
//!
//! # Injecting
//! With [`Strategy::Inject`] the provider applies the template into the resolved
//! workload's pod template, server-side and never forced, as [`field_manager`], with
//! the uid of the workload in the intent, together with the label
//! [`BOUND_TO`](crate::labels::BOUND_TO) and the annotation
//! [`MANAGED_BY`](crate::labels::MANAGED_BY) on the workload itself. Each actor is a
//! field manager of its own, so that the API server itself refuses a second actor: it
//! conflicts on that label.
//!
//! # Un-binding
//! An empty intent removes what was added, and nothing else. It is
//! applied when the object is deleted, before its finalizer goes, and to every workload
//! that carries the actor's label and is not the one to inject into: so a target or a
//! strategy may change, and a provider that was down finds what is left over by the
//! label, not by its own memory. No owner reference of ours is ever put on such a
//! workload.
//!
//! # Conflicts
//! Injected fields that are missing were removed by another controller: that is counted in
//! [`AtProvider::conflict_count`], and they are applied again after a delay that doubles; after more
//! than [`CONFLICTS_MAX`] conflicts the provider stops until the spec changes. A quiet hour
//! ([`QUIET_SECONDS`]) starts the count anew.
//!
//! # Conditions
//! `Synced` and `Ready` as every managed resource has them, [`TARGET_RESOLVED`], and
//! [`GRACE_PERIOD_TOO_SHORT`] where that is so.
//! While that is False, `Ready` is False with the same reason. `Ready` is True once the
//! target is resolved and, with Inject, the template stands in it. [`reason`] holds
//! the reasons that the step report-status reads.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::health::ForeignScaler;
use crate::managed::Condition;
use crate::names::ActorName;

pub mod reason;
pub mod target_url;
pub mod targets;

/// Kind of the object.
pub const KIND: &str = "WorkloadBinding";
/// Name of the composed resource.
pub const RESOURCE_NAME: &str = "binding";
/// Name of the composed Deployment of [`Strategy::Adapter`].
pub const ADAPTER_RESOURCE_NAME: &str = "adapter";
/// Condition of the object: the target is there, and what makes its pods is known.
pub const TARGET_RESOLVED: &str = "TargetResolved";
/// Condition of the object: the target's pods can be killed while they work. `True` if that is so.
pub const GRACE_PERIOD_TOO_SHORT: &str = "GracePeriodTooShort";
/// Number of times that another controller may undo a binding before the provider stops.
pub const CONFLICTS_MAX: u32 = 5;
/// Seconds without a conflict after which they are counted anew.
pub const QUIET_SECONDS: u64 = 3600;

/// The field manager of an actor's binding. Example: `provider.asya.sh/embedder`. At
/// most 80 characters of the 128 that the API server takes.
pub fn field_manager(actor: &ActorName) -> String {
    format!("provider.asya.sh/{actor}")
}

/// `spec` of a WorkloadBinding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct BindingSpec {
    /// Actor, target and additions.
    pub for_provider: ForProvider,
    /// Actions that the provider may take. Without `Update` it only observes; without `Delete` the
    /// additions stay in the target when the object is deleted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub management_policies: Vec<String>,
}

/// Actor and target of a binding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ForProvider {
    /// Name of the actor; the additions carry it. Immutable.
    #[cfg_attr(
        feature = "schema",
        schemars(schema_with = "crate::schema::fields::actor_name")
    )]
    pub actor: String,
    /// Workload to bind to, in this object's namespace, by group and kind in any served version. If
    /// it changes, the additions are removed from the former target first.
    pub target_ref: ObjectReference,
    /// Placement of adapter and sidecar.
    pub strategy: Strategy,
    /// Additions to the pods of the target with strategy `Inject`: containers named `asya-…`,
    /// volumes, image pull secrets, labels and annotations.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[cfg_attr(
        feature = "schema",
        schemars(schema_with = "crate::schema::items::pod_fragment")
    )]
    pub template: Map<String, Value>,
    /// Seconds that a pod of the target needs to finish its work when it ends: the actor's runtime
    /// timeout. A target with a shorter `terminationGracePeriodSeconds` gets the condition
    /// `GracePeriodTooShort`. Default: not compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum_grace_period_seconds: Option<u64>,
}

/// Placement of adapter and sidecar of a bound actor, decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Strategy {
    /// In the target's pods.
    Inject,
    /// In a Deployment of the actor; the target is only read.
    Adapter,
}

impl Strategy {
    /// The strategy as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Inject => "Inject",
            Self::Adapter => "Adapter",
        }
    }
}

/// An object in the actor's namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ObjectReference {
    /// Group and version.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 317)))]
    pub api_version: String,
    /// Kind.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 63)))]
    pub kind: String,
    /// Name.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 253)))]
    pub name: String,
}

impl ObjectReference {
    /// Returns whether both name the same object, in whichever versions.
    pub fn is_same_object(&self, other: &Self) -> bool {
        targets::group_of(&self.api_version) == targets::group_of(&other.api_version)
            && self.kind == other.kind
            && self.name == other.name
    }
}

impl std::fmt::Display for ObjectReference {
    /// As messages write it: `Deployment "phi"`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {:?}", self.kind, self.name)
    }
}

/// `status` of a WorkloadBinding.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct BindingStatus {
    /// Observed state of the target.
    #[serde(skip_serializing_if = "AtProvider::is_unknown")]
    pub at_provider: AtProvider,
    /// Conditions of the object: `Synced`, `Ready`, `TargetResolved` and, as long as it is `True`,
    /// `GracePeriodTooShort`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Last value of the annotation `crossplane.io/reconcile-requested-at` that was handled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_handled_reconcile_at: Option<String>,
}

/// `status.atProvider` of a WorkloadBinding. Unknown is absent, never 0.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct AtProvider {
    /// The `targetRef` to which this state belongs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_ref: Option<ObjectReference>,
    /// Workload that creates the target's pods: a Deployment or StatefulSet, or for `Adapter` what
    /// the target's controller creates, such as a Knative Service. Stays when the target is
    /// deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved_target: Option<ObjectReference>,
    /// Uid of the resolved target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// Labels by which the resolved target selects its pods.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub pod_selector: BTreeMap<String, String>,
    /// Address of the target inside the namespace, if its kind publishes one.
    #[serde(rename = "targetURL", skip_serializing_if = "Option::is_none")]
    pub target_url: Option<String>,
    /// Object whose `/scale` sets the number of the target's pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_target: Option<ObjectReference>,
    /// Reason for which no object can scale the target. Absent if `scaleTarget` is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_scalable: Option<String>,
    /// Autoscaler of another owner on that object or on the resolved target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub foreign_scaler: Option<ForeignScaler>,
    /// Other field manager that last wrote the target's pod template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_manager: Option<String>,
    /// Number of times that another controller removed the additions, since the spec changed or
    /// since an hour without conflict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conflict_count: Option<u32>,
    /// Time of the last conflict, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub last_conflict_time: Option<String>,
    /// Generation of this object whose template, or absence of one, all pods of the resolved target
    /// have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rolled_out_generation: Option<i64>,
}

impl AtProvider {
    /// Returns whether nothing is known.
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }

    /// State of that target: this state if it is about that target, else an empty one.
    #[must_use]
    pub fn about(self, target: &ObjectReference) -> Self {
        match &self.target_ref {
            Some(known) if known.is_same_object(target) => self,
            _ => Self::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_about_another_target_is_none() {
        let reference = |api_version: &str, name: &str| ObjectReference {
            api_version: api_version.to_owned(),
            kind: "Workspace".to_owned(),
            name: name.to_owned(),
        };
        let answer = AtProvider {
            target_ref: Some(reference("kaito.sh/v1beta1", "phi")),
            uid: Some("u".to_owned()),
            ..AtProvider::default()
        };
        let cases = [
            (reference("kaito.sh/v1beta1", "phi"), true, "the same"),
            (
                reference("kaito.sh/v1alpha1", "phi"),
                true,
                "another version",
            ),
            (
                reference("kaito.sh/v1beta1", "llama"),
                false,
                "another name",
            ),
            (reference("example.org/v1", "phi"), false, "another group"),
        ];
        for (target, is_known, reason) in cases {
            assert_eq!(
                !answer.clone().about(&target).is_unknown(),
                is_known,
                "{reason}"
            );
        }
        let nobody = AtProvider::default().about(&reference("kaito.sh/v1beta1", "phi"));
        assert!(nobody.is_unknown(), "no answer yet");
    }
}
