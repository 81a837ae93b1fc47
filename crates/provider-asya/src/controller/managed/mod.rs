//! Shared parts of the reconcilers of managed resources.
//!
//! - `object`: one object during a reconcile: old and new status, pending events;
//! - `outcome`: what a reconcile returns, kube's error policy, requeues;
//! - `state_cache`: state of each object between two reconciles;
//! - `writes`, `merge_patch`: patches of status, annotations and finalizers;
//! - `events`: Kubernetes events.

pub(super) mod events;
mod merge_patch;
mod object;
mod outcome;
mod state_cache;
pub(super) mod writes;

pub(super) use self::merge_patch::merge_patch;
pub(super) use self::object::{ManagedObject, PAUSED};
pub(super) use self::outcome::{
    Finished, HasStates, ReconcileError, ReconcileOutcome, error_policy, finish,
};
pub(super) use self::state_cache::{StateCache, prune};
