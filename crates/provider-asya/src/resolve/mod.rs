//! What stands behind the target of a binding: what makes its pods, where it listens,
//! and what sets the number of its pods.
//!
//! A table of pure modules, one per kind of [`targets::ALL`]. A module reads a [`View`];
//! where it needs an object that was not read yet it says which, the caller reads it and
//! asks again. So a module is straight-line code, knows no connection, and its cases are
//! files (`tests/cases/resolve`). To add a kind, add a row to [`targets`], a module here
//! and a line to `module_of`.
//!
//! A workload counts as the target's only where its controller reference names the
//! target by kind, name and uid: somebody else's of the same name is never taken for it.
//! A target or workload that is being deleted counts as missing.

mod bento_deployment;
mod kaito_inference_set;
mod kaito_workspace;
mod kserve_inference_service;
mod nim_service;
mod object;
mod ray_cluster;
mod ray_service;
mod seldon_deployment;
mod seldon_server;
mod target;
mod view;
mod vllm_runtime;
mod workload;

use std::collections::BTreeMap;

use actor::binding::targets::{self, TargetKind};
use actor::binding::{ObjectReference, reason};

use self::target::Target;
pub use self::view::{Look, Seen, View};

/// What stands behind a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// What makes the pods, in the version in which it was read.
    pub workload: ObjectReference,
    /// Its uid.
    pub uid: String,
    /// Labels of its pods, by which it selects them where it has a selector. Empty where
    /// it selects by more than labels.
    pub pod_selector: BTreeMap<String, String>,
    /// Where pods of the namespace reach the target, where its kind tells: the address
    /// to which an adapter appends the path of the API that it speaks.
    pub url: Option<String>,
    /// What sets the number of its pods, or why nothing does.
    pub scale: Result<ObjectReference, String>,
    /// Why containers cannot be added to the pods by way of [`Self::workload`]. Where
    /// there is no reason, that is a Deployment or StatefulSet.
    pub injection: Result<(), String>,
}

/// Why nothing is resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unresolved {
    /// Nothing is wrong: this must be read first.
    Look(Look),
    /// The target or what is behind it is missing: one of the reasons of
    /// `TargetResolved`, and a line that says what and what to do.
    Missing {
        /// [`reason::TARGET_NOT_FOUND`], [`reason::KIND_NOT_SERVED`] or
        /// [`reason::NO_WORKLOAD`].
        reason: &'static str,
        /// One line without a final period.
        message: String,
    },
}

impl From<Look> for Unresolved {
    fn from(look: Look) -> Self {
        Self::Look(look)
    }
}

impl Unresolved {
    /// The target is there; what makes its pods is not.
    fn no_workload(message: String) -> Self {
        Self::Missing {
            reason: reason::NO_WORKLOAD,
            message,
        }
    }
}

/// What stands behind `target`, by what was read of it.
///
/// # Errors
/// Something is to be read first, or is missing.
pub fn resolve(target: &ObjectReference, view: &View) -> Result<Resolved, Unresolved> {
    let row = TargetKind::find(&target.api_version, &target.kind);
    let Some((row, module)) = row.and_then(|row| Some((row, module_of(row)?))) else {
        return Err(Unresolved::Missing {
            reason: reason::KIND_NOT_SERVED,
            message: format!(
                "nobody can bind to a {}: bind to one of {}",
                target.kind,
                targets::list()
            ),
        });
    };
    module(&the_target(row, target, view)?, view)
}

/// One kind's way from the target to what is behind it.
type Module = fn(&Target, &View) -> Result<Resolved, Unresolved>;

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
    view: &'a View,
) -> Result<Target<'a>, Unresolved> {
    let object = match view.object(row.group, row.kind, &target.name)? {
        Seen::NotServed => {
            return Err(Unresolved::Missing {
                reason: reason::KIND_NOT_SERVED,
                message: format!(
                    "the cluster serves no {} ({}): install its operator, or a newer one",
                    row.kind, row.group
                ),
            });
        }
        Seen::Objects(objects) => objects.first(),
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
            "{target} is being deleted: create it anew, or bind to another"
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
