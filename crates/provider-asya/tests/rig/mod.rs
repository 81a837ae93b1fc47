//! The rig: brokers and services beside the real components, each a process on loopback that ends
//! with the value that stands for it.

#![allow(
    dead_code,
    unreachable_pub,
    unused_imports,
    reason = "each test program uses its own part of the rig"
)]

pub mod api_faults;
pub mod binding_fixture;
pub mod cases;
pub mod certificates;
pub mod fake;
pub mod fake_sqs;
pub mod fake_sts;
pub mod health_fixture;
pub mod moto;
pub mod platform;
pub mod provider_fixture;
pub mod proxy;
pub mod rabbitmq;
pub mod reverter;

pub use test_cluster::components::is_skipped;
pub use test_cluster::shared::{self, Shared};
pub use test_cluster::{PATIENCE, cluster, ports, process, until};
