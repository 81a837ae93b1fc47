//! Keys of AWS and passwords of brokers in Secrets: they appear in no object, no event, no metric and no
//! line of the log, also where calls with them fail.

use std::fs;
use std::process::Command;

use bytes::Bytes;
use http::Response;
use http_body_util::Full;
use k8s_openapi::api::core::v1::{Event, Secret};
use kube::Api;
use kube::api::ListParams;
use provider_asya::kinds::ProviderConfig;
use serde_json::{Value, json};

use crate::rig::fake::Server;
use crate::rig::process::Process;
use crate::rig::provider_fixture::{
    Queues, apply, make_namespace, rabbitmq_connection, sqs_connection,
};
use crate::rig::{self, shared};

const NAMESPACE: &str = "planted";
/// Parts of the planted values, so that a value in another encoding is found by its start.
const PLANTED: [&str; 4] = [
    "AKIAPLANTED",
    "plantedSecretKey",
    "plantedSessionToken",
    "plantedPassword",
];

#[test]
fn planted_keys_and_session_tokens_appear_nowhere() {
    shared::run("planted keys", async {
        let cluster = rig::cluster::Cluster::start().await;
        cluster.install_kinds().await;
        let client = cluster.client().await;
        make_namespace(&client, NAMESPACE).await;
        let secrets: Api<Secret> = Api::namespaced(client.clone(), NAMESPACE);
        let [key, secret, token, password] = PLANTED;
        let login = json!({"metadata": {"name": "login"}, "stringData": {"user": "guest",
            "password": password, "AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret,
            "AWS_SESSION_TOKEN": token}});
        apply(&secrets, login).await;
        let server = Server::start(|_, parts, _| {
            // As SQS and RabbitMQ deny.
            let region = parts.headers.get("authorization").and_then(|text| text.to_str().ok());
            let is_repeated = region.is_some_and(|text| text.contains("us-west-2"));
            let body = if parts.uri.path().starts_with("/api") {
                json!({"error": "not_authorized", "reason": "Login failed"})
            } else if is_repeated {
                // AWS repeats the request whose signature it refuses, with its session token.
                let message = format!("The request signature we calculated does not match. {:?}", parts.headers);
                json!({"__type": "com.amazon.coral.service#InvalidSignatureException", "message": message})
            } else {
                json!({"__type": "com.amazon.coral.service#InvalidClientTokenId",
                    "message": "The security token included in the request is invalid."})
            };
            let answer = Response::builder().status(403);
            answer.body(Full::new(Bytes::from(body.to_string()))).expect("a response")
        })
        .await;
        let configs = Api::<ProviderConfig>::namespaced(client.clone(), NAMESPACE);
        for (name, spec) in [
            (
                "broker",
                json!({"rabbitmq": rabbitmq_connection(&server.endpoint, None)}),
            ),
            (
                "sqs",
                json!({"sqs": sqs_connection(&server.endpoint, None)}),
            ),
        ] {
            apply(&configs, json!({"metadata": {"name": name}, "spec": spec})).await;
        }
        let queues = Queues(Api::namespaced(client.clone(), NAMESPACE));
        queues.make_classic("rabbitmq", "asya", "rabbitmq").await;
        for (name, region) in [("sqs", "us-east-1"), ("repeated", "us-west-2")] {
            let sqs = json!({"metadata": {"name": name}, "spec": {
                "forProvider": {"sqs": {"region": region, "visibilityTimeoutSeconds": 30,
                    "messageRetentionSeconds": 3600, "receiveWaitTimeSeconds": 0,
                    "deadLetter": {"enabled": false, "maxReceiveCount": 3}}},
                "writeConnectionSecretToRef": {"name": "sqs-connection"},
                "providerConfigRef": {"kind": "ProviderConfig", "name": "sqs"}}});
            apply(&queues.0, sqs).await;
        }
        let folder = tempfile::tempdir().unwrap();
        let [port] = rig::ports::reserve();
        let mut command = Command::new(env!("CARGO_BIN_EXE_provider-asya"));
        command
            .env_clear()
            .env("KUBECONFIG", cluster.kubeconfig())
            .args(["--debug", "--metrics-address", &format!("127.0.0.1:{port}")]);
        let mut process = Process::start("provider-asya", &mut command, folder.path());
        for name in ["rabbitmq", "sqs", "repeated"] {
            queues.until_condition(name, "Synced", "False", "").await;
        }
        process.check(folder.path());
        let everything = ListParams::default();
        let mut found = Vec::new();
        let mut check = |what: &str, text: &str| {
            let leaked = PLANTED.into_iter().filter(|planted| text.contains(planted));
            found.extend(leaked.map(|planted| format!("{what} has {planted}")));
        };
        let objects: Vec<Value> = queues
            .0
            .list(&everything)
            .await
            .unwrap()
            .into_iter()
            .map(|queue| json!(queue))
            .collect();
        check("a Queue", &json!(objects).to_string());
        let events: Api<Event> = Api::namespaced(client.clone(), NAMESPACE);
        check(
            "an event",
            &json!(events.list(&everything).await.unwrap().items).to_string(),
        );
        check(
            "a config",
            &json!(configs.list(&everything).await.unwrap().items).to_string(),
        );
        let connection = secrets.get_opt("sqs-connection").await.unwrap();
        check("a connection Secret", &format!("{connection:?}"));
        let log = fs::read_to_string(folder.path().join("provider-asya.log")).unwrap();
        assert!(log.contains("reconcile"), "the log is on: {log}");
        check("the log", &log);
        let metrics = Command::new("curl")
            .args(["-s", &format!("http://127.0.0.1:{port}/metrics")])
            .output();
        check(
            "metrics",
            &String::from_utf8(metrics.unwrap().stdout).unwrap(),
        );
        assert!(found.is_empty(), "{found:?}");
    });
}
