//! Pods killed at random while messages flow: none may be lost.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Result, bail};
use serde_json::json;

use super::{Story, TIMEOUT};
use crate::cluster::control_plane::kubectl;
use crate::cluster::poll::until;
use crate::cluster::process::Processes;
use crate::cluster::workloads::{apply_text, call};

/// Two actors, one after the other.
const ACTORS: &str = include_str!("disturbances.yaml");

/// Namespace of the actors.
const NAMESPACE: &str = "disturbances";

/// Queue at the end of the route, which only this program reads.
const END: &str = "disturbances-end";

const MESSAGES: usize = 300;

/// Time for which pods are killed.
const DURATION: Duration = Duration::from_mins(1);

/// Pause between two of them.
const PAUSE: Duration = Duration::from_secs(2);

/// Sends messages through two actors while their pods, those of our packages and KEDA's operator are
/// killed one after the other; then all messages must be at the end of the route.
pub(super) fn play(story: &Story<'_>, processes: &mut Processes<'_>) -> Result<()> {
    story.create_namespace(NAMESPACE, &json!({}))?;
    apply_text(story.instance, ACTORS)?;
    for actor in ["one", "two"] {
        story.wait_for_status(NAMESPACE, actor, "Running", "")?;
    }
    story.broker.create_queue(END)?;
    for number in 0..MESSAGES {
        let id = format!("message-{number}");
        story
            .broker
            .publish(&id, &["one", "two", END], &json!({}))?;
    }
    let mut killed = BTreeMap::<String, usize>::new();
    let end = Instant::now() + DURATION;
    while Instant::now() < end {
        if let Some((namespace, pod)) = any_pod(story)? {
            let line = format!(
                "delete pod {pod} --namespace {namespace} --grace-period=0 --force --wait=false \
                 --ignore-not-found"
            );
            call(kubectl(story.instance, &line))?;
            *killed.entry(namespace).or_default() += 1;
        }
        thread::sleep(PAUSE);
    }
    processes.print(&format!("pods killed, by namespace: {killed:?}"))?;
    let mut arrived = BTreeMap::<String, usize>::new();
    let what = format!("all {MESSAGES} messages are at the end of their route");
    until(&what, TIMEOUT, || {
        for message in story.broker.take(END)? {
            let id = message["id"].as_str().unwrap_or_default().to_owned();
            *arrived.entry(id).or_default() += 1;
        }
        Ok(if arrived.len() == MESSAGES {
            Ok(())
        } else {
            Err(format!("{} of them", arrived.len()))
        })
    })?;
    let copies = arrived.values().sum::<usize>() - arrived.len();
    processes.print(&format!(
        "{MESSAGES} messages sent, 0 lost, {copies} arrived once more"
    ))?;
    for actor in ["one", "two"] {
        story.wait_for_status(NAMESPACE, actor, "Running", "")?;
    }
    processes.print("both actors are Running again")?;
    if !killed.contains_key(NAMESPACE) {
        bail!("no pod of an actor was killed: play it again");
    }
    story.delete_namespace(NAMESPACE)
}

/// Namespace and name of a pod, at random: every second one is an actor's.
fn any_pod(story: &Story<'_>) -> Result<Option<(String, String)>> {
    let random = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)?
        .subsec_micros() as usize;
    let namespaces = [NAMESPACE, "crossplane-system", NAMESPACE, "keda"];
    let namespace = namespaces[random % namespaces.len()];
    let names = story.get(
        &format!("pods --namespace {namespace}"),
        "{.items[*].metadata.name}",
    )?;
    let names: Vec<&str> = names.split_whitespace().collect();
    let index = (random / namespaces.len()).checked_rem(names.len());
    Ok(index.map(|index| (namespace.to_owned(), names[index].to_owned())))
}
