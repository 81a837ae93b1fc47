//! KAITO's InferenceSet: itself, since it makes a Workspace for each replica.
//!
//! The Workspaces have generated names, so no workload of a lasting name is behind it;
//! but KAITO copies the label `inferenceset.kaito.sh/created-by` to the pods of all
//! replicas, and reports it in `status.selector`. Each Workspace has a Service of its own
//! and none leads to all of them. A set of no replicas is there all the same.
//! Source: kaito-project/kaito v0.12, `api/v1beta1/inferenceset_types.go`,
//! `pkg/workspace/manifests/manifests.go`,
//! `pkg/inferenceset/controllers/inferenceset_controller.go`.

use super::Resolved;
use super::target::Target;

const CREATED_BY: &str = "inferenceset.kaito.sh/created-by";
/// Label that Kubernetes gives the pods of a StatefulSet, since 1.28.
const POD_INDEX: &str = "apps.kubernetes.io/pod-index";
/// The pod that serves. A Workspace of several nodes has one pod for each; the others only compute.
const LEADER: &str = "0";

pub(super) fn resolve(target: &Target) -> Resolved {
    let labels = [(CREATED_BY, target.name()), (POD_INDEX, LEADER)];
    target.labelled_by(target.object, &labels, None)
}
