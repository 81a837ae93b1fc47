//! How large the provider is with a thousand queues, or with bindings beside thousands of other
//! workloads, and how much it asks for. A measurement of minutes, run by hand on the optimised
//! program:
//!
//! ```sh
//! cargo build --release -p provider-asya
//! cargo test -p provider-asya --test size -- --ignored --nocapture --test-threads 1
//! ```

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a measurement that cannot go on panics, and prints what it finds"
)]

mod rig;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use futures::stream::{self, StreamExt as _};
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use provider_asya::kinds::{ProviderConfig, Queue};
use rig::moto::{Moto, REGION};
use rig::process::{Process, free_ports};
use rig::queue_stage;
use rig::rabbitmq::RabbitMq;
use serde_json::{Value, json};

const QUEUES: usize = 1000;

/// Bindings, and workloads of others that have nothing to do with them.
const BINDINGS: usize = 50;
const OTHERS: usize = 5000;

/// What is allowed, in KiB.
const RESIDENT_MAX: u64 = 40 << 10;
/// By how much two starts may differ, with other workloads or without. Five thousand workloads that
/// were kept would take more, were it 1 KiB of each.
const GROWTH_MAX: u64 = 2 << 10;

/// How long the quiet time is watched: two polls of each queue.
const QUIET: Duration = Duration::from_mins(2);

/// How long bindings are given to settle, and are watched then.
const SETTLING: Duration = Duration::from_mins(1);

/// How long a thousand queues may take.
const PATIENCE: Duration = Duration::from_mins(20);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes, and needs the optimised program"]
async fn a_thousand_queues_of_rabbitmq() {
    let cluster = rig::cluster::Cluster::start().await;
    let (rabbitmq, ()) = tokio::join!(RabbitMq::start(), cluster.install_kinds());
    let config = json!({"rabbitmq": queue_stage::rabbitmq_connection(&rabbitmq.endpoint, None)});
    let queue = |name: &str| {
        json!({"rabbitmq": {"host": "rabbitmq", "queueType": "classic", "routingKeys": [name, format!("asya-{name}")],
            "deadLetter": {"enabled": true}}})
    };
    measure("RabbitMQ 3.10, classic queues", &cluster, &config, queue).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes, and needs the optimised program"]
async fn a_thousand_queues_of_sqs() {
    let cluster = rig::cluster::Cluster::start().await;
    let (moto, ()) = tokio::join!(Moto::start(), cluster.install_kinds());
    let config = json!({"sqs": queue_stage::sqs_connection(&moto.endpoint, None)});
    let queue = |_: &str| json!({"sqs": {"region": REGION}});
    measure("SQS (moto)", &cluster, &config, queue).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes, and needs the optimised program"]
async fn fifty_bindings_beside_five_thousand_workloads() {
    let cluster = rig::cluster::Cluster::start().await;
    cluster.install_kinds().await;
    let client = cluster.client().await;
    make_deployments(&client, "bound", BINDINGS).await;
    make_bindings(&client).await;
    let folder = tempfile::tempdir().unwrap();
    println!("\nAPI server, {BINDINGS} bindings");
    let folder = folder.path();
    let kubeconfig = cluster.kubeconfig();
    // What is measured is a provider that finds everything done.
    drop(bound(Program::start(&kubeconfig, folder)).await);
    let mut resident = Vec::new();
    for others in [0, OTHERS] {
        make_deployments(&client, "other", others).await;
        let program = bound(Program::start(&kubeconfig, folder)).await;
        let asked = || sum(&program.metrics(), "rest_client_requests_total");
        let until_ready = asked();
        tokio::time::sleep(SETTLING).await;
        let before = asked();
        tokio::time::sleep(SETTLING).await;
        let now = program.kibibytes("VmRSS");
        println!(
            "  beside {others} workloads of others: {until_ready} requests until all is looked at, {} in the second \
             minute; {:.1} MiB resident, {:.1} MiB at most",
            asked() - before,
            mebibytes(now),
            mebibytes(program.kibibytes("VmHWM")),
        );
        resident.push(now);
    }
    let grown = resident[1].saturating_sub(resident[0]);
    assert!(
        grown < GROWTH_MAX,
        "{grown} KiB more beside {OTHERS} workloads"
    );
}

/// The program, when all bindings are ready and it has looked at each.
async fn bound(program: Program) -> Program {
    program
        .until("all bindings are ready and were looked at", |metrics| {
            let passes = "controller_runtime_reconcile_total{controller=\"workloadbinding\"";
            ready(metrics) == BINDINGS && sum(metrics, passes) >= BINDINGS
        })
        .await;
    program
}

/// Makes Deployments whose rollout is done, as far as their status tells.
async fn make_deployments(client: &Client, prefix: &str, number: usize) {
    let deployments: Api<Deployment> = Api::default_namespaced(client.clone());
    let variables: Vec<Value> = (0..20)
        .map(|number| json!({"name": format!("VARIABLE_{number}"), "value": "some words of its own"}))
        .collect();
    stream::iter(0..number)
        .for_each_concurrent(8, |number| {
            let (deployments, variables) = (deployments.clone(), variables.clone());
            async move {
                let name = format!("{prefix}-{number}");
                let labels = json!({"app": name});
                let pod =
                    json!({"containers": [{"name": "llm", "image": "llm:1", "env": variables}]});
                let object = json!({"metadata": {"name": name, "labels": labels}, "spec": {
                    "selector": {"matchLabels": labels},
                    "template": {"metadata": {"labels": labels}, "spec": pod}}});
                let object = serde_json::from_value(object).unwrap();
                let parameters = PostParams::default();
                deployments.create(&parameters, &object).await.unwrap();
                let done = json!({"observedGeneration": 1000, "replicas": 1, "updatedReplicas": 1});
                let done = Patch::Merge(json!({"status": done}));
                let parameters = PatchParams::default();
                deployments
                    .patch_status(&name, &parameters, &done)
                    .await
                    .unwrap();
            }
        })
        .await;
}

/// Binds an actor to each of the Deployments that are there for it.
async fn make_bindings(client: &Client) {
    for number in 0..BINDINGS {
        let (actor, target) = (format!("actor-{number}"), format!("bound-{number}"));
        let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": target});
        let binding = json!({"apiVersion": actor::PROVIDER_API_VERSION, "kind": "WorkloadBinding",
            "metadata": {"name": actor}, "spec": {"forProvider": {
            "actor": actor, "strategy": "Inject", "targetRef": target,
            "template": rig::binding_stage::template(&actor, "adapter:1")}}});
        real::objects::apply(client, &binding).await.unwrap();
    }
}

/// Makes queues by this config, and prints what the program needs for them.
async fn measure(
    title: &str,
    cluster: &rig::cluster::Cluster,
    config: &Value,
    queue: impl Fn(&str) -> Value,
) {
    let client = cluster.client().await;
    configure(&client, config).await;
    let folder = tempfile::tempdir().unwrap();
    println!("\n{title}, {QUEUES} queues");
    let program = Program::start(&cluster.kubeconfig(), folder.path());
    program
        .until("it is ready", |metrics| {
            metrics.contains("_managed_resource_ready")
        })
        .await;
    program.print("started, without a queue");

    let begun = Instant::now();
    make(&client, queue).await;
    program
        .until("all queues are ready", |metrics| ready(metrics) == QUEUES)
        .await;
    println!("  all ready after {} s", begun.elapsed().as_secs());
    program.print("all ready");
    program.watch_quiet_time().await;
    drop(program);

    let begun = Instant::now();
    let program = Program::start(&cluster.kubeconfig(), folder.path());
    program
        .until("all queues are looked at again", |metrics| {
            let passes = "controller_runtime_reconcile_total{controller=\"queue\"";
            sum(metrics, passes) >= QUEUES
        })
        .await;
    println!(
        "  all looked at {} s after a restart",
        begun.elapsed().as_secs()
    );
    program.print("restarted");
    program.watch_quiet_time().await;
}

async fn configure(client: &Client, config: &Value) {
    queue_stage::make_login(client, "default").await;
    let configs: Api<ProviderConfig> = Api::default_namespaced(client.clone());
    let config = json!({"metadata": {"name": "main"}, "spec": config});
    queue_stage::apply(&configs, config).await;
}

/// Makes the Queues, as a Composition would: with labels, annotations and an owner.
async fn make(client: &Client, for_provider: impl Fn(&str) -> Value) {
    let queues: Api<kube::api::DynamicObject> =
        Api::default_namespaced_with(client.clone(), &kube::api::ApiResource::erase::<Queue>(&()));
    let objects = (0..QUEUES).map(|number| {
        let name = format!("actor-number-{number}");
        json!({
            "apiVersion": actor::PROVIDER_API_VERSION, "kind": "Queue",
            "metadata": {
                "name": name,
                "labels": {
                    "app.kubernetes.io/name": name, "app.kubernetes.io/component": "queue",
                    "app.kubernetes.io/part-of": "asya", "app.kubernetes.io/managed-by": "crossplane",
                    "asya.sh/actor": name, "crossplane.io/composite": name},
                "annotations": {
                    "crossplane.io/external-name": format!("asya-{name}"),
                    "crossplane.io/composition-resource-name": "queue"},
            },
            "spec": {
                "forProvider": for_provider(&name),
                "providerConfigRef": {"kind": "ProviderConfig", "name": "main"}},
        })
    });
    stream::iter(objects)
        .for_each_concurrent(8, |object| async {
            let object = serde_json::from_value(object).unwrap();
            queues
                .create(&PostParams::default(), &object)
                .await
                .unwrap();
        })
        .await;
}

/// The provider as a program.
struct Program {
    process: Process,
    url: String,
}

impl Program {
    fn start(kubeconfig: &Path, folder: &Path) -> Self {
        let [port] = free_ports();
        let mut command = Command::new(optimised());
        command
            .env_clear()
            .env("KUBECONFIG", kubeconfig)
            .args(["--metrics-address", &format!("127.0.0.1:{port}")]);
        Self {
            process: Process::start("provider-asya", &mut command, folder),
            url: format!("http://127.0.0.1:{port}/metrics"),
        }
    }

    fn metrics(&self) -> String {
        let output = Command::new("curl").args(["-s", &self.url]).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    }

    async fn until(&self, what: &str, holds: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !holds(&self.metrics()) {
            assert!(Instant::now() < deadline, "waited in vain until {what}");
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }

    /// Prints the memory that the program has now, and had at most.
    fn print(&self, when: &str) {
        let resident = self.kibibytes("VmRSS");
        let most = self.kibibytes("VmHWM");
        println!(
            "  {when}: {:.1} MiB resident, {:.1} MiB at most",
            mebibytes(resident),
            mebibytes(most)
        );
        assert!(resident < RESIDENT_MAX, "{resident} KiB resident");
    }

    fn kibibytes(&self, field: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with(field)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// Prints what is asked of whom while nothing changes.
    async fn watch_quiet_time(&self) {
        let names = [
            "rest_client_requests_total",
            "asya_provider_external_calls_total",
        ];
        let count = |metrics: &str| names.map(|name| sum(metrics, name));
        // What is still on its way is no part of the quiet time.
        tokio::time::sleep(Duration::from_secs(10)).await;
        let before = count(&self.metrics());
        tokio::time::sleep(QUIET).await;
        let after = count(&self.metrics());
        let per_minute = [0, 1].map(|of| (after[of] - before[of]) as u64 / (QUIET.as_secs() / 60));
        println!(
            "  quiet: {} requests a minute to the API server, {} calls a minute to the broker",
            per_minute[0], per_minute[1]
        );
        self.print("quiet");
    }
}

/// The optimised program, beside the one of the tests.
fn optimised() -> PathBuf {
    let profile = Path::new(env!("CARGO_BIN_EXE_provider-asya")).parent();
    let program = profile
        .unwrap()
        .with_file_name("release")
        .join("provider-asya");
    assert!(program.is_file(), "build {} first", program.display());
    program
}

fn ready(metrics: &str) -> usize {
    sum(metrics, "crossplane_managed_resource_ready{")
}

/// The sum of the samples whose lines begin so.
fn sum(metrics: &str, start: &str) -> usize {
    let lines = metrics.lines().filter(|line| line.starts_with(start));
    let values = lines.filter_map(|line| line.rsplit(' ').next()?.parse::<usize>().ok());
    values.sum()
}

fn mebibytes(kibibytes: u64) -> f64 {
    f64::from(u32::try_from(kibibytes).unwrap()) / 1024.0
}
