//! Programs of the system that tests start, checked all at once before anything is built.

use std::env;
use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Result, bail};

use super::debian;

/// One thing that must be installed before the tests run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Requirement {
    pub(crate) what: What,
    /// The Debian package that has it.
    pub(crate) package: &'static str,
    /// True if `--no-real` does without it.
    pub(crate) is_for_real_components: bool,
}

/// Check for a requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    /// A program on the search path.
    Program(&'static str),
    /// A file at a fixed place, for programs that Debian keeps off the search path.
    File(&'static str),
    /// A module of Python 3.
    PythonModule(&'static str),
}

/// Programs and modules that tests require, except components of `cargo xtask real`.
const REQUIREMENTS: [Requirement; 15] = [
    // The linker of every Rust program, and the compiler of its TLS library.
    always(What::Program("cc"), "build-essential"),
    // `cargo xtask tidy` and the tests read the list of files from it.
    always(What::Program("git"), "git"),
    // Commands of the documentation, and completion scripts.
    always(What::Program("bash"), "bash"),
    // The runtime script.
    always(What::Program("python3"), "python3"),
    // Certificates as Crossplane makes them.
    always(What::Program("openssl"), "openssl"),
    // Memory limits of functions.
    always(What::Program("prlimit"), "util-linux"),
    // Signals to programs; the shell's own command is not on the search path.
    always(What::Program("kill"), "procps"),
    // Commands of the documentation that publish messages.
    real(What::Program("curl"), "curl"),
    // The virtual environment of moto, which stands in for SQS.
    real(What::PythonModule("ensurepip"), "python3-venv"),
    // Networks of tests of their own: the network, its loopback device, its host names.
    real(What::Program("unshare"), "util-linux"),
    real(What::Program("ip"), "iproute2"),
    real(What::Program("mount"), "mount"),
    // Time limits of the documentation's commands.
    real(What::Program("timeout"), "coreutils"),
    // The broker, and the port mapper of its distribution protocol.
    real(
        What::File("/usr/lib/rabbitmq/bin/rabbitmq-server"),
        "rabbitmq-server",
    ),
    real(What::Program("epmd"), "erlang-base"),
];

const fn always(what: What, package: &'static str) -> Requirement {
    Requirement {
        what,
        package,
        is_for_real_components: false,
    }
}

const fn real(what: What, package: &'static str) -> Requirement {
    Requirement {
        what,
        package,
        is_for_real_components: true,
    }
}

impl Requirement {
    fn name(&self) -> &'static str {
        match self.what {
            What::Program(name) | What::PythonModule(name) => name,
            // The part of the path that a reader recognises.
            What::File(path) => path.rsplit('/').next().unwrap_or(path),
        }
    }
}

impl What {
    pub(crate) fn is_installed(self) -> bool {
        match self {
            Self::Program(name) => is_on_path(name),
            Self::File(path) => Path::new(path).is_file(),
            Self::PythonModule(name) => Command::new("python3")
                .args(["-c", &format!("import {name}")])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .is_ok_and(|status| status.success()),
        }
    }
}

/// Debian keeps some programs of root in folders that are not on every user's search path.
fn is_on_path(name: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

/// Fails with one message that names everything that is missing, or installs it.
///
/// `go_error` is the reason why real components cannot be built with the Go that is installed, if
/// some must be built.
pub(super) fn check(
    no_real: bool,
    install_missing: bool,
    go_error: Option<&str>,
    out: &mut impl Write,
) -> Result<()> {
    let mut missing = missing(no_real, What::is_installed);
    if install_missing && !missing.is_empty() && go_error.is_none() {
        debian::install(&packages(&missing), out)?;
        missing.retain(|requirement| !requirement.what.is_installed());
    }
    match message(&missing, go_error) {
        Some(message) => bail!(message),
        None => Ok(()),
    }
}

fn missing(no_real: bool, is_installed: impl Fn(What) -> bool) -> Vec<Requirement> {
    REQUIREMENTS
        .into_iter()
        .filter(|requirement| !(no_real && requirement.is_for_real_components))
        .filter(|requirement| !is_installed(requirement.what))
        .collect()
}

/// The Debian packages of requirements, each once.
fn packages(missing: &[Requirement]) -> Vec<&'static str> {
    let mut packages: Vec<&str> = missing.iter().map(|missing| missing.package).collect();
    packages.sort_unstable();
    packages.dedup();
    packages
}

/// The sentence that names requirements, and the command that installs them.
pub(crate) fn install_line(missing: &[&Requirement]) -> String {
    let missing: Vec<Requirement> = missing.iter().map(|&&one| one).collect();
    let names: Vec<&str> = missing.iter().map(Requirement::name).collect();
    format!(
        "not installed: {}; on Debian as root: apt-get install --no-install-recommends {}",
        names.join(", "),
        packages(&missing).join(" ")
    )
}

fn message(missing: &[Requirement], go_error: Option<&str>) -> Option<String> {
    let mut message = String::new();
    if !missing.is_empty() {
        let names: Vec<&str> = missing.iter().map(Requirement::name).collect();
        let packages = packages(missing).join(" ");
        let _ = write!(
            message,
            "tests need what is not installed: {}\n\
             install it, on Debian as root: apt-get install --no-install-recommends {packages}\n\
             or let this command do so: cargo xtask test --install-missing",
            names.join(", "),
        );
    }
    if let Some(error) = go_error {
        if !message.is_empty() {
            message.push('\n');
        }
        message.push_str(error);
        message.push_str(" from https://go.dev/dl/");
    }
    (!message.is_empty()).then_some(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_programs_are_named_in_one_message_with_the_install_line() {
        let absent = ["curl", "unshare", "prlimit", "epmd", "kill"];
        let is_installed = |what: What| match what {
            What::Program(name) => !absent.contains(&name),
            What::File(_) => false,
            What::PythonModule(_) => true,
        };
        let missing = missing(false, is_installed);
        let go = "Go 1.25.3 is too old to build \"kwok\": install Go 1.26.0 or later";
        assert_eq!(
            message(&missing, Some(go)).unwrap(),
            "tests need what is not installed: prlimit, kill, curl, unshare, rabbitmq-server, epmd\n\
             install it, on Debian as root: apt-get install --no-install-recommends \
             curl erlang-base procps rabbitmq-server util-linux\n\
             or let this command do so: cargo xtask test --install-missing\n\
             Go 1.25.3 is too old to build \"kwok\": install Go 1.26.0 or later from https://go.dev/dl/"
        );
    }

    #[test]
    fn nothing_is_reported_if_everything_is_installed() {
        let missing = missing(false, |_| true);
        assert_eq!(message(&missing, None), None);
    }

    #[test]
    fn without_real_components_only_other_programs_are_required() {
        let missing = missing(true, |_| false);
        assert_eq!(
            packages(&missing),
            [
                "bash",
                "build-essential",
                "git",
                "openssl",
                "procps",
                "python3",
                "util-linux"
            ]
        );
    }

    #[test]
    fn programs_and_python_modules_of_this_machine_are_found() {
        assert!(What::Program("sh").is_installed());
        assert!(!What::Program("no-such-program").is_installed());
        assert!(What::PythonModule("json").is_installed());
        assert!(!What::PythonModule("no_such_module").is_installed());
    }
}
