//! Our own programs, as they were built.

use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

/// Path of one of the workspace's binaries: in `ASYA_BIN_DIR`, else in the folder
/// of the profile under test.
///
/// # Panics
/// When it was not built.
pub fn path(name: &str) -> PathBuf {
    let folder = std::env::var_os("ASYA_BIN_DIR").map_or_else(beside_the_test, PathBuf::from);
    let program = folder.join(name);
    assert!(
        program.is_file(),
        "{} is missing: run `cargo build --workspace --bins`, or the tests by `cargo xtask test`",
        program.display()
    );
    program
}

/// `target/<profile>`, of which the test's own binary is in `deps`.
fn beside_the_test() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    let deps = test.parent().expect("a test is in a folder");
    deps.parent()
        .expect("that folder is in the profile's")
        .to_owned()
}

/// Runs `asya` in the repository's root with an environment of its own.
pub fn asya(args: &[&str]) -> Output {
    Command::new(path("asya"))
        .args(args)
        .current_dir(repository())
        .env_clear()
        .env("NO_COLOR", "1")
        .output()
        .expect("asya starts")
}

/// The documents that a program wrote to its standard output.
///
/// # Panics
/// When that is not YAML.
pub fn documents(output: &Output) -> Vec<Value> {
    let text = String::from_utf8(output.stdout.clone()).expect("output is UTF-8");
    actor::yaml::documents(&text).unwrap_or_else(|error| panic!("{error} in:\n{text}"))
}

/// Fails with every place where two streams of documents differ.
///
/// # Panics
/// When they do.
pub fn assert_same(what: &str, expected: Vec<Value>, actual: Vec<Value>) {
    let differences =
        function_kit::cases::differences(&Value::Array(expected), &Value::Array(actual));
    assert!(
        differences.is_empty(),
        "{what}:\n  {}",
        differences.join("\n  ")
    );
}

/// Standard error of a program.
pub fn talk(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).trim().to_owned()
}

/// The root of the repository.
pub fn repository() -> PathBuf {
    let tests = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    tests
        .parent()
        .expect("the package is in the repository")
        .to_owned()
}
