//! `asya run --transport rabbitmq=URL` with a real broker.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;
use test_cluster::process::{self, Signal};
use test_cluster::rabbitmq::RabbitMq;
use test_cluster::shared::Shared;
use test_cluster::until;
use tests::program;

/// Actors of every kind of end. `elsewhere` has a queue, and its pods are not part of a run.
const QUEUES: [&str; 6] = ["first", "second", "fails", "crashes", "elsewhere", "waits"];

const HANDLERS: &str = r#"
import os

def first(payload):
    return payload + ["first"]

def second(payload):
    yield payload + ["second"]
    yield payload + ["again"]

def fails(payload):
    raise ValueError("no")

def crashes(payload):
    os._exit(3)
"#;

static FIXTURE: Shared<Fixture> =
    Shared::new("asya run on RabbitMQ", || Box::pin(Fixture::start()));

/// A broker with queues as the provider makes them, and a folder with actors.
struct Fixture {
    broker: RabbitMq,
    folder: TempDir,
}

fn actor(name: &str, handler: &str, more: &str) -> String {
    format!(
        "apiVersion: asya.sh/v1alpha1\nkind: AsyncActor\nmetadata: {{name: {name}}}\n\
         spec: {{image: \"app:1\", handler: handlers.{handler}{more}}}\n"
    )
}

impl Fixture {
    async fn start() -> Self {
        let fixture = Self {
            broker: RabbitMq::start().await,
            folder: tempfile::tempdir().unwrap(),
        };
        let topic = json!({"type": "topic", "durable": true});
        fixture.put("exchanges/%2F/asya", &topic).await;
        for name in QUEUES.iter().chain(&["x-sink", "x-sump"]) {
            fixture.queue(name, &json!({})).await;
            fixture.queue(&format!("{name}-dlq"), &json!({})).await;
            let again = json!({"x-message-ttl": 1000, "x-dead-letter-exchange": "",
                "x-dead-letter-routing-key": format!("asya-{name}")});
            fixture.queue(&format!("{name}-retry-1"), &again).await;
            let path = format!("bindings/%2F/e/asya/q/asya-{name}");
            let key = json!({ "routing_key": name });
            let (status, answer) = fixture.broker.ask("POST", &path, Some(&key)).await;
            assert_eq!(status, 201, "{answer}");
        }
        let retry = ", resiliency: {retry: {policy: constant, maxAttempts: 2, initialInterval: 200ms, jitter: false}}";
        fixture.write("first.yaml", &actor("first", "first", ""));
        fixture.write("second.yaml", &actor("second", "second", ""));
        fixture.write("fails.yaml", &actor("fails", "fails", retry));
        fixture.write("crashes.yaml", &actor("crashes", "crashes", ""));
        fixture.write("waits.yaml", &actor("waits", "first", ""));
        fixture.write("missing.yaml", &actor("missing", "first", ""));
        fixture.write("handlers.py", HANDLERS);
        fixture
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.path().join(name), text).unwrap();
    }

    async fn put(&self, path: &str, body: &Value) {
        let (status, answer) = self.broker.ask("PUT", path, Some(body)).await;
        assert!(status < 300, "{path}: {answer}");
    }

    async fn queue(&self, name: &str, arguments: &Value) {
        let body = json!({"durable": true, "arguments": arguments});
        self.put(&format!("queues/%2F/asya-{name}"), &body).await;
    }

    /// Takes the messages of a queue.
    async fn take(&self, name: &str) -> Vec<Value> {
        let all = json!({"count": 100, "ackmode": "ack_requeue_false", "encoding": "auto"});
        let path = format!("queues/%2F/asya-{name}/get");
        let (status, answer) = self.broker.ask("POST", &path, Some(&all)).await;
        assert_eq!(status, 200, "{answer}");
        let messages = answer.as_array().unwrap().iter();
        let body = |message: &Value| message["payload"].as_str().unwrap().parse().unwrap();
        messages.map(body).collect()
    }

    fn url(&self) -> String {
        format!("amqp://guest:guest@127.0.0.1:{}/%2F", self.broker.amqp)
    }

    fn command(&self, url: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program::path("asya"));
        command
            .args(["run", "--transport", &format!("rabbitmq={url}")])
            .args(arguments)
            .current_dir(self.folder.path())
            .env("NO_COLOR", "1")
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let url = self.url();
        let arguments = [arguments, &["-o", "json"]].concat();
        self.command(&url, &arguments).output().unwrap()
    }
}

fn events(output: &Output, kind: &str) -> Vec<Value> {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let events = text.lines().map(|line| line.parse::<Value>().unwrap());
    events.filter(|event| event["event"] == kind).collect()
}

#[test]
fn messages_pass_through_the_queues_of_the_broker_to_the_sink() {
    FIXTURE.run_alone(async |fixture| {
        let files = ["first.yaml", "second.yaml"];
        let send = ["--route", "first,second", "--send", "[1]", "--send", "[2]"];
        let output = fixture.run(&[&files[..], &send].concat());
        assert!(output.status.success(), "{}", program::talk(&output));
        let mut results: Vec<Value> = events(&output, "result")
            .iter()
            .map(|event| event["payload"].clone())
            .collect();
        results.sort_by_key(Value::to_string);
        let expected = [
            json!([1, "first", "again"]),
            json!([1, "first", "second"]),
            json!([2, "first", "again"]),
            json!([2, "first", "second"]),
        ];
        assert_eq!(results, expected);
        let at_sink = fixture.take("x-sink").await;
        assert_eq!(at_sink.len(), 4, "{at_sink:?}");
        for name in ["first", "second"] {
            assert!(fixture.take(name).await.is_empty(), "{name} is empty");
        }
    });
}

#[test]
fn a_message_is_tried_again_and_goes_to_the_sump() {
    FIXTURE.run_alone(async |fixture| {
        let output = fixture.run(&["fails.yaml", "--send", "{}"]);
        assert_eq!(output.status.code(), Some(1), "{}", program::talk(&output));
        assert_eq!(events(&output, "received").len(), 2);
        let retry = &events(&output, "retry")[0];
        assert_eq!((&retry["attempt"], &retry["of"]), (&json!(1), &json!(2)));
        let failed = &events(&output, "failed")[0];
        assert_eq!(failed["error"]["message"], "no");
        let at_sump = fixture.take("x-sump").await;
        assert_eq!(at_sump.len(), 1);
        assert_eq!(at_sump[0]["id"], failed["id"]);
    });
}

#[test]
fn a_message_on_which_the_runtime_crashes_goes_to_the_dead_letter_queue() {
    FIXTURE.run_alone(async |fixture| {
        let send = ["crashes.yaml", "--max-deliveries", "2", "--send", "{}"];
        let output = fixture.run(&send);
        assert_eq!(output.status.code(), Some(1), "{}", program::talk(&output));
        assert_eq!(events(&output, "dead").len(), 1);
        assert_eq!(fixture.take("crashes-dlq").await.len(), 1);
    });
}

#[test]
fn a_message_for_an_actor_that_runs_elsewhere_stays_in_its_queue() {
    FIXTURE.run_alone(async |fixture| {
        let send = ["first.yaml", "--route", "first,elsewhere", "--send", "[]"];
        let output = fixture.run(&send);
        assert!(output.status.success(), "{}", program::talk(&output));
        assert_eq!(events(&output, "sent")[0]["to"], "elsewhere");
        let waiting = fixture.take("elsewhere").await;
        assert_eq!(waiting[0]["payload"], json!(["first"]));
    });
}

#[test]
fn without_messages_of_its_own_it_processes_those_of_others_until_it_is_stopped() {
    FIXTURE.run_alone(async |fixture| {
        let message = json!({"id": "others", "route": {"prev": [], "curr": "waits", "next": []},
            "headers": {}, "payload": ["from elsewhere"]});
        let body = json!({"properties": {"delivery_mode": 2}, "routing_key": "waits",
            "payload": message.to_string(), "payload_encoding": "string"});
        let path = "exchanges/%2F/asya/publish";
        let (_, answer) = fixture.broker.ask("POST", path, Some(&body)).await;
        assert_eq!(answer["routed"], true, "{answer}");
        let url = fixture.url();
        let mut command = fixture.command(&url, &["waits.yaml", "-o", "results"]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = lines.next().unwrap().unwrap();
        assert_eq!(line, r#"["from elsewhere","first"]"#);
        process::signal(child.id(), Signal::INT);
        assert_eq!(child.wait().unwrap().code(), Some(0));
        until("the message is acknowledged", || async {
            let left = fixture.take("waits").await;
            assert!(left.is_empty(), "{left:?}");
            Some(())
        })
        .await;
    });
}

#[test]
fn a_broker_that_cannot_be_used_is_an_error_at_once() {
    FIXTURE.run_alone(async |fixture| {
        let good = fixture.url();
        let cases = [
            (
                "no such queue",
                "missing.yaml",
                good.clone(),
                "error: actor \"missing\": virtual host \"/\" of the broker has no queue \"asya-missing\"\n\
                 hint: the provider creates it for the actor's Queue object; on a broker of your own, create \
                 topic exchange \"asya\", the queue, and a binding of both with routing key \"missing\"",
            ),
            (
                "nothing listens",
                "first.yaml",
                "amqp://guest:guest@127.0.0.1:1/%2F".to_owned(),
                "error: actor \"first\": cannot connect to RabbitMQ at 127.0.0.1:1: ",
            ),
            (
                "a wrong password",
                "first.yaml",
                good.replace("guest@", "wrong@"),
                "ACCESS_REFUSED",
            ),
            (
                "no such virtual host",
                "first.yaml",
                good.replace("%2F", "nowhere"),
                "nowhere",
            ),
        ];
        for (reason, file, url, message) in cases {
            let mut command = fixture.command(&url, &[file, "--send", "[]"]);
            let output = command.output().unwrap();
            let talk = program::talk(&output);
            assert_eq!(output.status.code(), Some(2), "{reason}: {talk}");
            assert!(talk.contains(message), "{reason}: {talk}");
            assert!(!talk.contains(":wrong"), "{reason}: a password: {talk}");
        }
    });
}
