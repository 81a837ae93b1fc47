//! Thousands of queues: made, at rest, found after a start, beside pods of others, and all changed.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::stream::{self, StreamExt as _};
use k8s_openapi::api::core::v1::{Pod, ServiceAccount};
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client, ResourceExt as _};
use provider_asya::kinds::{ProviderConfig, Queue};
use serde_json::{Value, json};

use crate::program::{Measurement, Program, mebibytes, ready, sum};
use crate::rig::{self, provider_fixture};

/// Limit with a thousand queues, and for each further queue, in KiB.
const RESIDENT_MAX: u64 = 40 << 10;
const RESIDENT_OF_QUEUE: u64 = 10;

/// Duration of the quiet time: one poll of each queue.
const QUIET: Duration = Duration::from_mins(1);

/// Time to settle: traffic that remains after all is done is not part of the quiet time.
const SETTLING: Duration = Duration::from_secs(10);

/// Number of objects that are written at the same time.
const AT_ONCE: usize = 8;

/// Queues that are measured.
pub(crate) struct Kind {
    pub(crate) title: &'static str,
    /// The broker's program.
    pub(crate) broker: &'static str,
    /// Spec of a ProviderConfig.
    pub(crate) config: Value,
    /// `forProvider` of a queue of that name after so many changes.
    pub(crate) queue: fn(&str, usize) -> Value,
}

/// Numbers of queues and pods.
pub(crate) struct Plan {
    pub(crate) queues: usize,
    /// Pods that are no actor's.
    pub(crate) pods: usize,
}

impl Plan {
    fn resident_max(&self) -> u64 {
        let more = self.queues.saturating_sub(1000) as u64;
        RESIDENT_MAX + more * RESIDENT_OF_QUEUE
    }
}

/// Measures all of it, and prints a table in Markdown.
pub(crate) async fn measure(cluster: &rig::cluster::Cluster, kind: &Kind, plan: &Plan) {
    let client = cluster.client().await;
    configure(&client, &kind.config).await;
    let folder = tempfile::tempdir().unwrap();
    let start = || Program::start(&cluster.kubeconfig(), folder.path());
    let queues = plan.queues;
    println!("\n{}, {queues} queues\n\n{HEAD}", kind.title);

    let program = start();
    let nothing = Stretch::begin(None, kind);
    program
        .until("it is ready", |metrics| {
            metrics.contains("_managed_resource_ready")
        })
        .await;
    nothing.end("start, without a queue", &program, plan);

    let made = Stretch::begin(Some(&program), kind);
    make(&client, kind, queues).await;
    program
        .until("all queues are ready", |metrics| ready(metrics) == queues)
        .await;
    made.end("all made → all ready", &program, plan);
    rest(&program, kind, plan).await;
    drop(program);

    let program = found_again(
        start(),
        kind,
        plan,
        "start → as many reconciliations as queues",
    )
    .await;
    if plan.pods > 0 {
        drop(program);
        make_pods(&client, plan.pods).await;
        let title = format!(
            "start beside {} pods → as many reconciliations as queues",
            plan.pods
        );
        let program = found_again(start(), kind, plan, &title).await;
        change(&client, kind, plan, &program).await;
    } else {
        change(&client, kind, plan, &program).await;
    }
}

/// A start with all queues already there, and the quiet time after it.
async fn found_again(program: Program, kind: &Kind, plan: &Plan, title: &str) -> Program {
    let found = Stretch::begin(None, kind);
    program
        .until("there were as many reconciliations as queues", |metrics| {
            let reconciliations = "controller_runtime_reconcile_total{controller=\"queue\"";
            sum(metrics, reconciliations) >= plan.queues
        })
        .await;
    found.end(title, &program, plan);
    rest(&program, kind, plan).await;
    program
}

async fn rest(program: &Program, kind: &Kind, plan: &Plan) {
    tokio::time::sleep(SETTLING).await;
    let quiet = Stretch::begin(Some(program), kind);
    tokio::time::sleep(QUIET).await;
    quiet.end("a quiet minute", program, plan);
}

/// Changes every queue.
async fn change(client: &Client, kind: &Kind, plan: &Plan, program: &Program) {
    let changed = Stretch::begin(Some(program), kind);
    let queues = queues(client);
    let patches = stream::iter(0..plan.queues).for_each_concurrent(AT_ONCE, |number| {
        let (queues, name) = (queues.clone(), name(number));
        let body = json!({"spec": {"forProvider": (kind.queue)(&name, 1)}});
        async move {
            let (parameters, patch) = (PatchParams::default(), Patch::Merge(&body));
            queues.patch(&name, &parameters, &patch).await.unwrap();
        }
    });
    patches.await;
    until_all_are_changed(queues, plan.queues).await;
    changed.end("all changed → all as they should be", program, plan);
}

async fn until_all_are_changed(queues: Api<DynamicObject>, number: usize) {
    let config = watcher::Config::default().page_size(100);
    let changes = watcher(queues, config).default_backoff().applied_objects();
    let mut changes = Box::pin(changes);
    let mut done = BTreeSet::new();
    while done.len() < number {
        let change = changes.next().await.unwrap();
        // The watcher tries again.
        let Ok(queue) = change else { continue };
        if is_changed(&json!(queue)) {
            done.insert(queue.name_any());
        }
    }
}

/// Returns whether what was changed is done.
fn is_changed(queue: &Value) -> bool {
    let generation = &queue["metadata"]["generation"];
    let synced = test_cluster::crossplane::condition(queue, "Synced");
    generation.as_i64() > Some(1)
        && synced.is_some_and(|synced| {
            synced["status"] == "True" && synced["observedGeneration"] == *generation
        })
}

const HEAD: &str = "| What | Time | Provider: processor | resident, at most | Requests to the API server \
    | Calls to the broker | Broker: processor | resident |\n|---|---|---|---|---|---|---|---|";

/// A stretch of time whose costs are printed.
struct Stretch<'a> {
    kind: &'a Kind,
    /// Measurement before it; none if the program begins with it.
    before: Option<Measurement>,
    begun: std::time::Instant,
    broker: test_cluster::usage::Usage,
}

impl<'a> Stretch<'a> {
    fn begin(program: Option<&Program>, kind: &'a Kind) -> Self {
        test_cluster::usage::forget_peaks();
        let usages = test_cluster::usage::measure();
        Self {
            kind,
            before: program.map(|program| program.measure(kind.broker)),
            begun: std::time::Instant::now(),
            broker: usages.get(kind.broker).copied().unwrap_or_default(),
        }
    }

    /// Prints the row.
    ///
    /// # Panics
    /// When the provider is too large.
    fn end(self, title: &str, program: &Program, plan: &Plan) {
        let now = program.measure(self.kind.broker);
        let (provider, requests, calls) = self.before.map_or_else(Default::default, |before| {
            (before.provider, before.requests, before.calls)
        });
        println!(
            "| {title} | {:.0} s | {:.1} s | {:.1}, {:.1} MiB | {} | {} | {:.1} s | {:.0} MiB |",
            (now.at - self.begun).as_secs_f64(),
            now.provider.seconds_since(&provider),
            mebibytes(now.provider.resident),
            mebibytes(now.provider.peak),
            now.requests - requests,
            now.calls - calls,
            now.broker.seconds_since(&self.broker),
            mebibytes(now.broker.resident),
        );
        let resident = now.provider.resident;
        assert!(
            resident < plan.resident_max(),
            "{title}: {resident} KiB resident"
        );
    }
}

async fn configure(client: &Client, config: &Value) {
    provider_fixture::make_login(client, "default").await;
    let configs: Api<ProviderConfig> = Api::default_namespaced(client.clone());
    let config = json!({"metadata": {"name": "main"}, "spec": config});
    provider_fixture::apply(&configs, config).await;
}

fn queues(client: &Client) -> Api<DynamicObject> {
    Api::default_namespaced_with(client.clone(), &ApiResource::erase::<Queue>(&()))
}

fn name(number: usize) -> String {
    format!("actor-number-{number}")
}

/// Makes the Queues, as a Composition would: with labels, annotations and an owner.
async fn make(client: &Client, kind: &Kind, number: usize) {
    let queues = queues(client);
    let objects = (0..number).map(|number| {
        let name = name(number);
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
                "forProvider": (kind.queue)(&name, 0),
                "providerConfigRef": {"kind": "ProviderConfig", "name": "main"}},
        })
    });
    stream::iter(objects)
        .for_each_concurrent(AT_ONCE, |object| async {
            let object = serde_json::from_value(object).unwrap();
            let made = queues.create(&PostParams::default(), &object).await;
            made.unwrap();
        })
        .await;
}

/// Makes pods as other people's workloads have them.
async fn make_pods(client: &Client, number: usize) {
    let accounts: Api<ServiceAccount> = Api::default_namespaced(client.clone());
    rig::until("pods can be made", || async {
        accounts.get_opt("default").await.unwrap()
    })
    .await;
    let pods: Api<Pod> = Api::default_namespaced(client.clone());
    let variables: Vec<Value> = (0..20)
        .map(|number| json!({"name": format!("VARIABLE_{number}"), "value": "some words of its own"}))
        .collect();
    stream::iter(0..number)
        .for_each_concurrent(AT_ONCE, |number| {
            let (pods, variables) = (pods.clone(), variables.clone());
            async move {
                let container = json!({"name": "main", "image": "other:1", "env": variables});
                let pod = json!({
                    "metadata": {"name": format!("other-{number}"), "labels": {"app": "other"}},
                    "spec": {"containers": [container], "automountServiceAccountToken": false}});
                let pod = serde_json::from_value(pod).unwrap();
                pods.create(&PostParams::default(), &pod).await.unwrap();
            }
        })
        .await;
}
