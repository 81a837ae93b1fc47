//! What is counted, in the names that dashboards for Crossplane know.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use actor::managed::{READY, SYNCED};
use jiff::Timestamp;
use k8s_openapi::Resource;
use kube::ResourceExt as _;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use crate::conditions;
use crate::kinds::Queue;

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

/// All metrics of this process.
pub struct Metrics {
    registry: Mutex<Registry>,
    passes: Family<OfResult, Counter>,
    errors: Family<OfController, Counter>,
    times: Family<OfController, Histogram>,
    first_ready: Family<OfKind, Histogram>,
    exists: Family<OfKind, Gauge>,
    ready: Family<OfKind, Gauge>,
    synced: Family<OfKind, Gauge>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Metrics that count from zero.
    pub fn new() -> Self {
        let mut registry = Registry::default();
        let metrics = Self {
            registry: Mutex::default(),
            passes: Family::default(),
            errors: Family::default(),
            times: Family::new_with_constructor(of_passes),
            first_ready: Family::new_with_constructor(of_objects),
            exists: Family::default(),
            ready: Family::default(),
            synced: Family::default(),
        };
        // The encoder adds `_total` to counters by itself.
        registry.register(
            "controller_runtime_reconcile",
            "Passes by controller and result",
            metrics.passes.clone(),
        );
        registry.register(
            "controller_runtime_reconcile_errors",
            "Failed passes by controller",
            metrics.errors.clone(),
        );
        registry.register(
            "controller_runtime_reconcile_time_seconds",
            "Length of passes by controller",
            metrics.times.clone(),
        );
        registry.register(
            "crossplane_managed_resource_first_time_to_readiness_seconds",
            "Time from creation of an object to its first readiness",
            metrics.first_ready.clone(),
        );
        registry.register(
            "crossplane_managed_resource_exists",
            "Objects by kind",
            metrics.exists.clone(),
        );
        registry.register(
            "crossplane_managed_resource_ready",
            "Objects that are ready, by kind",
            metrics.ready.clone(),
        );
        registry.register(
            "crossplane_managed_resource_synced",
            "Objects whose last pass worked, by kind",
            metrics.synced.clone(),
        );
        *metrics
            .registry
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = registry;
        metrics
    }

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

    /// Counts the first time that an object is ready, unless it was before we knew it.
    pub fn ready(&self, queue: &Queue, was_before: bool) {
        let Some(created) = queue.creation_timestamp() else {
            return;
        };
        if !was_before {
            let age = Timestamp::now().duration_since(created.0).as_secs_f64();
            self.first_ready
                .get_or_create(&gvk::<Queue>())
                .observe(age.max(0.0));
        }
    }

    /// Sets the gauges over all objects.
    pub fn survey<'a>(&self, queues: impl Iterator<Item = &'a Queue>) {
        let (mut exists, mut ready, mut synced) = (0, 0, 0);
        for queue in queues {
            exists += 1;
            ready += i64::from(conditions::is_true(&queue.status.conditions, READY));
            synced += i64::from(conditions::is_true(&queue.status.conditions, SYNCED));
        }
        for (gauge, value) in [
            (&self.exists, exists),
            (&self.ready, ready),
            (&self.synced, synced),
        ] {
            gauge.get_or_create(&gvk::<Queue>()).set(value);
        }
    }

    /// Everything, as a scraper reads it.
    pub fn text(&self) -> String {
        let registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::new();
        if let Err(error) = prometheus_client::encoding::text::encode(&mut text, &registry) {
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

fn gvk<K: Resource>() -> OfKind {
    OfKind {
        gvk: format!("{}, Kind={}", K::API_VERSION, K::KIND),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_are_counted_in_the_names_that_dashboards_know() {
        let metrics = Metrics::new();
        metrics.pass("queue", false, Duration::from_millis(10));
        metrics.pass("queue", true, Duration::from_millis(10));
        metrics.survey([].into_iter());
        let text = metrics.text();
        for line in [
            "controller_runtime_reconcile_total{controller=\"queue\",result=\"error\"} 1",
            "controller_runtime_reconcile_errors_total{controller=\"queue\"} 1",
            "controller_runtime_reconcile_time_seconds_count{controller=\"queue\"} 2",
            "crossplane_managed_resource_exists{gvk=\"provider.asya.sh/v1alpha1, Kind=Queue\"} 0",
        ] {
            assert!(
                text.lines().any(|found| found == line),
                "no {line} in\n{text}"
            );
        }
    }
}
