//! Number of replicas of the workload, if the actor sets it.

use function_kit::value;

use function_kit::Call;
use serde_json::Value;

use crate::Actor;

/// Field managers of Crossplane's for what it composes begin so.
/// Source: Crossplane 2, `FieldOwnerComposedPrefix`.
const CROSSPLANE: &str = "apiextensions.crossplane.io/composed";

/// `spec.replicas` of the workload; none where KEDA decides.
///
/// To stop asking for replicas means to give up the field, and a field without an
/// owner falls back to 1. So when scaling is turned on, the observed number is asked
/// for until KEDA has set one of its own, and never again after that.
pub(crate) fn render(actor: &Actor, resource_name: &str) -> Option<Value> {
    let observed = observed(actor.call, resource_name);
    if actor.spec.scaling.enabled() {
        return observed
            .filter(|_| only_crossplane_owns(actor.call, resource_name))
            .map(Value::from);
    }
    let given = actor
        .spec
        .workload
        .as_ref()
        .and_then(|workload| workload.replicas)
        .or(actor.spec.replicas);
    Some(match given {
        Some(given) => Value::from(given),
        None => Value::from(observed.unwrap_or(1)),
    })
}

fn observed(call: &Call, resource_name: &str) -> Option<i64> {
    value::integer(call.observed(resource_name)?, &["spec", "replicas"])
}

/// Returns whether Crossplane applied `spec.replicas` and no other manager has set it.
fn only_crossplane_owns(call: &Call, resource_name: &str) -> bool {
    let Some(workload) = call.observed(resource_name) else {
        return false;
    };
    let mut owners = value::list(workload, &["metadata", "managedFields"])
        .iter()
        .filter_map(value::as_struct)
        .filter(|entry| value::at(entry, &["fieldsV1", "f:spec", "f:replicas"]).is_some())
        .map(|entry| {
            let is = |field, expected: fn(&str) -> bool| {
                value::text(entry, &[field]).is_some_and(expected)
            };
            is("manager", |manager| manager.starts_with(CROSSPLANE))
                && is("operation", |operation| operation == "Apply")
        })
        .peekable();
    owners.peek().is_some() && owners.all(|is_crossplane| is_crossplane)
}
