//! Images of what a cluster runs beside our own packages: made from the real components and from the files of
//! Debian packages on this machine, and pushed under the names by which manifests call them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use flate2::Compression;

use super::debian;
use super::instance::Instance;
use crate::cannot;
use crate::package::{self, Files, Platform, Process, Recipe};
use crate::workspace::output_of;

/// Source of the program that holds the namespaces of a pod.
const PAUSE: &str = include_str!("pause.c");

/// Image of handlers; Debian's Python under the name of the page that uses it.
const PYTHON: &str = "library/python:3-slim";

/// Debian's RabbitMQ under the name of the page that uses it.
const RABBITMQ: &str = "library/rabbitmq:3.13-management";

/// Crossplane core, as its chart calls it.
const CROSSPLANE: &str = "crossplane/crossplane:stable";

/// KEDA's operator and its server of metrics, as their manifests call them: image, component, program.
const KEDA: [(&str, &str, &str); 2] = [
    ("kedacore/keda:latest", "keda-operator", "keda"),
    (
        "kedacore/keda-metrics-apiserver:latest",
        "keda-adapter",
        "keda-adapter",
    ),
];

/// Packages without which handlers and their shell do not run.
const PYTHON_PACKAGES: &[&str] = &["python3", "dash", "coreutils"];

const RABBITMQ_PACKAGES: &[&str] = &["rabbitmq-server", "dash", "coreutils", "sed", "grep"];

/// Loads the management plugin, as the tag of the image promises.
const PLUGINS: &str = "[rabbitmq_management].\n";

/// Makes the image of the program that holds the namespaces of pods: an archive that containerd
/// imports.
pub(super) fn make_pause(instance: &Instance, platform: Platform) -> Result<()> {
    let source = instance.path("pause.c");
    fs::write(&source, PAUSE).with_context(|| cannot("write", &source))?;
    let program = instance.path("pause");
    output_of(
        Command::new("cc")
            .args(["-static", "-Os", "-s", "-o"])
            .args([&program, &source]),
    )?;
    let content = fs::read(&program).with_context(|| cannot("read", &program))?;
    let files = Files::default().with_program("pause", content);
    let image = recipe(platform, files, process("/pause"))?.make()?;
    package::write_archive(&image, "localhost/pause:1", &instance.path("pause.tar"))
}

/// Makes the image with Python, and returns its folder: images of our handlers are built upon it.
pub(super) fn make_python(folder: &Path, platform: Platform) -> Result<PathBuf> {
    let files = debian::files(PYTHON_PACKAGES)?.with_link("usr/bin/python", "python3");
    let process = Process {
        env: vec![("PATH", "/usr/bin".to_owned())],
        ..process("python3")
    };
    make(PYTHON, recipe(platform, files, process)?, folder)
}

/// Makes the images of components, each in a folder of its own with its name in the file `reference`.
pub(super) fn make_others(
    instance: &Instance,
    folder: &Path,
    platform: Platform,
    with_keda: bool,
) -> Result<()> {
    make(CROSSPLANE, crossplane(instance, platform)?, folder)?;
    make(RABBITMQ, rabbitmq(platform)?, folder)?;
    if with_keda {
        for (name, component, program) in KEDA {
            let image = keda(instance, platform, component, program)?;
            make(name, image, folder)?;
        }
    }
    Ok(())
}

fn make(name: &'static str, recipe: Recipe, folder: &Path) -> Result<PathBuf> {
    let folder = folder.join(name.replace(['/', ':'], "-"));
    let image = recipe.make().with_context(|| format!("image {name}"))?;
    package::write_folder(&image, name, &folder)?;
    let reference = folder.join("reference");
    fs::write(&reference, name).with_context(|| cannot("write", &reference))?;
    Ok(folder)
}

fn crossplane(instance: &Instance, platform: Platform) -> Result<Recipe> {
    let definitions = instance.components.join("crds");
    let mut files = Files::default()
        .with_program("crossplane", read(&instance.program("crossplane-core"))?)
        .with(package::ROOTS_PATH, package::roots_bundle());
    for (folder, name) in [
        ("crds", "crossplane-core-kinds"),
        ("webhookconfigurations", "crossplane-core-webhooks"),
    ] {
        let content = read(&definitions.join(format!("{name}.yaml")))?;
        files = files.with(&format!("{folder}/{name}.yaml"), content);
    }
    recipe(platform, files, process("/crossplane"))
}

fn keda(instance: &Instance, platform: Platform, component: &str, program: &str) -> Result<Recipe> {
    let files = Files::default()
        .with_program(program, read(&instance.program(component))?)
        .with(package::ROOTS_PATH, package::roots_bundle());
    recipe(platform, files, process(&format!("/{program}")))
}

/// A broker that keeps its data in `/tmp`, the only folder that its user may write.
fn rabbitmq(platform: Platform) -> Result<Recipe> {
    let files = debian::files(RABBITMQ_PACKAGES)?.with("etc/rabbitmq/enabled_plugins", PLUGINS);
    let env = [
        ("PATH", "/usr/bin"),
        ("HOME", "/tmp"),
        ("LANG", "C.UTF-8"),
        ("RABBITMQ_CONF_ENV_FILE", "/dev/null"),
        (
            "RABBITMQ_ENABLED_PLUGINS_FILE",
            "/etc/rabbitmq/enabled_plugins",
        ),
        ("RABBITMQ_LOG_BASE", "/tmp/log"),
        ("RABBITMQ_LOGS", "-"),
        ("RABBITMQ_MNESIA_BASE", "/tmp/data"),
        ("RABBITMQ_NODENAME", "rabbit@localhost"),
        ("RABBITMQ_PID_FILE", "/tmp/pid"),
    ];
    let process = Process {
        env: env.map(|(name, value)| (name, value.to_owned())).into(),
        working_dir: Some("/tmp"),
        ..process("/usr/lib/rabbitmq/bin/rabbitmq-server")
    };
    recipe(platform, files, process)
}

fn process(program: &str) -> Process {
    Process {
        entrypoint: vec![program.to_owned()],
        ..Process::default()
    }
}

/// An image from scratch, without compression: it is pulled once, on this machine.
fn recipe(platform: Platform, files: Files, process: Process) -> Result<Recipe> {
    let files = files.with_folder("tmp", 0o1777);
    Ok(Recipe {
        platform,
        about: BTreeMap::new(),
        base: None,
        layers: vec![files.into_layer_with(None, Compression::none())?],
        process: Some(process),
    })
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| cannot("read", path))
}
