//! KAITO's Workspace: a StatefulSet of its own name, before 0.8 a Deployment.
//!
//! The StatefulSet has no labels of its own, so it is found by name and owner; its pods
//! carry `kaito.sh/workspace`. Service `<workspace>`, port 80, leads to pod 0, which
//! serves for all nodes of the model. A Workspace has no `spec`: `inference` and
//! `tuning` are at the top, and tuning makes a Job. From 0.8 on KAITO deletes a
//! Deployment of the Workspace's name, whatever its owner, so a Deployment is read only
//! where there is no StatefulSet, and used only where the Workspace controls it.
//! Source: kaito-project/kaito v0.12, `pkg/workspace/controllers/workspace_controller.go`,
//! `pkg/workspace/manifests/manifests.go`, `api/v1beta1/workspace_types.go`.

use super::object::is_set;
use super::target::{Behind, DEPLOYMENT, Maker, STATEFUL_SET, Target};
use super::{QueryResults, Resolved, Unresolved};

pub(super) const KAITO: Maker = Maker {
    name: "KAITO",
    conditions: &["ResourceReady", "InferenceReady", "WorkspaceSucceeded"],
};

pub(super) fn resolve(target: &Target, results: &QueryResults) -> Result<Resolved, Unresolved> {
    let name = target.name();
    if is_set(target.object, "/tuning") {
        return Err(Unresolved::no_workload(format!(
            "{} tunes a model, in a Job that ends: bind to a Workspace with inference",
            target.reference()
        )));
    }
    let workload = match target.behind(results, STATEFUL_SET, name)? {
        Behind::Made(stateful_set) => stateful_set,
        Behind::Foreign(stateful_set) => return Err(target.foreign(stateful_set, &KAITO)),
        Behind::Absent => match target.behind(results, DEPLOYMENT, name)? {
            Behind::Made(deployment) => deployment,
            Behind::Foreign(_) | Behind::Absent => {
                return Err(target.not_made(&KAITO, STATEFUL_SET, name));
            }
        },
    };
    let workload = target.unless_deleted(workload, &KAITO)?;
    Ok(target.run_by(workload, Some(format!("http://{name}"))))
}
