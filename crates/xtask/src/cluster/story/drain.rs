//! A node that is drained while an actor works.

use anyhow::{Result, bail};
use serde_json::json;

use super::{Story, pods_of};
use crate::cluster::control_plane::kubectl;
use crate::cluster::process::Processes;
use crate::cluster::workloads::{apply_text, call};

const ACTOR: &str = include_str!("drain.yaml");

/// Namespace of the actor in [`ACTOR`].
const NAMESPACE: &str = "drain";

/// Queue at the end of the route, which only this program reads.
const END: &str = "drain-end";

/// Seconds of a call: longer than until the broker's statistics show it and the drain reaches the pod.
const CALL: u32 = 20;

/// Drains the node of the actor's pods alone: the call at work is finished, and the message behind it waits
/// until a node takes pods again. Each arrives once.
pub(super) fn play(story: &Story<'_>, processes: &mut Processes<'_>) -> Result<()> {
    story.create_namespace(NAMESPACE, &json!({}))?;
    apply_text(story.instance, ACTOR)?;
    story.wait_for_status(NAMESPACE, "slow", "Running", "")?;
    story.broker.create_queue(END)?;
    for id in ["at-work", "behind-it"] {
        let payload = json!({"seconds": CALL});
        story.broker.publish(id, &["slow", END], &payload)?;
    }
    story.broker.wait_for_unacknowledged("asya-slow")?;
    let drained = drain(story);
    let at_work = story.broker.wait_for_one(END);
    let pending = drained.and_then(|()| {
        story.wait_for_status(NAMESPACE, "slow", "PendingResources", "unschedulable")
    });
    call(kubectl(story.instance, "uncordon node"))?;
    pending?;
    processes.print("the node is drained: PendingResources")?;
    if at_work?["id"] != "at-work" {
        bail!("the message at work was not the first one to arrive");
    }
    let behind = story.broker.wait_for_one(END)?;
    if behind["id"] != "behind-it" {
        bail!("message {behind} arrived a second time");
    }
    story.wait_for_status(NAMESPACE, "slow", "Running", "")?;
    processes.print("the node takes pods again: Running, and each message arrived once")?;
    story.delete_namespace(NAMESPACE)
}

/// Evicts the actor's pods, and no others: core and the packages are on the same node.
fn drain(story: &Story<'_>) -> Result<()> {
    let pods = pods_of(NAMESPACE, "slow");
    let names = "{.items[*].metadata.name}";
    let before = story.get(&pods, names)?;
    let line = "drain node --pod-selector asya.sh/actor=slow --delete-emptydir-data --timeout=120s";
    call(kubectl(story.instance, line))?;
    let what = format!("{before} is gone");
    story.wait_for(&what, &pods, names, |found| found != before)
}
