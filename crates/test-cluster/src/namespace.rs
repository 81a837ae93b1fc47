//! A network namespace that has only loopback.
//!
//! Crossplane core listens on all addresses and has no flag for that, so the tests
//! that start it do so where no other machine can reach it.

use std::env;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::net::IpAddr;
use std::process::Command;

/// Set in the process that is inside.
const INSIDE: &str = "ASYA_TEST_NAMESPACE";

/// File with the names of hosts; inside the namespace it is a file of the test's own.
const HOSTS: &str = "/etc/hosts";

/// Prepares the namespace: loopback, and `$1` in place of the machine's names of hosts.
const PREPARE: &str = r#"ip link set lo up && mount --bind "$1" /etc/hosts && shift && exec "$@""#;

/// Runs the test `name` of this program again in a network and process namespace of its own, and
/// returns `false` if that succeeds. Inside the namespace it returns `true`: the test continues there.
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
    let mut hosts = tempfile::NamedTempFile::new().expect("a temporary file");
    hosts
        .write_all(b"127.0.0.1 localhost\n")
        .expect("a file can be written");
    let status = Command::new("unshare")
        .args(["--net", "--pid", "--fork", "--kill-child", "--mount-proc"])
        .args(["--user", "--map-root-user", "--mount"])
        .args(["sh", "-c", PREPARE, "sh"])
        .arg(hosts.path())
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

/// Lets processes inside find an address by a name.
///
/// # Panics
/// Outside, where the names are the machine's.
pub fn name_host(name: &str, address: IpAddr) {
    assert!(
        env::var_os(INSIDE).is_some(),
        "names of hosts are only given inside"
    );
    let mut hosts = OpenOptions::new()
        .append(true)
        .open(HOSTS)
        .expect("the names of hosts can be added to");
    writeln!(hosts, "{address} {name}").expect("the names of hosts can be added to");
}
