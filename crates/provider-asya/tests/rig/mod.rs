//! The rig: brokers and services beside the real components, each a process on loopback that ends
//! with the value that stands for it.

#![allow(
    dead_code,
    unreachable_pub,
    unused_imports,
    reason = "each test program uses its own part of the rig"
)]

pub mod moto;
pub mod rabbitmq;

pub use real::components::is_skipped;
pub use real::{PATIENCE, cluster, process, until};

/// Whether a test of the whole provider is left out; says so if it is. These run on
/// demand until the faults that the crate's README names are understood.
pub fn is_not_asked_for(what: &str) -> bool {
    const ON_DEMAND: &str = "ASYA_PROVIDER_TESTS";
    let is_asked_for = std::env::var_os(ON_DEMAND).is_some_and(|value| value == "1");
    if !is_asked_for {
        println!("{what}: left out, since {ON_DEMAND} is not 1");
    }
    !is_asked_for
}
