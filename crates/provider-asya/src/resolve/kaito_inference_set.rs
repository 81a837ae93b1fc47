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

pub(super) fn resolve(target: &Target) -> Resolved {
    let labels = [(CREATED_BY, target.name())];
    target.labelled_by(target.object, &labels, None)
}
