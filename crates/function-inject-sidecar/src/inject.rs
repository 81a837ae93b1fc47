//! Injection of sidecar and runtime into a workload.
//!
//! Items that exist already and equal those to inject stay as they are, so that the step changes
//! nothing when applied to its own output. Items that differ, or are set in the spec, belong to
//! another owner, and are refused.

use actor::entry::EnvVar;
use actor::names::{
    RUNTIME_CONTAINER, RUNTIME_FILES_CONTAINER, SIDECAR_CONTAINER, STATE_PROXY_PREFIX,
};
use actor::pod::is_injected_container;
use actor::{duration, timeout};
use function_kit::{Code, Diagnostic, Location, StepError};
use serde_json::{Map, Value};

use crate::origin::{OURS, Origin, key};
use crate::script::Source;
use crate::target::Target;
use crate::{Actor, origin, probes, sidecar, state_proxy, volumes};

/// The variable with the number of calls at once, of sidecar and runtime alike.
const PREFETCH_VARIABLE: &str = "ASYA_PREFETCH";

/// Names of everything of ours in somebody else's pods begin so.
const OWN_PREFIX: &str = "asya-";

/// Additions to every workload of the actor.
#[derive(Debug, Clone)]
pub(crate) struct Injected {
    /// The sidecar, then the state proxies.
    containers: Vec<Value>,
    /// The init container with the runtime files, where they come from the sidecar's image.
    init_container: Option<Value>,
    volumes: Vec<Value>,
    /// Mounts of `asya-runtime`.
    mounts: Vec<Value>,
}

impl Injected {
    /// Renders it.
    ///
    /// # Errors
    /// When the queue's name is needed and not valid.
    pub(crate) fn render(
        actor: &Actor,
        script: &Source,
        is_foreign_pod: bool,
        errors: &mut Vec<Diagnostic>,
    ) -> Result<Self, StepError> {
        let mut containers = vec![sidecar::render(actor, is_foreign_pod, errors)?];
        containers.extend(state_proxy::render(actor, is_foreign_pod, errors));
        let init_container =
            (*script == Source::Image).then(|| sidecar::runtime_files(actor, &mut Vec::new()));
        Ok(Self {
            containers,
            init_container,
            volumes: volumes::of_pod(actor, script),
            mounts: volumes::of_runtime(actor, script),
        })
    }

    /// Puts it into `target`.
    pub(crate) fn apply(&self, actor: &Actor, target: &mut Target, errors: &mut Vec<Diagnostic>) {
        if target.is_foreign {
            let in_foreign_pod = self.clone().with_own_volume_names();
            in_foreign_pod.add_to(actor, target, errors);
        } else {
            self.add_to(actor, target, errors);
        }
    }

    /// The same with names for the volumes that nobody else gives: in a pod of one's own
    /// a volume `tmp` is the sidecar's, in somebody else's it may well be theirs.
    fn with_own_volume_names(mut self) -> Self {
        let own: Vec<String> = self
            .volumes
            .iter()
            .map(|one| key(one, "name").to_owned())
            .collect();
        let mounts = self.containers.iter_mut().filter_map(|container| {
            let mounts = container.get_mut("volumeMounts")?.as_array_mut()?;
            Some(mounts.iter_mut())
        });
        for item in mounts
            .flatten()
            .chain(&mut self.volumes)
            .chain(&mut self.mounts)
        {
            let name = key(item, "name");
            // Mounts of a connector may be of the pod's volumes.
            if !name.starts_with(OWN_PREFIX) && own.iter().any(|own| own == name) {
                item["name"] = Value::from(format!("{OWN_PREFIX}{name}"));
            }
        }
        self
    }

    fn add_to(&self, actor: &Actor, target: &mut Target, errors: &mut Vec<Diagnostic>) {
        let is_foreign = target.is_foreign;
        let claimed = target.claimed_volumes();
        let name = target.name.clone();
        let Some(pod) = target.pod_mut() else {
            let location = Location::input(["target"]);
            let message = format!("composed resource {name:?} has no pod template");
            errors.push(Diagnostic::error(Code::UnsuitableTarget, location, message));
            return;
        };
        change_list(pod, "containers", |containers| {
            self.add_containers(actor, (&name, is_foreign), containers, errors);
        });
        if let Some(own) = &self.init_container {
            change_list(pod, "initContainers", |init| {
                init.retain(|container| key(container, "name") != RUNTIME_FILES_CONTAINER);
                init.insert(0, own.clone());
            });
        }
        change_list(pod, "volumes", |volumes| {
            for volume in &self.volumes {
                let own = key(volume, "name");
                let taken_by = if claimed.iter().any(|claimed| claimed == own) {
                    Some(origin::of_workload(actor, &name, "volumeClaimTemplates"))
                } else {
                    let in_spec = || origin::of_volume(actor, own);
                    let in_target = || origin::of_workload(actor, &name, "template");
                    add(volumes, volume, "name", in_spec, in_target)
                };
                errors.extend(taken_by.map(|origin| taken("volume", own, origin)));
            }
        });
    }

    fn add_containers(
        &self,
        actor: &Actor,
        (target, is_foreign): (&str, bool),
        containers: &mut Vec<Value>,
        errors: &mut Vec<Diagnostic>,
    ) {
        containers.retain(|container| {
            let name = key(container, "name");
            if is_injected_container(name) && !self.containers.contains(container) {
                let Origin { location, text } = origin::of_workload(actor, target, "template");
                let message = format!("container {name:?} (given by {text}) has a reserved name");
                errors.push(
                    Diagnostic::error(Code::ReservedContainer, location, message).help(format!(
                        "{SIDECAR_CONTAINER:?} and names that begin with {STATE_PROXY_PREFIX:?} are Asya's"
                    )),
                );
            }
            !is_injected_container(name)
        });
        let mut own = containers.iter_mut().filter_map(Value::as_object_mut);
        let is_runtime = |container: &&mut Map<String, Value>| {
            container.get("name").and_then(Value::as_str) == Some(RUNTIME_CONTAINER)
        };
        match own.find(is_runtime) {
            Some(runtime) => {
                self.complete_runtime(actor, target, runtime, errors);
                probes::add(runtime, is_foreign);
            }
            None => {
                let location = Location::input(["target"]);
                let message = format!(
                    "composed resource {target:?} has no container {RUNTIME_CONTAINER:?}, which runs the handler"
                );
                errors.push(Diagnostic::error(Code::UnsuitableTarget, location, message));
            }
        }
        containers.extend(self.containers.iter().cloned());
    }

    fn complete_runtime(
        &self,
        actor: &Actor,
        target: &str,
        runtime: &mut Map<String, Value>,
        errors: &mut Vec<Diagnostic>,
    ) {
        change_list(runtime, "volumeMounts", |mounts| {
            for mount in &self.mounts {
                let path = key(mount, "mountPath");
                let in_spec = || origin::of_mount(actor, path);
                let in_target = || origin::of_workload(actor, target, "template");
                let taken_by = add(mounts, mount, "mountPath", in_spec, in_target);
                errors.extend(taken_by.map(|origin| taken("mount path", path, origin)));
            }
        });
        add_prefetch(actor, runtime);
        add_timeout(actor, runtime);
    }
}

/// Adds the timeout of a message, unless it is the default or the runtime has one of its own: after
/// SIGTERM the runtime gives a call as long.
fn add_timeout(actor: &Actor, runtime: &mut Map<String, Value>) {
    if actor.timeout == timeout::DEFAULT {
        return;
    }
    change_list(runtime, "env", |env| {
        if !env.iter().any(|own| key(own, "name") == timeout::VARIABLE) {
            let text = duration::format(actor.timeout);
            env.push(EnvVar::literal(timeout::VARIABLE, text).into_value());
        }
    });
}

/// Adds the number of calls that the sidecar sends at once, unless the runtime has one of its own.
fn add_prefetch(actor: &Actor, runtime: &mut Map<String, Value>) {
    let mut given = actor.spec.sidecar.env.iter();
    let Some(variable) = given.rfind(|variable| variable.name() == PREFETCH_VARIABLE) else {
        return;
    };
    change_list(runtime, "env", |env| {
        if !env.iter().any(|own| key(own, "name") == PREFETCH_VARIABLE) {
            env.push(variable.clone().into_value());
        }
    });
}

/// Adds `item`, unless there is one of its `name` already. Answers who else gave that
/// one: `in_spec` where a user did, else `in_target` where it differs from `item`. One
/// that is equal and no user's was added before.
fn add(
    items: &mut Vec<Value>,
    item: &Value,
    name: &str,
    in_spec: impl FnOnce() -> Option<Origin>,
    in_target: impl FnOnce() -> Origin,
) -> Option<Origin> {
    let same_name = |own: &&Value| key(own, name) == key(item, name);
    let Some(own) = items.iter().find(same_name) else {
        items.push(item.clone());
        return None;
    };
    in_spec().or_else(|| (own != item).then(in_target))
}

fn taken(what: &str, name: &str, origin: Origin) -> Diagnostic {
    let Origin { location, text } = origin;
    let message = format!("{what} {name:?} is given more than once, by {text} and by {OURS}");
    Diagnostic::error(Code::DuplicateName, location, message).help("use another one there")
}

/// Changes the list in a field, which is made where there is none. Anything but a list
/// is not what Kubernetes knows, and gives way.
fn change_list(parent: &mut Map<String, Value>, field: &str, change: impl FnOnce(&mut Vec<Value>)) {
    let mut items = match parent.remove(field) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    };
    change(&mut items);
    parent.insert(field.to_owned(), Value::Array(items));
}
