//! The time that the newest pod took until it was ready.

use serde::{Deserialize, Serialize};

use super::pod::Pod;
use super::{AtProvider, Time};

/// Start of the newest pod that has become ready: what the first message after none waits for, beside
/// KEDA's poll. Seconds count from the creation of the pod, and are whole, as Kubernetes' times are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LastStart {
    /// Time (RFC 3339) at which the pod was created.
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub time: String,
    /// Seconds until a node was found.
    pub scheduled_seconds: u32,
    /// Seconds until the last container was started: by then, images are pulled, volumes are mounted,
    /// and init containers have run.
    pub started_seconds: u32,
    /// Seconds until the pod was ready: the runtime has imported the handler.
    pub ready_seconds: u32,
}

/// Returns the start of the newest of these pods, or what was known before of it or of a later one: a
/// pod that is ready again has no start of its own.
pub(super) fn of(pods: &[&Pod], before: &AtProvider) -> Option<LastStart> {
    let before = before.last_start.as_ref();
    let known: Option<Time> = before.and_then(|start| start.time.parse().ok());
    let ready = pods.iter().filter(|pod| pod.is_ready());
    let newest = ready
        .filter(|pod| pod.metadata.creation_timestamp > known)
        .max_by_key(|pod| (pod.metadata.creation_timestamp, &pod.metadata.name));
    newest
        .and_then(|pod| start_of(pod))
        .or_else(|| before.cloned())
}

/// None where the kubelet has left out a time.
fn start_of(pod: &Pod) -> Option<LastStart> {
    let created = pod.metadata.creation_timestamp?;
    let seconds = |then: Time| {
        let wait = created.until(then).unwrap_or_default();
        u32::try_from(wait.as_secs()).unwrap_or(u32::MAX)
    };
    let since = |name| pod.condition(name)?.last_transition_time.map(seconds);
    let started = pod.status.container_statuses.iter().map(|container| {
        let running = container.state.running.as_ref()?;
        running.started_at
    });
    // The greatest, if each has one.
    let started = started.collect::<Option<Vec<_>>>()?.into_iter().max()?;
    Some(LastStart {
        time: created.to_string(),
        scheduled_seconds: since("PodScheduled")?,
        started_seconds: seconds(started),
        ready_seconds: since("Ready")?,
    })
}
