//! Answers of brokers that are much larger than any of theirs, under the memory limit with which the
//! provider is shipped.

use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::Response;
use http_body_util::Full;
use provider_asya::kinds::ProviderConfig;
use serde_json::{Value, json};

use crate::rig::fake::Server;
use crate::rig::fake_broker::{FakeBroker, answer};
use crate::rig::process::Process;
use crate::rig::provider_fixture::{
    Queues, apply, make_namespace, rabbitmq_connection, sqs_connection,
};
use crate::rig::{self, shared};

/// Memory limit of `install/provider-asya/runtime-config.yaml`, in KiB.
const LIMIT: u64 = 96 << 10;
/// Length of an answer.
const LENGTH: usize = 16 << 20;
/// Answers that are sent before memory is measured.
const ANSWERS: usize = 300;
/// Length of a page of queues: less than the provider's limit of 8 MiB.
const PAGE: usize = 8_000_000;
/// Pages that are sent before memory is measured.
const PAGES: usize = 100;
/// Configs, each with a namespace of its own.
const CONFIGS: usize = 4;
/// Queues of each.
const QUEUES: usize = 10;
/// Length that makes an object almost as long as the provider's limit of 2 MiB.
const PAD: usize = (2 << 20) - 8192;
/// Objects of that length that are sent before memory is measured: those of a creation and an observation of each
/// queue.
const PADDED: usize = CONFIGS * QUEUES * 60;
/// Virtual hosts with policies of others.
const VHOSTS: usize = 20;

/// Answers that take much memory once they are parsed, or read.
fn bodies() -> [Bytes; 5] {
    let repeated = |start: &str, item: &str, end: &str| {
        let items = item.repeat(LENGTH / item.len());
        Bytes::from(format!("{start}{items}{end}"))
    };
    [
        repeated("[", r#"{"a":1},"#, "{}]"),
        repeated(r#"{"name":"queue-0","arguments":["#, "{},", "{}]}"),
        repeated("", "[", ""),
        repeated(r#"{"error":""#, "\\u001b[31m", r#""}"#),
        repeated(
            r#"{"rabbitmq_version":"3.13.0","x":{"#,
            r#""a":[[]],"#,
            r#""b":1}}"#,
        ),
    ]
}

/// The largest memory of a process that is no file's, in KiB.
fn peak(process: &Process) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap();
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        let number = line.split_whitespace().nth(1).unwrap();
        number.parse::<u64>().unwrap()
    };
    field("VmHWM:") - field("RssFile:")
}

/// The provider with its shipped memory limit, with configs of one endpoint.
struct Fixture {
    _cluster: rig::cluster::Cluster,
    client: kube::Client,
    process: Process,
    folder: tempfile::TempDir,
}

impl Fixture {
    async fn start() -> Self {
        let limit = include_str!("../../../../install/provider-asya/runtime-config.yaml");
        assert!(limit.contains("memory: 96Mi"), "another limit is shipped");
        let cluster = rig::cluster::Cluster::start().await;
        cluster.install_kinds().await;
        let folder = tempfile::tempdir().unwrap();
        let [port] = rig::ports::reserve();
        let mut command = Command::new(env!("CARGO_BIN_EXE_provider-asya"));
        command
            .env_clear()
            .env("KUBECONFIG", cluster.kubeconfig())
            .args(["--metrics-address", &format!("127.0.0.1:{port}")]);
        Self {
            client: cluster.client().await,
            process: Process::start("provider-asya", &mut command, folder.path()),
            folder,
            _cluster: cluster,
        }
    }

    /// Makes the config `broker` in a new namespace; returns its Queues.
    async fn make_broker(&self, namespace: &str, endpoint: &str) -> Queues {
        make_namespace(&self.client, namespace).await;
        let configs = kube::Api::<ProviderConfig>::namespaced(self.client.clone(), namespace);
        let spec = json!({"rabbitmq": rabbitmq_connection(endpoint, None)});
        apply(
            &configs,
            json!({"metadata": {"name": "broker"}, "spec": spec}),
        )
        .await;
        Queues(kube::Api::namespaced(self.client.clone(), namespace))
    }

    async fn until_sent(&mut self, sent: &AtomicUsize, count: usize) {
        rig::until("many answers were sent", || async {
            (sent.load(Ordering::Relaxed) >= count).then_some(())
        })
        .await;
        self.process.check(self.folder.path());
        let peak = peak(&self.process);
        println!("peak of memory: {peak} KiB after {count} answers");
        assert!(peak < LIMIT, "{peak} KiB of {LIMIT}");
    }
}

#[test]
fn huge_answers_of_brokers_stay_within_the_shipped_memory_limit() {
    shared::run("huge answers", async {
        let mut fixture = Fixture::start().await;
        let sent = Arc::new(AtomicUsize::new(0));
        let (counted, bodies) = (sent.clone(), bodies());
        let server = Server::start(move |_, _, _| {
            let number = counted.fetch_add(1, Ordering::Relaxed);
            let body = bodies[number % bodies.len()].clone();
            // A refusal is parsed for its reason.
            let status = if number % 2 == 0 { 200 } else { 400 };
            let answer = Response::builder().status(status);
            answer.body(Full::new(body)).expect("a response")
        })
        .await;
        for config in 0..CONFIGS {
            let namespace = format!("hostile-{config}");
            let queues = fixture.make_broker(&namespace, &server.endpoint).await;
            let configs =
                kube::Api::<ProviderConfig>::namespaced(fixture.client.clone(), &namespace);
            let spec = json!({"sqs": sqs_connection(&server.endpoint, None)});
            apply(&configs, json!({"metadata": {"name": "sqs"}, "spec": spec})).await;
            for index in 0..QUEUES {
                let name = format!("queue-{index}");
                queues.make_classic(&name, "asya", &name).await;
                let sqs = json!({"metadata": {"name": format!("sqs-{index}")}, "spec": {
                    "forProvider": {"sqs": {"region": "us-east-1", "visibilityTimeoutSeconds": 30,
                        "messageRetentionSeconds": 3600, "receiveWaitTimeSeconds": 0,
                        "deadLetter": {"enabled": false, "maxReceiveCount": 3}}},
                    "providerConfigRef": {"kind": "ProviderConfig", "name": "sqs"}}});
                apply(&queues.0, sqs).await;
            }
        }
        fixture.until_sent(&sent, ANSWERS).await;
        // The message of a broker is cleaned before it is in a condition.
        let queues = Queues(kube::Api::namespaced(fixture.client, "hostile-0"));
        let queue = queues
            .until_condition("queue-0", "Synced", "False", "")
            .await;
        let conditions = json!(queue.status.conditions).to_string();
        assert!(
            !conditions.contains("\\u001b") && conditions.len() < 10_000,
            "{conditions}"
        );
    });
}

/// Pages of queues that take much memory once they are parsed, or read.
fn pages() -> [Bytes; 3] {
    let page = |items: &str| Bytes::from(format!("{{\"page_count\":9999,\"items\":[{items}]}}"));
    let long = "q".repeat(PAGE / 500 - 20);
    [
        page(&format!("{}{{}}", "{},".repeat(PAGE / 3))),
        page(&format!(
            r#"{{"name":"q","arguments":{{"x":[{}{{}}]}}}}"#,
            "{},".repeat(PAGE / 3)
        )),
        page(&format!(
            "{}{{}}",
            format!("{{\"name\":\"{long}\"}},").repeat(499)
        )),
    ]
}

/// A broker that answers well until its queues are listed, as they are before a shared policy is written.
async fn broker_with_huge_pages(sent: Arc<AtomicUsize>) -> Server {
    let (pages, broker) = (pages(), FakeBroker::default());
    Server::start(move |_, request, body| {
        if request.uri.query().is_some() {
            let number = sent.fetch_add(1, Ordering::Relaxed);
            return answer(200, pages[number % pages.len()].clone());
        }
        broker.answer(request, body)
    })
    .await
}

#[test]
fn huge_pages_of_queues_stay_within_the_shipped_memory_limit() {
    shared::run("huge pages", async {
        let mut fixture = Fixture::start().await;
        let sent = Arc::new(AtomicUsize::new(0));
        let server = broker_with_huge_pages(sent.clone()).await;
        for config in 0..CONFIGS {
            let namespace = format!("hostile-{config}");
            let queues = fixture.make_broker(&namespace, &server.endpoint).await;
            for index in 0..QUEUES {
                let name = format!("asya-{config}-{index}");
                let queue = json!({"metadata": {"name": name}, "spec": {
                    "forProvider": {"rabbitmq": {"host": "rabbitmq", "routingKeys": [name],
                        "deadLetter": {"enabled": true, "maxReceiveCount": 20}, "queueType": "quorum"}},
                    "providerConfigRef": {"kind": "ProviderConfig", "name": "broker"}}});
                apply(&queues.0, queue).await;
            }
        }
        fixture.until_sent(&sent, PAGES).await;
    });
}

#[test]
fn objects_with_large_fields_stay_within_the_shipped_memory_limit() {
    shared::run("large fields", async {
        let mut fixture = Fixture::start().await;
        let sent = Arc::new(AtomicUsize::new(0));
        let (counted, broker) = (sent.clone(), FakeBroker::padded(PAD));
        let server = Server::start(move |_, request, body| {
            counted.fetch_add(1, Ordering::Relaxed);
            broker.answer(request, body)
        })
        .await;
        for config in 0..CONFIGS {
            let namespace = format!("hostile-{config}");
            let queues = fixture.make_broker(&namespace, &server.endpoint).await;
            for index in 0..QUEUES {
                let name = format!("asya-{config}-{index}");
                let queue = json!({"metadata": {"name": name}, "spec": {
                    "forProvider": {"rabbitmq": {"host": "rabbitmq", "routingKeys": [name],
                        "retryDelaysSeconds": [1, 2, 3, 4, 5, 6, 7, 8],
                        "deadLetter": {"enabled": true, "maxReceiveCount": 5}, "queueType": "quorum"}},
                    "providerConfigRef": {"kind": "ProviderConfig", "name": "broker"}}});
                apply(&queues.0, queue).await;
            }
        }
        let queues = Queues(kube::Api::namespaced(fixture.client.clone(), "hostile-0"));
        queues.until_ready("asya-0-0").await;
        fixture.until_sent(&sent, PADDED).await;
    });
}

#[test]
fn foreign_patterns_stay_within_the_shipped_memory_limit() {
    shared::run("foreign patterns", async {
        let mut fixture = Fixture::start().await;
        let sent = Arc::new(AtomicUsize::new(0));
        let (counted, broker) = (sent.clone(), FakeBroker::default());
        let policies: Vec<Value> = (0..200)
            .map(|index| {
                json!({"name": format!("ops-{index}"), "pattern": format!("(?:{index}|[^x]{{50}})+z?$"),
                    "apply-to": "queues", "definition": {}, "priority": 0})
            })
            .collect();
        let policies = Bytes::from(json!(policies).to_string());
        let server = Server::start(move |_, request, body| {
            let path = request.uri.path();
            if path.starts_with("/api/policies/") && path.split('/').count() == 4 {
                counted.fetch_add(1, Ordering::Relaxed);
                return answer(200, policies.clone());
            }
            broker.answer(request, body)
        })
        .await;
        let queues = fixture.make_broker("hostile", &server.endpoint).await;
        for index in 0..VHOSTS {
            let queue = json!({"metadata": {"name": format!("queue-{index}")}, "spec": {
                "forProvider": {"rabbitmq": {"host": "rabbitmq", "vhost": format!("vhost-{index}"),
                    "routingKeys": ["key"], "queueType": "quorum",
                    "deadLetter": {"enabled": true, "maxReceiveCount": 20}}},
                "providerConfigRef": {"kind": "ProviderConfig", "name": "broker"}}});
            apply(&queues.0, queue).await;
        }
        fixture.until_sent(&sent, VHOSTS).await;
        queues.until_ready(&format!("queue-{}", VHOSTS - 1)).await;
    });
}
