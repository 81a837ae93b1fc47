//! The alert for bindings: it counts those that conflict, which are no failed reconciles.

use std::fs;
use std::path::Path;

use provider_asya::kinds::WorkloadBinding;
use provider_asya::metrics::Metrics;
use serde_json::json;

fn binding(ready: &str, reason: &str) -> WorkloadBinding {
    let condition = json!({"type": "Ready", "status": ready, "reason": reason,
        "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "phi"});
    let spec = json!({"forProvider": {"actor": "a", "strategy": "Inject", "targetRef": target}});
    serde_json::from_value(
        json!({"metadata": {"name": "a", "namespace": "shop"}, "spec": spec,
        "status": {"conditions": [condition]}}),
    )
    .unwrap()
}

#[test]
fn the_alert_for_bindings_fires_while_one_conflicts() {
    let metrics = Metrics::new();
    let all = [
        binding("True", "Available"),
        binding("False", "WorkloadConflict"),
    ];
    metrics.survey::<WorkloadBinding>(all.iter());
    let text = metrics.text();
    let value = |name: &str| {
        let start = format!("{name}{{");
        let of_kind =
            |line: &&str| line.starts_with(&start) && line.contains("Kind=WorkloadBinding\"");
        let line = text
            .lines()
            .find(of_kind)
            .unwrap_or_else(|| panic!("{name}: {text}"));
        line.rsplit_once(' ').unwrap().1.parse::<i64>().unwrap()
    };
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/observability.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, alert) = page.split_once("- alert: BindingsNotReady").unwrap();
    let expression = alert
        .lines()
        .find_map(|line| line.trim().strip_prefix("expr: "))
        .unwrap();
    // As it stands on the page: the difference of two gauges with the same label.
    let (exists, ready) = expression
        .strip_suffix(" > 0")
        .unwrap()
        .split_once(" - ")
        .unwrap();
    let name = |gauge: &str| {
        let (name, selector) = gauge.split_once('{').unwrap();
        assert_eq!(selector, "gvk=~\".*Kind=WorkloadBinding\"}");
        name.to_owned()
    };
    assert_eq!(
        value(&name(exists)) - value(&name(ready)),
        1,
        "{expression}"
    );
}
