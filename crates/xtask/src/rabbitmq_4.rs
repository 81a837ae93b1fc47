//! The tests that use a broker, on RabbitMQ 4.
//!
//! Debian 12 has RabbitMQ 3.10, which all other tests use. RabbitMQ 4 and its Erlang are in Debian 13: a small
//! system of it is put into the components' cache, and the broker is started in it with `chroot`.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::real::{Cache, Extent};
use crate::test::{heading, run_on_real_parts};
use crate::workspace::shown;
use crate::{Verdict, cannot};

/// Tests to run.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Run only the tests whose names contain this
    #[arg(default_value = "rabbitmq::")]
    filter: String,
    /// Run the ignored tests alone, which measure, and show what they print
    #[arg(long)]
    measure: bool,
}

/// Variable with the folder of the system whose broker tests start.
const ROOT_VARIABLE: &str = "ASYA_RABBITMQ_ROOT";

/// Debian release with RabbitMQ 4.0.
const RELEASE: &str = "trixie";

/// Programs of `cargo test` that have tests on a broker.
const PROGRAMS: [&str; 5] = [
    "integration",
    "size",
    "rabbitmq",
    "rabbitmq_faults",
    "commands",
];

/// Without this file, `localhost` has no address in the system.
const HOSTS: &str = "127.0.0.1 localhost\n::1 localhost\n";

/// Runs `cargo xtask rabbitmq-4`: puts the system in place once, builds what is missing, and runs the tests.
pub(crate) fn run(root: &Path, options: &Options, out: &mut impl Write) -> Result<Verdict> {
    heading("RabbitMQ 4", out)?;
    let system = provide(&Cache::from_environment()?, out)?;
    let mut args: Vec<&str> = PROGRAMS.map(|name| ["--test", name]).concat();
    args.extend(["--", options.filter.as_str()]);
    if options.measure {
        args.extend(["--ignored", "--nocapture", "--test-threads", "1"]);
    }
    let settings = [(ROOT_VARIABLE, Some(system.display().to_string()))];
    run_on_real_parts(root, Extent::Usual, &args, &settings, out)
}

/// Returns the folder of the system; it is made if it is missing, which takes minutes.
fn provide(cache: &Cache, out: &mut impl Write) -> Result<PathBuf> {
    let folder = cache.dir().join("rabbitmq-4");
    let _lock = cache.lock(out)?;
    if folder.is_dir() {
        writeln!(out, "up to date ({})", folder.display())?;
        return Ok(folder);
    }
    writeln!(out, "installing it from Debian {RELEASE} (minutes)")?;
    out.flush()?;
    let partial = folder.with_added_extension("partial");
    if partial.exists() {
        fs::remove_dir_all(&partial).with_context(|| cannot("remove", &partial))?;
    }
    let mut bootstrap = Command::new("debootstrap");
    bootstrap
        .args(["--variant=minbase", "--include=rabbitmq-server", RELEASE])
        .arg(&partial);
    let output = bootstrap.output().with_context(|| {
        "cannot start debootstrap: install it with `apt-get install debootstrap`, and run this as root"
    })?;
    if !output.status.success() {
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        let last = text.lines().last().unwrap_or_default();
        bail!(
            "`{}` ended with {}: {last}",
            shown(&bootstrap),
            output.status
        );
    }
    let hosts = partial.join("etc/hosts");
    fs::write(&hosts, HOSTS).with_context(|| cannot("write", &hosts))?;
    fs::rename(&partial, &folder).with_context(|| cannot("rename", &partial))?;
    writeln!(out, "installed ({})", folder.display())?;
    Ok(folder)
}
