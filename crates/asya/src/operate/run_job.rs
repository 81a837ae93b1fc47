//! Running a Job through kubectl: create, wait, read, delete.

use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::job::Job;
use crate::kubectl::{Kubectl, KubectlError};

/// Between two questions about the Job.
const INTERVAL: Duration = Duration::from_millis(500);

/// Time after its deadline in which the Job controller must end a Job.
const MARGIN: Duration = Duration::from_secs(10);

/// Reasons of a waiting container that no waiting ends.
const HOPELESS: [&str; 6] = [
    "CreateContainerConfigError",
    "CreateContainerError",
    "ErrImageNeverPull",
    "ImagePullBackOff",
    "InvalidImageName",
    "RunContainerError",
];

/// Reason for which a Job returned no result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// kubectl failed.
    #[error(transparent)]
    Kubectl(#[from] KubectlError),
    /// kubectl's answer is not understood.
    #[error("kubectl {0}: its answer is not JSON")]
    Answer(&'static str),
    /// The command in the Job failed.
    #[error("the sidecar's command failed: {0}")]
    Failed(String),
    /// Its container cannot start.
    #[error("the container of Job {job:?} cannot start: {reason}")]
    CannotStart {
        /// The Job.
        job: String,
        /// Reason and message of the kubelet.
        reason: String,
    },
    /// It has not ended in time.
    #[error("Job {job:?} has not ended within {}s: {state}", deadline.as_secs())]
    Deadline {
        /// The Job.
        job: String,
        /// Its deadline.
        deadline: Duration,
        /// State in which its pod waits.
        state: String,
    },
}

impl RunError {
    /// Returns the remedy, if there is one.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Kubectl(KubectlError::Refused { .. }) => Some(
                "it takes the rights to create, get and delete jobs and to get pods and their logs: kubectl auth can-i create jobs",
            ),
            Self::Failed(_) => Some(
                "a queue that does not exist: kubectl get queues -n NAMESPACE; dead letters exist only where deadLetter is enabled",
            ),
            Self::CannotStart { .. } => Some(
                "the image and Secrets are those of the actor's sidecar: asya status shows its pods",
            ),
            Self::Deadline { .. } => Some(
                "quotas, taints and Pod Security can keep a pod from starting; --timeout waits longer",
            ),
            Self::Kubectl(_) | Self::Answer(_) => None,
        }
    }
}

/// Runs the Job, and returns what it has printed. It is deleted in any case.
///
/// # Errors
/// When it cannot be created or does not succeed within the deadline.
pub fn run_job(kubectl: &Kubectl, job: &Job, deadline: Duration) -> Result<String, RunError> {
    let namespace = ["--namespace", job.namespace.as_str()];
    let created = kubectl.read(
        "create",
        &[&["--filename", "-", "--output", "json"], &namespace[..]].concat(),
        &job.manifest.to_string(),
    )?;
    let created: Value = serde_json::from_str(&created).map_err(|_| RunError::Answer("create"))?;
    let name = created["metadata"]["name"].as_str();
    let name = name.ok_or(RunError::Answer("create"))?.to_owned();
    let result = wait(kubectl, &name, &namespace, deadline);
    let background = ["job", &name, "--wait=false", "--ignore-not-found"];
    // What is left ends by its deadline, and is deleted by its time to live.
    let _ = kubectl.read("delete", &[&background, &namespace[..]].concat(), "");
    result
}

fn wait(
    kubectl: &Kubectl,
    name: &str,
    namespace: &[&str],
    deadline: Duration,
) -> Result<String, RunError> {
    let end = Instant::now() + deadline + MARGIN;
    loop {
        let get = |kind: &[&str]| -> Result<Value, RunError> {
            let arguments = [kind, &["--output", "json"], namespace].concat();
            let answer = kubectl.read("get", &arguments, "")?;
            serde_json::from_str(&answer).map_err(|_| RunError::Answer("get"))
        };
        let job = get(&["job", name])?;
        let selector = format!("batch.kubernetes.io/job-name={name}");
        match outcome(&job) {
            Some(true) => return logs(kubectl, name, namespace).map_err(RunError::from),
            Some(false) => {
                let logs = logs(kubectl, name, namespace).unwrap_or_default();
                let line = logs.lines().rfind(|line| !line.trim().is_empty());
                let reason = condition(&job, "Failed")["message"].as_str();
                let line = line.or(reason).unwrap_or("it printed nothing");
                return Err(RunError::Failed(line.trim().to_owned()));
            }
            None => {}
        }
        let pods = get(&["pods", "--selector", &selector])?;
        let waiting = waiting(&pods);
        if let Some((reason, message)) = &waiting
            && HOPELESS.contains(&reason.as_str())
        {
            return Err(RunError::CannotStart {
                job: name.to_owned(),
                reason: format!("{reason}: {message}"),
            });
        }
        if Instant::now() >= end {
            let state = waiting.map(|(reason, message)| format!("{reason} {message}"));
            return Err(RunError::Deadline {
                job: name.to_owned(),
                deadline,
                state: state
                    .unwrap_or_else(|| "it has no pod".to_owned())
                    .trim()
                    .to_owned(),
            });
        }
        sleep(INTERVAL);
    }
}

fn logs(kubectl: &Kubectl, name: &str, namespace: &[&str]) -> Result<String, KubectlError> {
    let job = format!("job/{name}");
    kubectl.read("logs", &[&[job.as_str()], namespace].concat(), "")
}

/// Returns the outcome of a Job that has ended: true for success.
fn outcome(job: &Value) -> Option<bool> {
    let is_true = |kind: &str| condition(job, kind)["status"] == "True";
    if is_true("Complete") || is_true("SuccessCriteriaMet") {
        Some(true)
    } else if is_true("Failed") || is_true("FailureTarget") {
        Some(false)
    } else {
        None
    }
}

fn condition<'a>(job: &'a Value, kind: &str) -> &'a Value {
    let mut conditions = job["status"]["conditions"].as_array().into_iter().flatten();
    conditions
        .find(|condition| condition["type"] == kind)
        .unwrap_or(&Value::Null)
}

/// Returns why the Job's pod waits: reason and message of its container, or of its scheduling.
fn waiting(pods: &Value) -> Option<(String, String)> {
    let pod = pods["items"].as_array()?.first()?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let container = &pod["status"]["containerStatuses"][0]["state"]["waiting"];
    let scheduled = pod["status"]["conditions"].as_array().into_iter().flatten();
    let mut unscheduled =
        scheduled.filter(|it| it["type"] == "PodScheduled" && it["status"] == "False");
    let state = match (container, unscheduled.next()) {
        (Value::Null, Some(condition)) => condition,
        (Value::Null, None) => return Some((text(&pod["status"]["phase"]), String::new())),
        (container, _) => container,
    };
    Some((text(&state["reason"]), text(&state["message"])))
}
