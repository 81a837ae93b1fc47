//! Targets whose pods are killed before the work of an actor in them may be done.

use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::rig::binding_fixture::{BINDINGS, has_condition, template};

const FLAG: &str = "GracePeriodTooShort";

#[test]
fn a_grace_period_below_the_runtime_timeout_is_a_condition_until_it_is_raised() {
    BINDINGS.run(async |fixture| {
        let site = fixture.site("grace").await;
        site.make("Deployment", "llm").await;
        let binding = json!({"actor": "embedder", "strategy": "Inject",
            "targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "llm"},
            "template": template("embedder", "a:1"), "minimumGracePeriodSeconds": 300});
        site.make_binding("embedder", binding).await;
        let text = "are killed 30 s after SIGTERM";
        site.until("embedder", "reports the grace period", |binding| {
            has_condition(binding, FLAG, "BelowRuntimeTimeout", text)
        })
        .await;
        let longer =
            json!({"spec": {"template": {"spec": {"terminationGracePeriodSeconds": 330}}}});
        let workloads = site.workloads("Deployment");
        let patch = Patch::Merge(longer);
        let changed = workloads
            .patch("llm", &PatchParams::default(), &patch)
            .await;
        changed.unwrap();
        site.until("embedder", "finds it long enough", |binding| {
            has_condition(binding, FLAG, "LongEnough", "")
        })
        .await;
    });
}
