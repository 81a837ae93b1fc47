//! Pages from tables of the code: words and reasons, environment variables, metrics.

use std::fs;
use std::path::Path;

use actor::status::reasons::{ANYWHERE, REASONS, Reason};
use actor::status::{ConditionType, StatusReason};
use actor::variables::{Reader, VARIABLES};
use anyhow::{Context as _, Result};

use super::page::Page;
use crate::cannot;

/// Metrics of the provider; a test compares this file with those that it serves.
const OF_PROVIDER: &str = "crates/provider-asya/src/metrics/exposition.txt";
/// Metrics of a function; `tests/tests/servers.rs` compares this with those that it serves.
const OF_FUNCTIONS: &str = "crates/function-kit/src/metrics.txt";
/// Metrics that the sidecar serves; `crates/asya-sidecar/tests/observability.rs` compares them with
/// its endpoint.
const OF_SIDECAR: &str = "crates/asya-sidecar/src/metrics.txt";

/// Statuses, conditions and reasons.
pub(super) fn conditions() -> String {
    let mut page = Page::new("Statuses, conditions and reasons");
    page.text("[Statuses](../statuses.md) explains causes and fixes in full.");
    page.heading("Statuses");
    page.text("The STATUS column, `status.status`, and the reason of condition `ActorReady`.");
    page.table(
        ["Status", "Meaning"],
        StatusReason::ALL.map(|status| [status.as_str(), status.means()]),
    );
    page.heading("Conditions");
    page.table(
        ["Condition", "True means"],
        ConditionType::ALL.map(|condition| [condition.as_str(), condition.means()]),
    );
    for (condition, reasons) in REASONS {
        page.heading(&format!("Reasons of {condition}"));
        page.table(REASON, reasons.iter().map(row));
    }
    page.heading("Reasons of any condition");
    page.table(REASON, ANYWHERE.iter().map(row));
    page.end()
}

const REASON: [&str; 4] = ["Condition status", "Reason", "Meaning", "What to do"];

fn row(reason: &Reason) -> [String; 4] {
    let name = format!("`{}`", reason.name);
    let [status, means, cure] = [reason.status, reason.means, reason.cure].map(str::to_owned);
    [status, name, means, cure]
}

/// Environment variables.
pub(super) fn environment() -> String {
    let mut page = Page::new("Environment variables");
    page.text("Variables marked as yours can be set in `env` (of `asya-runtime`) or `sidecar.env` (of `asya-sidecar`), and replace the value here. The others are refused there. `config` is that of the transport in the [platform settings](platform.md).");
    for reader in Reader::ALL {
        page.heading(reader.name());
        let of_reader = VARIABLES
            .iter()
            .filter(|variable| variable.reader == reader);
        page.table(
            ["Variable", "Meaning", "Value", "Yours"],
            of_reader.map(|variable| {
                let name = format!("`{}`", variable.name);
                let yours = if variable.is_the_users() { "yes" } else { "" };
                [&name, variable.means, variable.value, yours].map(str::to_owned)
            }),
        );
    }
    page.heading("Flags");
    page.text("Flags of the functions and of the provider can also be set as variables: [programs](programs.md). Adapters have additional variables: [runtime/adapters](../../runtime/adapters/README.md).");
    page.end()
}

/// Metrics.
pub(super) fn metrics(root: &Path) -> Result<String> {
    let read = |path: &str| {
        let path = root.join(path);
        fs::read_to_string(&path).with_context(|| cannot("read", &path))
    };
    let mut page = Page::new("Metrics");
    page.text("[Observability](../observability.md) has a scrape job and alerts. Counters end in `_total`, histograms in `_bucket`, `_sum` and `_count`.");
    page.heading("provider-asya, on :8080/metrics");
    page.table(FAMILY, families(&read(OF_PROVIDER)?));
    page.heading("Functions, on :8080/metrics");
    page.table(FAMILY, families(&read(OF_FUNCTIONS)?));
    page.heading("asya-sidecar, on :9464/metrics of an actor's pods");
    page.table(FAMILY, families(&read(OF_SIDECAR)?));
    page.heading("Crossplane core");
    page.text("Core reconciles AsyncActors, and counts reconciles as `controller_runtime_reconcile_total`, `controller_runtime_reconcile_errors_total` and `controller_runtime_reconcile_time_seconds` with `controller=\"composite/asyncactors.asya.sh\"`. [install/prometheus](../../install/prometheus/relabelling.yaml) renames the label to `controller=\"asyncactor\"`.");
    Ok(page.end())
}

const FAMILY: [&str; 4] = ["Metric", "Type", "Labels", "Meaning"];

/// The families of an exposition in the form of `OpenMetrics`.
fn families(text: &str) -> Vec<[String; 4]> {
    let mut families = Vec::new();
    for block in text.split("# HELP ").skip(1) {
        let mut lines = block.lines();
        let (name, help) = lines
            .next()
            .and_then(|line| line.split_once(' '))
            .unwrap_or_default();
        let r#type = lines
            .next()
            .and_then(|line| line.rsplit(' ').next())
            .unwrap_or_default();
        let suffix = if r#type == "counter" { "_total" } else { "" };
        families.push([
            format!("`{name}{suffix}`"),
            r#type.to_owned(),
            lines.last().map(labels).unwrap_or_default(),
            help.to_owned(),
        ]);
    }
    families
}

/// The names of a sample's labels, without that of a bucket's bound.
fn labels(sample: &str) -> String {
    let inside = sample
        .split_once('{')
        .and_then(|(_, rest)| rest.rsplit_once('}'));
    let pairs = inside.map_or("", |(inside, _)| inside).split("\",");
    let names = pairs
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, _)| name)
        .filter(|name| *name != "le");
    names
        .map(|name| format!("`{name}`"))
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metric_families_are_listed_with_their_labels() {
        let text = "# HELP passes Passes by kind.\n# TYPE passes counter\n\
                    passes_total{gvk=\"a/v1, Kind=B\",result=\"error\"} 1\n\
                    # HELP ready Objects.\n# TYPE ready gauge\nready 0\n";
        let cells: Vec<String> = families(text).iter().map(|row| row.join(" | ")).collect();
        assert_eq!(
            cells,
            [
                "`passes_total` | counter | `gvk`, `result` | Passes by kind.",
                "`ready` | gauge |  | Objects.",
            ]
        );
    }
}
