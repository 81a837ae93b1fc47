//! Configuration of a sidecar, and how it is read from the environment.

mod environment;
mod names;
mod resiliency;
mod traces;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::retry::Retries;

pub use environment::{Problem, Variables};
#[cfg(feature = "rabbitmq")]
pub(crate) use names::LONGEST_NAME;
#[cfg(feature = "sqs")]
pub(crate) use names::is_fifo;

/// Settings of the program.
#[derive(Debug, Clone)]
pub struct Config {
    /// Settings of the worker, the same on any transport.
    pub worker: WorkerConfig,
    /// Transport of queues.
    pub transport: TransportConfig,
    /// Names of queues.
    pub queues: QueueNames,
    /// Folder of the runtime's socket.
    pub socket_dir: PathBuf,
    /// Address that serves `/metrics`, `/healthz` and `/readyz`.
    pub metrics_address: SocketAddr,
    /// Level of the log.
    pub log_level: tracing::Level,
    /// URL to which progress is reported.
    pub gateway_url: Option<String>,
    /// Export of spans; none if they are not exported.
    pub traces: Option<TracesConfig>,
}

/// Export of spans.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TracesConfig {
    /// URL of the collector.
    pub endpoint: String,
    /// Protocol of the export.
    pub protocol: OtlpProtocol,
    /// True if a standard variable names the service. Otherwise the actor's name is its name.
    pub is_service_named: bool,
}

/// Protocols of OTLP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtlpProtocol {
    /// Protobuf over HTTP/1.1, by default to port 4318.
    HttpProtobuf,
    /// gRPC, by default to port 4317.
    Grpc,
}

/// Settings of a worker that do not depend on the transport.
#[derive(Debug, Clone)]
pub struct WorkerConfig {
    /// The actor.
    pub actor: String,
    /// Namespace of the actor.
    pub namespace: String,
    /// Actor that gets finished messages.
    pub sink: String,
    /// Actor that gets failed messages.
    pub sump: String,
    /// True if routes end here: nothing is sent on.
    pub is_end_actor: bool,
    /// Limit of the handler's time for a message.
    pub timeout: Duration,
    /// Number of messages that are processed at a time.
    pub prefetch: u16,
    /// Time at which results are published.
    pub publish: PublishFrames,
    /// Retries of failures.
    pub retries: Retries,
    /// Time to wait for the queue of an actor that no queue receives for. Afterwards the message
    /// fails.
    pub unroutable_grace: Duration,
}

/// Time at which the results of a generator are published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PublishFrames {
    /// After the generator has ended, so that a failure half-way publishes nothing.
    Complete,
    /// Each result as soon as it is yielded.
    Eager,
}

/// Names of queues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueNames {
    /// The queue that is consumed.
    pub own: String,
    /// The names of all queues, with `{namespace}` and `{actor}`.
    pub template: String,
    /// Replaces `{namespace}`.
    pub namespace: String,
}

impl QueueNames {
    /// Name of an actor's queue.
    pub fn of(&self, actor: &str) -> String {
        self.template
            .replace("{namespace}", &self.namespace)
            .replace("{actor}", actor)
    }
}

/// Transport of queues.
#[derive(Debug, Clone)]
pub enum TransportConfig {
    /// Queues of a RabbitMQ broker.
    RabbitMq(RabbitMqConfig),
    /// Queues of Amazon SQS.
    Sqs(SqsConfig),
}

impl TransportConfig {
    /// The name that metrics have for it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::RabbitMq(_) => "rabbitmq",
            Self::Sqs(_) => "sqs",
        }
    }

    /// The name that spans have for it. Source: OpenTelemetry's semantic conventions.
    pub fn messaging_system(&self) -> &'static str {
        match self {
            Self::RabbitMq(_) => "rabbitmq",
            Self::Sqs(_) => "aws_sqs",
        }
    }
}

/// Connection to a RabbitMQ broker.
#[derive(Clone)]
pub struct RabbitMqConfig {
    /// `amqp[s]://user:password@host:port/vhost`, with a user and password that are percent-encoded.
    pub url: String,
    /// Certificate of the broker's authority, beside the system's own.
    pub ca_file: Option<PathBuf>,
    /// Exchange through which actors are reached by their names.
    pub exchange: String,
    /// Delays of the retry queues, in seconds, ascending.
    pub retry_delays: Vec<u32>,
}

impl std::fmt::Debug for RabbitMqConfig {
    // The URL holds a password.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("RabbitMqConfig")
            .field("exchange", &self.exchange)
            .field("ca_file", &self.ca_file)
            .field("retry_delays", &self.retry_delays)
            .finish_non_exhaustive()
    }
}

/// Connection to SQS. Credentials are found as every AWS program finds them.
#[derive(Debug, Clone)]
pub struct SqsConfig {
    /// Region of the queues.
    pub region: String,
    /// URL of the service, where it is not AWS's own.
    pub endpoint: Option<String>,
    /// URL of the queue that is consumed, where it is known.
    pub queue_url: Option<String>,
    /// Visibility timeout of a received message, in seconds.
    pub visibility_seconds: u32,
    /// Wait time of one request for messages, in seconds.
    pub wait_seconds: u32,
}
