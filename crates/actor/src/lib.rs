//! Types, validation and names of actors.
//!
//! This crate answers two questions for every other one: *what may an
//! `AsyncActor`, a platform or a flavor say*, and *what are the objects named
//! that come from it*. It holds types, validation, names, quantities and
//! durations; it never opens a connection, reads a clock or logs.
//!
//! ```
//! use actor::{platform::Platform, spec::Spec};
//! use serde_json::json;
//!
//! let platform = Platform::parse(json!({
//!     "transports": {"sqs": {"type": "sqs", "config": {"region": "us-east-1"}}},
//! }))?;
//! assert_eq!(platform.default_transport()?, "sqs"); // the only enabled one
//!
//! let spec = Spec::parse(json!({"image": "my-org/app:1", "handler": "app.handle"}))?;
//! assert!(spec.scaling.enabled()); // defaults come after the merge, never from the schema
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - [`spec::Spec`] is the resolved spec, read once; [`spec::Form`] is which
//!   of the three ways of naming a workload it uses.
//! - [`platform::Platform`] holds the platform's settings, and from it
//!   [`transport::Transport`], one queueing system.
//! - [`timeout`] derives everything that could kill or duplicate running work
//!   from one number.
//! - [`pod`] is what the containers of an actor's pod agree upon.
//! - [`names`], [`labels`] and [`registry`] name things; [`quantity`] and [`duration`] read
//!   Kubernetes' and Go's notations.
//! - [`status`] has the words of the STATUS column and the conditions;
//!   [`queue`], [`binding`], [`health`] and [`provider_config`] are the objects of the
//!   provider, and [`managed`] is what they share.
//! - [`variables`] are those of an actor's pod, as a table.
//! - `schema`, with the feature of that name, makes the XRD from these types.

pub mod backoff;
pub mod binding;
pub mod diagnostic;
pub mod duration;
pub mod entry;
pub mod health;
pub mod hidden;
pub mod labels;
pub mod managed;
pub mod names;
pub mod platform;
pub mod pod;
pub mod provider_config;
pub mod quantity;
pub mod queue;
pub mod registry;
pub mod retry_delays;
#[cfg(feature = "schema")]
pub mod schema;
pub mod spec;
pub mod status;
pub mod timeout;
pub mod transport;
pub mod variables;
#[cfg(feature = "yaml")]
pub mod yaml;

mod decode;

pub use decode::{DecodeError, without_nulls};

/// API group of `AsyncActor`.
pub const GROUP: &str = "asya.sh";
/// API version of `AsyncActor`.
pub const VERSION: &str = "v1alpha1";
/// Kind of the actor, as a namespaced XR and as a legacy claim.
pub const KIND: &str = "AsyncActor";
/// `apiVersion` of the objects that the provider reconciles.
pub const PROVIDER_API_VERSION: &str = "provider.asya.sh/v1alpha1";
/// `apiVersion` of KEDA's objects.
pub const KEDA_API_VERSION: &str = "keda.sh/v1alpha1";
/// `apiVersion` and kind of a flavor and of the platform's settings.
pub const ENVIRONMENT_CONFIG: (&str, &str) =
    ("apiextensions.crossplane.io/v1beta1", "EnvironmentConfig");
