//! From zero pods to several by the number of messages, and back.

use std::collections::BTreeSet;

use anyhow::Result;
use serde_json::json;

use super::{Story, TIMEOUT};
use crate::cluster::poll::until;
use crate::cluster::process::Processes;
use crate::cluster::workloads::apply_text;

const ACTOR: &str = include_str!("several_pods.yaml");

/// Namespace of the actor in [`ACTOR`].
const NAMESPACE: &str = "several-pods";

/// Queue at the end of the route, which only this program reads.
const END: &str = "several-pods-end";

/// Messages of five seconds each: enough for the first pod until the others are there.
const MESSAGES: usize = 24;

/// Three pods by KEDA's metrics and the HPA that KEDA makes; all messages arrive, and no pod is left.
pub(super) fn play(story: &Story<'_>, processes: &mut Processes<'_>) -> Result<()> {
    story.create_namespace(NAMESPACE, &json!({}))?;
    apply_text(story.instance, ACTOR)?;
    story.wait_for_status(NAMESPACE, "wide", "Napping", "")?;
    story.broker.create_queue(END)?;
    for number in 0..MESSAGES {
        let id = format!("message-{number}");
        story.broker.publish(&id, &["wide", END], &json!({}))?;
    }
    let actor = format!("asyncactor/wide --namespace {NAMESPACE}");
    let path = "{.status.replicas.ready}";
    story.wait_for("three pods are ready", &actor, path, |found| found == "3")?;
    processes.print(&format!("{MESSAGES} messages: three pods are ready"))?;
    let mut arrived = BTreeSet::new();
    until(
        "all messages are at the end of their route",
        TIMEOUT,
        || {
            for message in story.broker.take(END)? {
                arrived.insert(message["id"].to_string());
            }
            Ok(if arrived.len() == MESSAGES {
                Ok(())
            } else {
                Err(format!("{} of {MESSAGES}", arrived.len()))
            })
        },
    )?;
    story.wait_for_status(NAMESPACE, "wide", "Napping", "")?;
    story.wait_for_no_pods(NAMESPACE, "wide")?;
    processes.print("all messages arrived: wide is Napping again, without pods")?;
    story.delete_namespace(NAMESPACE)
}
