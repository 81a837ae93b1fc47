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
use serde_json::json;

use crate::rig::fake::Server;
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
/// Configs, each with a namespace of its own.
const CONFIGS: usize = 4;
/// Queues of each.
const QUEUES: usize = 10;

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

#[test]
fn huge_answers_of_brokers_stay_within_the_shipped_memory_limit() {
    shared::run("huge answers", async {
        let limit = include_str!("../../../../install/provider-asya/runtime-config.yaml");
        assert!(limit.contains("memory: 96Mi"), "another limit is shipped");
        let cluster = rig::cluster::Cluster::start().await;
        cluster.install_kinds().await;
        let client = cluster.client().await;
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
        let folder = tempfile::tempdir().unwrap();
        let [port] = rig::ports::reserve();
        let mut command = Command::new(env!("CARGO_BIN_EXE_provider-asya"));
        command
            .env_clear()
            .env("KUBECONFIG", cluster.kubeconfig())
            .args(["--metrics-address", &format!("127.0.0.1:{port}")]);
        let mut process = Process::start("provider-asya", &mut command, folder.path());
        for config in 0..CONFIGS {
            let namespace = format!("hostile-{config}");
            make_namespace(&client, &namespace).await;
            let configs = kube::Api::<ProviderConfig>::namespaced(client.clone(), &namespace);
            let spec = json!({"rabbitmq": rabbitmq_connection(&server.endpoint, None)});
            apply(
                &configs,
                json!({"metadata": {"name": "broker"}, "spec": spec}),
            )
            .await;
            let spec = json!({"sqs": sqs_connection(&server.endpoint, None)});
            apply(&configs, json!({"metadata": {"name": "sqs"}, "spec": spec})).await;
            let queues = Queues(kube::Api::namespaced(client.clone(), &namespace));
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
        rig::until("many answers were sent", || async {
            (sent.load(Ordering::Relaxed) >= ANSWERS).then_some(())
        })
        .await;
        process.check(folder.path());
        let peak = peak(&process);
        println!("peak of memory: {peak} KiB after {ANSWERS} answers of {LENGTH} bytes");
        assert!(peak < LIMIT, "{peak} KiB of {LIMIT}");
        // The message of a broker is cleaned before it is in a condition.
        let queues = Queues(kube::Api::namespaced(client, "hostile-0"));
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
