//! `spec.workloadRef`, `spec.runtime` and `spec.binding`: a workload that
//! another operator owns.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::Spec;
use crate::binding::targets::{BindingStrategy, TargetKind};
use crate::binding::{ObjectReference, Strategy};
use crate::entry::EnvVar;

/// The workload to bind to, by group and kind in any served version.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct WorkloadRef {
    /// Group and version, such as `apps/v1`.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 317)))]
    pub api_version: String,
    /// Kind.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 63)))]
    pub kind: String,
    /// Name, in the actor's namespace.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 253)))]
    pub name: String,
}

impl WorkloadRef {
    /// The object that it names.
    pub fn object(&self) -> ObjectReference {
        ObjectReference {
            api_version: self.api_version.clone(),
            kind: self.kind.clone(),
            name: self.name.clone(),
        }
    }
}

/// The REST adapter: an `asya-runtime` container that forwards messages to an
/// inference server.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct RuntimeAdapter {
    /// Image of the adapter. Default: the platform's `runtime.adapterImage`.
    pub image: Option<String>,
    /// Handler that forwards messages to the server.
    pub handler: Option<String>,
    /// Address of the inference server, `http` or `https`, as seen from the adapter: with strategy `Inject` a server
    /// in the same pod. Default with `Adapter`: the address that the target publishes.
    #[serde(rename = "targetURL")]
    #[cfg_attr(
        feature = "schema",
        schemars(schema_with = "crate::schema::fields::target_url")
    )]
    pub target_url: Option<String>,
    /// Environment variables of the adapter.
    #[cfg_attr(
        feature = "schema",
        schemars(schema_with = "crate::schema::items::environment")
    )]
    pub env: Vec<EnvVar>,
    /// Resource requests and limits of the adapter.
    #[cfg_attr(
        feature = "schema",
        schemars(schema_with = "crate::schema::fields::resources")
    )]
    pub resources: Option<Map<String, Value>>,
    /// Security context of the adapter, as in Kubernetes. Its keys replace those of the default, which Pod
    /// Security *restricted* accepts in a pod that does not run as root.
    pub security_context: Option<Map<String, Value>>,
}

/// Options of the binding to a workload.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Binding {
    /// Placement of adapter and sidecar. Default: `Auto`.
    pub strategy: BindingStrategy,
    /// If true, the target is scaled too, if the adapter has its own Deployment. Default: false.
    pub scale_target: Option<bool>,
}

impl Spec {
    /// Returns the placement of adapter and sidecar of a bound actor. None in mode Standalone, and if
    /// the target's kind is not known or does not support the strategy.
    pub fn strategy(&self) -> Option<Strategy> {
        let target = self.workload_ref.as_ref()?;
        let kind = TargetKind::find(&target.api_version, &target.kind)?;
        kind.strategy(self.binding.strategy).ok()
    }
}
