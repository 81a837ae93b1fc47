//! Prometheus metrics, named as in Crossplane's Go providers.
//!
//! `families!` below is the table of all of them; `exposition.txt` has names, labels and help texts as
//! a scraper reads them.

mod lifecycle;

use std::time::Duration;

use actor::managed::{READY, SYNCED};
use k8s_openapi::Resource;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

pub use self::lifecycle::{Lifecycle, Outcome};
use crate::conditions;
use crate::kinds::Managed;

/// Content type of [`Metrics::text`]; Prometheus 3 requires one.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ControllerLabels {
    controller: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabels {
    controller: String,
    result: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KindLabels {
    gvk: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    code: String,
    method: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ServiceLabels {
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
            /// New metrics, all zero.
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
    reconciles: Family<ResultLabels, Counter> = Family::default(),
        "controller_runtime_reconcile", "Reconciliations by controller and result";
    errors: Family<ControllerLabels, Counter> = Family::default(),
        "controller_runtime_reconcile_errors", "Failed reconciliations by controller";
    times: Histograms<ControllerLabels> = Family::new_with_constructor(reconcile_histogram),
        "controller_runtime_reconcile_time_seconds", "Duration of reconciliations by controller";
    exists: Family<KindLabels, Gauge> = Family::default(),
        "crossplane_managed_resource_exists", "Objects by kind";
    ready: Family<KindLabels, Gauge> = Family::default(),
        "crossplane_managed_resource_ready", "Objects that are ready, by kind";
    synced: Family<KindLabels, Gauge> = Family::default(),
        "crossplane_managed_resource_synced", "Objects whose last reconciliation succeeded, by kind";
    first_reconcile: Histograms<KindLabels> = Family::new_with_constructor(object_histogram),
        "crossplane_managed_resource_first_time_to_reconcile_seconds",
        "Time from the creation of an object to its first reconciliation";
    first_ready: Histograms<KindLabels> = Family::new_with_constructor(object_histogram),
        "crossplane_managed_resource_first_time_to_readiness_seconds",
        "Time from the creation of an object to its first readiness";
    deletion: Histograms<KindLabels> = Family::new_with_constructor(object_histogram),
        "crossplane_managed_resource_deletion_seconds",
        "Time from the deletion request of an object to its deletion";
    drift: Histograms<KindLabels> = Family::new_with_constructor(object_histogram),
        "crossplane_managed_resource_drift_seconds",
        "Time from the last reconciliation that found an object in sync to the one that corrected drift";
    requests: Family<RequestLabels, Counter> = Family::default(),
        "rest_client_requests", "Requests to the Kubernetes API by status code and method";
    calls: Family<ServiceLabels, Counter> = Family::default(),
        "asya_provider_external_calls", "Calls to brokers and services, without retries of their clients";
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Records one reconciliation.
    pub fn reconciled(&self, controller: &str, is_failure: bool, duration: Duration) {
        let labels = || ControllerLabels {
            controller: controller.to_owned(),
        };
        let result = if is_failure { "error" } else { "success" };
        let result_labels = ResultLabels {
            controller: controller.to_owned(),
            result: result.to_owned(),
        };
        self.reconciles.get_or_create(&result_labels).inc();
        // Dashboards need the error counter from the start, as zero.
        self.errors
            .get_or_create(&labels())
            .inc_by(u64::from(is_failure));
        self.times
            .get_or_create(&labels())
            .observe(duration.as_secs_f64());
    }

    /// Sets the gauges of a kind from all its objects.
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
            gauge.get_or_create(&kind_labels::<K>()).set(value);
        }
    }

    /// Counts a request to the Kubernetes API; the code is `<error>` without an answer.
    pub fn request(&self, method: &str, code: Option<u16>) {
        let request_labels = RequestLabels {
            code: code.map_or_else(|| "<error>".to_owned(), |code| code.to_string()),
            method: method.to_owned(),
        };
        self.requests.get_or_create(&request_labels).inc();
    }

    /// Counter of calls to a service, `rabbitmq` or `sqs`.
    pub fn calls_to(&self, service: &str) -> Counter {
        let service_labels = ServiceLabels {
            service: service.to_owned(),
        };
        self.calls.get_or_create(&service_labels).clone()
    }

    /// All metrics in the OpenMetrics text format.
    pub fn text(&self) -> String {
        let mut text = String::new();
        if let Err(error) = prometheus_client::encoding::text::encode(&mut text, &self.registry) {
            tracing::error!(%error, "cannot write metrics");
        }
        text
    }
}

/// Buckets from 5 ms to 40 s.
fn reconcile_histogram() -> Histogram {
    Histogram::new(exponential_buckets(0.005, 2.0, 14))
}

/// Buckets from 0.5 s to 1 h.
fn object_histogram() -> Histogram {
    Histogram::new(exponential_buckets(0.5, 2.0, 14))
}

fn kind_labels<K: Resource>() -> KindLabels {
    KindLabels {
        gvk: format!("{}, Kind={}", K::API_VERSION, K::KIND),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Queue;

    #[test]
    fn names_labels_and_help_texts_are_stable() {
        let metrics = Metrics::new();
        metrics.reconciled("queue", false, Duration::from_millis(10));
        metrics.reconciled("queue", true, Duration::from_millis(10));
        metrics.survey::<Queue>([].into_iter());
        metrics.request("GET", Some(200));
        metrics.request("GET", None);
        metrics.calls_to("rabbitmq").inc();
        for histogram in [
            &metrics.first_reconcile,
            &metrics.first_ready,
            &metrics.deletion,
            &metrics.drift,
        ] {
            histogram
                .get_or_create(&kind_labels::<Queue>())
                .observe(1.0);
        }
        // Buckets may change, except the last; label values are in the order of a hash map.
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
            include_str!("exposition.txt").trim_end(),
            "found:\n{found}"
        );
    }
}
