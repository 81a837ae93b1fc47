//! etcd, kube-apiserver and kube-controller-manager, with certificates of their own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::PostParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};

use crate::process::Process;
use crate::watchdog::Folder;
use crate::{TIMEOUT, components, node, openssl, ports};

/// The controllers that every cluster has.
const CONTROLLERS: [&str; 3] = [
    "namespace-controller",
    "garbage-collector-controller",
    "serviceaccount-controller",
];

/// Controllers that create pods of workloads.
const WORKLOADS: [&str; 2] = ["deployment-controller", "replicaset-controller"];

/// The controller that creates pods of Jobs.
const JOBS: &str = "job-controller";

/// The controller that aggregates roles, as Crossplane's are.
const AGGREGATION: &str = "clusterrole-aggregation-controller";

/// An API server without anything in it.
pub struct Cluster {
    // Those that were started later need the earlier ones.
    processes: Vec<Process>,
    port: u16,
    folder: Folder,
}

impl Cluster {
    /// Starts a cluster without nodes and waits until it is ready. Workloads get no pods there.
    pub async fn start() -> Self {
        Self::start_with(&[]).await
    }

    /// Starts a cluster with a node that reports all pods as running, and in which roles are
    /// aggregated.
    ///
    /// # Panics
    /// When something of it does not start.
    pub async fn start_with_a_node() -> Self {
        let mut cluster = Self::start_with(&[WORKLOADS[0], WORKLOADS[1], AGGREGATION]).await;
        let client = cluster.client().await;
        let processes = node::start(client, &cluster.kubeconfig(), cluster.folder()).await;
        cluster.processes.extend(processes);
        cluster
    }

    /// Starts a cluster without nodes, in which Deployments and Jobs get pods.
    pub async fn start_with_workloads() -> Self {
        Self::start_with(&[WORKLOADS[0], WORKLOADS[1], JOBS]).await
    }

    async fn start_with(controllers: &[&str]) -> Self {
        let folder = Folder::new();
        let dir = folder.path();
        let [port, etcd, peer, manager] = ports::reserve();
        make_certificates(dir);
        let user = json!({
            "client-certificate": dir.join("admin.crt"), "client-key": dir.join("admin.key")});
        write_kubeconfig(dir, "admin", port, &user);
        let etcd_url = format!("http://127.0.0.1:{etcd}");
        let processes = vec![
            start_etcd(dir, &etcd_url, peer),
            start_api_server(dir, &etcd_url, port),
        ];
        let mut cluster = Self {
            processes,
            port,
            folder,
        };
        let client = cluster.client().await;
        let dir = cluster.folder.path().to_owned();
        crate::until("the API server is ready", || {
            cluster
                .processes
                .iter_mut()
                .for_each(|process| process.check(&dir));
            let client = client.clone();
            async move {
                let request = http::Request::get("/readyz")
                    .body(Vec::new())
                    .expect("a request");
                client
                    .request_text(request)
                    .await
                    .ok()
                    .filter(|text| text == "ok")
            }
        })
        .await;
        let manager = start_controller_manager(&dir, manager, controllers);
        cluster.processes.push(manager);
        cluster
    }

    /// A client with every right.
    pub async fn client(&self) -> Client {
        let config =
            Kubeconfig::read_from(self.kubeconfig()).expect("the cluster's own kubeconfig");
        let options = KubeConfigOptions::default();
        let config = kube::Config::from_custom_kubeconfig(config, &options);
        Client::try_from(config.await.expect("a usable kubeconfig")).expect("a client")
    }

    /// Installs the kinds of the provider's package, and waits until they are served.
    ///
    /// # Panics
    /// If the API server refuses them.
    pub async fn install_kinds(&self) {
        let package = components::repository().join("package/provider-asya/crds");
        let files = fs::read_dir(package).expect("the package has kinds");
        for file in files {
            self.install(&file.expect("a file").path()).await;
        }
    }

    /// Installs the kinds of KEDA, and waits until they are served.
    ///
    /// # Panics
    /// If the API server refuses them.
    pub async fn install_keda(&self) {
        self.install(&components::definitions("keda-kinds")).await;
    }

    /// Installs the definitions of a file, and waits until they are served.
    ///
    /// # Panics
    /// If the API server refuses them.
    pub async fn install(&self, file: &Path) {
        let api: Api<CustomResourceDefinition> = Api::all(self.client().await);
        let text = fs::read_to_string(file).expect("a readable file");
        for definition in actor::yaml::documents(&text).expect("YAML") {
            let definition: CustomResourceDefinition =
                serde_json::from_value(definition).expect("a definition");
            let name = definition.name_any();
            api.create(&PostParams::default(), &definition)
                .await
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            let is_served = await_condition(api.clone(), &name, conditions::is_crd_established());
            tokio::time::timeout(TIMEOUT, is_served)
                .await
                .unwrap_or_else(|_| panic!("{name} is not served within {TIMEOUT:?}"))
                .unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }

    /// The kubeconfig with every right.
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("admin.kubeconfig")
    }

    /// A kubeconfig with the rights of a ServiceAccount, which is there, for some hours.
    ///
    /// # Panics
    /// When there is no such ServiceAccount.
    pub async fn kubeconfig_of(&self, namespace: &str, name: &str) -> PathBuf {
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client().await, namespace);
        let request = TokenRequest {
            spec: TokenRequestSpec {
                expiration_seconds: Some(6 * 60 * 60),
                ..TokenRequestSpec::default()
            },
            ..TokenRequest::default()
        };
        let answer = accounts
            .create_token_request(name, &PostParams::default(), &request)
            .await
            .unwrap_or_else(|error| panic!("a token of {name}: {error}"));
        let token = answer.status.expect("a token").token;
        write_kubeconfig(
            self.folder.path(),
            name,
            self.port,
            &json!({ "token": token }),
        )
    }

    /// Certificate and key of a server on 127.0.0.1, of the cluster's own authority.
    pub fn serving_certificate(&self) -> [PathBuf; 2] {
        ["apiserver.crt", "apiserver.key"].map(|file| self.folder.path().join(file))
    }

    /// Returns the folder with the data and logs of its processes.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }
}

fn start_etcd(dir: &Path, url: &str, peer: u16) -> Process {
    let mut command = Command::new(components::program("etcd"));
    command.arg("--data-dir").arg(dir.join("etcd")).args([
        "--unsafe-no-fsync",
        "--log-level",
        "error",
        "--listen-client-urls",
        url,
        "--advertise-client-urls",
        url,
        "--listen-peer-urls",
        &format!("http://127.0.0.1:{peer}"),
    ]);
    Process::start("etcd", &mut command, dir)
}

fn start_api_server(dir: &Path, etcd_url: &str, port: u16) -> Process {
    let mut command = Command::new(components::program("kube-apiserver"));
    command.current_dir(dir).args([
        "--etcd-servers",
        etcd_url,
        "--bind-address",
        "127.0.0.1",
        "--advertise-address",
        "127.0.0.1",
        "--secure-port",
        &port.to_string(),
        "--endpoint-reconciler-type",
        "none",
        "--cert-dir",
        "certs",
        "--client-ca-file",
        "ca.crt",
        "--tls-cert-file",
        "apiserver.crt",
        "--tls-private-key-file",
        "apiserver.key",
        "--service-account-issuer",
        "https://kubernetes.default.svc",
        "--service-account-key-file",
        "sa.pub",
        "--service-account-signing-key-file",
        "sa.key",
        "--service-cluster-ip-range",
        "10.96.0.0/16",
        "--authorization-mode",
        "RBAC",
        "--enable-priority-and-fairness=false",
    ]);
    Process::start("kube-apiserver", &mut command, dir)
}

fn start_controller_manager(dir: &Path, port: u16, controllers: &[&str]) -> Process {
    let controllers = [&CONTROLLERS, controllers].concat().join(",");
    let mut command = Command::new(components::program("kube-controller-manager"));
    command.current_dir(dir).args([
        "--kubeconfig",
        "admin.kubeconfig",
        "--bind-address",
        "127.0.0.1",
        "--secure-port",
        &port.to_string(),
        "--leader-elect=false",
        // It is not what any test waits for.
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
        "--service-account-private-key-file",
        "sa.key",
        "--root-ca-file",
        "ca.crt",
        "--controllers",
        &controllers,
    ]);
    Process::start("kube-controller-manager", &mut command, dir)
}

/// Writes a kubeconfig for a user with that proof of who it is, and returns its path.
fn write_kubeconfig(dir: &Path, name: &str, port: u16, user: &Value) -> PathBuf {
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "test",
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": name}}],
        "clusters": [{"name": "test", "cluster": {
            "server": format!("https://127.0.0.1:{port}"), "certificate-authority": dir.join("ca.crt")}}],
        "users": [{"name": name, "user": user}],
    });
    let path = dir.join(format!("{name}.kubeconfig"));
    fs::write(&path, kubeconfig.to_string()).expect("a file");
    path
}

fn make_certificates(dir: &Path) {
    let openssl = |args: &[&str]| openssl::run(dir, args);
    let key = |name: &str| {
        openssl(&[
            "ecparam",
            "-name",
            "prime256v1",
            "-genkey",
            "-noout",
            "-out",
            name,
        ]);
    };
    key("ca.key");
    openssl(&[
        "req", "-x509", "-new", "-key", "ca.key", "-subj", "/CN=test", "-days", "2", "-out",
        "ca.crt",
    ]);
    let leaves = [
        (
            "apiserver",
            "/CN=kube-apiserver",
            "IP:127.0.0.1,DNS:localhost",
        ),
        ("admin", "/O=system:masters/CN=admin", "DNS:admin"),
    ];
    for (name, subject, alternatives) in leaves {
        let [leaf_key, request, certificate, extensions] =
            ["key", "csr", "crt", "ext"].map(|ending| format!("{name}.{ending}"));
        key(&leaf_key);
        openssl(&[
            "req", "-new", "-key", &leaf_key, "-subj", subject, "-out", &request,
        ]);
        let text =
            format!("subjectAltName={alternatives}\nextendedKeyUsage=serverAuth,clientAuth\n");
        fs::write(dir.join(&extensions), text).expect("the folder can be written");
        openssl(&[
            "x509",
            "-req",
            "-in",
            &request,
            "-CA",
            "ca.crt",
            "-CAkey",
            "ca.key",
            "-CAcreateserial",
            "-days",
            "2",
            "-extfile",
            &extensions,
            "-out",
            &certificate,
        ]);
    }
    openssl(&["genrsa", "-out", "sa.key", "2048"]);
    openssl(&["rsa", "-in", "sa.key", "-pubout", "-out", "sa.pub"]);
}
