//! Earlier runtime scripts, for as long as pods may need them.

use actor::binding;
use function_kit::{Call, Identity, value};
use pbjson_types::Struct;
use serde_json::Value;

use crate::script::{RESOURCE_PREFIX, config_map};
use crate::volumes;

/// The composed resources with earlier scripts that must stay: all that are
/// observed, until every workload runs nothing but pods with `current`, the
/// ConfigMap of the present script; none where the files come from the sidecar's image.
pub(crate) fn earlier_scripts(
    call: &Call,
    identity: &Identity,
    targets: &[&str],
    current: Option<&str>,
) -> Vec<(String, Value)> {
    let is_rolled_out = |target: &&str| {
        call.observed(target)
            .is_some_and(|workload| runs_only(workload, current))
    };
    if targets.iter().all(is_rolled_out) {
        return Vec::new();
    }
    let observed = call.observed_all().into_iter();
    observed
        .filter(|(name, _)| name.starts_with(RESOURCE_PREFIX))
        .filter_map(|(name, object)| {
            let own_name = value::text(object, &["metadata", "name"])?;
            let data = value::pb_to_json(value::at(object, &["data"])?);
            let kept = config_map(identity, own_name, &data);
            (Some(own_name) != current).then(|| (name.to_owned(), kept))
        })
        .collect()
}

/// Returns whether the workload's controller has made all pods from a template that mounts the ConfigMap
/// `current`, and none from another is left. Of another owner's workload the provider reports for which
/// generation of the binding that is so; where a rollout is not done by itself, such as that of a
/// StatefulSet with `OnDelete`, it never reports it, and the earlier scripts stay.
fn runs_only(workload: &Struct, current: Option<&str>) -> bool {
    let is_binding = value::text(workload, &["kind"]) == Some(binding::KIND);
    let volumes: &[&str] = if is_binding {
        &["spec", "forProvider", "template", "spec", "volumes"]
    } else {
        &["spec", "template", "spec", "volumes"]
    };
    let mounted = value::list(workload, volumes)
        .iter()
        .filter_map(value::as_struct)
        .find(|volume| value::text(volume, &["name"]) == Some(volumes::SCRIPT))
        .and_then(|volume| value::text(volume, &["configMap", "name"]));
    let status = |field| value::integer(workload, &["status", field]).unwrap_or(0);
    let desired = value::integer(workload, &["spec", "replicas"]).unwrap_or(1);
    let generation = value::integer(workload, &["metadata", "generation"]).unwrap_or(i64::MAX);
    if is_binding {
        let rolled_out = ["status", "atProvider", "rolledOutGeneration"];
        return mounted == current
            && value::integer(workload, &rolled_out).is_some_and(|done| done >= generation);
    }
    mounted == current
        && status("observedGeneration") >= generation
        && status("updatedReplicas") == desired
        && status("replicas") == desired
}

#[cfg(test)]
mod tests {
    use super::*;
    use function_kit::value::json_to_struct;
    use serde_json::json;

    #[test]
    fn a_rollout_of_a_bound_workload_ends_with_the_rolled_out_generation() {
        let binding = |map: &str, done: Value| {
            let volumes = json!([{"name": "asya-runtime", "configMap": {"name": map}}]);
            json!({
                "kind": "WorkloadBinding",
                "metadata": {"generation": 3},
                "spec": {"forProvider": {"template": {"spec": {"volumes": volumes}}}},
                "status": {"atProvider": {"rolledOutGeneration": done}},
            })
        };
        let cases = [
            (binding("new", json!(3)), true, "every pod has it"),
            (
                binding("new", json!(2)),
                false,
                "every pod has an earlier one",
            ),
            (
                binding("new", json!(null)),
                false,
                "the provider does not say",
            ),
            (binding("old", json!(3)), false, "not even applied"),
        ];
        for (binding, expected, reason) in cases {
            let binding = json_to_struct(binding.as_object().unwrap());
            assert_eq!(runs_only(&binding, Some("new")), expected, "{reason}");
        }
    }

    #[test]
    fn a_rollout_is_done_when_no_other_pod_is_left() {
        let workload = |map: &str, spec: Value, status: Value| {
            let volumes =
                json!([{"name": "tmp"}, {"name": "asya-runtime", "configMap": {"name": map}}]);
            json!({
                "metadata": {"generation": 3},
                "spec": {"replicas": spec, "template": {"spec": {"volumes": volumes}}},
                "status": status,
            })
        };
        let done = json!({"observedGeneration": 3, "updatedReplicas": 2, "replicas": 2});
        let cases = [
            (workload("new", json!(2), done.clone()), true, "all updated"),
            (workload("old", json!(2), done), false, "not even applied"),
            (
                workload(
                    "new",
                    json!(2),
                    json!({"observedGeneration": 2, "updatedReplicas": 2, "replicas": 2}),
                ),
                false,
                "the controller has not seen it",
            ),
            (
                workload(
                    "new",
                    json!(2),
                    json!({"observedGeneration": 3, "updatedReplicas": 1, "replicas": 3}),
                ),
                false,
                "old pods run",
            ),
            (
                workload(
                    "new",
                    json!(2),
                    json!({"observedGeneration": 3, "updatedReplicas": 1, "replicas": 1}),
                ),
                false,
                "an old pod may be made anew",
            ),
            (
                workload("new", json!(0), json!({"observedGeneration": 3})),
                true,
                "a napping actor has no pods",
            ),
            (
                workload("new", json!(0), json!(null)),
                false,
                "no status yet",
            ),
            (json!({}), false, "nothing known"),
        ];
        for (workload, expected, reason) in cases {
            let workload = json_to_struct(workload.as_object().unwrap());
            assert_eq!(runs_only(&workload, Some("new")), expected, "{reason}");
        }
    }
}
