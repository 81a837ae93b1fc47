//! Resource requests and limits, with quantities as texts.

use actor::quantity;
use function_kit::Code;
use merge::FieldPath;
use serde_json::{Map, Value};

use crate::Actor;
use crate::findings::{Findings, below};

/// Writes the quantities of a ResourceRequirements as the texts that Kubernetes
/// stores. `path` is where it stands in the spec.
pub(crate) fn normalise(
    resources: &mut Map<String, Value>,
    path: &FieldPath,
    actor: &Actor,
    findings: &mut Findings,
) {
    quantity::normalise(resources, |inner, problem| {
        let segments = path.segments().iter().chain(inner.segments());
        let path: FieldPath = segments.cloned().collect();
        findings.error_with_origin(actor.call, Code::InvalidQuantity, &path, &problem);
    });
}

/// [`normalise`] for the resources of a container at `path`.
pub(crate) fn normalise_of(
    container: &mut Map<String, Value>,
    path: &FieldPath,
    actor: &Actor,
    findings: &mut Findings,
) {
    let path = below(path, "resources");
    match container.get_mut("resources") {
        None => {}
        Some(Value::Object(resources)) => normalise(resources, &path, actor, findings),
        Some(_) => {
            findings.error_with_origin(actor.call, Code::InvalidValue, &path, "expected a map");
            container.remove("resources");
        }
    }
}
