//! The container `asya-runtime`, which runs the handler.

use actor::names::RUNTIME_CONTAINER;
use actor::pod::SCRIPT_PATH;
use actor::spec::{Spec, value_of};
use merge::FieldPath;
use serde_json::{Map, Value, json};

use crate::findings::Findings;
use crate::lay;
use crate::list::{List, maps};
use crate::{Actor, env, resources};

/// Completes the container, which stands at `path` in the spec or, for an actor
/// without a template, is nothing but a name.
pub(crate) fn complete(
    actor: &Actor,
    container: &mut Map<String, Value>,
    path: &FieldPath,
    findings: &mut Findings,
) {
    let spec = actor.spec;
    if container.contains_key("command") {
        findings.fault(format!(
            "spec.{path}: container {RUNTIME_CONTAINER:?} must not set 'command', which starts the runtime script: use 'pythonExecutable' and 'args'"
        ));
    }
    name_image(spec, container, path, findings);
    if spec.workload.is_none() && is_unset(spec.handler.as_ref()) {
        findings.fault(not_set("handler"));
    }
    container.insert("command".to_owned(), json!([python(spec), SCRIPT_PATH]));
    let mut give = |field: &str, value: Option<Value>| {
        if let Some(value) = value {
            container.entry(field).or_insert(value);
        }
    };
    give("imagePullPolicy", Some(json!(spec.image_pull_policy())));
    give("args", (!spec.args.is_empty()).then(|| json!(spec.args)));
    give(
        "livenessProbe",
        spec.liveness_probe.clone().map(Value::Object),
    );
    give(
        "readinessProbe",
        spec.readiness_probe.clone().map(Value::Object),
    );
    give(
        "startupProbe",
        spec.startup_probe.clone().map(Value::Object),
    );
    if let Some(context) = &spec.container_security_context {
        lay::field_under(container, "securityContext", context.clone(), 1);
    }
    if let Some(lifecycle) = &spec.lifecycle {
        lay::field_under(container, "lifecycle", lifecycle.clone(), 1);
    }
    if let Some(given) = &spec.resources {
        let mut given = given.clone();
        resources::normalise(&mut given, &FieldPath::from(["resources"]), actor, findings);
        lay::field_under(container, "resources", given, 2);
    }
    env::render(actor, container, path, findings);

    let mut mounts = List::take(container, path, "volumeMounts", Some("mountPath"), findings);
    mounts.append("volumeMounts", maps(&spec.volume_mounts));
    findings.repeated(actor.call, "mount path", mounts.names());
    mounts.write(container, "volumeMounts");
}

/// The template's image, else the spec's.
fn name_image(
    spec: &Spec,
    container: &mut Map<String, Value>,
    path: &FieldPath,
    findings: &mut Findings,
) {
    if container.get("image").is_some_and(|image| image != "") {
        return;
    }
    if !is_unset(spec.image.as_ref()) {
        container.insert("image".to_owned(), json!(spec.image));
    } else if spec.workload.is_some() {
        findings.fault(format!(
            "spec.{path}: container {RUNTIME_CONTAINER:?} has no image: give it there or in a flavor"
        ));
    } else {
        findings.fault(not_set("image"));
    }
}

fn is_unset(field: Option<&String>) -> bool {
    field.is_none_or(String::is_empty)
}

fn not_set(field: &str) -> String {
    format!("spec.{field} is not set: give it in the actor or in one of its flavors")
}

/// The Python that runs the handler: the field, else the variable in the
/// container's environment, else `python3`.
fn python(spec: &Spec) -> String {
    if let Some(python) = &spec.python_executable {
        return python.clone();
    }
    let env = spec.runtime_env();
    value_of(&env, "ASYA_PYTHONEXECUTABLE")
        .unwrap_or("python3")
        .to_owned()
}
