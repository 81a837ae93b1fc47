//! The normal way to install: packages from a registry, and what `install/` has.
//!
//! Core unpacks the packages, and makes certificates and Deployments for what is in them. The node
//! reports their pods as running, and the test runs the programs in their place: functions with the
//! certificates that core made, at the host names by which core calls them, and the provider with the
//! rights of its ServiceAccount.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use kube::api::{Api, DynamicObject, ListParams};
use serde_json::{Value, json};
use tempfile::TempDir;
use test_cluster::cluster::Cluster;
use test_cluster::crossplane::{Crossplane, NAMESPACE, condition};
use test_cluster::registry::Registry;
use test_cluster::rights::Rights;
use test_cluster::{TIMEOUT, components, namespace, objects, until};

use crate::examples::documents;
use crate::function::{Function, reserve_addresses};
use crate::packages::{AMD64, metadata_of, package, programs, stand_ins};
use crate::program::talk;
use crate::stack::Stack;

/// Path of our repositories in the registry, which the names of functions begin with.
const PATH: &str = "asya";

/// Port on which functions listen.
const PORT: u16 = 9443;

/// Manifests that a user of the packages applies first.
const ALWAYS: [&str; 5] = [
    "crossplane/rbac.yaml",
    "functions/runtime-config.yaml",
    "functions/disruption-budget.yaml",
    "provider-asya/runtime-config.yaml",
    "provider-asya/rbac.yaml",
];

/// And what, where Crossplane's RBAC manager is not there.
const WITHOUT_MANAGER: [&str; 2] = [
    "crossplane/rbac-without-manager.yaml",
    "provider-asya/rbac-without-manager.yaml",
];

const API_VERSION: &str = "pkg.crossplane.io/v1";

/// A ServiceAccount, which the provider's runtime config names so.
const PROVIDER: &str = "provider-asya";

impl Stack {
    /// Starts a cluster with a node and core with its real rights, and installs a Configuration with
    /// all that it depends on. All is healthy, and actors are served; the provider is yet to be
    /// [started](Stack::start_provider), with the rights that were granted to it.
    ///
    /// # Panics
    /// When something does not start, or is not healthy in time.
    pub async fn install(configuration: &str, rights: Rights) -> Self {
        let mut stack = Self::start_empty(rights).await;
        stack.push_packages(configuration);
        stack.grant(rights).await;
        stack.apply_packages(configuration).await;
        for (function, address) in functions_of(configuration).iter().zip(1..) {
            let function = stack.run_function(function, address).await;
            stack.functions.push(function);
        }
        stack.provider_kubeconfig = stack.take_over_the_provider().await;
        stack.until_packages_are_healthy().await;
        let providers = stack.packages("Provider").await;
        let providers = providers.list(&ListParams::default()).await;
        let providers = providers.expect("a list").items.len();
        assert_eq!(
            providers, 1,
            "the Configuration takes the one that is there"
        );
        stack.until_actors_are_served().await;
        stack
    }

    /// Starts a cluster with a node, KEDA's kinds, core with its real rights, and an empty registry;
    /// nothing of ours is installed.
    ///
    /// # Panics
    /// When something does not start.
    pub async fn start_empty(rights: Rights) -> Self {
        let cluster = Cluster::start_with_a_node().await;
        cluster.install_keda().await;
        let crossplane = Crossplane::start_with(&cluster, rights);
        let (crossplane, registry) = tokio::join!(crossplane, Registry::start());
        let mut stack = Self::of(cluster, crossplane).await;
        stack.registry = Some(registry);
        stack
    }

    /// Registry and path of pushed images.
    pub fn registry_path(&self) -> String {
        format!("{}/{PATH}", self.registry().host())
    }

    /// Pushes a package to the registry.
    ///
    /// # Panics
    /// When that fails.
    pub fn push(&self, package: &Path, image: &str) {
        let image = format!("{}/{image}", self.registry_path());
        self.registry().push(package, &image);
    }

    /// Waits until all packages are installed and healthy.
    ///
    /// # Panics
    /// When they are not in time.
    pub async fn until_packages_are_healthy(&self) {
        for kind in ["Function", "Provider", "Configuration"] {
            self.until_all_are_healthy(kind).await;
        }
    }

    fn registry(&self) -> &Registry {
        self.registry.as_ref().expect("a registry")
    }

    /// Makes packages with stand-ins for their programs, and pushes a Configuration with everything that
    /// it may depend on.
    fn push_packages(&self, configuration: &str) {
        let output = tempfile::tempdir().expect("a temporary folder");
        let stand_ins = stand_ins(AMD64);
        let stand_ins = stand_ins.path().to_str().expect("a path in UTF-8");
        let below = self.registry_path();
        let done = package(&below, output.path(), &["--programs", stand_ins]);
        assert!(done.status.success(), "{}", talk(&done));
        let names = programs().map(str::to_owned);
        for name in names.chain([configuration.to_owned()]) {
            let file = output.path().join(format!("{name}.xpkg"));
            self.push(&file, &tagged(&name));
        }
    }

    /// Applies what packages cannot bring.
    async fn grant(&self, rights: Rights) {
        let mut files = ALWAYS.to_vec();
        if rights == Rights::ByHand {
            files.extend(WITHOUT_MANAGER);
        }
        for file in files {
            let folder = components::repository().join("install");
            self.apply_file(&folder.join(file)).await;
        }
    }

    /// Applies the provider with its runtime config, and the Configuration, which brings the rest.
    async fn apply_packages(&self, configuration: &str) {
        let path = self.registry_path();
        let object = |kind: &str, name: &str| {
            json!({"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name},
                "spec": {"package": format!("{path}/{}", tagged(name))}})
        };
        let mut provider = object("Provider", PROVIDER);
        provider["spec"]["runtimeConfigRef"] = json!({"name": PROVIDER});
        self.apply(&provider).await;
        self.apply(&object("Configuration", configuration)).await;
    }

    /// Runs a function in place of its pod, at an address of its own that core finds by name.
    async fn run_function(&self, name: &str, address: u8) -> Function {
        let package = format!("pkg.crossplane.io/package={PATH}-{name}");
        let revisions = self.packages("FunctionRevision").await;
        let of_package = ListParams::default().labels(&package);
        let status = until(&format!("core has a service for {name}"), || async {
            let found = revisions.list(&of_package).await.expect("a list").items;
            let status = found.first()?.data.get("status")?.clone();
            let is_complete =
                status["endpoint"].is_string() && status["tlsServerSecretName"].is_string();
            is_complete.then_some(status)
        })
        .await;
        let certificates = self.certificates(&status).await;
        let endpoint = status["endpoint"].as_str().unwrap_or_default();
        let host = endpoint.strip_prefix("dns:///");
        let host = host.and_then(|host| host.strip_suffix(&format!(":{PORT}")));
        let host = host.unwrap_or_else(|| panic!("{name} is at {endpoint:?}"));
        let address = IpAddr::from(Ipv4Addr::new(127, 0, 1, address));
        namespace::name_host(host, address);
        let folder = certificates.path().to_str().expect("a path in UTF-8");
        let [metrics] = reserve_addresses();
        let arguments = ["--tls-certs-dir", folder];
        Function::start_at(name, SocketAddr::new(address, PORT), metrics, &arguments)
    }

    /// The files of the Secret that core made for a function. It has read them when it listens.
    async fn certificates(&self, status: &Value) -> TempDir {
        let name = status["tlsServerSecretName"].as_str().unwrap_or_default();
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), NAMESPACE);
        let data = until(&format!("Secret {name} is filled"), || async {
            let secret = secrets.get_opt(name).await.expect("an answer")?;
            secret.data.filter(|data| data.contains_key("tls.crt"))
        })
        .await;
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (file, content) in data {
            fs::write(folder.path().join(file), content.0).expect("a file");
        }
        folder
    }

    /// A kubeconfig with the provider's rights, as soon as it has a ServiceAccount.
    async fn take_over_the_provider(&self) -> PathBuf {
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client.clone(), NAMESPACE);
        until("the provider has a ServiceAccount", || async {
            accounts.get_opt(PROVIDER).await.expect("an answer")
        })
        .await;
        self.cluster.kubeconfig_of(NAMESPACE, PROVIDER).await
    }

    /// Waits until all packages of a kind are installed and healthy.
    async fn until_all_are_healthy(&self, kind: &str) {
        let packages = self.packages(kind).await;
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let list = packages.list(&ListParams::default()).await;
            let list = json!(list.expect("a list").items);
            let mut all = list.as_array().into_iter().flatten();
            if list != json!([]) && all.all(is_healthy) {
                return;
            }
            assert!(
                Instant::now() < deadline,
                "not every {kind} is healthy in {list:#}\n{}",
                self.log()
            );
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    async fn packages(&self, kind: &str) -> Api<DynamicObject> {
        let any = json!({"apiVersion": API_VERSION, "kind": kind, "metadata": {}});
        objects::api_of(&self.client, &any).await.0
    }
}

/// Returns whether a package is unpacked and, if it has a program, that runs.
fn is_healthy(package: &Value) -> bool {
    ["Installed", "Healthy"]
        .iter()
        .all(|kind| condition(package, kind).is_some_and(|condition| condition["status"] == "True"))
}

/// The functions that a Configuration depends on.
fn functions_of(configuration: &str) -> Vec<String> {
    let file = metadata_of(configuration);
    let package = documents(&components::repository().join(file)).remove(0);
    let needed = package["spec"]["dependsOn"].as_array();
    let needed = needed.into_iter().flatten();
    let functions = needed.filter(|needed| needed["kind"] == "Function");
    let name = |function: &Value| {
        let image = function["package"].as_str().unwrap_or_default();
        image.trim_start_matches("${REGISTRY}/").to_owned()
    };
    functions.map(name).collect()
}

/// Repository and tag of a package of ours.
fn tagged(name: &str) -> String {
    format!("{name}:v{}", env!("CARGO_PKG_VERSION"))
}
