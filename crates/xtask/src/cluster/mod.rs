//! `cargo xtask cluster`: a real Kubernetes of one node on this machine, with Crossplane, KEDA, a broker
//! and our packages in it.
//!
//! Where the tests of `test-cluster` only pretend that pods run, here a kubelet runs them, from images
//! that containerd pulls from a registry. [`instance`] has the namespaces that everything runs in;
//! `up` builds images outside, then starts this program again inside.

mod address;
mod certificates;
mod control_plane;
mod debian;
mod images;
mod instance;
mod moto;
mod poll;
mod process;
mod programs;
mod registry;
mod requirements;
mod settings;
mod story;
mod workloads;

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};

use self::address::PACKAGES;
use self::instance::Instance;
use self::process::Processes;
use crate::Verdict;
use crate::package::{self, Platform};
use crate::real::{self, Extent};
use crate::test::heading;
use crate::workspace::{Metadata, output_of};

/// Components of Kubernetes.
const KUBERNETES: Extent = Extent::Only(&[
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubectl",
    "registry",
    "kubelet",
    "kube-proxy",
    "coredns",
]);

/// Components of Crossplane, and the kinds of KEDA's objects.
const CROSSPLANE: Extent = Extent::Only(&[
    "crossplane-core",
    "crossplane",
    "crossplane-core-kinds",
    "crossplane-core-webhooks",
    "keda-kinds",
]);

/// KEDA's operator, and its server of the metrics by which pods are scaled beyond the first.
const KEDA: Extent = Extent::Only(&["keda-operator-manifests", "keda-operator", "keda-adapter"]);

/// Action, and cluster.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Name of the cluster; several can run at the same time
    #[arg(long, global = true, default_value = "asya", value_parser = name)]
    name: String,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Start a cluster; returns when everything in it is ready
    Up(Up),
    /// End all processes of a cluster, and remove its files
    Down,
    /// Show the processes of a cluster with their memory, and its pods
    Status,
    /// Run a command inside, with kubectl, asya and crossplane on its path
    Run {
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<OsString>,
    },
    /// Send messages through actors while pods are killed, and cause statuses that only a kubelet can
    /// cause
    Test,
    /// Print the time of the first message after none, and of new actors while pods of packages are
    /// replaced
    Measure(Measure),
    /// What `up` does inside.
    #[command(hide = true)]
    InsideUp(Up),
    /// What `test` does inside.
    #[command(hide = true)]
    InsideTest,
    /// What `measure` does inside.
    #[command(hide = true)]
    InsideMeasure(Measure),
}

#[derive(Debug, Args)]
struct Measure {
    /// First messages, each about a minute after the one before
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u8).range(1..))]
    rounds: u8,
}

#[derive(Debug, Args)]
struct Up {
    /// Folder with static programs of ours, which are built otherwise
    #[arg(long, value_name = "DIR")]
    programs: Option<PathBuf>,
    /// Without the broker and our packages, which are in the registry: for installing them by hand
    #[arg(long)]
    without_asya: bool,
    /// Leave out KEDA's operator, whose first build takes ten minutes: actors do not scale
    #[arg(long)]
    without_keda: bool,
    /// Only Kubernetes and an empty registry
    #[arg(long, conflicts_with_all = ["programs", "without_asya", "without_keda"])]
    bare: bool,
}

impl Up {
    fn components(&self) -> Vec<Extent> {
        let mut components = vec![KUBERNETES];
        if !self.bare {
            components.push(CROSSPLANE);
        }
        if !self.bare && !self.without_keda {
            components.push(KEDA);
        }
        components
    }

    /// The same flags for the program inside.
    fn flags(&self) -> Vec<&'static str> {
        let flags = [
            (self.bare, "--bare"),
            (self.without_asya, "--without-asya"),
            (self.without_keda, "--without-keda"),
        ];
        let given = flags.into_iter().filter(|(is_given, _)| *is_given);
        given.map(|(_, flag)| flag).collect()
    }
}

fn name(text: &str) -> Result<String, String> {
    let is_valid = !text.is_empty()
        && text.len() <= 40
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    if is_valid {
        Ok(text.to_owned())
    } else {
        Err("use at most 40 lower case letters, digits and hyphens".to_owned())
    }
}

/// Runs `cargo xtask cluster`.
pub(crate) fn run(root: &Path, options: &Options, out: &mut impl Write) -> Result<Verdict> {
    let instance = Instance::named(&options.name)?;
    match &options.action {
        Action::Up(up) => self::up(root, &instance, up, out)?,
        Action::Test => {
            if !within(&instance, &["inside-test"])? {
                return Ok(Verdict::Fails);
            }
        }
        Action::Measure(Measure { rounds }) => {
            if !within(
                &instance,
                &["inside-measure", "--rounds", &rounds.to_string()],
            )? {
                return Ok(Verdict::Fails);
            }
        }
        Action::InsideUp(up) => inside(root, &instance, up, out)?,
        Action::InsideTest => story::test(&instance, &mut Processes::new(&instance, out))?,
        Action::InsideMeasure(Measure { rounds }) => {
            story::measure(
                &instance,
                usize::from(*rounds),
                &mut Processes::new(&instance, out),
            )?;
        }
        Action::Down => {
            instance.remove()?;
            writeln!(out, "cluster {:?} is down", instance.name)?;
        }
        Action::Status => status(&instance, out)?,
        Action::Run { command } => {
            let metadata = Metadata::read(root)?;
            let mut entered = instance.enter()?;
            entered
                .args(command)
                .env("PATH", path(&instance, &metadata)?);
            // Only comes back if it fails.
            return Err(entered.exec()).context("cannot start `nsenter`");
        }
    }
    Ok(Verdict::Holds)
}

/// The search path, with our own programs and the real components first.
fn path(instance: &Instance, metadata: &Metadata) -> Result<OsString> {
    let given = env::var_os("PATH").unwrap_or_default();
    let own = [
        metadata.target_directory.join("cluster"),
        instance.components.join("bin"),
    ];
    let folders = own.into_iter().chain(env::split_paths(&given));
    env::join_paths(folders).context("the search path has an unusable folder")
}

fn up(root: &Path, instance: &Instance, up: &Up, out: &mut impl Write) -> Result<()> {
    let mut go_error = None;
    for extent in up.components() {
        go_error = go_error.or(real::go_error(root, extent)?);
    }
    requirements::check(go_error.as_deref())?;
    if instance.first_process().is_some() {
        bail!(
            "cluster {:?} is up: `cargo xtask cluster down` ends it",
            instance.name
        );
    }
    heading("real components", out)?;
    out.flush()?;
    for extent in up.components() {
        real::provide_all(root, extent, out)?;
    }
    if !up.bare {
        // Inside, there is no network to fetch it from.
        moto::program(root, &instance.components)?;
    }
    instance.remove()?;
    settings::write(instance)?;
    certificates::write(instance)?;
    let platform = Platform::of_this_machine()
        .context("images are built for Linux on amd64 and arm64 only")?;
    heading("images", out)?;
    out.flush()?;
    images::make_pause(instance, platform)?;
    if !up.bare {
        make_images(root, instance, platform, up, out)?;
    }
    heading("cluster", out)?;
    out.flush()?;
    instance.create_namespaces()?;
    let mut arguments = vec!["inside-up"];
    arguments.extend(up.flags());
    if !within(instance, &arguments)? {
        bail!(
            "cluster {:?} did not start: its logs are in `{}`; `cargo xtask cluster down` removes it",
            instance.name,
            instance.path("log").display()
        );
    }
    Ok(())
}

/// Runs an action of this program inside; returns whether it succeeds.
fn within(instance: &Instance, action: &[&str]) -> Result<bool> {
    let mut command = instance.enter()?;
    command
        .arg(env::current_exe().context("cannot find this program")?)
        .args(["cluster", "--name", &instance.name])
        .args(action);
    let status = command.status().context("cannot start `nsenter`")?;
    Ok(status.success())
}

/// Makes all images, and our packages with real programs in them.
fn make_images(
    root: &Path,
    instance: &Instance,
    platform: Platform,
    up: &Up,
    out: &mut impl Write,
) -> Result<()> {
    let programs = match &up.programs {
        Some(folder) => folder.clone(),
        None => programs::build(root, &Metadata::read(root)?)?,
    };
    let images = instance.path("images");
    let python = images::make_python(&images, platform)?;
    images::make_others(instance, &images, platform, !up.without_keda)?;
    let options = package::Options {
        registry: PACKAGES.parse().map_err(anyhow::Error::msg)?,
        source: None,
        platform,
        programs: Some(programs),
        python_base: Some(python),
        profile: String::new(),
        compression: 0,
        output: Some(instance.path("packages")),
        only: Vec::new(),
    };
    package::run(root, &options, out)?;
    Ok(())
}

/// Starts everything, inside the namespaces.
fn inside(root: &Path, instance: &Instance, up: &Up, out: &mut impl Write) -> Result<()> {
    let mut processes = Processes::new(instance, out);
    control_plane::start(instance, &mut processes)?;
    if up.bare {
        return Ok(());
    }
    workloads::push(instance, &mut processes)?;
    workloads::install_others(root, instance, &mut processes, up)?;
    if !up.without_asya {
        let asya = Metadata::read(root)?.target_directory.join("cluster/asya");
        workloads::install_asya(instance, &asya, &mut processes, !up.without_keda)?;
    }
    Ok(())
}

fn status(instance: &Instance, out: &mut impl Write) -> Result<()> {
    let mut ps = instance.enter()?;
    ps.args(["ps", "-eo", "rss=,comm="]);
    let listed = output_of(&mut ps)?;
    let listed = String::from_utf8_lossy(&listed);
    let mut memory: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for line in listed.lines() {
        if let Some((size, program)) = line.trim().split_once(' ') {
            let entry = memory.entry(program.trim()).or_default();
            *entry = (
                entry.0 + size.parse::<u64>().unwrap_or_default(),
                entry.1 + 1,
            );
        }
    }
    let mut rows: Vec<_> = memory.into_iter().collect();
    rows.sort_by_key(|(_, (size, _))| std::cmp::Reverse(*size));
    let total: u64 = rows.iter().map(|(_, (size, _))| size).sum();
    writeln!(out, "MEMORY    PROCESSES  PROGRAM")?;
    for (program, (size, count)) in rows {
        writeln!(out, "{:5} MiB  {count:9}  {program}", size / 1024)?;
    }
    writeln!(out, "{:5} MiB             all", total / 1024)?;
    let mut pods = instance.enter()?;
    pods.arg(instance.program("kubectl"))
        .args(["get", "pods", "--all-namespaces"]);
    writeln!(
        out,
        "\n{}",
        String::from_utf8_lossy(&output_of(&mut pods)?).trim_end()
    )?;
    Ok(())
}
