//! Rollout state of a workload.

use serde_json::Value;

/// Returns whether all pods of a Deployment or StatefulSet have its current template. False for other kinds.
///
/// A StatefulSet with the update strategy `OnDelete` or with a partition has pods of both templates until
/// somebody deletes them, and reports it in the same fields.
/// Source: Kubernetes, `apps/v1` `DeploymentStatus`, `StatefulSetStatus`.
pub fn is_done(workload: &Value) -> bool {
    let kind = workload["kind"].as_str().unwrap_or_default();
    if !["Deployment", "StatefulSet"].contains(&kind) {
        return false;
    }
    let status = |field: &str| workload["status"][field].as_i64().unwrap_or(0);
    let desired = workload["spec"]["replicas"].as_i64().unwrap_or(1);
    let generation = workload["metadata"]["generation"].as_i64();
    generation.is_some_and(|generation| status("observedGeneration") >= generation)
        && status("updatedReplicas") == desired
        && status("replicas") == desired
}

/// Returns a message if pods of a workload can be killed while they work: they get less time to end than
/// `minimum` seconds. None if they get enough, or nothing is known.
pub fn short_grace_period(workload: &Value, minimum: Option<u64>) -> Option<String> {
    let minimum = minimum?;
    let pod = &workload["spec"]["template"]["spec"];
    let seconds = pod["terminationGracePeriodSeconds"].as_u64()?;
    let (kind, name) = (&workload["kind"], &workload["metadata"]["name"]);
    (seconds < minimum).then(|| {
        format!(
            "pods of {} {name} are killed {seconds} s after SIGTERM (terminationGracePeriodSeconds), \
             and work of the actor may take {minimum} s, so it is interrupted and delivered again: set \
             terminationGracePeriodSeconds there to {} or more, or lower resiliency.actorTimeout",
            kind.as_str().unwrap_or_default(),
            minimum.saturating_add(30)
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_grace_period_below_the_runtime_timeout_is_too_short() {
        let cases = [
            ("shorter", json!(30), Some(300), true),
            ("as long", json!(300), Some(300), false),
            ("longer", json!(600), Some(300), false),
            ("none at all", json!(0), Some(1), true),
            ("not compared", json!(30), None, false),
            ("unknown", json!(null), Some(300), false),
        ];
        for (reason, seconds, minimum, expected) in cases {
            let workload = json!({"kind": "Deployment", "metadata": {"name": "model"},
                "spec": {"template": {"spec": {"terminationGracePeriodSeconds": seconds}}}});
            let message = short_grace_period(&workload, minimum);
            assert_eq!(message.is_some(), expected, "{reason}: {message:?}");
        }
    }

    #[test]
    fn a_rollout_is_done_when_all_pods_have_the_current_template() {
        let cases = [
            ("done", "Deployment", json!(2), [3, 2, 2], true),
            ("not observed yet", "Deployment", json!(2), [2, 2, 2], false),
            ("in progress", "StatefulSet", json!(2), [3, 1, 2], false),
            (
                "an old pod is left",
                "Deployment",
                json!(2),
                [3, 2, 3],
                false,
            ),
            ("napping", "Deployment", json!(0), [3, 0, 0], true),
            ("one by default", "Deployment", json!(null), [3, 1, 1], true),
            ("unknown kind", "Service", json!(0), [3, 0, 0], false),
        ];
        for (reason, kind, replicas, [observed, updated, total], expected) in cases {
            let workload = json!({
                "kind": kind, "metadata": {"generation": 3}, "spec": {"replicas": replicas},
                "status": {"observedGeneration": observed, "updatedReplicas": updated, "replicas": total}});
            assert_eq!(is_done(&workload), expected, "{reason}");
        }
    }
}
