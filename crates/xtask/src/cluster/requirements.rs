//! What a machine needs to run a cluster, checked before anything is built.

use std::fs;
use std::path::Path;

use anyhow::{Result, bail};

use crate::test::requirements::{Requirement, What, install_line};

/// Programs and modules of the system, with their Debian packages.
const REQUIREMENTS: [Requirement; 20] = [
    program("cc", "build-essential"),
    program("containerd", "containerd"),
    program("ctr", "containerd"),
    program("curl", "curl"),
    program("dpkg-query", "dpkg"),
    program("ip", "iproute2"),
    program("iptables", "iptables"),
    program("kill", "procps"),
    program("mount", "mount"),
    program("nsenter", "util-linux"),
    program("openssl", "openssl"),
    program("ps", "procps"),
    program("runc", "runc"),
    program("unshare", "util-linux"),
    file("/usr/bin/python3", "python3"),
    file("/usr/lib/cni/bridge", "containernetworking-plugins"),
    file("/usr/lib/rabbitmq/bin/rabbitmq-server", "rabbitmq-server"),
    Requirement {
        what: What::PythonModule("ensurepip"),
        package: "python3-venv",
        is_for_real_components: true,
    },
    program("epmd", "erlang-base"),
    program("sh", "dash"),
];

const fn program(name: &'static str, package: &'static str) -> Requirement {
    Requirement {
        what: What::Program(name),
        package,
        is_for_real_components: true,
    }
}

const fn file(path: &'static str, package: &'static str) -> Requirement {
    Requirement {
        what: What::File(path),
        package,
        is_for_real_components: true,
    }
}

/// Facts of a machine.
#[derive(Debug, Clone, Copy)]
struct Machine {
    is_root: bool,
    has_cgroup_v1: bool,
    has_bridges: bool,
}

/// Fails with one message that names everything that is missing.
///
/// `go_error` is the reason why real components cannot be built, if some must be.
pub(super) fn check(go_error: Option<&str>) -> Result<()> {
    if !cfg!(target_os = "linux") {
        bail!("a cluster runs on Linux only: use a virtual machine with Debian 12");
    }
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let machine = Machine {
        is_root: is_root(&status),
        has_cgroup_v1: Path::new("/sys/fs/cgroup/memory").is_dir(),
        has_bridges: Path::new("/proc/sys/net/bridge/bridge-nf-call-iptables").exists(),
    };
    let missing = REQUIREMENTS.iter().filter(|one| !one.what.is_installed());
    match message(machine, &missing.collect::<Vec<_>>(), go_error) {
        Some(message) => bail!(message),
        None => Ok(()),
    }
}

/// Effective user id in the text of `/proc/<pid>/status`.
fn is_root(status: &str) -> bool {
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    line.and_then(|line| line.split_whitespace().nth(1)) == Some("0")
}

fn message(machine: Machine, missing: &[&Requirement], go_error: Option<&str>) -> Option<String> {
    let mut problems = Vec::new();
    let checks = [
        (
            machine.is_root,
            "it takes root: a kubelet mounts volumes, and creates namespaces and cgroups",
        ),
        (
            machine.has_cgroup_v1,
            "this machine has cgroup v2 only, with which a cluster was never tried: boot it with \
             `systemd.unified_cgroup_hierarchy=0`",
        ),
        (
            machine.has_bridges,
            "the kernel module br_netfilter is missing: `modprobe br_netfilter`",
        ),
    ];
    let failed = checks.iter().filter(|(holds, _)| !holds);
    problems.extend(failed.map(|(_, problem)| (*problem).to_owned()));
    if !missing.is_empty() {
        problems.push(install_line(missing));
    }
    problems.extend(go_error.map(|error| format!("{error} from https://go.dev/dl/")));
    let list: Vec<String> = problems
        .iter()
        .map(|problem| format!("- {problem}"))
        .collect();
    (!problems.is_empty())
        .then(|| format!("this machine cannot run a cluster:\n{}", list.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABLE: Machine = Machine {
        is_root: true,
        has_cgroup_v1: true,
        has_bridges: true,
    };

    #[test]
    fn an_able_machine_is_not_refused() {
        assert_eq!(message(ABLE, &[], None), None);
    }

    #[test]
    fn everything_that_is_missing_is_named_in_one_message() {
        let machine = Machine {
            is_root: false,
            has_cgroup_v1: false,
            ..ABLE
        };
        let missing = [&program("runc", "runc"), &program("ctr", "containerd")];
        let message = message(machine, &missing, Some("Go 1.25.3 is too old")).unwrap();
        for part in [
            "it takes root",
            "cgroup v2",
            "runc, ctr",
            "apt-get install --no-install-recommends containerd runc",
            "Go 1.25.3 is too old",
        ] {
            assert!(message.contains(part), "no {part:?} in {message:?}");
        }
        assert!(!message.contains("br_netfilter"), "{message}");
    }

    #[test]
    fn root_is_the_effective_user_0() {
        assert!(is_root("Name:\tx\nUid:\t1000\t0\t1000\t1000\n"));
        assert!(!is_root("Uid:\t0\t1000\t0\t0\n"));
    }
}
