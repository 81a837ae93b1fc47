//! The container `asya-sidecar`, which takes messages from the queue, has the runtime
//! work on them, and sends the results on.

use actor::names::SIDECAR_CONTAINER;
use function_kit::Fault;
use merge::FieldPath;
use serde_json::{Value, json};

use crate::{Actor, environment, resources, sqs, volumes};

/// The image where nobody names one.
const IMAGE: &str = "asya-sidecar:latest";

/// The container. `fallback_image` counts where neither the actor nor the platform
/// names one.
///
/// # Errors
/// When the queue's name is needed and cannot be told.
pub(crate) fn render(
    actor: &Actor,
    fallback_image: Option<&String>,
    faults: &mut Vec<String>,
) -> Result<Value, Fault> {
    let (own, of_platform) = (&actor.spec.sidecar, &actor.platform.sidecar);
    let image = [
        own.image.as_ref(),
        of_platform.image.as_ref(),
        fallback_image,
    ]
    .into_iter()
    .flatten()
    .find(|image| !image.is_empty());
    let pull_policy = own
        .image_pull_policy
        .or(of_platform.image_pull_policy)
        .unwrap_or_default();
    let mut container = json!({
        "name": SIDECAR_CONTAINER,
        "image": image.map_or(IMAGE, String::as_str),
        "imagePullPolicy": pull_policy,
        "env": environment::render(actor, faults)?,
        "resources": requests(actor, faults),
        "volumeMounts": volumes::of_sidecar(actor),
    });
    if let Some(credentials) = sqs::credentials(&actor.transport.config) {
        container["envFrom"] = credentials;
    }
    Ok(container)
}

fn requests(actor: &Actor, faults: &mut Vec<String>) -> Value {
    let own = actor.spec.sidecar.resources.as_ref();
    let of_platform = actor.platform.sidecar.resources.as_ref();
    let describe = |field: &FieldPath| match own {
        Some(_) => {
            let path = FieldPath::from(["sidecar", "resources"]);
            format!("spec.{path}.{field} (set by {})", actor.call.origin(&path))
        }
        None => format!("sidecar.resources.{field} of the platform's settings"),
    };
    resources::with_requests(own.or(of_platform), of_platform, describe, faults)
}
