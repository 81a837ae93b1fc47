//! The `main` of every composition function: gRPC server with mTLS, health, metrics and logs.
//!
//! Steps are libraries that depend on `function-kit` alone, so that the CLI, which runs them
//! offline, compiles no server. Their programs call [`main`].

mod convert;
mod drain;
mod health;
mod renewal;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use clap::{Args as _, FromArgMatches as _};
use function_kit::report;
use function_proto::v1::{RunFunctionRequest, RunFunctionResponse};
use function_sdk_rust::proto::v1 as sdk;
use function_sdk_rust::proto::v1::function_runner_service_server::FunctionRunnerService;
use function_sdk_rust::{Server, logging};
use tokio::sync::watch;
use tonic::{Request, Response, Status};

/// A request is thousands of small allocations; this allocator makes them cheap.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Time between the last call and the end of a process that received SIGTERM: responses on their
/// way out arrive, and clients close their connections.
const DRAIN: Duration = Duration::from_millis(500);

/// Threads that answer calls. One thread answers several times as many calls a second as
/// Crossplane's core makes (100 reconciles a second by default), and each further thread keeps
/// memory of its own.
const WORKERS: usize = 1;

/// Command line of a function. Every flag that Crossplane's specification of
/// functions asks for is there, and no argument is needed in a cluster.
#[derive(clap::Args, Debug)]
struct Args {
    /// Emit debug logs, in a form for people.
    #[arg(short, long, env = "DEBUG", default_value_t = false)]
    debug: bool,

    /// Address at which to listen for gRPC connections.
    #[arg(long, default_value = "0.0.0.0:9443")]
    address: String,

    /// Directory with tls.crt, tls.key and ca.crt: serve with mTLS.
    #[arg(long, env = "TLS_SERVER_CERTS_DIR")]
    tls_certs_dir: Option<PathBuf>,

    /// Serve without TLS, for development; --tls-certs-dir is then ignored.
    #[arg(long, default_value_t = false)]
    insecure: bool,

    /// Largest request accepted, in MB (1 MB is 1048576 bytes).
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..))]
    max_recv_message_size: u16,

    /// Address at which to serve metrics at /metrics; empty for none.
    #[arg(long, env = "METRICS_ADDRESS", default_value = ":8080")]
    metrics_address: String,

    /// Address at which to serve the gRPC health service without TLS, for probes; empty for none.
    #[arg(long, env = "HEALTH_ADDRESS", default_value = "0.0.0.0:8081")]
    health_address: String,

    /// Seconds for which to serve on after SIGQUIT, the stop signal of the image, while the pod leaves
    /// DNS. Less than the pod's grace period.
    #[arg(long, env = "DRAIN_SECONDS", default_value_t = 25)]
    drain_seconds: u16,
}

impl From<&Args> for function_sdk_rust::Args {
    fn from(args: &Args) -> Self {
        Self {
            debug: args.debug,
            address: args.address.clone(),
            tls_certs_dir: args.tls_certs_dir.clone(),
            insecure: args.insecure,
            max_recv_message_size: Some(usize::from(args.max_recv_message_size) << 20),
            metrics_address: args.metrics_address.clone(),
        }
    }
}

/// The command line of the function called `name`.
pub fn command(name: &'static str) -> clap::Command {
    // Adding the flags brings the description of their struct.
    Args::augment_args(clap::Command::new(name))
        .about(None)
        .long_about(None)
        .version(env!("CARGO_PKG_VERSION"))
}

/// Configures logging as [`main`] does, for a program that fails before it serves.
pub fn configure_logging() {
    logging::configure(false);
}

/// Serves `run` as the function called `name` until SIGTERM.
///
/// Exits with 0 on SIGTERM, within a second of the last call, on SIGQUIT after `--drain-seconds` in
/// which it serves on, and when its certificates have been renewed; with 1 when it cannot serve.
pub fn main<R>(name: &'static str, about: &'static str, run: R) -> ExitCode
where
    R: Fn(RunFunctionRequest) -> RunFunctionResponse + Send + Sync + 'static,
{
    let matches = command(name).about(about).get_matches();
    let args = match Args::from_arg_matches(&matches) {
        Ok(args) => args,
        Err(error) => error.exit(),
    };
    logging::configure(args.debug);
    let served = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start the runtime: {error}"))
        .and_then(|runtime| {
            let served = runtime.block_on(serve(run, &args));
            // Connections that are still open do not keep the process alive.
            runtime.shutdown_background();
            served
        });
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(%error, "cannot serve");
            ExitCode::FAILURE
        }
    }
}

async fn serve<R>(run: R, args: &Args) -> Result<(), String>
where
    R: Fn(RunFunctionRequest) -> RunFunctionResponse + Send + Sync + 'static,
{
    let running = Arc::new(AtomicUsize::new(0));
    let certificates = args.tls_certs_dir.as_deref().filter(|_| !args.insecure);
    let function = Function {
        run,
        running: Arc::clone(&running),
    };
    let address = args.address.clone();
    let health_address = args.health_address.clone();
    let (draining, is_draining) = watch::channel(false);
    tokio::spawn(async move { health::serve(&health_address, &address, is_draining).await });
    let drain_time = Duration::from_secs(args.drain_seconds.into());
    tokio::spawn(drain::run(drain_time, draining));
    let sdk_args = args.into();
    tokio::select! {
        served = Server::new(function, &sdk_args).serve() => served.map_err(|error| report(&error)),
        () = drained(&running) => Ok(()),
        () = renewal::end_when_renewed(certificates) => Ok(()),
    }
}

/// Completes [`DRAIN`] after SIGTERM and the last call. The server itself would wait for clients
/// that keep a stream open.
async fn drained(running: &AtomicUsize) {
    terminated().await;
    let mut quiet_since = tokio::time::Instant::now();
    while quiet_since.elapsed() < DRAIN {
        tokio::time::sleep(Duration::from_millis(20)).await;
        if running.load(Ordering::Acquire) > 0 {
            quiet_since = tokio::time::Instant::now();
        }
    }
}

async fn terminated() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut sigterm) => drop(sigterm.recv().await),
        // The server has a handler of its own, which suffices.
        Err(_) => std::future::pending().await,
    }
}

/// The pure step behind the gRPC service.
struct Function<R> {
    run: R,
    running: Arc<AtomicUsize>,
}

#[tonic::async_trait]
impl<R> FunctionRunnerService for Function<R>
where
    R: Fn(RunFunctionRequest) -> RunFunctionResponse + Send + Sync + 'static,
{
    async fn run_function(
        &self,
        request: Request<sdk::RunFunctionRequest>,
    ) -> Result<Response<sdk::RunFunctionResponse>, Status> {
        let _running = Running::begin(&self.running);
        let request = convert::request(request.into_inner());
        Ok(Response::new(convert::response((self.run)(request))))
    }
}

/// Counts one call for as long as it lives, also when the step panics.
struct Running<'a>(&'a AtomicUsize);

impl<'a> Running<'a> {
    fn begin(running: &'a AtomicUsize) -> Self {
        running.fetch_add(1, Ordering::AcqRel);
        Self(running)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}
