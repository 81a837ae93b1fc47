//! `cargo xtask cluster test`: messages through an actor in real pods, and the statuses that a real kubelet
//! causes. It runs inside a cluster that is up.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::{Value, json};

use super::control_plane::kubectl;
use super::instance::Instance;
use super::process::Processes;
use super::workloads::{apply_text, call};

const MESSAGE: &str = include_str!("test/message.yaml");
const STATUSES: &str = include_str!("test/statuses.yaml");

/// Namespace of the actor in [`MESSAGE`].
const NAMESPACE: &str = "story";

/// Namespace of the actors with the statuses.
const STATES: &str = "statuses";

/// Timeout of each step; scaling to zero and pulls that fail take about a minute.
const TIMEOUT: Duration = Duration::from_mins(4);

const INTERVAL: Duration = Duration::from_millis(500);

/// Messages that are sent at once.
const MESSAGES: usize = 10;

/// One status, and what causes it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    reason: String,
    name: String,
    /// Fields that differ from those of an actor that runs.
    spec: Value,
    status: String,
    /// Part of the message of the condition `ActorReady`.
    #[serde(default)]
    message: String,
}

/// Plays everything, and prints when each step is reached.
pub(super) fn run(instance: &Instance, processes: &mut Processes<'_>) -> Result<()> {
    let story = Story { instance };
    for namespace in [NAMESPACE, STATES] {
        let line = format!("delete namespace {namespace} --ignore-not-found --timeout=180s");
        call(kubectl(instance, &line))?;
    }
    story.messages(processes)?;
    story.statuses(processes)
}

struct Story<'a> {
    instance: &'a Instance,
}

impl Story<'_> {
    /// From zero to pods and back, twice, with messages that all arrive at the end of their route.
    fn messages(&self, processes: &mut Processes<'_>) -> Result<()> {
        apply_text(self.instance, MESSAGE)?;
        let password = self.get(
            "secret/rabbitmq-secret --namespace default",
            "{.data.password}",
        )?;
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "data": {"password": password},
            "metadata": {"name": "rabbitmq-secret", "namespace": NAMESPACE}});
        apply_text(self.instance, &secret.to_string())?;
        self.wait_for_status(NAMESPACE, "hello", "Napping", "")?;
        processes.print("hello is Napping: no message, no pod")?;
        for round in 1..=2 {
            let sent: Vec<String> = (1..=MESSAGES)
                .map(|number| format!("round-{round}-message-{number}"))
                .collect();
            for id in &sent {
                publish(&password, id)?;
            }
            until(&format!("pods for round {round}"), || {
                let pods = self.get(
                    &format!("pods --namespace {NAMESPACE} --selector asya.sh/actor=hello"),
                    "{.items[*].status.conditions[?(@.type=='Ready')].status}",
                )?;
                Ok(pods.contains("True").then_some(()).ok_or(pods))
            })?;
            processes.print(&format!("round {round}: a pod is ready"))?;
            until(
                &format!("the messages of round {round} in the log of x-sink"),
                || {
                    let log = self.log_of_sink();
                    let missing: Vec<&String> = sent
                        .iter()
                        .filter(|id| !log.contains(&format!("\"{id}\"")))
                        .collect();
                    Ok(if missing.is_empty() {
                        Ok(())
                    } else {
                        Err(format!("missing: {missing:?}"))
                    })
                },
            )?;
            processes.print(&format!(
                "round {round}: all {MESSAGES} messages are at x-sink"
            ))?;
            self.wait_for_status(NAMESPACE, "hello", "Napping", "")?;
            until("no pods", || {
                let selector =
                    format!("pods --namespace {NAMESPACE} --selector asya.sh/actor=hello");
                let pods = self.get(&selector, "{.items[*].metadata.name}")?;
                Ok(if pods.is_empty() { Ok(()) } else { Err(pods) })
            })?;
            processes.print(&format!(
                "round {round}: hello is Napping again, without pods"
            ))?;
        }
        Ok(())
    }

    /// Every status of the table; all actors start at the same time.
    fn statuses(&self, processes: &mut Processes<'_>) -> Result<()> {
        let mut cases = Vec::new();
        for document in actor::yaml::documents(STATUSES)? {
            let some: Vec<Case> = serde_json::from_value(document)?;
            cases.extend(some);
        }
        let password = self.get(
            "secret/rabbitmq-secret --namespace default",
            "{.data.password}",
        )?;
        let mut objects = vec![
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": STATES}}),
            json!({
                "apiVersion": "v1", "kind": "Secret", "data": {"password": password},
                "metadata": {"name": "rabbitmq-secret", "namespace": STATES}}),
            json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": "code", "namespace": STATES},
                "data": {"handlers.py": "def handle(payload):\n    return payload\n\n\n\
                    def __getattr__(name):\n    return bytearray(2**28)\n"}}),
        ];
        objects.extend(cases.iter().map(Case::actor));
        apply_text(self.instance, &actor::yaml::write_stream(&objects)?)?;
        for case in &cases {
            self.wait_for_status(STATES, &case.name, &case.status, &case.message)
                .with_context(|| case.reason.clone())?;
            processes.print(&format!("{}: {}", case.reason, case.status))?;
        }
        Ok(())
    }

    fn wait_for_status(&self, namespace: &str, name: &str, status: &str, part: &str) -> Result<()> {
        let actor = format!("asyncactor/{name} --namespace {namespace}");
        let path = "{.status.conditions[?(@.type=='ActorReady')].reason}: \
                    {.status.conditions[?(@.type=='ActorReady')].message}";
        let wanted = format!("{status}: ");
        until(&format!("{name} is {status} ({part})"), || {
            let found = self.get(&actor, path)?;
            let holds = found.starts_with(&wanted) && found.contains(part);
            Ok(if holds { Ok(()) } else { Err(found) })
        })
    }

    /// A value of objects, by a JSONPath with or without spaces.
    fn get(&self, objects: &str, path: &str) -> Result<String> {
        let mut command = kubectl(self.instance, &format!("get {objects}"));
        command.arg("--output").arg(format!("jsonpath={path}"));
        call(command)
    }

    /// Empty while it has no pod.
    fn log_of_sink(&self) -> String {
        let line = "logs --selector asya.sh/actor=x-sink --container asya-runtime --tail=-1";
        call(kubectl(self.instance, line)).unwrap_or_default()
    }
}

/// Polls until `ask` has the answer; its error is what was found instead.
fn until(what: &str, ask: impl Fn() -> Result<Result<(), String>>) -> Result<()> {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        match ask()? {
            Ok(()) => return Ok(()),
            Err(found) if Instant::now() > deadline => {
                bail!(
                    "waited {} s until {what}; found {found:?}",
                    TIMEOUT.as_secs()
                )
            }
            Err(_) => thread::sleep(INTERVAL),
        }
    }
}

/// Publishes an envelope as sidecars do, by the management API, at the name that pods use.
fn publish(password: &str, id: &str) -> Result<()> {
    let envelope = json!({
        "id": id, "route": {"prev": [], "curr": "hello", "next": []}, "headers": {},
        "payload": {"name": "world"}});
    let body = json!({
        "properties": {"delivery_mode": 2}, "routing_key": "hello",
        "payload_encoding": "string", "payload": envelope.to_string()});
    let mut curl = Command::new("curl");
    curl.args(["--fail", "--silent", "--show-error"])
        .args(["--user", &format!("asya:{}", decoded(password)?)])
        .args(["--header", "content-type: application/json"])
        .args(["--data", &body.to_string()])
        .arg("http://rabbitmq.default.svc.cluster.local:15672/api/exchanges/%2F/asya/publish");
    let answer = call(curl)?;
    if answer.trim() != r#"{"routed":true}"# {
        bail!("the broker has no queue for hello: {answer}");
    }
    Ok(())
}

/// A value of a Secret, from base64.
fn decoded(value: &str) -> Result<String> {
    use base64::Engine as _;
    let bytes = base64::engine::general_purpose::STANDARD.decode(value)?;
    Ok(String::from_utf8(bytes)?)
}

impl Case {
    /// The actor: one that runs, with the fields of the case.
    fn actor(&self) -> Value {
        let mut spec = json!({
            "image": "python:3-slim", "handler": "handlers.handle",
            "env": [{"name": "PYTHONPATH", "value": "/code"}],
            "volumes": [{"name": "code", "configMap": {"name": "code"}}],
            "volumeMounts": [{"name": "code", "mountPath": "/code"}],
            "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}},
            "scaling": {"minReplicaCount": 1, "maxReplicaCount": 1},
        });
        if let (Some(spec), Some(differences)) = (spec.as_object_mut(), self.spec.as_object()) {
            spec.extend(differences.clone());
        }
        json!({
            "apiVersion": "asya.sh/v1alpha1", "kind": "AsyncActor",
            "metadata": {"name": self.name, "namespace": STATES}, "spec": spec})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_changes_only_the_fields_that_it_names() {
        let documents = actor::yaml::documents(STATUSES).unwrap();
        let cases: Vec<Case> = serde_json::from_value(documents[0].clone()).unwrap();
        let of = |name: &str| {
            let case = cases.iter().find(|case| case.name == name);
            case.unwrap().actor()["spec"].clone()
        };
        let (running, no_image) = (of("running"), of("no-image"));
        assert_ne!(running["image"], no_image["image"]);
        assert_eq!(running["handler"], no_image["handler"]);
    }
}
