//! What a binding does to a workload of somebody else's, decided: no clock, no
//! connection. [`controller::bindings`](crate::controller::bindings) asks the Kubernetes
//! API and acts.
//!
//! - [`intent`] is what is applied, server-side and never forced;
//! - [`standing`] reads from a workload's managed fields what of it still stands, and
//!   who else writes there;
//! - [`conflicts`] counts how often it was removed, and says when it is put back;
//! - [`decide`] says what a pass does;
//! - [`refusal`] reads the API server's refusals;
//! - [`rollout`] tells whether every pod has the present template;
//! - [`scalers`] finds who else scales the target.
//!
//! # Why never forced
//! What is added has names of its own, so there is nobody to conflict with unless such a
//! name is taken: then a conflict is the truth, and force would take the field away from
//! its owner. An update of another controller conflicts with nobody: it removes what it
//! does not know, and the only trace is that our managed fields are fewer than what was
//! applied. That is what [`standing`] looks for.

pub mod conflicts;
pub mod decide;
pub mod intent;
pub mod refusal;
pub mod rollout;
pub mod scalers;
pub mod standing;
