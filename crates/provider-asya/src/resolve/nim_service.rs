//! NVIDIA's NIMService: Deployment and Service of its own name; over several nodes a
//! `LeaderWorkerSet` `<name>-lws`; on the platform `kserve` an InferenceService.
//!
//! It is the controller of all of them. The Service has port 8000 unless `spec.expose.service.port`
//! sets another one, and leads to the leader where there are several nodes; all pods of a
//! `LeaderWorkerSet` carry `leaderworkerset.sigs.k8s.io/name`. Where `spec.replicas` is
//! set, the operator sets the Deployment back to it.
//! Source: NVIDIA/k8s-nim-operator v3.1, `api/apps/v1alpha1/nimservice_types.go`,
//! `internal/controller/platform/standalone/nimservice.go`.

use super::object::{is_set, name};
use super::target::{DEPLOYMENT, Kind, Maker, Target};
use super::{QueryResults, Resolved, Unresolved};

const OPERATOR: Maker = Maker {
    name: "the NIM operator",
    conditions: &["Ready"],
};
const LEADER_WORKER_SET: Kind = ("leaderworkerset.x-k8s.io", "LeaderWorkerSet");
/// Default port of a NIM.
const PORT: u64 = 8000;

pub(super) fn resolve(target: &Target, results: &QueryResults) -> Result<Resolved, Unresolved> {
    let nim = target.name();
    if target
        .text("/spec/inferencePlatform")
        .eq_ignore_ascii_case("kserve")
    {
        return Err(Unresolved::no_workload(format!(
            "{} runs in an InferenceService of KServe: bind to InferenceService {nim:?}",
            target.reference()
        )));
    }
    let port = target.object.pointer("/spec/expose/service/port");
    let port = port.and_then(serde_json::Value::as_u64).unwrap_or(PORT);
    let url = Some(format!("http://{nim}:{port}"));
    if is_set(target.object, "/spec/multiNode") {
        return several_nodes(target, results, url);
    }
    let deployment = target.made(results, &OPERATOR, DEPLOYMENT, nim)?;
    let mut resolved = target.run_by(deployment, url);
    if is_set(target.object, "/spec/replicas") {
        resolved.scale = Err(
            "spec.replicas of the NIMService is set, to which its operator sets the Deployment back: remove it"
                .to_owned(),
        );
    }
    Ok(resolved)
}

fn several_nodes(
    target: &Target,
    results: &QueryResults,
    url: Option<String>,
) -> Result<Resolved, Unresolved> {
    let lws = format!("{}-lws", target.name());
    let set = target.made(results, &OPERATOR, LEADER_WORKER_SET, &lws)?;
    let labels = [("leaderworkerset.sigs.k8s.io/name", name(set))];
    Ok(Resolved {
        scale: Err(
            "it runs over several nodes (spec.multiNode), and its operator sets their number"
                .to_owned(),
        ),
        injection: Err(
            "it runs over several nodes (spec.multiNode), in a LeaderWorkerSet with one template for leaders and one for workers"
                .to_owned(),
        ),
        ..target.labelled_by(set, &labels, url)
    })
}
