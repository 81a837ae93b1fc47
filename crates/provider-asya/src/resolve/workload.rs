//! Deployment and StatefulSet: the target is the workload.
//!
//! Their `spec.selector` is immutable and, for what people write by hand or by chart,
//! labels only. Charts of Triton and of vLLM's production stack make Deployments.
//! Source: Kubernetes `apps/v1`.
//!
//! For a workload of KAITO or of another known controller the same restrictions hold as for that
//! controller's own object.

use actor::binding::targets::{Injection, SELDON_DEPLOYMENT, Scale};

use super::Resolved;
use super::target::{Target, known_controller};

pub(super) fn resolve(target: &Target) -> Resolved {
    let mut resolved = target.run_by(target.object, None);
    let Some((row, owner)) = known_controller(target.object) else {
        return resolved;
    };
    if let Injection::Refused(reason) = row.injection {
        resolved.injection = Err(format!("{owner} makes it: {reason}"));
    }
    match row.scale {
        Scale::Nothing(reason) => resolved.scale = Err(format!("{owner} makes it: {reason}")),
        // Seldon Core 1 keeps the number where its spec has none; source as there.
        Scale::Target if *row != SELDON_DEPLOYMENT => {
            resolved.scale = Err(format!(
                "{owner} makes it and sets its replicas: bind to {owner}, which can be scaled"
            ));
        }
        Scale::Target | Scale::Workload => {}
    }
    resolved
}
