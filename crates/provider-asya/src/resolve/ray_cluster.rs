//! KubeRay's RayCluster: itself, since KubeRay makes pods without a workload.
//!
//! Its pods, head and workers, carry `ray.io/cluster`. It serves nothing by itself, so it
//! has no URL. A suspended one is resolved, too.
//! Source: ray-project/kuberay v1.7, `ray-operator/controllers/ray/raycluster_controller.go`,
//! `common/pod.go`.

use serde_json::Value;

use super::Resolved;
use super::object::name;
use super::target::Target;

pub(super) fn resolve(target: &Target) -> Resolved {
    pods_of(target, target.object, None)
}

/// Resolves a target whose pods are those of `cluster`.
pub(super) fn pods_of(target: &Target, cluster: &Value, url: Option<String>) -> Resolved {
    target.labelled_by(cluster, &[("ray.io/cluster", name(cluster))], url)
}
