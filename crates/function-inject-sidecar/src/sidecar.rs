//! The container `asya-sidecar`, which takes messages from the queue, has the runtime
//! work on them, and sends the results on.

use actor::names::{RUNTIME_FILES_CONTAINER, SIDECAR_CONTAINER};
use actor::platform::Platform;
use actor::pod::RUNTIME_DIR;
use actor::spec::Spec;
use function_kit::{Code, Diagnostic, StepError};
use merge::{FieldPath, Segment};
use serde_json::{Value, json};

use crate::security::{self, Program};
use crate::{Actor, environment, probes, resources, sqs, volumes};

/// The image where neither the actor, the platform, the step's input nor the function names one.
const IMAGE: &str = "asya-sidecar:latest";
/// The last part of the repository of our own sidecar's image.
const IMAGE_NAME: &str = "asya-sidecar";

/// The image of the sidecar: the actor's, else the platform's, else `fallback`, else [`IMAGE`].
pub(crate) fn image<'a>(
    spec: &'a Spec,
    platform: &'a Platform,
    fallback: Option<&'a String>,
) -> &'a str {
    let images = [
        spec.sidecar.image.as_ref(),
        platform.sidecar.image.as_ref(),
        fallback,
    ];
    let mut images = images.into_iter().flatten();
    images
        .find(|image| !image.is_empty())
        .map_or(IMAGE, String::as_str)
}

/// Returns whether that is an image of our own sidecar: its repository is called `asya-sidecar`.
pub(crate) fn is_ours(image: &str) -> bool {
    let repository = image.split('@').next().unwrap_or_default();
    let name = repository.rsplit('/').next().unwrap_or_default();
    name.split(':').next() == Some(IMAGE_NAME)
}

/// The container for a pod of the actor's own, or for a foreign one.
///
/// # Errors
/// If the name of the queue is needed and not known.
pub(crate) fn render(
    actor: &Actor,
    is_foreign_pod: bool,
    errors: &mut Vec<Diagnostic>,
) -> Result<Value, StepError> {
    let mut container = base(actor, is_foreign_pod);
    container["name"] = json!(SIDECAR_CONTAINER);
    container["env"] = json!(environment::render(actor, errors)?);
    container["resources"] = requests(actor, errors);
    container["volumeMounts"] = json!(volumes::of_sidecar(actor));
    if let Some(credentials) = sqs::credentials(&actor.transport.config) {
        container["envFrom"] = credentials;
    }
    if actor.sidecar_is_ours() {
        let port = environment::metrics_port(actor);
        container["ports"] = json!([{"name": "asya-metrics", "containerPort": port}]);
        if let Some(container) = container.as_object_mut() {
            probes::add_to_sidecar(container, port, is_foreign_pod);
        }
    }
    Ok(container)
}

/// The init container that copies the runtime files from the sidecar's image, in a pod of the actor's own.
pub(crate) fn runtime_files(actor: &Actor, errors: &mut Vec<Diagnostic>) -> Value {
    let mut container = base(actor, false);
    container["name"] = json!(RUNTIME_FILES_CONTAINER);
    container["args"] = json!(["runtime-files", "--to", RUNTIME_DIR]);
    container["resources"] = requests(actor, errors);
    container["volumeMounts"] = json!([{"name": volumes::SCRIPT, "mountPath": RUNTIME_DIR}]);
    container
}

/// Fields that both containers of the sidecar's image have.
fn base(actor: &Actor, is_foreign_pod: bool) -> Value {
    let (own, of_platform) = (&actor.spec.sidecar, &actor.platform.sidecar);
    let pull_policy = own
        .image_pull_policy
        .or(of_platform.image_pull_policy)
        .unwrap_or_default();
    let program = if actor.sidecar_is_ours() {
        Program::Ours
    } else {
        Program::Foreign
    };
    let given = [
        of_platform.security_context.as_ref(),
        own.security_context.as_ref(),
    ];
    json!({
        "image": actor.sidecar_image,
        "imagePullPolicy": pull_policy,
        "securityContext": security::context(program, actor.spec, is_foreign_pod, given),
    })
}

fn requests(actor: &Actor, errors: &mut Vec<Diagnostic>) -> Value {
    let own = actor.spec.sidecar.resources.as_ref();
    let of_platform = actor.platform.sidecar.resources.as_ref();
    resources::with_requests(own.or(of_platform), of_platform, |field, problem| {
        let path: FieldPath = ["sidecar", "resources"]
            .map(Segment::from)
            .iter()
            .chain(field.segments())
            .cloned()
            .collect();
        let (location, message) = match own {
            Some(_) => {
                let location = actor.call.locate(&path);
                let message = format!("spec.{path} (set by {}): {problem}", location.source);
                (location, message)
            }
            None => (
                actor.call.locate_setting(&path),
                format!("{path} of the platform's settings: {problem}"),
            ),
        };
        errors.push(Diagnostic::error(Code::InvalidQuantity, location, message));
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_image_is_recognised_by_its_name() {
        let cases = [
            (IMAGE, true, "the default"),
            (
                "registry.example.org:5000/asya/asya-sidecar:0.2.0",
                true,
                "a registry with a port",
            ),
            ("asya-sidecar@sha256:00", true, "a digest"),
            ("registry.example.org/sidecar:1", false, "another name"),
            (
                "registry.example.org/asya-sidecar/go:1",
                false,
                "the name further up",
            ),
            ("my-asya-sidecar:1", false, "a longer name"),
        ];
        for (image, expected, reason) in cases {
            assert_eq!(is_ours(image), expected, "{image}: {reason}");
        }
    }
}
