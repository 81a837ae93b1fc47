//! `spec.workload`: the pod template of the user's own.

use merge::{FieldPath, Segment};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::entry::EnvVar;
use crate::names::RUNTIME_CONTAINER;

/// A Deployment or StatefulSet whose pod template the user writes.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transform = crate::schema::rules::of_workload))]
#[serde(rename_all = "camelCase", default)]
pub struct Workload {
    /// Kind of the workload. Default: `Deployment`. A change replaces the workload.
    pub kind: WorkloadKind,
    /// Number of pods while `scaling.enabled` is false; no effect otherwise. Default: the current
    /// number, else 1.
    pub replicas: Option<u32>,
    /// PodTemplateSpec. Its container `asya-runtime` runs the handler and must not set `command`.
    #[cfg_attr(
        feature = "schema",
        schemars(schema_with = "crate::schema::items::pod_template")
    )]
    pub template: Map<String, Value>,
    /// Update strategy of the workload, as in its kind.
    pub strategy: Option<Map<String, Value>>,
    /// Volume claim templates of a StatefulSet.
    pub volume_claim_templates: Vec<Map<String, Value>>,
    /// Governing Service of a StatefulSet.
    pub service_name: Option<String>,
}

impl Workload {
    /// The containers of the template.
    pub fn containers(&self) -> &[Value] {
        self.pod_list("containers")
    }

    /// The init containers of the template.
    pub fn init_containers(&self) -> &[Value] {
        self.pod_list("initContainers")
    }

    /// The volumes of the template.
    pub fn volumes(&self) -> &[Value] {
        self.pod_list("volumes")
    }

    /// The template's first container `asya-runtime`.
    pub fn runtime(&self) -> Option<&Value> {
        let mut containers = self.containers().iter();
        containers.find(|container| container["name"].as_str() == Some(RUNTIME_CONTAINER))
    }

    fn pod_list(&self, key: &str) -> &[Value] {
        let list = self.template.get("spec").and_then(|spec| spec.get(key));
        list.and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// The well-formed environment variables of the template's `asya-runtime`.
    pub(super) fn runtime_env(&self) -> Vec<EnvVar> {
        let env = self.runtime().and_then(|runtime| runtime["env"].as_array());
        let variables = env.into_iter().flatten();
        variables
            .filter_map(|variable| EnvVar::deserialize(variable).ok())
            .collect()
    }

    /// Returns the path in the spec of the last variable of that name of the template's `asya-runtime`.
    pub(super) fn path_in_runtime_env(&self, name: &str) -> Option<FieldPath> {
        let mut containers = self.containers().iter();
        let container = containers
            .position(|container| container["name"].as_str() == Some(RUNTIME_CONTAINER))?;
        let env = self.runtime()?["env"].as_array()?;
        let variable = env.iter().rposition(|variable| variable["name"] == name)?;
        let path: [Segment; 7] = [
            "workload".into(),
            "template".into(),
            "spec".into(),
            "containers".into(),
            container.into(),
            "env".into(),
            variable.into(),
        ];
        Some(path.into())
    }
}

/// The kinds of workload that are rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum WorkloadKind {
    /// Pods that are all alike.
    #[default]
    Deployment,
    /// Pods with a name and storage of their own.
    StatefulSet,
}

impl WorkloadKind {
    /// The kind as Kubernetes writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deployment => "Deployment",
            Self::StatefulSet => "StatefulSet",
        }
    }

    /// Name of the composed resource. It contains the kind, so that a change of
    /// kind removes the old workload.
    pub fn resource_name(self) -> &'static str {
        match self {
            Self::Deployment => "deployment",
            Self::StatefulSet => "statefulset",
        }
    }
}
