//! What a platform team installs in its cluster: Crossplane, KEDA, a broker and our packages.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::address::{MOTO_PORT, NODE, PACKAGES};
use super::control_plane::kubectl;
use super::instance::Instance;
use super::process::Processes;
use super::{Up, moto, registry};
use crate::cannot;
use crate::workspace::shown;

const CROSSPLANE: &str = include_str!("manifests/crossplane.yaml");
const CORE_ROLES: &str = include_str!("../../../test-cluster/roles/core.yaml");
const MANAGER_ROLES: &str = include_str!("../../../test-cluster/roles/manager.yaml");
const RABBITMQ: &str = include_str!("manifests/rabbitmq.yaml");
const MOTO: &str = include_str!("manifests/moto.yaml");

/// Name of the user of the broker, as the samples in `install/` have it.
const USER: &str = "asya";

/// Timeout of everything that becomes ready.
const TIMEOUT: Duration = Duration::from_mins(5);

/// Pushes the images and packages in the folder `oci` of the state.
pub(super) fn push(instance: &Instance, processes: &mut Processes<'_>) -> Result<()> {
    let mut count = 0_usize;
    for (folder, prefix) in [("packages/oci", "asya/"), ("images", "")] {
        let folder = instance.path(folder);
        for image in folders(&folder)? {
            let reference = fs::read_to_string(image.join("reference"));
            let name = image
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let reference = reference
                .unwrap_or_else(|_| format!("{prefix}{name}:v{}", env!("CARGO_PKG_VERSION")));
            let (repository, tag) = reference
                .trim()
                .split_once(':')
                .context("an image has a tag")?;
            registry::push(&image, repository, tag)?;
            count += 1;
        }
    }
    processes.print(&format!("{count} images pushed"))
}

/// Installs Crossplane, KEDA, moto and, unless a person does, the broker; waits until they are ready.
pub(super) fn install_others(
    root: &Path,
    instance: &Instance,
    processes: &mut Processes<'_>,
    up: &Up,
) -> Result<()> {
    for namespace in ["crossplane-system", "keda"] {
        call(kubectl(instance, &format!("create namespace {namespace}")))?;
    }
    apply(instance, &roles()?)?;
    apply_text(instance, CROSSPLANE)?;
    // Too large for the annotation of a client-side apply.
    let mut kinds = kubectl(instance, "apply --server-side --filename");
    kinds.arg(instance.components.join("crds/keda-kinds.yaml"));
    call(kinds)?;
    if !up.without_keda {
        let mut keda = kubectl(instance, "apply --filename");
        keda.arg(
            instance
                .components
                .join("crds/keda-operator-manifests.yaml"),
        );
        call(keda)?;
    }
    if !up.without_asya {
        install_broker(instance)?;
    }
    let mut server = Command::new(moto::program(root, &instance.components)?);
    server.args(["-H", NODE, "-p", &MOTO_PORT.to_string()]);
    processes.start("moto", &mut server)?;
    apply_text(instance, MOTO)?;
    for (what, line) in [
        (
            "Crossplane ready",
            "rollout status deployment/crossplane --namespace crossplane-system --timeout=2s",
        ),
        (
            "Crossplane's RBAC manager ready",
            "rollout status deployment/crossplane-rbac-manager --namespace crossplane-system --timeout=2s",
        ),
    ] {
        processes.wait(what, TIMEOUT, || kubectl(instance, line))?;
    }
    if !up.without_asya {
        let line = "rollout status deployment/rabbitmq --timeout=2s";
        processes.wait("RabbitMQ ready", TIMEOUT, || kubectl(instance, line))?;
    }
    if !up.without_keda {
        let line = "rollout status deployment/keda-operator --namespace keda --timeout=2s";
        processes.wait("KEDA ready", TIMEOUT, || kubectl(instance, line))?;
        let line = "wait apiservice/v1beta1.external.metrics.k8s.io --for=condition=Available --timeout=2s";
        processes.wait("KEDA's metrics available", TIMEOUT, || {
            kubectl(instance, line)
        })?;
    }
    Ok(())
}

/// Installs RabbitMQ, with the Secrets of the provider and of actors.
fn install_broker(instance: &Instance) -> Result<()> {
    let password = password()?;
    for line in [
        format!("create secret generic rabbitmq-secret --from-literal=password={password}"),
        format!(
            "create secret generic rabbitmq-provider --namespace crossplane-system \
             --from-literal=username={USER} --from-literal=password={password}"
        ),
    ] {
        call(kubectl(instance, &line))?;
    }
    apply_text(instance, RABBITMQ)
}

/// Installs our packages, platform settings, a flavor and end actors, by the commands of
/// docs/setup/install.md.
pub(super) fn install_asya(
    instance: &Instance,
    asya: &Path,
    processes: &mut Processes<'_>,
    with_keda: bool,
) -> Result<()> {
    let mut command = Command::new(asya);
    command
        .args([
            "install",
            "--transport",
            "rabbitmq",
            "--with-defaults",
            "--apply",
        ])
        .args(["--registry", PACKAGES])
        .env("KUBECONFIG", instance.kubeconfig());
    let folder = instance.program("kubectl");
    let folder = folder.parent().unwrap_or(&folder);
    let given = std::env::var_os("PATH").unwrap_or_default();
    let path = [folder.to_owned()]
        .into_iter()
        .chain(std::env::split_paths(&given));
    command.env("PATH", std::env::join_paths(path)?);
    call(command)?;
    processes.print("packages healthy, platform settings and end actors applied")?;
    if !with_keda {
        return Ok(());
    }
    let actors = "wait asyncactors.asya.sh --all --for=condition=Ready --timeout=2s";
    processes.wait("end actors ready", TIMEOUT, || kubectl(instance, actors))
}

/// The roles of Crossplane's chart with its RBAC manager: core's own rules are one of the parts that its
/// role is aggregated from.
fn roles() -> Result<Vec<Value>> {
    let mut roles = actor::yaml::documents(CORE_ROLES)?;
    let is_role = |object: &&mut Value| object["kind"] == "ClusterRole";
    let core = roles.iter_mut().find(is_role).context("core has a role")?;
    let label = json!({"rbac.crossplane.io/aggregate-to-crossplane": "true"});
    let part = json!({
        "apiVersion": core["apiVersion"], "kind": core["kind"], "rules": core["rules"].take(),
        "metadata": {"name": "crossplane:system:aggregate-to-crossplane", "labels": label}});
    core["aggregationRule"] = json!({"clusterRoleSelectors": [{"matchLabels": label}]});
    roles.push(part);
    roles.extend(actor::yaml::documents(MANAGER_ROLES)?);
    Ok(roles)
}

fn apply(instance: &Instance, objects: &[Value]) -> Result<()> {
    apply_text(instance, &actor::yaml::write_stream(objects)?)
}

/// Applies manifests by `kubectl apply`.
pub(super) fn apply_text(instance: &Instance, text: &str) -> Result<()> {
    let mut command = kubectl(instance, "apply --filename -");
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot start kubectl")?;
    let mut pipe = child.stdin.take().context("the pipe was asked for")?;
    pipe.write_all(text.as_bytes())
        .context("kubectl reads no manifests")?;
    drop(pipe);
    let output = child
        .wait_with_output()
        .context("cannot wait for kubectl")?;
    if !output.status.success() {
        bail!(
            "`kubectl apply`: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(())
}

/// Runs a command that must succeed, and returns what it printed.
pub(super) fn call(mut command: Command) -> Result<String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start `{}`", shown(&command)))?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        bail!(
            "`{}` ended with {}: {}",
            shown(&command),
            output.status,
            complaint.trim()
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn password() -> Result<String> {
    let mut openssl = Command::new("openssl");
    openssl.args(["rand", "-hex", "16"]);
    Ok(call(openssl)?.trim().to_owned())
}

fn folders(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| cannot("read", folder))?;
    let mut found = Vec::new();
    for entry in entries {
        found.push(entry.with_context(|| cannot("read", folder))?.path());
    }
    found.sort();
    Ok(found)
}
