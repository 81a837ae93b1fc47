//! Real components for tests: a Kubernetes API server, Crossplane, KEDA, brokers.
//!
//! Each is a process on loopback that is killed when the value that represents it is dropped, or when
//! the test program ends ([`watchdog`]). [`shared`] lets the tests of a program share what is expensive
//! to start. `cargo xtask real` builds most components; RabbitMQ is a package of the system, and moto,
//! which stands in for SQS, a Python package.

pub mod cluster;
pub mod components;
pub mod crossplane;
pub mod health;
mod http;
pub mod keda;
pub mod moto;
pub mod namespace;
mod node;
pub mod objects;
pub mod openssl;
pub mod ports;
pub mod process;
pub mod rabbitmq;
pub mod registry;
pub mod rights;
pub mod shared;
pub mod usage;
pub mod watchdog;

use std::future::Future;
use std::time::{Duration, Instant};

/// Timeout of everything that a test waits for: 2 minutes.
pub const TIMEOUT: Duration = Duration::from_mins(2);

/// Polls every 50 ms until there is an answer, and returns it.
///
/// # Panics
/// If there is none within [`TIMEOUT`].
pub async fn until<T, F: Future<Output = Option<T>>>(what: &str, ask: impl FnMut() -> F) -> T {
    until_within(TIMEOUT, what, ask).await
}

/// Like [`until`], with a deadline of its own.
///
/// # Panics
/// When there is no answer in time.
pub async fn until_within<T, F: Future<Output = Option<T>>>(
    timeout: Duration,
    what: &str,
    mut ask: impl FnMut() -> F,
) -> T {
    let deadline = Instant::now() + timeout;
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(
            Instant::now() < deadline,
            "waited {timeout:?} without success until {what}"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
