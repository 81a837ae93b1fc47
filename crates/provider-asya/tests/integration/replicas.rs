//! The program as Crossplane runs it, with only the rights that `install/` grants: several replicas, of
//! which one works.

use crate::rig::{self, shared};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::rig::process::{Process, Signal};
use actor::managed::SYNCED;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::discovery::{self, Scope};
use kube::{Api, Client, ResourceExt as _};
use provider_asya::kinds::Queue;
use serde_json::{Value, json};

const NAMESPACE: &str = "crossplane-system";
const SERVICE_ACCOUNT: &str = "provider-asya";
const LEASE: &str = "crossplane-leader-election-provider-asya";

/// A replica of the provider.
struct Replica {
    name: &'static str,
    process: Process,
    folder: PathBuf,
    port: u16,
}

/// A cluster in which the provider has its ServiceAccount.
struct Fixture {
    client: Client,
    kubeconfig: PathBuf,
    folder: tempfile::TempDir,
}

#[test]
fn another_replica_takes_over_if_the_leader_is_killed_terminated_or_loses_its_lease() {
    shared::run("replicas", async {
        // In this order: each takeover starts from the leader that the one before it has left.
        let cluster = rig::cluster::Cluster::start().await;
        cluster.install_kinds().await;
        let fixture = Fixture::set(cluster.client().await, &cluster.kubeconfig()).await;

        let first = fixture.start("first");
        fixture.until_held_by("first").await;
        let mut second = fixture.start("second");
        fixture.until_ready(&mut second).await;
        fixture.until_worked_on("one").await;
        assert!(first.has_reconciled(), "the holder works");
        assert!(!second.has_reconciled(), "and nobody else does");

        first.process.signal(Signal::KILL);
        fixture.until_held_by("second").await;
        fixture.until_worked_on("two").await;
        assert!(second.has_reconciled());

        let mut third = fixture.start("third");
        fixture.until_ready(&mut third).await;
        second.process.signal(Signal::TERM);
        assert_eq!(second.end().await, Some(0), "it was asked to end");
        fixture.until_held_by("third").await;

        let stolen = json!({"spec": {"holderIdentity": "thief"}});
        let leases = fixture.leases();
        leases
            .patch(LEASE, &PatchParams::default(), &Patch::Merge(stolen))
            .await
            .unwrap();
        assert_eq!(third.end().await, Some(1), "the kubelet starts it again");
        let log = fs::read_to_string(third.folder.join("third.log")).unwrap();
        assert!(log.contains("is held by \\\"thief\\\" now"), "{log}");
    });
}

impl Fixture {
    async fn set(client: Client, admin: &Path) -> Self {
        let namespaces: Api<Namespace> = Api::all(client.clone());
        let namespace = json!({"metadata": {"name": NAMESPACE}});
        let namespace = serde_json::from_value(namespace).unwrap();
        namespaces
            .create(&PostParams::default(), &namespace)
            .await
            .unwrap();
        let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), NAMESPACE);
        let account = json!({"metadata": {"name": SERVICE_ACCOUNT}});
        let account = serde_json::from_value(account).unwrap();
        accounts
            .create(&PostParams::default(), &account)
            .await
            .unwrap();
        for file in [
            "rbac.yaml",
            "rbac-without-manager.yaml",
            "rbac-binding.yaml",
        ] {
            install(&client, &format!("provider-asya/{file}")).await;
        }
        install(&client, "crossplane/rbac.yaml").await;
        let folder = tempfile::tempdir().unwrap();
        let kubeconfig = folder.path().join("kubeconfig");
        let token = accounts
            .create_token_request(
                SERVICE_ACCOUNT,
                &PostParams::default(),
                &TokenRequest {
                    spec: TokenRequestSpec {
                        audiences: vec!["https://kubernetes.default.svc".to_owned()],
                        ..TokenRequestSpec::default()
                    },
                    ..TokenRequest::default()
                },
            )
            .await
            .unwrap();
        let admin = fs::read_to_string(admin).unwrap();
        let mut config: Value = serde_json::from_str(&admin).unwrap();
        config["users"][0]["user"] = json!({"token": token.status.unwrap().token});
        fs::write(&kubeconfig, config.to_string()).unwrap();
        Self {
            client,
            kubeconfig,
            folder,
        }
    }

    fn start(&self, name: &'static str) -> Replica {
        let [port] = rig::ports::reserve();
        let mut command = Command::new(env!("CARGO_BIN_EXE_provider-asya"));
        command
            .env_clear()
            .env("KUBECONFIG", &self.kubeconfig)
            .env("POD_NAMESPACE", NAMESPACE)
            .env("PROVIDER_NAME", "provider-asya")
            .env("HOSTNAME", name)
            .env("LEADER_ELECTION", "true")
            .args(["--lease-duration", "6s", "--metrics-address"])
            .arg(format!("127.0.0.1:{port}"));
        let folder = self.folder.path().to_owned();
        let process = Process::start(name, &mut command, &folder);
        Replica {
            name,
            process,
            folder,
            port,
        }
    }

    fn leases(&self) -> Api<Lease> {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }

    async fn until_held_by(&self, replica: &str) {
        let leases = self.leases();
        rig::until(&format!("{replica} holds the lease"), || async {
            let lease = leases.get_opt(LEASE).await.unwrap()?;
            let holder = lease.spec?.holder_identity?;
            holder.starts_with(&format!("{replica}_")).then_some(())
        })
        .await;
    }

    async fn until_ready(&self, replica: &mut Replica) {
        rig::until(&format!("{} is ready", replica.name), || {
            replica.process.check(self.folder.path());
            let answer = replica.read("/readyz");
            async move { (answer.as_deref() == Some("ok\n")).then_some(()) }
        })
        .await;
    }

    /// Makes a queue without a config, and waits until its condition reports that.
    async fn until_worked_on(&self, name: &str) {
        let queues: Api<Queue> = Api::default_namespaced(self.client.clone());
        let queue = json!({
            "apiVersion": actor::PROVIDER_API_VERSION, "kind": "Queue", "metadata": {"name": name},
            "spec": {"forProvider": {"sqs": {"region": "us-east-1"}}},
        });
        let manager = PatchParams::apply("tests");
        queues
            .patch(name, &manager, &Patch::Apply(&queue))
            .await
            .unwrap();
        rig::until(&format!("{name} has a condition"), || async {
            let queue = queues.get(name).await.unwrap();
            let mut conditions = queue.status.conditions.iter();
            conditions.any(|found| found.type_ == SYNCED).then_some(())
        })
        .await;
    }
}

impl Replica {
    /// The body of an answer, or `None` while the program does not listen.
    fn read(&self, path: &str) -> Option<String> {
        let url = format!("http://127.0.0.1:{}{path}", self.port);
        let output = Command::new("curl").args(["-s", &url]).output().unwrap();
        let is_answer = output.status.success();
        is_answer.then(|| String::from_utf8(output.stdout).unwrap())
    }

    fn has_reconciled(&self) -> bool {
        let metrics = self.read("/metrics").unwrap_or_default();
        metrics.contains("controller_runtime_reconcile_total{controller=\"queue\"")
    }

    /// Its exit code, when it has ended.
    async fn end(&mut self) -> Option<i32> {
        rig::until(&format!("{} ends", self.name), || {
            let status = self.process.exit_status();
            async move { status }
        })
        .await
        .code()
    }
}

/// Applies the objects of a file below `install/`.
async fn install(client: &Client, file: &str) {
    let path = test_cluster::components::repository()
        .join("install")
        .join(file);
    let text = fs::read_to_string(path).unwrap();
    for document in actor::yaml::documents(&text).unwrap() {
        let object: DynamicObject = serde_json::from_value(document).unwrap();
        let kind = object.types.clone().unwrap().try_into().unwrap();
        let (resource, capabilities) = discovery::oneshot::pinned_kind(client, &kind)
            .await
            .unwrap();
        let api = api(client, &resource, &capabilities.scope, object.namespace());
        let manager = PatchParams::apply("tests");
        api.patch(&object.name_any(), &manager, &Patch::Apply(&object))
            .await
            .unwrap_or_else(|error| panic!("{file}: {error}"));
    }
}

fn api(
    client: &Client,
    resource: &ApiResource,
    scope: &Scope,
    namespace: Option<String>,
) -> Api<DynamicObject> {
    match (scope, namespace) {
        (Scope::Namespaced, Some(namespace)) => {
            Api::namespaced_with(client.clone(), &namespace, resource)
        }
        _ => Api::all_with(client.clone(), resource),
    }
}
