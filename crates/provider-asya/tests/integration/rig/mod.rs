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
pub mod black_hole;
pub mod cases;
pub mod certificates;
pub mod fake;
pub mod fake_broker;
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
pub use test_cluster::{TIMEOUT, cluster, ports, process, until};

use std::time::SystemTime;

/// Waits until a time stamp of whole seconds differs from one of now.
pub async fn until_next_second() {
    let second = || {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        now.expect("the clock is set").as_secs()
    };
    let before = second();
    until("the clock shows another second", || async {
        (second() > before).then_some(())
    })
    .await;
}
