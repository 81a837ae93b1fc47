//! Crossplane provider of Asya: it reconciles `Queue` objects with RabbitMQ and SQS, injects actors into
//! workloads of other owners (`WorkloadBinding`), and reports the health of actors (`ActorHealth`).
//!
//! A reconcile observes, decides, executes and reports. The decision is pure: [`plan::decide`] for
//! queues, [`binding::decide`] for bindings.
//!
//! - [`transport`] observes and changes queues, one module per system;
//! - [`plan`], [`policies`], [`tenancy`], [`owner`], [`external_create`], [`conditions`], [`counters`] and
//!   [`requeue`] decide, without clock or connection;
//! - [`controller`] reads and writes objects of the Kubernetes API ([`cluster`]); [`crd_gate`] starts it
//!   once its kinds are served, [`lease`] on one replica only;
//! - [`metrics`] and [`serve`] are Prometheus metrics and probes, [`heartbeat`] what the probes ask;
//! - [`resolve`] finds the workload behind the target of a binding, [`binding`] decides what is injected;
//! - [`text`] cleans texts of other programs;
//! - [`timings`] has every duration, [`program`] the flags.

pub mod access;
pub mod binding;
pub mod cluster;
pub mod conditions;
pub mod controller;
pub mod counters;
pub mod crd_gate;
pub mod external_create;
pub mod heartbeat;
pub mod kinds;
pub mod lease;
pub mod metrics;
pub mod owner;
pub mod plan;
pub mod policies;
pub mod program;
pub mod requeue;
pub mod resolve;
pub mod serve;
pub mod tenancy;
pub mod text;
pub mod timings;
pub mod transport;
mod wildcard;
