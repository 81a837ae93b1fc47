//! The rig of the tests that need more than one crate.
//!
//! - [`examples`], [`validation`], [`documents`] and [`page`] read what the repository holds;
//! - [`program`], [`function`] and [`provider`] run what we ship (`memory_group`: under a limit); [`certificates`], [`wire`] and
//!   [`metrics`] are for speaking to it, [`amqp`] and [`caller`] for sending messages to actors;
//! - [`stack`] has all of it on real parts, [`packages`] and [`installation`] the same from
//!   packages;
//! - [`live_actor`] and [`table`] read the state of an actor;
//! - [`pod`] runs rendered pods as processes, [`mesh`] several actors that send messages to each other,
//!   [`kubelet`] the pods that a cluster's controllers create.
//!
//! Everything that a test starts listens on loopback and ends with the value that
//! stands for it.

pub mod amqp;
pub mod caller;
pub mod certificates;
pub mod examples;
pub mod function;
pub mod installation;
pub mod kubelet;
pub mod live_actor;
pub mod manifests;
mod memory_group;
pub mod mesh;
pub mod metrics;
pub mod packages;
pub mod page;
pub mod pod;
pub mod program;
pub mod provider;
pub mod stack;
pub mod table;
pub mod validation;
pub mod wire;
