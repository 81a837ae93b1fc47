//! Pods of which none is ready: whether they are starting, and why they are not ready.

use std::time::Duration;

use super::pod::{Pod, Probe};
use super::{AtProvider, LastScale, Time, quote};

/// Time from a scale-up from 0 to the first ready pod where no startup probe sets one.
const STARTUP_TIME: Duration = Duration::from_mins(10);

/// Scale-up from 0 in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Startup {
    /// Time of the scale-up.
    pub(super) since: Time,
    /// End of the startup time.
    pub(super) deadline: Time,
}

/// Returns the scale-up from 0 in progress: replicas are asked for, none was ready since, and
/// the startup time is not over.
///
/// The startup time is that of the startup probe of a container that runs, counted from its start,
/// else [`STARTUP_TIME`], counted from the scale-up.
pub(super) fn under_way(
    scaled: Option<&LastScale>,
    before: &AtProvider,
    ready: u32,
    desired: Option<u32>,
    pods: &[&Pod],
    now: Time,
) -> Option<Startup> {
    if ready > 0 || desired.unwrap_or_default() == 0 {
        return None;
    }
    let is_from_zero = scaled.is_some_and(|scaled| scaled.from == 0);
    let since = match &before.starting_since {
        _ if is_from_zero => now,
        Some(since) => since.parse().ok()?,
        None => return None,
    };
    let of_probes = pods.iter().filter_map(|pod| probed_until(pod));
    let deadline = of_probes.max().unwrap_or_else(|| since.after(STARTUP_TIME));
    now.until(deadline).map(|_| Startup { since, deadline })
}

/// Returns the time at which the startup probe of the pod's last started container gives up.
fn probed_until(pod: &Pod) -> Option<Time> {
    let containers = pod.status.container_statuses.iter();
    let ends = containers.filter_map(|status| {
        let started = status.state.running.as_ref()?.started_at?;
        let mut containers = pod.spec.containers.iter();
        let container = containers.find(|container| container.name == status.name)?;
        Some(started.after(container.startup_probe.as_ref()?.time()))
    });
    ends.max()
}

impl Probe {
    /// Time until the probe gives up. Defaults are those of Kubernetes.
    fn time(&self) -> Duration {
        let period = u64::from(self.period_seconds.unwrap_or(10));
        let failures = u64::from(self.failure_threshold.unwrap_or(3));
        let delay = u64::from(self.initial_delay_seconds.unwrap_or(0));
        Duration::from_secs(delay.saturating_add(period.saturating_mul(failures)))
    }
}

/// Returns why no pod is ready, as the kubelet reports it: the message that most pods have, then the
/// first in alphabetical order. None if no pod reports a message.
pub(super) fn why_unready(pods: &[&Pod]) -> Option<String> {
    let mut messages: Vec<&str> = pods
        .iter()
        .filter_map(|pod| pod.condition("Ready"))
        .filter(|condition| condition.status != "True")
        .map(|condition| condition.message.as_str())
        .filter(|message| !message.is_empty())
        .collect();
    messages.sort_unstable();
    let groups = messages.chunk_by(|one, other| one == other);
    // Of equally large groups the first stays: `max_by_key` would take the last.
    let most = groups.rev().max_by_key(|group| group.len())?;
    Some(quote(most[0]))
}
