//! KubeRay's RayService: the RayCluster that is active.
//!
//! `status.activeServiceStatus.rayClusterName` names it, with a generated ending that changes with
//! each upgrade; a pending one serves nothing yet. Its controller is the RayService. Service
//! `<name>-serve-svc`, port 8000, leads to the active cluster; `spec.serveService` may give it
//! another name, and its port is the one that the Service or the head's container calls `serve`.
//! With incremental upgrades each cluster has a Service `<raycluster>-serve-svc` instead.
//!
//! Since KubeRay 1.4 the names of Services are not cut: a RayService whose name would be too long is
//! refused. With an older KubeRay and a name of more than 40 characters, set `runtime.targetURL`.
//! Source: ray-project/kuberay v1.4 to v1.7, `ray-operator/controllers/ray/rayservice_controller.go`,
//! `common/service.go` (`BuildServeService`), `utils/util.go` (`GenerateServeServiceName`).

use serde_json::Value;

use super::ray_cluster::pods_of;
use super::target::{Kind, Maker, Target};
use super::{QueryResults, Resolved, Unresolved};

const KUBERAY: Maker = Maker {
    name: "KubeRay",
    conditions: &["Ready"],
};
const RAY_CLUSTER: Kind = ("ray.io", "RayCluster");
/// Default port of Ray Serve.
const SERVE_PORT: u64 = 8000;
/// Name of that port.
const SERVE: &str = "serve";
/// Upgrade strategy that runs two clusters side by side, each behind a Service of its own.
const INCREMENTAL: &str = "NewClusterWithIncrementalUpgrade";

pub(super) fn resolve(target: &Target, results: &QueryResults) -> Result<Resolved, Unresolved> {
    let active = target.text("/status/activeServiceStatus/rayClusterName");
    if active.is_empty() {
        return Err(target.waits(&KUBERAY, "has no active RayCluster yet"));
    }
    let cluster = target.made(results, &KUBERAY, RAY_CLUSTER, active)?;
    Ok(pods_of(target, cluster, Some(url(target, active))))
}

/// The URL of the Service in front of the active cluster.
fn url(target: &Target, active: &str) -> String {
    let spec = &target.object["spec"];
    let own = &spec["serveService"];
    let head = &spec["rayClusterConfig"]["headGroupSpec"]["template"]["spec"]["containers"][0];
    let port = port(&own["spec"]["ports"], "port")
        .or_else(|| port(&head["ports"], "containerPort"))
        .unwrap_or(SERVE_PORT);
    let given = own["metadata"]["name"].as_str();
    let given = given.filter(|name| !name.is_empty());
    let is_incremental = spec["upgradeStrategy"]["type"] == INCREMENTAL;
    let name = match given {
        _ if is_incremental => format!("{active}-serve-svc"),
        Some(name) => name.to_owned(),
        None => format!("{}-serve-svc", target.name()),
    };
    format!("http://{name}:{port}")
}

/// The port named `serve` of a list.
fn port(ports: &Value, field: &str) -> Option<u64> {
    let mut ports = ports.as_array()?.iter();
    ports.find(|port| port["name"] == SERVE)?[field].as_u64()
}
