//! The rig: real servers on loopback, each ending with the value that stands for it.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test program uses its own part of the rig"
)]

pub mod kube;
pub mod moto;
pub mod process;
pub mod rabbitmq;

use std::future::Future;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long anything may take that a test waits for.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// Whether tests of real components are left out; says so if they are.
pub fn is_skipped(what: &str) -> bool {
    let is_skipped = std::env::var_os("ASYA_SKIP_REAL").is_some_and(|value| value == "1");
    if is_skipped {
        println!("{what}: left out, since ASYA_SKIP_REAL is 1");
    }
    is_skipped
}

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

/// The folder with the real components, as `cargo xtask real` decides it.
pub fn components() -> PathBuf {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let of_user = || {
        let cache = set("XDG_CACHE_HOME").map(PathBuf::from);
        let home = || set("HOME").map(|home| PathBuf::from(home).join(".cache"));
        cache.or_else(home).map(|cache| cache.join("asya-real"))
    };
    set("ASYA_REAL_DIR")
        .map(PathBuf::from)
        .or_else(of_user)
        .expect("ASYA_REAL_DIR or HOME is set")
}

/// Asks again until there is an answer.
pub async fn until<T, F: Future<Output = Option<T>>>(what: &str, mut ask: impl FnMut() -> F) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(
            Instant::now() < deadline,
            "waited {PATIENCE:?} in vain until {what}"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
