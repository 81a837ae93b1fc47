//! A network of one's own, in which there is nothing but loopback.
//!
//! Crossplane core listens on all addresses and has no flag for that, so the tests
//! that start it do so where no other machine can reach it.

use std::env;
use std::process::Command;

/// Set in the process that is inside.
const INSIDE: &str = "ASYA_TEST_NAMESPACE";

/// Runs the test `name` of this program again in a network and process namespace of its own, and
/// returns `false` when that has passed. Inside, it returns `true`: that is where the test goes on.
///
/// Every process inside ends with the test.
///
/// # Panics
/// When the test fails inside, or no namespace can be made: that takes root, or a kernel that lets
/// users make their own.
pub fn is_inside(name: &str) -> bool {
    if env::var_os(INSIDE).is_some() {
        return true;
    }
    let test = env::current_exe().expect("a test has a path");
    let status = Command::new("unshare")
        .args(["--net", "--pid", "--fork", "--kill-child", "--mount-proc"])
        .args(["--user", "--map-root-user"])
        .args(["sh", "-c", "ip link set lo up && exec \"$@\"", "sh"])
        .arg(test)
        .args(["--exact", name, "--include-ignored", "--nocapture"])
        .env(INSIDE, "1")
        .status()
        .expect("unshare is installed (Debian packages util-linux and iproute2)");
    assert!(
        status.success(),
        "{name} failed in a network of its own: {status}"
    );
    false
}
