//! KubeRay's RayCluster: itself, for KubeRay makes pods without a workload between.
//!
//! Its pods, head and workers, carry `ray.io/cluster`. It serves nothing by itself, so it
//! tells no address. A suspended one is there all the same.
//! Source: ray-project/kuberay v1.7, `ray-operator/controllers/ray/raycluster_controller.go`,
//! `common/pod.go`.

use serde_json::Value;

use super::Resolved;
use super::object::name;
use super::target::Target;

pub(super) fn resolve(target: &Target) -> Resolved {
    pods_of(target, target.object, None)
}

/// What stands behind a target whose pods are those of `cluster`.
pub(super) fn pods_of(target: &Target, cluster: &Value, url: Option<String>) -> Resolved {
    target.labelled_by(cluster, &[("ray.io/cluster", name(cluster))], url)
}
