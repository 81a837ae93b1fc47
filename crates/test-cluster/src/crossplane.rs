//! Crossplane core, whose functions are processes of the caller: either made known to core by hand, or
//! of packages that core installs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::process::Process;
use crate::rights::{self, Rights};
use crate::watchdog::Folder;
use crate::{components, health, objects, openssl, ports, until};

/// Namespace of Crossplane.
pub const NAMESPACE: &str = "crossplane-system";

/// The RBAC manager, and its ServiceAccount.
const MANAGER: &str = "rbac-manager";

/// Tests change an actor faster than any user: core would soon delay its reconciliations.
const PATIENT: [&str; 2] = ["--circuit-breaker-burst", "100000"];

/// Attempts of `core init`: it does not wait until its own kinds are served, and is started again by the
/// kubelet elsewhere.
const TRIES: usize = 10;

/// A running core.
pub struct Crossplane {
    // Processes end before their folder is removed.
    processes: Vec<Process>,
    folder: Folder,
    client: Client,
    /// Port of core's metrics.
    pub metrics: u16,
}

impl Crossplane {
    /// Starts core with every right on a cluster and waits until it is ready. Functions are made known to
    /// it by [`install_function`](Self::install_function): it pulls no packages.
    ///
    /// It listens on all addresses: see [`crate::namespace`].
    ///
    /// # Panics
    /// If it does not start.
    pub async fn start(cluster: &Cluster) -> Self {
        Self::start_with_flags(cluster, &PATIENT).await
    }

    /// Like [`start`](Self::start), with these flags and no others: without any, core is as its users
    /// have it.
    ///
    /// # Panics
    /// If it does not start.
    pub async fn start_with_flags(cluster: &Cluster, flags: &[&str]) -> Self {
        Self::start_as(cluster, &cluster.kubeconfig(), "External", flags).await
    }

    /// Starts core with the rights that Crossplane's chart gives it, and the RBAC manager if rights
    /// are managed. Packages are installed the normal way, and get Deployments.
    ///
    /// Both listen on all addresses: see [`crate::namespace`].
    ///
    /// # Panics
    /// If something does not start.
    pub async fn start_with(cluster: &Cluster, rights: Rights) -> Self {
        let client = cluster.client().await;
        make_namespace(&client).await;
        rights::grant(&client, rights).await;
        let kubeconfig = cluster.kubeconfig_of(NAMESPACE, "crossplane").await;
        let mut crossplane = Self::start_as(cluster, &kubeconfig, "Deployment", &PATIENT).await;
        if rights == Rights::Managed {
            let kubeconfig = cluster.kubeconfig_of(NAMESPACE, MANAGER).await;
            let mut command = Command::new(components::program("crossplane-core"));
            command
                .args(["rbac", "start", "--provider-clusterrole"])
                .arg(rights::OF_PROVIDERS)
                .env("KUBECONFIG", kubeconfig);
            let manager = Process::start(MANAGER, &mut command, crossplane.folder.path());
            crossplane.processes.push(manager);
        }
        crossplane
    }

    async fn start_as(cluster: &Cluster, kubeconfig: &Path, runtime: &str, flags: &[&str]) -> Self {
        let client = cluster.client().await;
        let folder = Folder::new();
        let dir = folder.path();
        for name in ["kinds", "client", "xpkg", "xfn"] {
            fs::create_dir(dir.join(name)).expect("a folder");
        }
        // A folder with nothing else: all that is in it is installed.
        let kinds = dir.join("kinds/crossplane.yaml");
        fs::copy(components::definitions("crossplane-core-kinds"), kinds).expect("a copy");
        make_namespace(&client).await;
        initialise(kubeconfig, dir).await;
        let secrets: Api<Secret> = Api::namespaced(client.clone(), NAMESPACE);
        write_secret(&secrets, "crossplane-tls-client", &dir.join("client")).await;
        let [port, metrics] = ports::reserve();
        let flags = if knows(flags) { flags } else { &[] };
        let mut command = command(kubeconfig, dir);
        command
            .args(["core", "start"])
            .args(flags)
            .env("HEALTH_PROBE_PORT", port.to_string())
            .env("METRICS_PORT", metrics.to_string())
            .env("PACKAGE_RUNTIME", runtime);
        let mut core = Process::start("crossplane", &mut command, dir);
        until("Crossplane is ready", || {
            core.check(dir);
            async move { health::is_ready(port).await.then_some(()) }
        })
        .await;
        Self {
            processes: vec![core],
            folder,
            client,
            metrics,
        }
    }

    /// A certificate for a function on `localhost`, signed by Crossplane's authority: a folder with
    /// `tls.crt`, `tls.key` and `ca.crt`.
    ///
    /// # Panics
    /// When `openssl` fails.
    pub async fn function_certificate(&self) -> PathBuf {
        let folder = self.folder.path().join("function");
        fs::create_dir_all(&folder).expect("a folder");
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), NAMESPACE);
        let root = secrets.get("crossplane-root-ca").await.expect("the root");
        let data = root.data.unwrap_or_default();
        fs::write(folder.join("ca.crt"), &data["tls.crt"].0).expect("a file");
        fs::write(folder.join("ca.key"), &data["tls.key"].0).expect("a file");
        let usage = "subjectAltName=DNS:localhost\nextendedKeyUsage=serverAuth\n";
        fs::write(folder.join("extensions"), usage).expect("a file");
        let calls: [&[&str]; 3] = [
            &["genrsa", "-traditional", "-out", "tls.key", "2048"],
            &[
                "req",
                "-new",
                "-key",
                "tls.key",
                "-subj",
                "/CN=function",
                "-out",
                "tls.csr",
            ],
            &[
                "x509",
                "-req",
                "-in",
                "tls.csr",
                "-CA",
                "ca.crt",
                "-CAkey",
                "ca.key",
                "-CAcreateserial",
                "-days",
                "2",
                "-extfile",
                "extensions",
                "-out",
                "tls.crt",
            ],
        ];
        for args in calls {
            openssl::run(&folder, args);
        }
        folder
    }

    /// Tells core that the function `name` serves on this port of `localhost`.
    ///
    /// # Panics
    /// When the API server does not take it.
    pub async fn install_function(&self, name: &str, port: u16) {
        let package = format!("example.org/local/{name}:v0");
        // Paused, or core would try to pull the package.
        let paused = json!({"crossplane.io/paused": "true"});
        let function = json!({
            "apiVersion": "pkg.crossplane.io/v1", "kind": "Function",
            "metadata": {"name": name, "annotations": paused},
            "spec": {"package": package},
        });
        let revision = json!({
            "apiVersion": "pkg.crossplane.io/v1", "kind": "FunctionRevision",
            "metadata": {
                "name": format!("{name}-0"), "annotations": paused,
                "labels": {"pkg.crossplane.io/package": name}},
            "spec": {"desiredState": "Active", "image": package, "revision": 1},
        });
        for object in [&function, &revision] {
            objects::apply(&self.client, object)
                .await
                .expect("it is taken");
        }
        let (revisions, _) = objects::api_of(&self.client, &revision).await;
        let status = json!({"status": {
            "endpoint": format!("dns:///localhost:{port}"), "capabilities": ["composition"]}});
        let patched: kube::Result<DynamicObject> = revisions
            .patch_status(
                &format!("{name}-0"),
                &PatchParams::default(),
                &Patch::Merge(&status),
            )
            .await;
        patched.expect("the status is taken");
    }

    /// The ends of the logs, for a test that fails.
    pub fn log(&self) -> String {
        let ends = self.logs().map(|log| {
            let lines: Vec<&str> = log.lines().collect();
            lines[lines.len().saturating_sub(30)..].join("\n")
        });
        ends.join("\n")
    }

    /// The logs of core and of the RBAC manager, empty where it is not run.
    pub fn logs(&self) -> [String; 2] {
        ["crossplane", MANAGER].map(|name| {
            let log = fs::read_to_string(self.folder.path().join(format!("{name}.log")));
            log.unwrap_or_default()
        })
    }
}

async fn make_namespace(client: &Client) {
    let namespace = json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
    objects::apply(client, &namespace)
        .await
        .expect("a namespace");
    let namespaces: Api<Namespace> = Api::all(client.clone());
    namespaces.get(NAMESPACE).await.expect("it is there");
}

/// Runs `core init`, which installs core's kinds and makes its certificates.
async fn initialise(kubeconfig: &Path, dir: &Path) {
    let mut tries = 0;
    until("Crossplane is initialised", || {
        tries += 1;
        let mut command = command(kubeconfig, dir);
        command.args(["core", "init", "--activation", "*"]);
        let output = command.output().expect("core init starts");
        let log = String::from_utf8_lossy(&output.stderr).into_owned();
        let is_hopeless = !output.status.success() && tries == TRIES;
        assert!(!is_hopeless, "core init failed {TRIES} times: {log}");
        async move { output.status.success().then_some(()) }
    })
    .await;
}

/// Returns whether this core has the flags: 2.0 and 2.1 have no circuit breaker.
fn knows(flags: &[&str]) -> bool {
    let mut help = Command::new(components::program("crossplane-core"));
    let help = help.args(["core", "start", "--help"]).output();
    let help = help.expect("core prints its flags").stdout;
    let help = String::from_utf8_lossy(&help);
    let mut names = flags.iter().filter(|flag| flag.starts_with("--"));
    names.all(|name| help.contains(name))
}

/// Variables and no flags: the flags have odd names.
fn command(kubeconfig: &Path, dir: &Path) -> Command {
    let mut command = Command::new(components::program("crossplane-core"));
    command
        .current_dir(dir)
        .env("KUBECONFIG", kubeconfig)
        .env("POD_NAMESPACE", NAMESPACE)
        .env("CRDS_PATH", dir.join("kinds"))
        .env("TLS_CA_SECRET_NAME", "crossplane-root-ca")
        .env("TLS_CLIENT_SECRET_NAME", "crossplane-tls-client")
        .env("TLS_CLIENT_CERTS_DIR", dir.join("client"))
        .env("XPKG_CACHE_DIR", dir.join("xpkg"))
        .env("XFN_CACHE_DIR", dir.join("xfn"))
        // Until 2.1 it has another name.
        .env("WEBHOOK_ENABLED", "false")
        .env("ENABLE_WEBHOOKS", "false");
    command
}

async fn write_secret(secrets: &Api<Secret>, name: &str, folder: &Path) {
    let secret = secrets.get(name).await.expect("core init has made it");
    for (file, content) in secret.data.unwrap_or_default() {
        fs::write(folder.join(file), content.0).expect("a file");
    }
}

/// A condition of an object, if it has it.
pub fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    let conditions = object["status"]["conditions"].as_array()?;
    conditions
        .iter()
        .find(|condition| condition["type"] == kind)
}
