//! The metrics that are served, and the documents that name them: the reference, the dashboard, the alerts.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use asya_sidecar::metrics::Metrics;
use serde_json::Value;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(repository().join(path)).expect(path)
}

/// Names of samples, such as `asya_actor_queue_wait_seconds_bucket`.
fn served() -> BTreeSet<String> {
    let exposition = exposition();
    let samples = exposition.lines().filter(|line| !line.starts_with('#'));
    samples
        .map(|line| line.split(['{', ' ']).next().expect("a name").to_owned())
        .collect()
}

/// Returns the exposition, with the samples of each counter sorted: their order is that of a hash table.
fn exposition() -> String {
    let text = Metrics::new("summarizer", "rabbitmq").exposition(0);
    let mut lines: Vec<&str> = text.lines().filter(|line| *line != "# EOF").collect();
    let is_counter = |line: &&str| line.contains("_total{");
    for samples in lines.chunk_by_mut(|a, b| is_counter(a) && is_counter(b)) {
        samples.sort_unstable();
    }
    lines.join("\n") + "\n"
}

/// Returns the names in a text that begin with our metrics' prefix.
fn named(text: &str) -> BTreeSet<&str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(|c| !is_part(c))
        .filter(|name| name.starts_with("asya_actor_"))
        .collect()
}

#[test]
fn the_metrics_are_those_of_the_reference() {
    let path = "crates/asya-sidecar/src/metrics.txt";
    let served = exposition();
    if std::env::var_os("UPDATE_CASES").is_some() {
        fs::write(repository().join(path), &served).unwrap();
    }
    assert_eq!(read(path), served, "UPDATE_CASES=1 writes {path}");
}

#[test]
fn the_dashboard_asks_only_for_metrics_that_are_served_and_for_all_of_them() {
    let text = read("install/grafana/asya-actors.json");
    let dashboard: Value = text.parse().expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let mut asked = BTreeSet::new();
    for panel in panels {
        for target in panel["targets"].as_array().expect("queries") {
            let query = target["expr"].as_str().expect("a query");
            let names = named(query);
            assert!(!names.is_empty(), "{query}");
            asked.extend(names.into_iter().map(str::to_owned));
        }
    }
    let served = served();
    let unknown: Vec<_> = named(&text)
        .into_iter()
        .filter(|name| !served.contains(*name))
        .collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    let families = served
        .iter()
        .filter(|name| !name.ends_with("_sum") && !name.ends_with("_count"));
    let missing: Vec<_> = families.filter(|name| !asked.contains(*name)).collect();
    assert!(missing.is_empty(), "no panel shows {missing:?}");
}

#[test]
fn pages_name_only_metrics_that_are_served() {
    // kube-state-metrics makes these of the objects.
    const OF_OTHERS: [&str; 2] = ["asya_actor_ready", "asya_actor_status"];
    let served = served();
    let page = read("docs/observability.md");
    let unknown: Vec<_> = named(&page)
        .into_iter()
        .filter(|name| !served.contains(*name) && !OF_OTHERS.contains(name))
        .collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}
