//! The provider: it keeps Queue objects true on RabbitMQ and SQS, WorkloadBinding objects
//! on workloads of other owners, and ActorHealth objects current.
//!
//! Observe, decide, act, report. Only the decision is hard, and it is pure:
//! [`plan::decide`] says what to do from what is wanted and what is seen.
//!
//! - [`transport`] looks at queues and changes them, one module per system;
//! - [`plan`], [`policies`], [`tenancy`], [`owner`], [`creation`],
//!   [`conditions`], [`counters`] and [`requeue`] decide, without clock or
//!   connection;
//! - [`controller`] asks the Kubernetes API ([`cluster`]) and acts, [`gate`] says
//!   when it may start and [`lease`] which replica, [`metrics`] counts and
//!   [`serve`] shows;
//! - [`resolve`] says what is behind the target of a binding, [`binding`] what is done to it;
//! - [`timings`] has every duration there is, [`program`] the flags.

pub mod binding;
pub mod cluster;
pub mod conditions;
pub mod controller;
pub mod counters;
pub mod creation;
pub mod gate;
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
pub mod timings;
pub mod transport;
