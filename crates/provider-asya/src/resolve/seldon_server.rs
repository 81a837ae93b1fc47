//! Seldon Core 2's Server: a StatefulSet of its own name, or a Deployment where Seldon
//! is set up to use these.
//!
//! Its controller is the Server; pods carry `seldon-server-name`. Models make no pods.
//! There is a Service for each replica and none for all: Seldon's mesh routes, or the
//! adapter in the pod calls its own server, so it has no URL.
//! Source: SeldonIO/seldon-core v2.10, `operator/controllers/reconcilers/server/`,
//! `operator/pkg/constants/constants.go`.

use super::target::{Behind, DEPLOYMENT, Maker, STATEFUL_SET, Target};
use super::{QueryResults, Resolved, Unresolved};

const SELDON: Maker = Maker {
    name: "Seldon",
    conditions: &["StatefulSetOrDeploymentReady", "StatefulSetReady", "Ready"],
};

pub(super) fn resolve(target: &Target, results: &QueryResults) -> Result<Resolved, Unresolved> {
    let name = target.name();
    let workload = match target.behind(results, STATEFUL_SET, name)? {
        Behind::Made(stateful_set) => stateful_set,
        otherwise => match (target.behind(results, DEPLOYMENT, name)?, otherwise) {
            (Behind::Made(deployment), _) => deployment,
            (_, Behind::Foreign(taken)) | (Behind::Foreign(taken), _) => {
                return Err(target.foreign(taken, &SELDON));
            }
            (Behind::Absent, _) => return Err(target.not_made(&SELDON, STATEFUL_SET, name)),
        },
    };
    let workload = target.unless_deleted(workload, &SELDON)?;
    Ok(target.run_by(workload, None))
}
