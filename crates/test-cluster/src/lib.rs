//! Real components for tests, each a process on loopback that ends with the value
//! that stands for it.
//!
//! `cargo xtask real` builds most of them; etcd and RabbitMQ are Debian's, and moto, which stands
//! for SQS, is a Python package.

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
pub mod process;
pub mod rabbitmq;
pub mod registry;
pub mod rights;
pub mod usage;

use std::future::Future;
use std::time::{Duration, Instant};

/// How long anything may take that a test waits for.
pub const PATIENCE: Duration = Duration::from_mins(2);

/// Asks again until there is an answer.
///
/// # Panics
/// When there is none in time.
pub async fn until<T, F: Future<Output = Option<T>>>(what: &str, ask: impl FnMut() -> F) -> T {
    until_within(PATIENCE, what, ask).await
}

/// Like [`until`], for what may take longer or shorter.
///
/// # Panics
/// When there is no answer in time.
pub async fn until_within<T, F: Future<Output = Option<T>>>(
    patience: Duration,
    what: &str,
    mut ask: impl FnMut() -> F,
) -> T {
    let deadline = Instant::now() + patience;
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(
            Instant::now() < deadline,
            "waited {patience:?} in vain until {what}"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
