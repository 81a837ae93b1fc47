//! What stands behind the target of a binding: what makes its pods, where it listens,
//! and what sets the number of its pods.
//!
//! A table of pure modules, one per kind of [`targets::ALL`]. A module reads a [`View`];
//! where it needs an object that was not read yet it says which, the caller reads it and
//! asks again. So a module is straight-line code, knows no connection, and its cases are
//! files. To add a kind, add a row to [`targets`], a module here and a line to
//! [`resolve`].

mod view;
mod workload;

use std::collections::BTreeMap;

use actor::binding::targets::{self, TargetKind};
use actor::binding::{ObjectReference, reason};
use serde_json::Value;

pub use self::view::{Look, Seen, View};

/// What stands behind a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// What makes the pods, in the version in which it was read.
    pub workload: ObjectReference,
    /// Its uid.
    pub uid: String,
    /// Labels by which it selects its pods. Empty where it selects by more than labels.
    pub pod_selector: BTreeMap<String, String>,
    /// Where pods of the namespace reach the target, where its kind tells.
    pub url: Option<String>,
    /// What sets the number of its pods, or why nothing does.
    pub scale: Result<ObjectReference, String>,
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

/// What stands behind `target`, by what was read of it.
///
/// # Errors
/// Something is to be read first, or is missing.
pub fn resolve(target: &ObjectReference, view: &View) -> Result<Resolved, Unresolved> {
    let row = TargetKind::find(&target.api_version, &target.kind).ok_or_else(|| {
        missing(
            reason::KIND_NOT_SERVED,
            format!(
                "nobody can bind to a {}: bind to one of {}",
                target.kind,
                targets::list()
            ),
        )
    })?;
    let found = the_target(row, target, view)?;
    match (row.group, row.kind) {
        ("apps", _) => workload::resolve(row, found),
        _ => Err(missing(
            reason::NO_WORKLOAD,
            format!("what makes the pods of {target} is not known"),
        )),
    }
}

/// The target itself.
fn the_target<'a>(
    row: &TargetKind,
    target: &ObjectReference,
    view: &'a View,
) -> Result<&'a Value, Unresolved> {
    match view.object(row.group, row.kind, &target.name)? {
        Seen::NotServed => Err(missing(
            reason::KIND_NOT_SERVED,
            format!(
                "the cluster serves no {} ({}): install its operator",
                row.kind, row.group
            ),
        )),
        Seen::Objects(objects) => objects.first().ok_or_else(|| {
            missing(
                reason::TARGET_NOT_FOUND,
                format!("there is no {target}: create it, or correct workloadRef"),
            )
        }),
    }
}

fn missing(reason: &'static str, message: String) -> Unresolved {
    Unresolved::Missing { reason, message }
}
