//! Messages from zero pods to zero, in a namespace that enforces Pod Security.

use anyhow::Result;
use serde_json::json;

use super::{Story, TIMEOUT, pods_of};
use crate::cluster::control_plane::kubectl;
use crate::cluster::poll::until;
use crate::cluster::process::Processes;
use crate::cluster::workloads::{apply_text, call};

const ACTOR: &str = include_str!("message.yaml");

/// Namespace of the actor in [`ACTOR`].
const NAMESPACE: &str = "story";

/// Messages that are sent at once.
const MESSAGES: usize = 10;

/// From zero to pods and back, twice, with messages that all arrive at the end of their route.
pub(super) fn play(story: &Story<'_>, processes: &mut Processes<'_>) -> Result<()> {
    let enforced = json!({"pod-security.kubernetes.io/enforce": "restricted"});
    story.create_namespace(NAMESPACE, &enforced)?;
    apply_text(story.instance, ACTOR)?;
    story.wait_for_status(NAMESPACE, "hello", "Napping", "")?;
    processes.print("hello is Napping: no message, no pod")?;
    for round in 1..=2 {
        let sent: Vec<String> = (1..=MESSAGES)
            .map(|number| format!("round-{round}-message-{number}"))
            .collect();
        for id in &sent {
            let payload = json!({"name": "world"});
            story.broker.publish(id, &["hello"], &payload)?;
        }
        let what = format!("a pod is ready in round {round}");
        let path = "{.items[*].status.conditions[?(@.type=='Ready')].status}";
        story.wait_for(&what, &pods_of(NAMESPACE, "hello"), path, |found| {
            found.contains("True")
        })?;
        processes.print(&format!("round {round}: a pod is ready"))?;
        let what = format!("the messages of round {round} are in the log of x-sink");
        until(&what, TIMEOUT, || {
            let log = log_of_sink(story);
            let is_missing = |id: &&String| !log.contains(&format!("\"{id}\""));
            let missing: Vec<&String> = sent.iter().filter(is_missing).collect();
            Ok(if missing.is_empty() {
                Ok(())
            } else {
                Err(format!("all but {missing:?}"))
            })
        })?;
        processes.print(&format!(
            "round {round}: all {MESSAGES} messages are at x-sink"
        ))?;
        story.wait_for_status(NAMESPACE, "hello", "Napping", "")?;
        story.wait_for_no_pods(NAMESPACE, "hello")?;
        processes.print(&format!(
            "round {round}: hello is Napping again, without pods"
        ))?;
    }
    Ok(())
}

/// Empty while it has no pod.
fn log_of_sink(story: &Story<'_>) -> String {
    let line = "logs --selector asya.sh/actor=x-sink --container asya-runtime --tail=-1";
    call(kubectl(story.instance, line)).unwrap_or_default()
}
