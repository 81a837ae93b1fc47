//! Decisions about bindings: what is injected into workloads of other owners. Pure: no clock, no
//! connection; [`controller::binding`](crate::controller::binding) executes them.
//!
//! - [`intent`] is what is applied, by server-side apply that is never forced;
//! - [`field_ownership`] reads from managed fields what is still injected, and who else writes there;
//! - [`conflicts`] counts how often it was removed, and when it is applied again;
//! - [`decide`] decides the next step;
//! - [`refusal`] explains rejections of the API server;
//! - [`rollout`] reports whether every pod has the current template;
//! - [`scalers`] finds foreign scalers of the target.
//!
//! # Why apply is never forced
//! Injected containers have names of their own, so there is a conflict only where such a name is taken.
//! Then the conflict is right, and force would take the field away from its owner. An update by another
//! controller causes no conflict: it removes what it does not know, and the only trace is that our
//! manager owns fewer fields than it applied. [`field_ownership`] finds that.

pub mod conflicts;
pub mod decide;
pub mod field_ownership;
pub mod intent;
pub mod refusal;
pub mod rollout;
pub mod scalers;
