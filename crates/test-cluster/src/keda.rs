//! KEDA's operator, which scales workloads from zero to one and back.
//!
//! Its metrics server is left out: it serves the HPA, which scales from one pod to many.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::cluster::Cluster;
use crate::process::Process;
use crate::watchdog::Folder;
use crate::{components, health, objects, openssl, ports, until};

/// The component's name.
const OPERATOR: &str = "keda-operator";

/// Namespace of KEDA.
const NAMESPACE: &str = "keda";

/// A running operator. It listens on loopback only.
pub struct Keda {
    // The process ends before its folder is removed.
    _operator: Process,
    folder: Folder,
}

impl Keda {
    /// Starts the operator on a cluster that has its kinds, and waits until it is ready.
    ///
    /// # Panics
    /// If it does not start.
    pub async fn start(cluster: &Cluster) -> Self {
        let client = cluster.client().await;
        let namespace = json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
        let made = objects::apply(&client, &namespace).await;
        made.expect("a namespace");
        let folder = Folder::new();
        let dir = folder.path();
        let certificates = dir.join("certificates");
        fs::create_dir(&certificates).expect("a folder");
        make_certificates(&certificates);
        let [metrics, probe, service] = ports::reserve();
        let address = |port: u16| format!("127.0.0.1:{port}");
        let mut command = Command::new(components::program(OPERATOR));
        command
            .current_dir(dir)
            .arg("--cert-dir")
            .arg(&certificates)
            .args(["--metrics-bind-address", &address(metrics)])
            .args(["--health-probe-bind-address", &address(probe)])
            .args(["--metrics-service-bind-address", &address(service)])
            .env("KUBECONFIG", cluster.kubeconfig())
            .env("KEDA_CLUSTER_OBJECT_NAMESPACE", NAMESPACE)
            .env("POD_NAMESPACE", NAMESPACE)
            .env("WATCH_NAMESPACE", "");
        let mut operator = Process::start(OPERATOR, &mut command, dir);
        until("KEDA is ready", || {
            operator.check(dir);
            async move { health::is_ready(probe).await.then_some(()) }
        })
        .await;
        Self {
            _operator: operator,
            folder,
        }
    }

    /// The end of its log, for a test that fails.
    pub fn log(&self) -> String {
        let log = fs::read_to_string(self.folder.path().join(format!("{OPERATOR}.log")));
        let log = log.unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(30)..].join("\n")
    }
}

/// Returns whether the tests of `what` are skipped because the optional operator was not built, or because all
/// tests of real components are; records it if they are.
pub fn is_skipped(what: &str) -> bool {
    if components::is_skipped(what) {
        return true;
    }
    let is_missing = !components::has_program(OPERATOR);
    if is_missing {
        components::record_skipped(what, OPERATOR);
    }
    is_missing
}

/// The operator serves metrics to KEDA's metrics server, and does not start without certificates
/// for that, even if nobody asks.
fn make_certificates(folder: &Path) {
    for call in [
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
         -subj /CN=keda -keyout ca.key -out ca.crt",
        "req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=keda-operator \
         -keyout tls.key -out tls.csr",
        "x509 -req -in tls.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -out tls.crt",
    ] {
        let args: Vec<&str> = call.split_whitespace().collect();
        openssl::run(folder, &args);
    }
}
