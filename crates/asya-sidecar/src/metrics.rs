//! Prometheus metrics, all named `asya_actor_…`.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

/// Outcome of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelValue)]
#[allow(non_camel_case_types, reason = "the values of a label")]
pub enum Outcome {
    /// The handler has answered, and what follows was sent.
    succeeded,
    /// The handler has failed, and another attempt is queued.
    retried,
    /// Sent to the sump, or to the actors of an exhausted policy.
    failed,
    /// An end actor has failed on it: it goes to the dead-letter queue.
    rejected,
    /// Given back: the runtime is dead, or the sidecar ends.
    returned,
    /// The connection to the broker was lost while it was processed: it is delivered again.
    lost,
}

impl Outcome {
    /// All of them.
    const ALL: [Self; 6] = [
        Self::succeeded,
        Self::retried,
        Self::failed,
        Self::rejected,
        Self::returned,
        Self::lost,
    ];

    /// The label's value.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::succeeded => "succeeded",
            Self::retried => "retried",
            Self::failed => "failed",
            Self::rejected => "rejected",
            Self::returned => "returned",
            Self::lost => "lost",
        }
    }
}

/// Kind of a sent message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelValue)]
#[allow(non_camel_case_types, reason = "the values of a label")]
pub enum Kind {
    /// To the next actor of its route.
    next,
    /// To the sink.
    sink,
    /// To the sump.
    sump,
    /// To the actor's own queue, for another attempt.
    retry,
}

/// Reason for which a message could not be sent at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelValue)]
#[allow(non_camel_case_types, reason = "the values of a label")]
pub enum PublishError {
    /// No queue receives messages for the actor.
    unroutable,
    /// It is larger than the transport takes.
    too_large,
    /// The broker refused it.
    refused,
    /// The connection was lost.
    disconnected,
}

/// Error of a call of the runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelValue)]
#[allow(non_camel_case_types, reason = "the values of a label")]
pub enum RuntimeError {
    /// The handler has failed.
    handler,
    /// It has not answered in time.
    timeout,
    /// The connection broke.
    connection,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByOutcome {
    outcome: Outcome,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByKind {
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByPublishError {
    reason: PublishError,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByRuntimeError {
    reason: RuntimeError,
}

/// All metrics of a sidecar.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    received: Counter,
    processed: Family<ByOutcome, Counter>,
    sent: Family<ByKind, Counter>,
    publish_errors: Family<ByPublishError, Counter>,
    runtime_errors: Family<ByRuntimeError, Counter>,
    reconnects: Counter<u64, AtomicU64>,
    in_flight: Gauge,
    processing: Histogram,
    queue_wait: Histogram,
    runtime: Histogram,
    publish: Histogram,
}

/// Upper bounds in seconds: handlers take from milliseconds to an hour.
const CALLS: [f64; 16] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0,
    3600.0,
];

/// Messages wait from milliseconds to a day.
const WAITS: [f64; 14] = [
    0.005, 0.025, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 14_400.0, 43_200.0,
    86_400.0,
];

impl Metrics {
    /// Metrics that are all 0.
    pub fn new(actor: &str, transport: &'static str) -> Self {
        let labels = [
            ("actor", actor.to_owned()),
            ("transport", transport.to_owned()),
        ];
        let labels = labels.map(|(name, value)| (name.into(), value.into()));
        let registry = Registry::with_prefix_and_labels("asya_actor", labels.into_iter());
        let mut metrics = Self {
            registry,
            received: Counter::default(),
            processed: Family::default(),
            sent: Family::default(),
            publish_errors: Family::default(),
            runtime_errors: Family::default(),
            reconnects: Counter::default(),
            in_flight: Gauge::default(),
            processing: Histogram::new(CALLS),
            queue_wait: Histogram::new(WAITS),
            runtime: Histogram::new(CALLS),
            publish: Histogram::new(CALLS),
        };
        metrics.register();
        metrics.begin();
        metrics
    }

    /// Every series exists from the start, at 0: the first failure is an increase too.
    fn begin(&self) {
        for outcome in Outcome::ALL {
            drop(self.processed.get_or_create(&ByOutcome { outcome }));
        }
        for kind in [Kind::next, Kind::sink, Kind::sump, Kind::retry] {
            drop(self.sent.get_or_create(&ByKind { kind }));
        }
        for reason in [
            PublishError::unroutable,
            PublishError::too_large,
            PublishError::refused,
            PublishError::disconnected,
        ] {
            drop(
                self.publish_errors
                    .get_or_create(&ByPublishError { reason }),
            );
        }
        for reason in [
            RuntimeError::handler,
            RuntimeError::timeout,
            RuntimeError::connection,
        ] {
            drop(
                self.runtime_errors
                    .get_or_create(&ByRuntimeError { reason }),
            );
        }
    }

    fn register(&mut self) {
        let registry = &mut self.registry;
        let counters = [
            (
                "messages_received",
                "Messages taken from the queue",
                self.received.clone(),
            ),
            (
                "reconnects",
                "Connections to the broker after the first one",
                self.reconnects.clone(),
            ),
        ];
        for (name, help, counter) in counters {
            registry.register(name, help, counter);
        }
        registry.register(
            "messages_processed",
            "Messages by what became of them",
            self.processed.clone(),
        );
        registry.register(
            "messages_sent",
            "Messages that a broker has confirmed",
            self.sent.clone(),
        );
        registry.register(
            "publish_errors",
            "Messages that could not be sent at once",
            self.publish_errors.clone(),
        );
        registry.register(
            "runtime_errors",
            "Calls of the handler that went wrong",
            self.runtime_errors.clone(),
        );
        registry.register(
            "messages_in_flight",
            "Messages being processed",
            self.in_flight.clone(),
        );
        let histograms = [
            (
                "processing_duration",
                "From the receipt of a message to its acknowledgement",
                &self.processing,
            ),
            (
                "queue_wait",
                "From the creation of a message to its receipt here",
                &self.queue_wait,
            ),
            ("runtime_duration", "Calls of the handler", &self.runtime),
            (
                "publish_duration",
                "From sending a message to the broker's confirmation",
                &self.publish,
            ),
        ];
        for (name, help, histogram) in histograms {
            registry.register_with_unit(name, help, Unit::Seconds, histogram.clone());
        }
    }

    /// A message was received; it waited this long since its creation, where that is known.
    pub fn received(&self, waited: Option<Duration>) {
        self.received.inc();
        if let Some(waited) = waited {
            self.queue_wait.observe(waited.as_secs_f64());
        }
    }

    /// A message is being processed for as long as the value lives.
    pub fn in_flight(&self) -> InFlight {
        self.in_flight.inc();
        InFlight(self.in_flight.clone())
    }

    /// A delivery has come to its end.
    pub fn processed(&self, outcome: Outcome, after: Duration) {
        self.processed.get_or_create(&ByOutcome { outcome }).inc();
        self.processing.observe(after.as_secs_f64());
    }

    /// The handler has answered, or failed to.
    pub fn called(&self, after: Duration, error: Option<RuntimeError>) {
        self.runtime.observe(after.as_secs_f64());
        if let Some(reason) = error {
            self.runtime_errors
                .get_or_create(&ByRuntimeError { reason })
                .inc();
        }
    }

    /// The broker has confirmed a message.
    pub fn sent(&self, kind: Kind, after: Duration) {
        self.sent.get_or_create(&ByKind { kind }).inc();
        self.publish.observe(after.as_secs_f64());
    }

    /// A message could not be sent.
    pub fn not_sent(&self, reason: PublishError) {
        self.publish_errors
            .get_or_create(&ByPublishError { reason })
            .inc();
    }

    /// All of them in the text format of `OpenMetrics`.
    pub fn exposition(&self, reconnects: u64) -> String {
        use std::sync::atomic::Ordering;
        self.reconnects.inner().store(reconnects, Ordering::Relaxed);
        let mut text = String::new();
        // Writing to a text cannot fail.
        let _ = text::encode(&mut text, &self.registry);
        text
    }
}

/// One message in the gauge of those that are being processed.
#[derive(Debug)]
pub struct InFlight(Gauge);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}
