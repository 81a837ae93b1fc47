//! Objects of the Kubernetes API kept true, pass by pass.

pub mod bindings;
pub mod configs;
pub mod connect;
pub mod events;
mod grouped;
pub mod health;
pub mod memory;
mod pass;
mod patch;
mod publish;
mod queues;
mod scalers;
pub mod targets;
mod usage;
mod writes;

/// Annotation that pauses an object when it is `true`.
const PAUSED: &str = "crossplane.io/paused";
/// Annotation that asks for a pass.
const REQUESTED: &str = "crossplane.io/reconcile-requested-at";

pub use self::queues::{Context, run};
