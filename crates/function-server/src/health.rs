//! The gRPC health service for the kubelet, on a port of its own.
//!
//! The port of the function requires mutual TLS, which probes of the kubelet do not support. This one
//! serves nothing but the health service, without TLS.

use std::net::SocketAddr;
use std::time::Duration;

use function_sdk_rust::proto::v1::function_runner_service_server::SERVICE_NAME;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tonic::transport::Server;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;

/// Interval at which a function that starts is asked whether it listens.
const START_INTERVAL: Duration = Duration::from_millis(20);

/// Serves the health of the function that listens at `function`, until the process ends.
///
/// The service `""` is serving while the process answers: for liveness probes. The service of
/// functions is serving from the time when the function listens until `draining` is true: for
/// readiness probes. A port that cannot be bound is logged, and never ends the function.
pub(crate) async fn serve(address: &str, function: &str, draining: watch::Receiver<bool>) {
    if address.is_empty() {
        return;
    }
    let address: SocketAddr = match address.parse() {
        Ok(address) => address,
        Err(error) => {
            tracing::error!(%error, address, "cannot serve health: not an address and port");
            return;
        }
    };
    let (reporter, service) = tonic_health::server::health_reporter();
    set(&reporter, ServingStatus::NotServing).await;
    tokio::spawn(report(reporter, function.to_owned(), draining));
    if let Err(error) = Server::builder().add_service(service).serve(address).await {
        let error = function_kit::report(&error);
        tracing::error!(%address, error, "cannot serve health: probes fail");
    }
}

async fn report(reporter: HealthReporter, function: String, mut draining: watch::Receiver<bool>) {
    listens(&function).await;
    set(&reporter, ServingStatus::Serving).await;
    if draining.wait_for(|is| *is).await.is_ok() {
        set(&reporter, ServingStatus::NotServing).await;
    }
}

/// Completes when something accepts connections at the address.
async fn listens(address: &str) {
    while TcpStream::connect(address).await.is_err() {
        tokio::time::sleep(START_INTERVAL).await;
    }
}

async fn set(reporter: &HealthReporter, status: ServingStatus) {
    reporter.set_service_status(SERVICE_NAME, status).await;
}
