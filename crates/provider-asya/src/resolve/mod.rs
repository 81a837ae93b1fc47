//! Resolves the target of a binding: the workload of its pods, its address, and what scales it.
//!
//! One pure module per kind of [`targets::ALL`]. A module reads [`QueryResults`]; where a query has no
//! result yet it returns [`Unresolved::Needs`], and the caller runs the query and calls again. So a
//! module is straight-line code without a connection, and its tests are files
//! (`tests/cases/resolve`). To add a kind, add a row to [`targets`], a module here and a line to
//! `module_of`.
//!
//! A workload belongs to a target only where its controller reference has the kind, name and uid of the
//! target. A target or workload that is being deleted counts as missing.

mod bento_deployment;
mod kaito_inference_set;
mod kaito_workspace;
mod kserve_inference_service;
mod nim_service;
mod object;
mod query;
mod ray_cluster;
mod ray_service;
mod seldon_deployment;
mod seldon_server;
mod target;
mod vllm_runtime;
mod workload;

use std::collections::BTreeMap;

use actor::binding::targets::{self, TargetKind};
use actor::binding::{ObjectReference, reason};

pub use self::query::{Query, QueryResult, QueryResults};
use self::target::Target;

/// A resolved target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The object that makes the pods, in the version in which it was read.
    pub workload: ObjectReference,
    /// Its uid.
    pub uid: String,
    /// Labels that select its pods. Empty where its selector has more than labels.
    pub pod_selector: BTreeMap<String, String>,
    /// Base URL of the target for pods of the namespace, where its kind has one: an adapter appends
    /// the path of its API.
    pub url: Option<String>,
    /// The object that scales its pods, or why none does.
    pub scale: Result<ObjectReference, String>,
    /// `Ok` if containers can be injected through [`Self::workload`], else the reason. `Ok` only for a
    /// Deployment or StatefulSet.
    pub injection: Result<(), String>,
}

/// Reason for which a target is not resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unresolved {
    /// This query has no result yet.
    Needs(Query),
    /// The target or its workload is missing.
    Missing {
        /// [`reason::TARGET_NOT_FOUND`], [`reason::KIND_NOT_SERVED`] or
        /// [`reason::NO_WORKLOAD`].
        reason: &'static str,
        /// One line without a final period.
        message: String,
    },
}

impl From<Query> for Unresolved {
    fn from(query: Query) -> Self {
        Self::Needs(query)
    }
}

impl Unresolved {
    /// The target exists, its workload does not.
    fn no_workload(message: String) -> Self {
        Self::Missing {
            reason: reason::NO_WORKLOAD,
            message,
        }
    }
}

/// Resolves `target` from the results so far.
///
/// # Errors
/// A query is needed first, or something is missing.
pub fn resolve(target: &ObjectReference, results: &QueryResults) -> Result<Resolved, Unresolved> {
    let row = TargetKind::find(&target.api_version, &target.kind);
    let Some((row, module)) = row.and_then(|row| Some((row, module_of(row)?))) else {
        return Err(Unresolved::Missing {
            reason: reason::KIND_NOT_SERVED,
            message: format!(
                "actors cannot bind to a {}: bind to one of {}",
                target.kind,
                targets::list()
            ),
        });
    };
    module(&the_target(row, target, results)?, results)
}

/// The resolver of one kind.
type Module = fn(&Target, &QueryResults) -> Result<Resolved, Unresolved>;

fn module_of(row: &TargetKind) -> Option<Module> {
    let modules: [(&TargetKind, Module); targets::ALL.len()] = [
        (&targets::DEPLOYMENT, |target, _| {
            Ok(workload::resolve(target))
        }),
        (&targets::STATEFUL_SET, |target, _| {
            Ok(workload::resolve(target))
        }),
        (&targets::KAITO_WORKSPACE, kaito_workspace::resolve),
        (&targets::KAITO_INFERENCE_SET, |target, _| {
            Ok(kaito_inference_set::resolve(target))
        }),
        (
            &targets::KSERVE_INFERENCE_SERVICE,
            kserve_inference_service::resolve,
        ),
        (&targets::RAY_SERVICE, ray_service::resolve),
        (&targets::RAY_CLUSTER, |target, _| {
            Ok(ray_cluster::resolve(target))
        }),
        (&targets::VLLM_RUNTIME, vllm_runtime::resolve),
        (&targets::NIM_SERVICE, nim_service::resolve),
        (&targets::SELDON_SERVER, seldon_server::resolve),
        (&targets::SELDON_DEPLOYMENT, seldon_deployment::resolve),
        (&targets::BENTO_DEPLOYMENT, bento_deployment::resolve),
    ];
    let mut modules = modules.into_iter();
    modules.find(|(of, _)| *of == row).map(|(_, module)| module)
}

/// The target itself.
fn the_target<'a>(
    row: &'static TargetKind,
    target: &ObjectReference,
    results: &'a QueryResults,
) -> Result<Target<'a>, Unresolved> {
    let object = match results.object(row.group, row.kind, &target.name)? {
        QueryResult::NotServed => {
            return Err(Unresolved::Missing {
                reason: reason::KIND_NOT_SERVED,
                message: format!(
                    "the cluster serves no {} ({}): install its operator, or a newer one",
                    row.kind, row.group
                ),
            });
        }
        QueryResult::Objects(objects) => objects.first(),
    };
    let Some(object) = object else {
        return Err(Unresolved::Missing {
            reason: reason::TARGET_NOT_FOUND,
            message: format!(
                "there is no {target} in this namespace: create it, or correct workloadRef"
            ),
        });
    };
    if object::is_being_deleted(object) {
        return Err(Unresolved::no_workload(format!(
            "{target} is being deleted: create it again, or bind to another"
        )));
    }
    Ok(Target { row, object })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_module() {
        for row in targets::ALL {
            assert!(module_of(row).is_some(), "{} ({})", row.kind, row.group);
        }
    }
}
