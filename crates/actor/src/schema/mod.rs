//! The schemas of the API: of `AsyncActor`, and of what the steps take.
//!
//! The types of this crate are the only source. [`xrd`] and [`legacy_xrd`] are
//! what makes `AsyncActor` a kind of the cluster, in Crossplane's present form
//! and as a claim; [`input_crd`] describes the input of a step to editors and to
//! `crossplane resource validate`.
//!
//! The provider's own kinds are [`queue_crd`] and its neighbours.
//!
//! # Guarantees
//! No field of an actor has a default: the API server would fill it in before the merge, and
//! it would silently beat every flavor.

mod crd;
pub(crate) mod fields;
mod input;
pub(crate) mod items;
pub(crate) mod platform;
mod provider_rules;
pub(crate) mod rules;
mod structural;
mod xrd;

pub use crd::{
    binding_crd, cluster_provider_config_crd, health_crd, provider_config_crd, queue_crd, usage_crd,
};
pub use input::input_crd;
pub use xrd::{legacy_xrd, one_step_xrd, xrd};

use serde_json::Value;

/// Returns the schema of an actor or a flavor: `spec`, or `data`.
pub fn spec() -> Value {
    structural::of::<crate::spec::Spec>()
}

/// The schema of the platform's settings.
pub fn settings() -> Value {
    structural::of::<crate::platform::Platform>()
}
