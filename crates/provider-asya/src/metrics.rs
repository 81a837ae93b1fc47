//! What is counted, in the names that dashboards for Crossplane know.
//!
//! `families!` below is the one table of all there is; the test beside it holds
//! the names, labels and help texts as a scraper sees them.

mod life;

use std::time::Duration;

use actor::managed::{READY, SYNCED};
use k8s_openapi::Resource;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

pub use self::life::{Life, Outcome};
use crate::conditions;
use crate::kinds::Managed;

/// The type of what [`Metrics::text`] writes; Prometheus 3 refuses an answer without one.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfController {
    controller: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfResult {
    controller: String,
    result: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfKind {
    gvk: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfRequest {
    code: String,
    method: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfService {
    service: String,
}

type Histograms<Labels> = Family<Labels, Histogram, fn() -> Histogram>;

macro_rules! families {
    ($($field:ident: $family:ty = $new:expr, $name:literal, $help:literal;)*) => {
        /// All metrics of this process.
        #[derive(Debug)]
        pub struct Metrics {
            registry: Registry,
            $($field: $family,)*
        }

        impl Metrics {
            /// Metrics that count from zero.
            pub fn new() -> Self {
                let mut registry = Registry::default();
                $(let $field: $family = $new;)*
                $(registry.register($name, $help, $field.clone());)*
                Self { registry, $($field,)* }
            }
        }
    };
}

// The encoder adds `_total` to the names of counters, and a period to each help text.
families! {
    passes: Family<OfResult, Counter> = Family::default(),
        "controller_runtime_reconcile", "Passes by controller and result";
    errors: Family<OfController, Counter> = Family::default(),
        "controller_runtime_reconcile_errors", "Failed passes by controller";
    times: Histograms<OfController> = Family::new_with_constructor(of_passes),
        "controller_runtime_reconcile_time_seconds", "Length of passes by controller";
    exists: Family<OfKind, Gauge> = Family::default(),
        "crossplane_managed_resource_exists", "Objects by kind";
    ready: Family<OfKind, Gauge> = Family::default(),
        "crossplane_managed_resource_ready", "Objects that are ready, by kind";
    synced: Family<OfKind, Gauge> = Family::default(),
        "crossplane_managed_resource_synced", "Objects whose last pass worked, by kind";
    first_pass: Histograms<OfKind> = Family::new_with_constructor(of_objects),
        "crossplane_managed_resource_first_time_to_reconcile_seconds",
        "Time from the creation of an object to the first pass over it";
    first_ready: Histograms<OfKind> = Family::new_with_constructor(of_objects),
        "crossplane_managed_resource_first_time_to_readiness_seconds",
        "Time from the creation of an object to its first readiness";
    deletion: Histograms<OfKind> = Family::new_with_constructor(of_objects),
        "crossplane_managed_resource_deletion_seconds",
        "Time from the request to delete an object to its end";
    drift: Histograms<OfKind> = Family::new_with_constructor(of_objects),
        "crossplane_managed_resource_drift_seconds",
        "Time from the last pass that found an object true to the one that had to change something";
    requests: Family<OfRequest, Counter> = Family::default(),
        "rest_client_requests", "Requests to the Kubernetes API by status code and method";
    calls: Family<OfService, Counter> = Family::default(),
        "asya_provider_external_calls", "Calls to brokers and services, repeated ones of their clients left out";
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Counts a pass.
    pub fn pass(&self, controller: &str, is_failure: bool, length: Duration) {
        let of = || OfController {
            controller: controller.to_owned(),
        };
        let result = if is_failure { "error" } else { "success" };
        let of_result = OfResult {
            controller: controller.to_owned(),
            result: result.to_owned(),
        };
        self.passes.get_or_create(&of_result).inc();
        // An error counter that is not there yet is no zero to a dashboard.
        self.errors
            .get_or_create(&of())
            .inc_by(u64::from(is_failure));
        self.times
            .get_or_create(&of())
            .observe(length.as_secs_f64());
    }

    /// Sets the gauges over all objects of a kind.
    pub fn survey<'a, K: Managed + 'a>(&self, objects: impl Iterator<Item = &'a K>) {
        let (mut exists, mut ready, mut synced) = (0, 0, 0);
        for object in objects {
            exists += 1;
            ready += i64::from(conditions::is_true(object.conditions(), READY));
            synced += i64::from(conditions::is_true(object.conditions(), SYNCED));
        }
        for (gauge, value) in [
            (&self.exists, exists),
            (&self.ready, ready),
            (&self.synced, synced),
        ] {
            gauge.get_or_create(&of_kind::<K>()).set(value);
        }
    }

    /// Counts a request to the Kubernetes API; without an answer the code is `<error>`.
    pub fn request(&self, method: &str, code: Option<u16>) {
        let of_request = OfRequest {
            code: code.map_or_else(|| "<error>".to_owned(), |code| code.to_string()),
            method: method.to_owned(),
        };
        self.requests.get_or_create(&of_request).inc();
    }

    /// What counts the calls to this service, `rabbitmq` or `sqs`.
    pub fn calls_to(&self, service: &str) -> Counter {
        let of_service = OfService {
            service: service.to_owned(),
        };
        self.calls.get_or_create(&of_service).clone()
    }

    /// Everything, as a scraper reads it.
    pub fn text(&self) -> String {
        let mut text = String::new();
        if let Err(error) = prometheus_client::encoding::text::encode(&mut text, &self.registry) {
            tracing::error!(%error, "cannot write metrics");
        }
        text
    }
}

/// From 5 ms to 40 s.
fn of_passes() -> Histogram {
    Histogram::new(exponential_buckets(0.005, 2.0, 14))
}

/// From half a second to an hour.
fn of_objects() -> Histogram {
    Histogram::new(exponential_buckets(0.5, 2.0, 14))
}

fn of_kind<K: Resource>() -> OfKind {
    OfKind {
        gvk: format!("{}, Kind={}", K::API_VERSION, K::KIND),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Queue;

    #[test]
    fn metrics_have_the_names_labels_and_texts_that_dashboards_know() {
        let metrics = Metrics::new();
        metrics.pass("queue", false, Duration::from_millis(10));
        metrics.pass("queue", true, Duration::from_millis(10));
        metrics.survey::<Queue>([].into_iter());
        metrics.request("GET", Some(200));
        metrics.request("GET", None);
        metrics.calls_to("rabbitmq").inc();
        for histogram in [
            &metrics.first_pass,
            &metrics.first_ready,
            &metrics.deletion,
            &metrics.drift,
        ] {
            histogram.get_or_create(&of_kind::<Queue>()).observe(1.0);
        }
        // Buckets are a matter of taste, apart from those that must be there; the order of
        // label values is that of a hash map.
        let is_stable = |line: &&str| {
            *line != "# EOF" && (!line.contains("le=\"") || line.contains("le=\"+Inf\""))
        };
        let text = metrics.text();
        let mut found: Vec<Vec<&str>> = Vec::new();
        for line in text.lines().filter(is_stable) {
            if line.starts_with("# HELP") || found.is_empty() {
                found.push(Vec::new());
            }
            found.last_mut().unwrap().push(line);
        }
        for family in &mut found {
            family[2..].sort_unstable();
        }
        let found = found.concat().join("\n");
        assert_eq!(
            found,
            include_str!("metrics/exposition.txt").trim_end(),
            "found:\n{found}"
        );
    }
}
