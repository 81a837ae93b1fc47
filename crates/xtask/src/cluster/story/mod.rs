//! What is played on a cluster that is up: messages through real pods, and statuses that a real kubelet
//! causes. It runs inside the cluster.

mod broker;
mod disturbances;
mod drain;
mod first_message;
mod messages;
mod replacements;
mod several_pods;
mod state;
mod statuses;

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use self::broker::Broker;
use super::control_plane::kubectl;
use super::instance::Instance;
use super::poll::until;
use super::process::Processes;
use super::workloads::{apply_text, call};

/// Timeout of each step; scaling to zero and pulls that fail take about a minute.
const TIMEOUT: Duration = Duration::from_mins(4);

/// Plays everything that holds or fails, and prints when each step is reached.
pub(super) fn test(instance: &Instance, processes: &mut Processes<'_>) -> Result<()> {
    let story = Story::new(instance)?;
    state::play(&story, processes)?;
    drain::play(&story, processes)?;
    messages::play(&story, processes)?;
    several_pods::play(&story, processes)?;
    statuses::play(&story, processes)?;
    disturbances::play(&story, processes)
}

/// Measures what users wait for, and prints it.
pub(super) fn measure(
    instance: &Instance,
    rounds: usize,
    processes: &mut Processes<'_>,
) -> Result<()> {
    let story = Story::new(instance)?;
    first_message::measure(&story, rounds, processes)?;
    replacements::measure(&story, processes)
}

/// A cluster with packages, broker and end actors in it.
struct Story<'a> {
    instance: &'a Instance,
    broker: Broker,
}

impl<'a> Story<'a> {
    fn new(instance: &'a Instance) -> Result<Self> {
        let line =
            "get secret/rabbitmq-secret --namespace default --output jsonpath={.data.password}";
        let password = call(kubectl(instance, line)).context("the broker's password")?;
        let broker = Broker::new(password, instance.path("broker-login"))?;
        Ok(Self { instance, broker })
    }

    /// Creates a namespace with its actors' password, after deleting one of an earlier run.
    fn create_namespace(&self, name: &str, labels: &Value) -> Result<()> {
        self.delete_namespace(name)?;
        let objects = [
            json!({
                "apiVersion": "v1", "kind": "Namespace",
                "metadata": {"name": name, "labels": labels}}),
            json!({
                "apiVersion": "v1", "kind": "Secret", "data": {"password": self.broker.encoded_password},
                "metadata": {"name": "rabbitmq-secret", "namespace": name}}),
        ];
        self.apply(&objects)
    }

    fn delete_namespace(&self, name: &str) -> Result<()> {
        let line = format!("delete namespace {name} --ignore-not-found --timeout=180s");
        call(kubectl(self.instance, &line)).map(drop)
    }

    fn apply(&self, objects: &[Value]) -> Result<()> {
        apply_text(self.instance, &actor::yaml::write_stream(objects)?)
    }

    /// A value of objects, by a JSONPath with or without spaces.
    fn get(&self, objects: &str, path: &str) -> Result<String> {
        let mut command = kubectl(self.instance, &format!("get {objects}"));
        command.arg("--output").arg(format!("jsonpath={path}"));
        call(command)
    }

    /// Waits for the status of an actor, and for a part of the message of its condition `ActorReady`.
    fn wait_for_status(&self, namespace: &str, name: &str, status: &str, part: &str) -> Result<()> {
        let actor = format!("asyncactor/{name} --namespace {namespace}");
        let path = "{.status.conditions[?(@.type=='ActorReady')].reason}: \
                    {.status.conditions[?(@.type=='ActorReady')].message}";
        let wanted = format!("{status}: ");
        let what = format!("{name} is {status} ({part})");
        self.wait_for(&what, &actor, path, |found| {
            found.starts_with(&wanted) && found.contains(part)
        })
    }

    fn wait_for_no_pods(&self, namespace: &str, actor: &str) -> Result<()> {
        let what = format!("{actor} has no pods");
        let pods = pods_of(namespace, actor);
        self.wait_for(&what, &pods, "{.items[*].metadata.name}", str::is_empty)
    }

    /// Waits until this holds for a value of objects, by a JSONPath.
    fn wait_for(
        &self,
        what: &str,
        objects: &str,
        path: &str,
        holds: impl Fn(&str) -> bool,
    ) -> Result<()> {
        until(what, TIMEOUT, || {
            let found = self.get(objects, path)?;
            Ok(if holds(&found) { Ok(()) } else { Err(found) })
        })
    }
}

/// The pods of an actor, as arguments of kubectl.
fn pods_of(namespace: &str, actor: &str) -> String {
    format!("pods --namespace {namespace} --selector asya.sh/actor={actor}")
}
