//! KubeRay's RayService: the RayCluster that is active.
//!
//! `status.activeServiceStatus.rayClusterName` names it, with a generated ending that
//! changes with each upgrade; one that is pending serves nothing yet. Its controller is
//! the RayService. Service `<name>-serve-svc`, port 8000, leads to the active cluster at
//! all times; `spec.serveService` may name it otherwise, and the port is that which the
//! Service or the head's container calls `serve`. KubeRay cuts long names.
//! Source: ray-project/kuberay v1.7, `ray-operator/controllers/ray/rayservice_controller.go`,
//! `common/service.go` (`BuildServeService`), `utils/util.go` (`GenerateServeServiceName`,
//! `CheckName`).

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
/// Longest name of a Service that KubeRay gives: it keeps the end.
const NAME_MAX: usize = 50;

pub(super) fn resolve(target: &Target, results: &QueryResults) -> Result<Resolved, Unresolved> {
    let active = target.text("/status/activeServiceStatus/rayClusterName");
    if active.is_empty() {
        return Err(target.waits(&KUBERAY, "has no active RayCluster yet"));
    }
    let cluster = target.made(results, &KUBERAY, RAY_CLUSTER, active)?;
    Ok(pods_of(target, cluster, Some(url(target))))
}

fn url(target: &Target) -> String {
    let spec = &target.object["spec"];
    let own = &spec["serveService"];
    let head = &spec["rayClusterConfig"]["headGroupSpec"]["template"]["spec"]["containers"][0];
    let port = port(&own["spec"]["ports"], "port")
        .or_else(|| port(&head["ports"], "containerPort"))
        .unwrap_or(SERVE_PORT);
    let name = own["metadata"]["name"]
        .as_str()
        .filter(|name| !name.is_empty());
    let name = name.map_or_else(|| service(target.name()), str::to_owned);
    format!("http://{name}:{port}")
}

/// The port named `serve` of a list.
fn port(ports: &Value, field: &str) -> Option<u64> {
    let mut ports = ports.as_array()?.iter();
    ports.find(|port| port["name"] == SERVE)?[field].as_u64()
}

/// The name that KubeRay gives the Service.
fn service(ray_service: &str) -> String {
    let whole = format!("{ray_service}-serve-svc");
    let end = whole.get(whole.len().saturating_sub(NAME_MAX)..);
    let end = end.unwrap_or(&whole);
    match end.strip_prefix(|first: char| !first.is_ascii_alphabetic()) {
        Some(rest) => format!("r{rest}"),
        None => end.to_owned(),
    }
}
