//! Deployment and StatefulSet: the target is the workload.
//!
//! Their `spec.selector` is immutable and, for what people write by hand or by chart,
//! labels alone. Charts of Triton and of vLLM's production stack make Deployments.
//! Source: Kubernetes `apps/v1`.

use actor::binding::ObjectReference;
use actor::binding::targets::TargetKind;
use serde_json::Value;

use super::{Resolved, Unresolved};

pub(super) fn resolve(_row: &TargetKind, target: &Value) -> Result<Resolved, Unresolved> {
    let workload = reference(target);
    Ok(Resolved {
        uid: text(target, "/metadata/uid"),
        pod_selector: serde_json::from_value(target["spec"]["selector"]["matchLabels"].clone())
            .unwrap_or_default(),
        url: None,
        scale: Ok(workload.clone()),
        workload,
    })
}

/// An object by its own words.
pub(super) fn reference(object: &Value) -> ObjectReference {
    ObjectReference {
        api_version: text(object, "/apiVersion"),
        kind: text(object, "/kind"),
        name: text(object, "/metadata/name"),
    }
}

fn text(object: &Value, pointer: &str) -> String {
    let text = object.pointer(pointer).and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}
