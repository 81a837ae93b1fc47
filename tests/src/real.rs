//! The real components, as `cargo xtask real` built them.

use std::env;
use std::path::{Path, PathBuf};

/// Whether tests of the real components shall do nothing; says so if they shall.
pub fn is_skipped() -> bool {
    let skipped = env::var_os("ASYA_SKIP_REAL").is_some_and(|value| value == "1");
    if skipped {
        println!("skipped: ASYA_SKIP_REAL is set");
    }
    skipped
}

/// The `crossplane` CLI.
///
/// # Panics
/// When it was not built.
pub fn crossplane() -> PathBuf {
    program("crossplane")
}

/// Crossplane core, which also is the engine of `crossplane composition render`.
///
/// # Panics
/// When it was not built.
pub fn crossplane_core() -> PathBuf {
    program("crossplane-core")
}

fn program(name: &str) -> PathBuf {
    let program = folder().join("bin").join(name);
    assert!(
        program.is_file(),
        "{} is missing: run `cargo xtask real`, or set ASYA_SKIP_REAL=1 to leave such tests out",
        program.display()
    );
    program
}

/// The folder that `cargo xtask real` builds into: `ASYA_REAL_DIR`, else
/// `asya-real` in the user's cache.
fn folder() -> PathBuf {
    let set = |name| {
        env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    set("ASYA_REAL_DIR")
        .or_else(|| Some(set("XDG_CACHE_HOME")?.join("asya-real")))
        .or_else(|| Some(set("HOME")?.join(".cache/asya-real")))
        .unwrap_or_else(|| Path::new("asya-real").to_owned())
}
