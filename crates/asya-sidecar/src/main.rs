//! Runs the sidecar of an actor.

mod commands;
mod state_command;

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;

use asya_sidecar::admin::Queues;
use asya_sidecar::config::{Config, Problem, TransportConfig};
use asya_sidecar::gateway::Gateway;
use asya_sidecar::metrics::Metrics;
use asya_sidecar::otlp::Otlp;
use asya_sidecar::runtime::Runtime;
use asya_sidecar::serve::{self, Status};
use asya_sidecar::stop;
use asya_sidecar::transport::Transport;
use asya_sidecar::transport::rabbitmq::RabbitMq;
use asya_sidecar::transport::sqs::Sqs;
use asya_sidecar::worker::Worker;
use clap::Parser;
use commands::Command;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

// A fast allocator that gives memory back: messages come and go all the time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The environment is not valid.
const INVALID: u8 = 2;

/// Takes messages from an actor's queue, has the runtime work on them, and sends the results on.
///
/// Without a command it runs until SIGTERM. Everything is in the environment.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match &arguments.command {
        Some(Command::RuntimeFiles { to }) => return commands::runtime_files(to),
        Some(Command::State { connector }) => return state_command::run(*connector),
        _ => {}
    }
    let config = match Config::read(&|name| std::env::var(name).ok()) {
        Ok(config) => config,
        Err(problems) => return invalid(&problems),
    };
    start_logging(config.log_level);
    let Some(tokio) = start_tokio() else {
        return ExitCode::FAILURE;
    };
    match arguments.command {
        None => tokio.block_on(run(config)),
        Some(command) => tokio.block_on(commands::run(command, &config)),
    }
}

fn start_logging(level: tracing::Level) {
    let level = LevelFilter::from_level(level);
    // At debug level the SDK of AWS logs credentials, of which the access key is readable. lapin logs
    // bodies: of a message that no queue takes as a warning, of others at lower levels.
    let levels = Targets::new()
        .with_default(level)
        .with_target("aws_", level.min(LevelFilter::INFO))
        .with_target("lapin", level.min(LevelFilter::INFO))
        .with_target("lapin::returned_messages", LevelFilter::OFF);
    let lines = tracing_subscriber::fmt::layer().json();
    tracing_subscriber::registry()
        .with(lines.with_writer(std::io::stderr))
        .with(levels)
        .init();
}

/// The asynchronous runtime; none, and a line in the log, where it cannot start.
fn start_tokio() -> Option<tokio::runtime::Runtime> {
    // Two crates could each bring a default; there is one TLS stack.
    if rustls::crypto::aws_lc_rs::default_provider()
        .install_default()
        .is_err()
    {
        tracing::debug!("a TLS provider is installed already");
    }
    let tokio = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    tokio
        .inspect_err(|error| tracing::error!(%error, "cannot start"))
        .ok()
}

async fn run(config: Config) -> ExitCode {
    // Before anything that takes time: a signal without a handler would end the process at once.
    let (Ok(mut terminate), Ok(mut interrupt)) = (
        signal(SignalKind::terminate()),
        signal(SignalKind::interrupt()),
    ) else {
        tracing::error!("cannot listen for signals");
        return ExitCode::FAILURE;
    };
    let transport = match connect(&config).await {
        Ok(connected) => connected.transport,
        Err(problem) => return invalid(&[problem]),
    };
    let (sender, stop) = stop::channel();
    let metrics = Arc::new(Metrics::new(&config.worker.actor, config.transport.name()));
    let runtime = Runtime::new(&config.socket_dir);
    let status = Arc::new(Status {
        metrics: Arc::clone(&metrics),
        transport: Arc::clone(&transport),
        runtime: runtime.clone(),
    });
    let gateway = Gateway::start(config.gateway_url, &config.worker.actor);
    let server = tokio::spawn(serve::serve(config.metrics_address, status));
    let actor = config.worker.actor.clone();
    let tracer = match config.traces.as_ref().map(|traces| {
        let (worker, queues) = (&config.worker, &config.queues);
        let system = config.transport.messaging_system();
        Otlp::start(
            traces,
            &worker.actor,
            &worker.namespace,
            &queues.own,
            system,
        )
    }) {
        None => None,
        Some(Ok(tracer)) => Some(Arc::new(tracer)),
        Some(Err(error)) => {
            return invalid(&[Problem {
                variable: "OTEL_EXPORTER_OTLP_ENDPOINT".to_owned(),
                value: "***".to_owned(),
                allowed: format!("standard variables OTEL_EXPORTER_OTLP_… that agree ({error})"),
            }]);
        }
    };
    let mut worker = Worker::new(config.worker, transport, runtime, metrics, gateway, stop);
    if let Some(tracer) = &tracer {
        worker = worker.with_tracer(Arc::clone(tracer));
    }
    let worker = Arc::new(worker);
    tracing::info!(actor, queue = config.queues.own, "started");
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("asked to end: running calls are finished first");
        sender.stop();
    });
    worker.run().await;
    server.abort();
    if let Some(tracer) = tracer {
        tracer.shutdown().await;
    }
    tracing::info!("stopped");
    ExitCode::SUCCESS
}

/// One broker, in both of its roles.
struct Connected {
    transport: Arc<dyn Transport>,
    queues: Arc<dyn Queues>,
}

impl Connected {
    fn new<T: Transport + Queues + 'static>(transport: T) -> Self {
        let transport = Arc::new(transport);
        Self {
            transport: Arc::clone(&transport) as Arc<dyn Transport>,
            queues: transport,
        }
    }
}

async fn connect(config: &Config) -> Result<Connected, Problem> {
    match &config.transport {
        TransportConfig::RabbitMq(rabbitmq) => {
            let transport = RabbitMq::new(rabbitmq, &config.queues.own, config.worker.prefetch);
            match transport {
                Ok(transport) => Ok(Connected::new(transport)),
                Err(allowed) => Err(Problem {
                    variable: "ASYA_RABBITMQ_URL".to_owned(),
                    value: "***".to_owned(),
                    allowed,
                }),
            }
        }
        TransportConfig::Sqs(sqs) => Ok(Connected::new(Sqs::new(sqs, &config.queues).await)),
    }
}

/// Reports what is wrong with the environment, a line each.
fn invalid(problems: &[Problem]) -> ExitCode {
    let mut errors = std::io::stderr().lock();
    for problem in problems {
        // If nothing reads it, the exit code still counts.
        let _ = writeln!(errors, "{problem}");
    }
    ExitCode::from(INVALID)
}
