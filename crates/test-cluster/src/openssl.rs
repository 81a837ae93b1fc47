//! Certificates by `openssl`.

use std::path::Path;
use std::process::Command;

/// Runs `openssl` in a folder.
///
/// # Panics
/// When it is not installed or fails.
pub fn run(folder: &Path, args: &[&str]) {
    let output = Command::new("openssl")
        .args(args)
        .current_dir(folder)
        .output();
    let output = output.expect("openssl is installed (Debian package openssl)");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "openssl {}: {errors}",
        args.join(" ")
    );
}
