//! The Job that runs a command of the sidecar for an operator.

use std::time::Duration;

use actor::labels::{ASYA, COMPONENT, PART_OF};
use actor::names::SIDECAR_CONTAINER;
use actor::pod::{SOCKET_DIR, STATE_DIR};
use pipeline::Object;
use serde_json::{Map, Value, json};

/// The label with the actor that a Job is for. Not the actor's own label: its pods are no pods of the
/// actor.
const COMMAND_FOR: &str = "asya.sh/command-for";

/// The value of the component label.
const COMMAND: &str = "command";

/// The last part of the repository of the sidecar's image.
const IMAGE_NAME: &str = "asya-sidecar";

/// Time after which a Job that has ended is deleted, if this program cannot delete it.
const TTL_SECONDS: u32 = 300;

/// Longest text of one argument. Source: Linux, `MAX_ARG_STRLEN`.
const ARGUMENT_BYTES: usize = 128 * 1024 - 1;

/// Command that the sidecar of a Job runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// The command of `asya-sidecar` with its arguments.
    pub arguments: Vec<String>,
    /// Its deadline.
    pub deadline: Duration,
    /// The image, in place of the workload's.
    pub image: Option<String>,
}

/// A Job with its namespace.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// The manifest, with a generated name.
    pub manifest: Value,
    /// Its namespace.
    pub namespace: String,
}

/// Reason for which there is no Job.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JobError {
    /// No workload has the actor's sidecar.
    #[error("actor {actor:?} has no workload with container {SIDECAR_CONTAINER:?}")]
    NoSidecar {
        /// The actor.
        actor: String,
    },
    /// The sidecar is another program.
    #[error(
        "sidecar image {image:?} of actor {actor:?} is not named {IMAGE_NAME:?}: its commands are unknown"
    )]
    ForeignImage {
        /// The actor.
        actor: String,
        /// The image.
        image: String,
    },
    /// An argument is longer than a process can be given.
    #[error("the message has {bytes} bytes, and a Job takes {ARGUMENT_BYTES}")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
}

impl JobError {
    /// Returns the remedy.
    pub fn hint(&self) -> String {
        match self {
            Self::NoSidecar { actor } => format!("asya status {actor} shows why"),
            Self::ForeignImage { .. } => {
                "if it has the commands of asya-sidecar, name it with --image".to_owned()
            }
            Self::TooLarge { .. } => "store large data elsewhere and send its address".to_owned(),
        }
    }
}

/// The Job that runs a command with the wiring of an actor's sidecar, found in one of its workloads.
///
/// # Errors
/// When none of them has a sidecar, it is not ours, or an argument is too long.
pub fn job(actor: &str, workloads: &[Object], order: &Order) -> Result<Job, JobError> {
    let found = workloads.iter().find_map(|workload| {
        let pod = workload.get(&["spec", "template", "spec"])?;
        Some((workload, pod, sidecar(pod)?))
    });
    let (workload, pod, sidecar) = found.ok_or_else(|| JobError::NoSidecar {
        actor: actor.to_owned(),
    })?;
    let image = sidecar["image"].as_str().unwrap_or_default();
    if order.image.is_none() && !is_ours(image) {
        return Err(JobError::ForeignImage {
            actor: actor.to_owned(),
            image: image.to_owned(),
        });
    }
    if let Some(long) = order.arguments.iter().find(|it| it.len() > ARGUMENT_BYTES) {
        return Err(JobError::TooLarge { bytes: long.len() });
    }
    let namespace = workload.namespace().to_owned();
    let labels = json!({PART_OF: ASYA, COMPONENT: COMMAND, COMMAND_FOR: actor});
    let verb = order.arguments.first().map_or("run", String::as_str);
    let manifest = json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "generateName": format!("asya-{verb}-"),
            "namespace": namespace,
            "labels": labels,
        },
        "spec": {
            "backoffLimit": 0,
            "activeDeadlineSeconds": order.deadline.as_secs().max(1),
            "ttlSecondsAfterFinished": TTL_SECONDS,
            "template": {
                "metadata": {"labels": labels},
                "spec": pod_spec(pod, &container(sidecar, order)),
            },
        },
    });
    Ok(Job {
        manifest,
        namespace,
    })
}

fn sidecar(pod: &Value) -> Option<&Value> {
    let containers = ["containers", "initContainers"].map(|list| pod[list].as_array());
    let mut containers = containers.into_iter().flatten().flatten();
    containers.find(|container| container["name"] == SIDECAR_CONTAINER)
}

/// Returns whether an image is that of our sidecar, by the last part of its repository.
fn is_ours(image: &str) -> bool {
    let repository = image.split('@').next().unwrap_or_default();
    let name = repository.rsplit('/').next().unwrap_or_default();
    name.split(':').next() == Some(IMAGE_NAME)
}

/// The container with the sidecar's wiring, less what only a running actor needs.
fn container(sidecar: &Value, order: &Order) -> Value {
    let mut container = Map::new();
    container.insert("name".to_owned(), SIDECAR_CONTAINER.into());
    let kept = [
        "envFrom",
        "image",
        "imagePullPolicy",
        "resources",
        "securityContext",
    ];
    for member in kept {
        if let Some(value) = sidecar.get(member) {
            container.insert(member.to_owned(), value.clone());
        }
    }
    if let Some(image) = &order.image {
        container.insert("image".to_owned(), image.as_str().into());
    }
    // The kubelet expands `$(NAME)` in arguments, and reads `$$` as `$`.
    let arguments = order.arguments.iter();
    let arguments: Vec<String> = arguments.map(|text| text.replace('$', "$$")).collect();
    container.insert("args".to_owned(), arguments.into());
    container.insert("env".to_owned(), quiet(&sidecar["env"]));
    let mounts: Vec<&Value> = mounts(sidecar).collect();
    if !mounts.is_empty() {
        container.insert("volumeMounts".to_owned(), json!(mounts));
    }
    Value::Object(container)
}

/// The environment with errors only in the log: what the command prints is its output.
fn quiet(env: &Value) -> Value {
    const LEVEL: &str = "ASYA_LOG_LEVEL";
    let mut entries = env.as_array().cloned().unwrap_or_default();
    entries.retain(|entry| entry["name"] != LEVEL);
    entries.push(json!({"name": LEVEL, "value": "error"}));
    entries.into()
}

/// Mounts other than those of the sockets, which no other container of the Job shares.
fn mounts(sidecar: &Value) -> impl Iterator<Item = &Value> {
    let mounts = sidecar["volumeMounts"].as_array().into_iter().flatten();
    mounts.filter(|mount| {
        let path = mount["mountPath"].as_str().unwrap_or_default();
        ![SOCKET_DIR, STATE_DIR].contains(&path)
    })
}

/// The pod: identity, and what lets the image be pulled and the pod be admitted. Not where it runs: an
/// actor's nodes may be expensive and scaled to zero.
fn pod_spec(pod: &Value, container: &Value) -> Value {
    let mut spec = Map::new();
    spec.insert("restartPolicy".to_owned(), "Never".into());
    let kept = [
        "automountServiceAccountToken",
        "imagePullSecrets",
        "priorityClassName",
        "securityContext",
        "serviceAccountName",
        "tolerations",
    ];
    for member in kept {
        if let Some(value) = pod.get(member) {
            spec.insert(member.to_owned(), value.clone());
        }
    }
    let names: Vec<String> = mounts(container)
        .filter_map(|mount| mount["name"].as_str().map(str::to_owned))
        .collect();
    let volumes = pod["volumes"].as_array().into_iter().flatten();
    let volumes: Vec<&Value> = volumes
        .filter(|volume| names.iter().any(|name| volume["name"] == name.as_str()))
        .collect();
    if !volumes.is_empty() {
        spec.insert("volumes".to_owned(), json!(volumes));
    }
    spec.insert("containers".to_owned(), json!([container]));
    Value::Object(spec)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(image: &str) -> Object {
        let object = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "a", "namespace": "ml"},
            "spec": {"template": {"spec": {
                "serviceAccountName": "sa", "nodeSelector": {"gpu": "a100"},
                "securityContext": {"runAsNonRoot": true},
                "containers": [
                    {"name": "asya-runtime", "image": "app:1"},
                    {"name": SIDECAR_CONTAINER, "image": image, "livenessProbe": {}, "ports": [],
                     "env": [{"name": "ASYA_LOG_LEVEL", "value": "info"}, {"name": "PASSWORD",
                        "valueFrom": {"secretKeyRef": {"name": "rabbitmq", "key": "password"}}}],
                     "securityContext": {"readOnlyRootFilesystem": true},
                     "volumeMounts": [{"mountPath": "/var/run/asya", "name": "socket-dir"},
                        {"mountPath": "/tmp", "name": "tmp"}]},
                ],
                "volumes": [{"name": "socket-dir"}, {"name": "tmp", "emptyDir": {}}, {"name": "model"}],
            }}},
        });
        object.as_object().cloned().map(Object::from).unwrap()
    }

    fn order(argument: &str) -> Order {
        Order {
            arguments: vec!["send".to_owned(), argument.to_owned()],
            deadline: Duration::from_mins(1),
            image: None,
        }
    }

    #[test]
    fn the_job_has_the_wiring_of_the_sidecar_and_nothing_of_the_runtime() {
        let job = job(
            "a",
            &[workload("r.example/asya-sidecar:1")],
            &order("{\"x\":\"$(HOME)\"}"),
        );
        let Job {
            manifest,
            namespace,
        } = job.unwrap();
        assert_eq!(
            (
                namespace.as_str(),
                &manifest["spec"]["activeDeadlineSeconds"]
            ),
            ("ml", &json!(60))
        );
        let expected = json!({
            "restartPolicy": "Never",
            "serviceAccountName": "sa",
            "securityContext": {"runAsNonRoot": true},
            "volumes": [{"name": "tmp", "emptyDir": {}}],
            "containers": [{
                "name": "asya-sidecar",
                "image": "r.example/asya-sidecar:1",
                "args": ["send", "{\"x\":\"$$(HOME)\"}"],
                "env": [
                    {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "rabbitmq", "key": "password"}}},
                    {"name": "ASYA_LOG_LEVEL", "value": "error"},
                ],
                "securityContext": {"readOnlyRootFilesystem": true},
                "volumeMounts": [{"mountPath": "/tmp", "name": "tmp"}],
            }],
        });
        assert_eq!(manifest["spec"]["template"]["spec"], expected);
        let labels = manifest["spec"]["template"]["metadata"]["labels"]
            .as_object()
            .unwrap();
        assert!(!labels.contains_key(actor::labels::ACTOR), "{labels:?}");
    }

    #[test]
    fn a_workload_that_cannot_run_the_command_is_an_error() {
        let long = "x".repeat(ARGUMENT_BYTES + 1);
        let cases: [(&[Object], &str, &str); 4] = [
            (&[], "", "has no workload"),
            (&[Object::default()], "", "has no workload"),
            (&[workload("go-sidecar:1")], "", "is not named"),
            (&[workload("asya-sidecar")], &long, "bytes"),
        ];
        for (workloads, argument, expected) in cases {
            let error = job("a", workloads, &order(argument))
                .unwrap_err()
                .to_string();
            assert!(error.contains(expected), "{error}");
        }
        let mut order = order("");
        order.image = Some("mirror/sidecar:1".to_owned());
        let job = job("a", &[workload("go-sidecar:1")], &order).unwrap();
        let image = &job.manifest["spec"]["template"]["spec"]["containers"][0]["image"];
        assert_eq!(image, "mirror/sidecar:1");
    }
}
