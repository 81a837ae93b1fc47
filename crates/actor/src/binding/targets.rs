//! The kinds of workload that an actor can bind to.
//!
//! Every row is plain data with the facts that it stands on. The functions decide by
//! it, `asya lint` explains by it, and the provider resolves by it: to add a kind, add
//! a row here and a module there.

use serde::{Deserialize, Serialize};

use super::Strategy;

/// A kind of workload that an actor can bind to.
#[derive(Debug, PartialEq, Eq)]
pub struct TargetKind {
    /// API group, in whichever version it is served.
    pub group: &'static str,
    /// Kind.
    pub kind: &'static str,
    /// Default strategy: where adapter and sidecar run.
    pub default_strategy: Strategy,
    /// True if containers can be added to its pods.
    pub injection: Injection,
    /// Field that sets the number of its pods.
    pub scale: Scale,
    /// True if the object, or its Service, publishes its address. For
    /// the others an Adapter needs `runtime.targetURL`.
    pub tells_url: bool,
    /// Remedy if its controller scales it already.
    pub own_scaler: Option<&'static str>,
}

/// Placement of adapter and sidecar of a bound actor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum BindingStrategy {
    /// The target's kind decides.
    #[default]
    Auto,
    /// In the target's pods.
    Inject,
    /// In a Deployment of the actor.
    Adapter,
}

/// Support for adding containers to the pods of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Injection {
    /// They can, and stay.
    Possible,
    /// They can, and its controller removes them at its next write, for this reason.
    Fragile(&'static str),
    /// They cannot, for this reason.
    Refused(&'static str),
}

/// Field that sets the number of pods of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// The target itself has `/scale`.
    Target,
    /// The Deployment or StatefulSet behind it; where there is none, nothing.
    Workload,
    /// Nothing, for this reason.
    Nothing(&'static str),
}

impl TargetKind {
    /// The row of a kind.
    pub fn find(api_version: &str, kind: &str) -> Option<&'static Self> {
        let group = group_of(api_version);
        ALL.into_iter()
            .find(|row| row.group == group && row.kind == kind)
    }

    /// Returns the placement of adapter and sidecar.
    ///
    /// # Errors
    /// The reason for which the kind does not support the requested placement.
    pub fn strategy(&self, asked: BindingStrategy) -> Result<Strategy, &'static str> {
        match (asked, self.injection) {
            (BindingStrategy::Auto, _) => Ok(self.default_strategy),
            (BindingStrategy::Adapter, _) => Ok(Strategy::Adapter),
            (BindingStrategy::Inject, Injection::Refused(reason)) => Err(reason),
            (BindingStrategy::Inject, _) => Ok(Strategy::Inject),
        }
    }
}

/// The group of an `apiVersion`; empty for Kubernetes' core.
pub fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// All kinds as messages list them: `Deployment (apps), …`.
pub fn list() -> String {
    let kinds = ALL.map(|row| format!("{} ({})", row.kind, row.group));
    kinds.join(", ")
}

/// Every row, in the order in which messages list them.
pub const ALL: [&TargetKind; 12] = [
    &DEPLOYMENT,
    &STATEFUL_SET,
    &KAITO_WORKSPACE,
    &KAITO_INFERENCE_SET,
    &KSERVE_INFERENCE_SERVICE,
    &RAY_SERVICE,
    &RAY_CLUSTER,
    &VLLM_RUNTIME,
    &NIM_SERVICE,
    &SELDON_SERVER,
    &SELDON_DEPLOYMENT,
    &BENTO_DEPLOYMENT,
];

/// A Deployment without a controller of its own.
const PLAIN: TargetKind = TargetKind {
    group: "apps",
    kind: "Deployment",
    default_strategy: Strategy::Inject,
    injection: Injection::Possible,
    scale: Scale::Target,
    tells_url: false,
    own_scaler: None,
};

/// A Deployment, such as the charts of Triton and of vLLM's production stack make. No
/// controller writes it, and a helm upgrade merges three ways, so what was added stays.
/// Source: helm charts of triton-inference-server and of vllm-project/production-stack.
pub const DEPLOYMENT: TargetKind = PLAIN;

/// A StatefulSet; as a Deployment.
pub const STATEFUL_SET: TargetKind = TargetKind {
    kind: "StatefulSet",
    ..PLAIN
};

/// KAITO's Workspace makes a StatefulSet of its own name (before 0.8 a Deployment; one
/// of that name is deleted ever since) and a Service of that name with port 80. An
/// update of the Workspace replaces `volumes` and `initContainers` as a whole, so a
/// container whose volume goes makes the update invalid, and KAITO is stuck. A
/// Workspace with another number of pods than its nodes is not ready.
/// Source: kaito-project/kaito v0.12, `pkg/workspace/controllers/workspace_controller.go`,
/// `pkg/workspace/manifests/manifests.go`.
pub const KAITO_WORKSPACE: TargetKind = TargetKind {
    group: "kaito.sh",
    kind: "Workspace",
    default_strategy: Strategy::Adapter,
    injection: Injection::Refused(KAITO_VOLUMES),
    scale: Scale::Nothing(
        "KAITO gives a Workspace one pod for each of its nodes: bind to an InferenceSet, which can be scaled",
    ),
    tells_url: true,
    own_scaler: None,
};

/// KAITO's InferenceSet makes one Workspace, and so one StatefulSet and one Service,
/// for each replica, under generated names. It has `/scale`.
/// Source: kaito-project/kaito v0.12, `api/v1beta1/inferenceset_types.go`.
pub const KAITO_INFERENCE_SET: TargetKind = TargetKind {
    kind: "InferenceSet",
    scale: Scale::Target,
    tells_url: false,
    ..KAITO_WORKSPACE
};

const KAITO_VOLUMES: &str = "adapter and sidecar share a volume, and KAITO's next update replaces the volumes of the pod and then fails, for the containers still mount theirs";

/// KServe's InferenceService makes Deployment `<name>-predictor` or a Knative Service of
/// that name, by `status.deploymentMode`. In Standard mode every reconcile removes foreign
/// containers out, unless annotation `serving.kserve.io/disable-auto-update` is set. It
/// makes an HPA of that name unless the annotation below is set; Knative counts
/// by itself. `status.address.url` is where it listens.
/// Source: kserve/kserve v0.20, `pkg/controller/v1beta1/inferenceservice/reconcilers/`
/// (`deployment`, `hpa`, `autoscaler`), `pkg/apis/serving/v1beta1/inference_service_status.go`.
pub const KSERVE_INFERENCE_SERVICE: TargetKind = TargetKind {
    group: "serving.kserve.io",
    kind: "InferenceService",
    default_strategy: Strategy::Adapter,
    injection: Injection::Fragile(
        "KServe takes foreign containers out of its pods on every reconcile, unless annotation serving.kserve.io/disable-auto-update is \"true\" on the InferenceService",
    ),
    scale: Scale::Workload,
    tells_url: true,
    own_scaler: Some(
        "set annotation serving.kserve.io/autoscalerClass to \"external\" on the InferenceService",
    ),
};

/// KubeRay's RayService makes a RayCluster and Service `<name>-serve-svc` with port
/// 8000. KubeRay makes pods itself, whose containers never change.
/// Source: ray-project/kuberay v1.7, `ray-operator/controllers/ray/rayservice_controller.go`,
/// `common/{pod,service}.go`.
pub const RAY_SERVICE: TargetKind = TargetKind {
    group: "ray.io",
    kind: "RayService",
    default_strategy: Strategy::Adapter,
    injection: Injection::Refused(
        "KubeRay makes pods without a workload that has a pod template, and containers of a pod cannot change",
    ),
    scale: Scale::Nothing("Ray sets the number of its own workers"),
    tells_url: true,
    own_scaler: None,
};

/// KubeRay's RayCluster; as a RayService, but it serves nothing by itself.
/// Source: ray-project/kuberay v1.7, `ray-operator/controllers/ray/raycluster_controller.go`.
pub const RAY_CLUSTER: TargetKind = TargetKind {
    kind: "RayCluster",
    tells_url: false,
    ..RAY_SERVICE
};

/// The VLLMRuntime of vLLM's production stack makes Deployment and Service of its own
/// name. Its operator compares single fields, replicas among them, and writes the whole
/// Deployment where one differs; so the VLLMRuntime is scaled, which has `/scale`.
/// Source: vllm-project/production-stack 0.1.12,
/// `operator/internal/controller/vllmruntime_controller.go`.
pub const VLLM_RUNTIME: TargetKind = TargetKind {
    group: "production-stack.vllm.ai",
    kind: "VLLMRuntime",
    tells_url: true,
    own_scaler: Some("remove spec.autoscalingConfig of the VLLMRuntime"),
    ..PLAIN
};

/// NVIDIA's NIMService makes Deployment and Service of its own name and writes them
/// when its spec changes, or when the number of replicas is not `spec.replicas`; so
/// that field must not be set. It has no `/scale`.
/// Source: NVIDIA/k8s-nim-operator v3.1,
/// `internal/controller/platform/standalone/nimservice.go`.
pub const NIM_SERVICE: TargetKind = TargetKind {
    group: "apps.nvidia.com",
    kind: "NIMService",
    scale: Scale::Workload,
    tells_url: true,
    own_scaler: Some("set spec.scale.enabled of the NIMService to false"),
    ..PLAIN
};

/// Seldon Core 2's Server makes a StatefulSet, or a Deployment, of its own name. A
/// three-way comparison passes over foreign containers; replicas are the Server's,
/// which has `/scale`.
/// Source: SeldonIO/seldon-core v2.10, `operator/controllers/reconcilers/server/`.
pub const SELDON_SERVER: TargetKind = TargetKind {
    group: "mlops.seldon.io",
    kind: "Server",
    ..PLAIN
};

/// Seldon Core 1's SeldonDeployment makes one Deployment for each predictor. A
/// three-way comparison ignores foreign containers. It has `/scale` and reports
/// `status.address.url`.
/// Source: SeldonIO/seldon-core v1.18, `operator/controllers/seldondeployment_controller.go`.
pub const SELDON_DEPLOYMENT: TargetKind = TargetKind {
    group: "machinelearning.seldon.io",
    kind: "SeldonDeployment",
    tells_url: true,
    own_scaler: Some("remove hpaSpec and kedaSpec of the SeldonDeployment"),
    ..PLAIN
};

/// Yatai's BentoDeployment makes Deployment and Service of its own name, the latter with
/// port 3000, and always an HPA, which it makes again when that is deleted. Nothing can
/// be put in its place: KEDA refuses a second scaler. A three-way comparison passes over
/// foreign containers.
/// Source: bentoml/yatai-deployment v1.1.21, `controllers/bentodeployment_controller.go`;
/// kedacore/keda v2.20, `apis/keda/v1alpha1/scaledobject_webhook.go`.
pub const BENTO_DEPLOYMENT: TargetKind = TargetKind {
    group: "serving.yatai.ai",
    kind: "BentoDeployment",
    scale: Scale::Nothing("Yatai scales it by an HPA of its own, which cannot be switched off"),
    tells_url: true,
    ..PLAIN
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_its_group_in_any_version() {
        for row in ALL {
            let api_version = format!("{}/v9", row.group);
            assert_eq!(TargetKind::find(&api_version, row.kind), Some(row));
        }
        assert_eq!(TargetKind::find("v1", "Deployment"), None, "another group");
        assert_eq!(TargetKind::find("apps/v1", "ReplicaSet"), None, "no row");
    }

    #[test]
    fn a_default_strategy_is_never_refused() {
        for row in ALL {
            let is_refused = matches!(row.injection, Injection::Refused(_));
            let injects = row.default_strategy == Strategy::Inject;
            assert!(!(is_refused && injects), "{}", row.kind);
        }
    }

    #[test]
    fn the_actor_decides_unless_it_cannot_be() {
        use BindingStrategy as Asked;
        let cases = [
            (&DEPLOYMENT, Asked::Auto, Some(Strategy::Inject)),
            (&DEPLOYMENT, Asked::Adapter, Some(Strategy::Adapter)),
            (&KAITO_WORKSPACE, Asked::Auto, Some(Strategy::Adapter)),
            (&KAITO_WORKSPACE, Asked::Inject, None),
            (
                &KSERVE_INFERENCE_SERVICE,
                Asked::Inject,
                Some(Strategy::Inject),
            ),
            (&RAY_SERVICE, Asked::Inject, None),
            (&VLLM_RUNTIME, Asked::Auto, Some(Strategy::Inject)),
        ];
        for (row, asked, expected) in cases {
            assert_eq!(row.strategy(asked).ok(), expected, "{} {asked:?}", row.kind);
        }
    }
}
