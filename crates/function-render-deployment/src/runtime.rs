//! The container `asya-runtime`, which runs the handler.

use actor::names::RUNTIME_CONTAINER;
use actor::pod::SCRIPT_PATH;
use function_kit::{Code, Diagnostic};
use merge::FieldPath;
use serde_json::{Map, Value, json};

use crate::defaults;
use crate::findings::{Findings, below};
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
    let has_template = spec.workload.is_some();
    if container.contains_key("command") {
        let location = actor.call.locate(&below(path, "command"));
        let message = format!(
            "spec.{path}: container {RUNTIME_CONTAINER:?} must not set 'command', which starts the runtime script"
        );
        let error = Diagnostic::error(Code::CommandSet, location, message);
        findings.error(error.help("use 'pythonExecutable' and 'args'"));
    }
    name_image(actor, container, path, findings);
    if !has_template && actor.handler().is_none() {
        findings.error(match actor.bound {
            Some(_) => {
                let location = actor.call.locate(&["runtime", "handler"].into());
                let message = "spec.runtime.handler is not set";
                Diagnostic::error(Code::HandlerMissing, location, message)
                    .help("give it there, or as 'handler' in a flavor")
            }
            None => not_set(actor, Code::HandlerMissing, "handler"),
        });
    }
    let command = json!([spec.python_executable(), SCRIPT_PATH]);
    container.insert("command".to_owned(), command);
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
    let mut resources = spec.resources.clone().unwrap_or_default();
    let place = FieldPath::from(["resources"]);
    resources::normalise(&mut resources, &place, actor, findings);
    let security = spec.container_security_context.clone().unwrap_or_default();
    let lifecycle = spec.lifecycle.clone().unwrap_or_default();
    for (field, given, depth) in [
        ("securityContext", security, 1),
        ("lifecycle", lifecycle, 1),
        ("resources", resources, 2),
    ] {
        defaults::apply_to_field(
            (container, path),
            field,
            given,
            depth,
            (actor.call, findings),
        );
    }
    if actor.bound.is_some() {
        defaults::apply_to_field(
            (container, path),
            "securityContext",
            restricted(),
            2,
            (actor.call, findings),
        );
    }
    env::render(actor, container, path, findings);

    let mut mounts = List::take(
        actor.call,
        container,
        path,
        "volumeMounts",
        Some("mountPath"),
        findings,
    );
    mounts.append("volumeMounts", maps(&spec.volume_mounts));
    findings.repeated(actor.call, "mount path", mounts.names());
    mounts.write(container, "volumeMounts");
}

/// Keys of an adapter's security context with which it may be in a namespace, or in pods of others, that are
/// held to Pod Security *restricted*. What an adapter does needs no more; whether its image can run as a user
/// other than root is not known.
fn restricted() -> Map<String, Value> {
    Map::from_iter([
        ("allowPrivilegeEscalation".to_owned(), json!(false)),
        ("capabilities".to_owned(), json!({"drop": ["ALL"]})),
        (
            "seccompProfile".to_owned(),
            json!({"type": "RuntimeDefault"}),
        ),
    ])
}

/// The template's image, else the spec's, else for an adapter the platform's.
fn name_image(
    actor: &Actor,
    container: &mut Map<String, Value>,
    path: &FieldPath,
    findings: &mut Findings,
) {
    match container.get("image") {
        Some(Value::String(image)) if !image.is_empty() => return,
        Some(Value::String(_)) | None => {}
        Some(_) => {
            let path = below(path, "image");
            return findings.error_at(actor.call, Code::InvalidValue, &path, "expected a string");
        }
    }
    let spec = actor.spec;
    let of_platform = actor
        .bound
        .as_ref()
        .and(actor.platform.runtime.adapter_image.as_ref());
    let image = [spec.image.as_ref(), of_platform].into_iter().flatten();
    if let Some(image) = image.into_iter().find(|image| !image.is_empty()) {
        container.insert("image".to_owned(), json!(image));
    } else if actor.bound.is_some() {
        let location = actor.call.locate(&["runtime", "image"].into());
        let message = "spec.runtime.image is not set";
        findings.error(
            Diagnostic::error(Code::ImageMissing, location, message).help(
                "give it there, as 'image' in a flavor, or as runtime.adapterImage of the platform's settings",
            ),
        );
    } else if spec.workload.is_some() {
        let message = format!("spec.{path}: container {RUNTIME_CONTAINER:?} has no image");
        findings.error(
            Diagnostic::error(Code::ImageMissing, actor.call.locate(path), message)
                .help("give it there or in a flavor"),
        );
    } else {
        findings.error(not_set(actor, Code::ImageMissing, "image"));
    }
}

fn not_set(actor: &Actor, code: Code, field: &str) -> Diagnostic {
    let location = actor.call.locate(&FieldPath::from([field]));
    Diagnostic::error(code, location, format!("spec.{field} is not set"))
        .help("give it in the actor or in one of its flavors")
}
