//! Paths of the real components, as `cargo xtask real` built them.

use std::env;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Returns whether the tests of `what` are skipped because `ASYA_SKIP_REAL` is `1`; records it if they are.
pub fn is_skipped(what: &str) -> bool {
    let is_skipped = env::var_os("ASYA_SKIP_REAL").is_some_and(|value| value == "1");
    if is_skipped {
        record_skipped(what, "real components");
    }
    is_skipped
}

/// Prints that tests are skipped for want of a component, and appends it to the file that
/// `ASYA_SKIPPED_TESTS` names.
///
/// # Panics
/// If that file cannot be written.
pub fn record_skipped(what: &str, component: &str) {
    println!("{what}: skipped without {component}");
    if let Some(path) = env::var_os("ASYA_SKIPPED_TESTS") {
        let line = format!("{component}\t{what}\n");
        let file = OpenOptions::new().append(true).create(true).open(&path);
        // One write each: several programs may append.
        file.and_then(|mut file| file.write_all(line.as_bytes()))
            .expect("ASYA_SKIPPED_TESTS names a file that can be appended to");
    }
}

/// A program, such as `crossplane`.
///
/// # Panics
/// If it was not built.
pub fn program(name: &str) -> PathBuf {
    existing(component(&Path::new("bin").join(name)))
}

/// Returns whether a program was built, of those that need not be.
pub fn has_program(name: &str) -> bool {
    component(&Path::new("bin").join(name)).is_file()
}

/// The file with a component's custom resource definitions, such as `keda-kinds`.
///
/// # Panics
/// If it is missing.
pub fn definitions(name: &str) -> PathBuf {
    existing(component(&Path::new("crds").join(format!("{name}.yaml"))))
}

/// Path of a component: in the folder that `ASYA_CROSSPLANE_DIR` names, where it is there, else in the cache.
fn component(path: &Path) -> PathBuf {
    let other_core = env::var_os("ASYA_CROSSPLANE_DIR").map(|folder| Path::new(&folder).join(path));
    other_core
        .filter(|path| path.is_file())
        .unwrap_or_else(|| folder().join(path))
}

fn existing(file: PathBuf) -> PathBuf {
    assert!(
        file.is_file(),
        "{} is missing: run `cargo xtask real`, or set ASYA_SKIP_REAL=1 to leave such tests out",
        file.display()
    );
    file
}

/// The folder that `cargo xtask real` builds into: `ASYA_REAL_DIR`, else
/// `asya-real` in the user's cache.
pub fn folder() -> PathBuf {
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

/// The root of the repository.
///
/// # Panics
/// Never: this crate is in it.
pub fn repository() -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    let root = crates.and_then(Path::parent);
    root.expect("this crate is in the repository").to_owned()
}
