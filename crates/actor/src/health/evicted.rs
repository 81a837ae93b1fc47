//! Pods that their kubelet has evicted, as when they exceed a limit of ephemeral storage.
//!
//! They remain as objects in phase `Failed`. While their replacements are evicted too, nothing but their
//! message contains the cause.

use std::time::Duration;

use super::finding::Finding;
use super::pod::Pod;
use super::{Signal, Time};
use crate::status::StatusReason;

/// Reason of an evicted pod. Source: Kubernetes, `pkg/kubelet/eviction`.
const REASON: &str = "Evicted";
/// Beginning of the message.
const PREFIX: &str = "pod evicted: ";
/// Time for which an eviction explains why no pod is ready.
const RECENT: Duration = Duration::from_mins(5);

/// The latest eviction.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Eviction {
    time: Time,
    message: String,
}

impl Eviction {
    /// The latest recent eviction among these pods. Those before `since` had another cause than what
    /// keeps the present pods from being ready.
    pub(super) fn latest<'a>(
        pods: impl Iterator<Item = &'a Pod>,
        since: Option<Time>,
        now: Time,
    ) -> Option<Self> {
        let evictions = pods.filter_map(Self::of);
        let is_relevant = |eviction: &Self| since.is_none_or(|since| since <= eviction.time);
        let latest = evictions.filter(is_relevant).max()?;
        now.until(latest.end()).map(|_| latest)
    }

    fn of(pod: &Pod) -> Option<Self> {
        let status = &pod.status;
        let conditions = status.conditions.iter();
        let changed = conditions.filter_map(|condition| condition.last_transition_time);
        (status.phase == "Failed" && status.reason == REASON).then_some(())?;
        Some(Self {
            time: changed.max().or(pod.metadata.creation_timestamp)?,
            message: status.message.clone(),
        })
    }

    /// Time from which the eviction explains nothing any more.
    pub(super) fn end(&self) -> Time {
        self.time.after(RECENT)
    }

    /// The signal of a workload whose pods are evicted. The message of each eviction contains other
    /// amounts: the previous message is kept where it differs only from the first number on.
    pub(super) fn signal(&self, before: Option<&Signal>, now: Time) -> Signal {
        let words = if self.message.trim().is_empty() {
            "its kubelet reports no cause"
        } else {
            &self.message
        };
        let finding = Finding::of_pod(&format!("{PREFIX}{words}"));
        let reason = StatusReason::WorkloadError.to_string();
        let same = before.filter(|before| {
            before.reason == reason && head(&before.message) == head(&finding.message)
        });
        Signal {
            reason,
            container: None,
            message: same.map_or(finding.message, |same| same.message.clone()),
            pods: None,
            since: same.map_or_else(|| now.to_string(), |same| same.since.clone()),
        }
    }
}

/// A message up to its first number.
fn head(message: &str) -> &str {
    let end = message.find(|letter: char| letter.is_ascii_digit());
    &message[..end.unwrap_or(message.len())]
}
