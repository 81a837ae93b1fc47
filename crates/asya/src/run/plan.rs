//! Plan of an actor's processes: its handler's environment and its sidecar's settings, from the objects
//! that the cluster would get.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use actor::names::HANDLER_VARIABLE;
use actor::names::{RUNTIME_CONTAINER, SIDECAR_CONTAINER};
use actor::pod::{RUNTIME_DIR, STATE_MOUNTS_VARIABLE, is_reserved_variable};
use asya_sidecar::config::{Config, WorkerConfig};
use pipeline::Object;
use serde_json::Value;

use super::environment::{Missing, Pod, Values, environment};

/// An actor as it runs on this machine.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The actor.
    pub name: String,
    /// File that contains it; relative to its folder modules are found.
    pub file: PathBuf,
    /// Name of its handler.
    pub handler: String,
    /// The interpreter that its container would run.
    pub python: String,
    /// Arguments of the runtime script.
    pub arguments: Vec<String>,
    /// Variables of the handler's process, without those of the runtime's own wiring.
    pub variables: BTreeMap<String, String>,
    /// Settings of the worker.
    pub worker: WorkerConfig,
    /// Names of its state proxies.
    pub state_proxies: Vec<String>,
    /// Variables without a value. The actor cannot start with any.
    pub missing: Vec<Missing>,
    /// Name of the queue, and the exchange by which a RabbitMQ broker reaches it.
    pub sidecar: BTreeMap<String, String>,
}

/// Reason for which an actor cannot run here. One line each.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// No pod template among its objects.
    #[error("actor {actor:?} has no pod of its own here: no workload is rendered for it")]
    NoPod {
        /// The actor.
        actor: String,
    },
    /// The pod template has no such container.
    #[error("actor {actor:?} has no container {container:?}")]
    NoContainer {
        /// The actor.
        actor: String,
        /// The container.
        container: &'static str,
    },
    /// The handler is not set.
    #[error("actor {actor:?} has no handler: set spec.handler to module.function")]
    NoHandler {
        /// The actor.
        actor: String,
    },
    /// The sidecar would refuse its environment.
    #[error("actor {actor:?}: the sidecar refuses its settings: {problem}")]
    Sidecar {
        /// The actor.
        actor: String,
        /// One of its variables.
        problem: String,
    },
}

impl PlanError {
    /// Returns the remedy, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoPod { .. } => {
                Some("an actor that is bound to another workload runs only beside it".to_owned())
            }
            _ => None,
        }
    }
}

/// Returns the plan for the actor that renders to these objects.
///
/// # Errors
/// All problems that keep it from running, except variables without a value.
pub fn plan(
    actor: &str,
    file: &Path,
    objects: &BTreeMap<String, Object>,
    values: &Values,
) -> Result<Plan, Vec<PlanError>> {
    let one = |error: PlanError| vec![error];
    let own = || actor.to_owned();
    let (template, namespace) = objects
        .values()
        .find_map(pod_template)
        .ok_or_else(|| one(PlanError::NoPod { actor: own() }))?;
    let container = |container: &'static str| {
        find_container(template, container).ok_or_else(|| {
            one(PlanError::NoContainer {
                actor: own(),
                container,
            })
        })
    };
    let (runtime, sidecar) = (container(RUNTIME_CONTAINER)?, container(SIDECAR_CONTAINER)?);
    let name = format!("{actor}-local");
    let pod = Pod {
        template,
        name: &name,
        namespace,
    };
    let (mut variables, missing) = environment(runtime, pod, values);
    let mut errors: Vec<PlanError> = Vec::new();
    for (name, value) in &values.given {
        if !is_reserved_variable(name) {
            variables.insert(name.clone(), value.clone());
        }
    }
    let handler = variables.get(HANDLER_VARIABLE).cloned().unwrap_or_default();
    if handler.is_empty() {
        errors.push(PlanError::NoHandler { actor: own() });
    }
    let state = variables.get(STATE_MOUNTS_VARIABLE);
    let state_proxies = state.map_or_else(Vec::new, |mounts| state_names(mounts));
    // Secrets of the broker are not needed here.
    let (mut settings, _) = environment(sidecar, pod, &Values::default());
    settings.insert("ASYA_TRANSPORT".to_owned(), "rabbitmq".to_owned());
    settings
        .entry("ASYA_RABBITMQ_URL".to_owned())
        .or_insert_with(|| "amqp://localhost".to_owned());
    settings.remove("ASYA_RABBITMQ_CA_FILE");
    let worker = match Config::read(&|name| settings.get(name).cloned()) {
        Ok(config) => config.worker,
        Err(problems) => {
            errors.extend(problems.iter().map(|problem| PlanError::Sidecar {
                actor: own(),
                problem: problem.to_string(),
            }));
            return Err(errors);
        }
    };
    if !errors.is_empty() {
        return Err(errors);
    }
    let texts = |member: &str| {
        let texts = runtime[member].as_array().into_iter().flatten();
        texts
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    Ok(Plan {
        name: worker.actor.clone(),
        file: file.to_owned(),
        handler,
        python: texts("command").into_iter().next().unwrap_or_default(),
        arguments: texts("args"),
        variables: local(variables),
        state_proxies,
        missing,
        worker,
        sidecar: settings,
    })
}

/// The variables without those that name places inside a container.
fn local(mut variables: BTreeMap<String, String>) -> BTreeMap<String, String> {
    variables.remove(actor::pod::SOCKET_DIR_VARIABLE);
    if let Some(path) = variables.get_mut("PYTHONPATH") {
        let parts = path.split(':').filter(|part| *part != RUNTIME_DIR);
        *path = parts.collect::<Vec<_>>().join(":");
    }
    variables
}

/// `name:/path:write=…;…`, of which the names.
fn state_names(mounts: &str) -> Vec<String> {
    let names = mounts.split(';').filter_map(|mount| mount.split_once(':'));
    names.map(|(name, _)| name.to_owned()).collect()
}

/// The pod template in a workload or in what is injected into another's, and the namespace.
fn pod_template(object: &Object) -> Option<(&Value, &str)> {
    let template = match object.kind() {
        "Deployment" | "StatefulSet" => object.get(&["spec", "template"]),
        "WorkloadBinding" => object.get(&["spec", "forProvider", "template"]),
        _ => None,
    }?;
    Some((template, object.namespace()))
}

fn find_container<'a>(template: &'a Value, name: &str) -> Option<&'a Value> {
    let containers = template["spec"]["containers"].as_array()?;
    containers
        .iter()
        .find(|container| container["name"] == name)
}
