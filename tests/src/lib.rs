//! The rig of the pipeline tests: examples, function processes, certificates and
//! the real `crossplane`.
//!
//! Everything that a test starts listens on loopback and ends with the value that
//! stands for it.

pub mod amqp;
pub mod caller;
pub mod certificates;
pub mod documents;
pub mod examples;
pub mod function;
pub mod installation;
pub mod live_actor;
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
