//! Status of a pod with a problem: one table, first match wins.

use super::finding::{Finding, MESSAGE_MAX, PodView, one_line};
use super::pod::{ContainerStatus, Pod, Terminated};
use super::{HealthTimeouts, Time, image, volumes};
use crate::names::{RUNTIME_CONTAINER, SIDECAR_CONTAINER};
use crate::status::StatusReason;

/// Waiting reason of a container whose env cannot be made.
const CONFIG: [&str; 1] = ["CreateContainerConfigError"];
/// Waiting reasons of containers that cannot be started. Source: Kubernetes,
/// `pkg/kubelet/kuberuntime` and `pkg/kubelet/container`.
const START: [&str; 7] = [
    "CreateContainerError",
    "PreCreateHookError",
    "PreStartHookError",
    "RunContainerError",
    "StartError",
    "ContainerCannotRun",
    "PostStartHookError",
];
/// Waiting reasons of containers that have no sandbox to run in.
const SANDBOX: [&str; 3] = [
    "CreatePodSandboxError",
    "ConfigPodSandboxError",
    "KillPodSandboxError",
];
/// Waiting reason of a container between two crashes.
const CRASH_LOOP: &str = "CrashLoopBackOff";
/// Restarts that make a loop of crashes.
const LOOP: u32 = 2;

/// When a row of the table applies.
type Rule = fn(&PodView<'_>) -> Option<Finding>;

/// The words for pods, in their order among the words of the STATUS column.
const TABLE: [(StatusReason, Rule); 7] = [
    (StatusReason::ConfigError, |view| view.waits_for(&CONFIG)),
    (StatusReason::VolumeError, volumes::problem),
    (StatusReason::ImagePullError, unpulled),
    (StatusReason::SidecarError, |view| {
        view.fails(|name| name == SIDECAR_CONTAINER)
    }),
    (StatusReason::RuntimeError, |view| {
        view.fails(|name| name == RUNTIME_CONTAINER)
    }),
    (StatusReason::PendingResources, unscheduled),
    (StatusReason::WorkloadError, |view| {
        view.fails(|_| true)
            .or_else(|| Some(view.waits_for(&SANDBOX)?.without_container()))
    }),
];

/// The reason for what is wrong with the pod, with its place in the table.
pub(super) fn of(view: &PodView<'_>) -> Option<(usize, StatusReason, Finding)> {
    let mut rows = TABLE.iter().enumerate();
    rows.find_map(|(place, (reason, rule))| Some((place, *reason, rule(view)?)))
}

/// Returns whether a container of the pod crashes, or has no image.
pub(super) fn is_failing(pod: &Pod, timeouts: &HealthTimeouts, now: Time) -> bool {
    pod.container_statuses().any(|container| {
        waiting_for(container).is_some_and(|(reason, _)| image::RETRIED.contains(&reason))
            || crash(container, timeouts, now).is_some()
    })
}

/// Returns the time at which a crash of the pod is forgotten, for each container that runs again.
pub(super) fn turns(pod: &Pod, timeouts: &HealthTimeouts) -> impl Iterator<Item = Time> {
    let containers = pod.container_statuses();
    containers.filter_map(|container| settled(container, timeouts))
}

impl PodView<'_> {
    /// The first container that waits for one of these reasons.
    pub(super) fn waits_for(&self, reasons: &[&str]) -> Option<Finding> {
        self.pod.container_statuses().find_map(|container| {
            let (reason, words) = waiting_for(container)?;
            let words = if words.is_empty() { reason } else { words };
            reasons
                .contains(&reason)
                .then(|| Finding::of(container, words))
        })
    }

    /// The first container of such a name that crashes or cannot be started.
    fn fails(&self, is_meant: fn(&str) -> bool) -> Option<Finding> {
        let mut containers = self.pod.container_statuses();
        containers.find_map(|container| {
            let message =
                crash(container, self.timeouts, self.now).or_else(|| unstarted(container))?;
            is_meant(&container.name).then(|| Finding::of(container, &message))
        })
    }
}

/// The first container whose image cannot be pulled; the message names the image.
fn unpulled(view: &PodView<'_>) -> Option<Finding> {
    let mut containers = view.pod.container_statuses();
    containers.find_map(|container| {
        let (reason, words) = waiting_for(container)?;
        if !image::REASONS.contains(&reason) {
            return None;
        }
        let image = view.pod.image_of(&container.name).unwrap_or_default();
        let (cause, is_vague) = image::cause(words);
        let cause = if cause.is_empty() { reason } else { cause };
        let message = if cause.contains(image) {
            cause.to_owned()
        } else {
            format!("image {image:?}: {cause}")
        };
        Some(Finding {
            vague_of: is_vague.then(|| image.to_owned()),
            ..Finding::of(container, &message)
        })
    })
}

/// Returns why no node is found for the pod.
fn unscheduled(view: &PodView<'_>) -> Option<Finding> {
    let scheduled = view.pod.condition("PodScheduled")?;
    let words = match (scheduled.reason.as_str(), scheduled.message.as_str()) {
        ("", "") => "no node is found for it",
        (reason, "") => reason,
        (_, message) => message,
    };
    (scheduled.status == "False").then(|| Finding::of_pod(words))
}

/// Returns the crash of the container: it waits for its next start, has just ended badly, or runs
/// again after crashes, for too short a time to trust it.
fn crash(container: &ContainerStatus, timeouts: &HealthTimeouts, now: Time) -> Option<String> {
    let before = container.last_state.terminated.as_ref();
    if waiting_for(container).is_some_and(|(reason, _)| reason == CRASH_LOOP) {
        return Some(before.map_or_else(|| "it crashes again and again".to_owned(), end));
    }
    if let Some(ended) = &container.state.terminated {
        return (ended.exit_code != 0).then(|| end(ended));
    }
    settled(container, timeouts)
        .filter(|settled| now < *settled)
        .and(before)
        .map(end)
}

/// Returns the time at which a container that runs after a loop of crashes has run long enough.
fn settled(container: &ContainerStatus, timeouts: &HealthTimeouts) -> Option<Time> {
    let started = container.state.running.as_ref()?.started_at?;
    let has_looped = container.restart_count >= LOOP && container.last_state.terminated.is_some();
    has_looped.then(|| started.after(timeouts.settle))
}

/// Returns why the container cannot be started.
fn unstarted(container: &ContainerStatus) -> Option<String> {
    let (reason, words) = waiting_for(container)?;
    if !START.contains(&reason) {
        return None;
    }
    Some(if words.is_empty() {
        reason.to_owned()
    } else {
        format!("{reason}: {words}")
    })
}

fn waiting_for(container: &ContainerStatus) -> Option<(&str, &str)> {
    let waiting = container.state.waiting.as_ref()?;
    Some((&waiting.reason, &waiting.message))
}

/// Returns the end of a container as text. Its last output is at the end of its message.
fn end(ended: &Terminated) -> String {
    let code = ended.exit_code;
    let how = match ended.reason.as_str() {
        _ if code == 0 => "it ended with exit code 0, and must not end".to_owned(),
        "" | "Error" => format!("exit code {code}"),
        reason => format!("{reason}, exit code {code}"),
    };
    let words = one_line(&ended.message);
    if words.is_empty() {
        return how;
    }
    // The colon, the blank and the mark of the cut.
    let room = MESSAGE_MAX.saturating_sub(how.chars().count() + 3);
    let length = words.chars().count();
    match words.char_indices().nth(length.saturating_sub(room)) {
        Some((start, _)) if start > 0 => format!("{how}: …{}", words[start..].trim_start()),
        _ => format!("{how}: {words}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::health::quote;

    #[test]
    fn the_end_of_a_long_traceback_is_kept() {
        let ended = |message: String| Terminated {
            reason: "Error".to_owned(),
            exit_code: 1,
            message,
        };
        let traceback = format!("{}KeyError: 'ö'\n", "File \"ö.py\"\n".repeat(50));
        let text = end(&ended(traceback));
        assert!(text.starts_with("exit code 1: …"), "{text}");
        assert!(text.ends_with("KeyError: 'ö'"), "{text}");
        assert!(text.chars().count() <= MESSAGE_MAX, "{text}");
        assert_eq!(quote(&text), text);
        assert_eq!(end(&ended("no\n".to_owned())), "exit code 1: no");
    }
}
