//! The time until a new actor works while a pod of our packages is replaced.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::Story;
use crate::cluster::control_plane::kubectl;
use crate::cluster::process::Processes;
use crate::cluster::workloads::call;

/// Namespace of the new actors, and of the pods of packages.
const NAMESPACE: &str = "replacements";
const PACKAGES: &str = "crossplane-system";

/// Applies a new actor just after a pod was deleted, for the pod of each function and the provider,
/// and prints the time until core is done with the actor and until its queue exists.
pub(super) fn measure(story: &Story<'_>, processes: &mut Processes<'_>) -> Result<()> {
    story.create_namespace(NAMESPACE, &json!({}))?;
    let mut number = 0;
    let mut measured = |what: &str| -> Result<()> {
        number += 1;
        let [synced, queue] = time_of_actor(story, &format!("new-{number}"))?;
        processes.print(&format!(
            "{what}: a new actor is Synced after {:.1} s, its queue exists after {:.1} s",
            synced.as_secs_f64(),
            queue.as_secs_f64()
        ))
    };
    measured("nothing is replaced")?;
    let owners = "functions.pkg.crossplane.io,providers.pkg.crossplane.io";
    let names = story.get(owners, "{range .items[*]}{.kind}/{.metadata.name} {end}")?;
    for package in names.split_whitespace() {
        let (kind, name) = package.split_once('/').context("a package has a kind")?;
        let selector = format!("pkg.crossplane.io/{}={name}", kind.to_lowercase());
        let delete =
            format!("delete pods --namespace {PACKAGES} --selector {selector} --wait=false");
        call(kubectl(story.instance, &delete))?;
        measured(&format!("the pod of {name} is deleted"))?;
        let pods = format!("pods --namespace {PACKAGES} --selector {selector}");
        let path = "{range .items[*]}{.metadata.deletionTimestamp}\
                    {.status.conditions[?(@.type=='Ready')].status} {end}";
        let what = format!("{name} has one pod, which is ready");
        story.wait_for(&what, &pods, path, |found| found.trim() == "True")?;
    }
    story.delete_namespace(NAMESPACE)
}

/// Time from applying an actor until it is Synced, and until its queue is ready.
fn time_of_actor(story: &Story<'_>, name: &str) -> Result<[Duration; 2]> {
    let start = Instant::now();
    story.apply(&[actor(name)])?;
    let is_true = |object: &str, condition: &str| {
        let line = format!("{object} --namespace {NAMESPACE} --ignore-not-found");
        let path = format!("{{.status.conditions[?(@.type=='{condition}')].status}}");
        let what = format!("{object} is {condition}");
        story.wait_for(&what, &line, &path, |found| found == "True")?;
        anyhow::Ok(start.elapsed())
    };
    Ok([
        is_true(&format!("asyncactor/{name}"), "Synced")?,
        is_true(&format!("queues.provider.asya.sh/{name}"), "Ready")?,
    ])
}

fn actor(name: &str) -> Value {
    json!({
        "apiVersion": "asya.sh/v1alpha1", "kind": "AsyncActor",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "image": "python:3-slim", "handler": "code.handle",
            "scaling": {"minReplicaCount": 0, "maxReplicaCount": 1}}})
}
