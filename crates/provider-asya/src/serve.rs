//! Metrics and probes over HTTP.

use std::convert::Infallible;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;

use crate::heartbeat::Heartbeat;
use crate::metrics::{self, Metrics};

/// Wait after a failed accept, which would fail again at once while descriptors are used up.
const ACCEPT_RETRY: Duration = Duration::from_millis(500);

/// State that the server shows.
#[derive(Clone)]
pub struct ServerState {
    /// Content of `/metrics`.
    pub metrics: Arc<Metrics>,
    /// Answer of `/healthz`: whether the controllers work.
    pub heartbeat: Heartbeat,
    /// Answer of `/readyz`: whether the API server has answered.
    pub is_ready: Arc<AtomicBool>,
}

/// Serves `/metrics`, `/healthz` and `/readyz` until it is dropped.
///
/// # Errors
/// The address cannot be bound.
pub async fn run(address: SocketAddr, state: ServerState) -> std::io::Result<()> {
    let listener = listen(address).await?;
    loop {
        let connection = match listener.accept().await {
            Ok((connection, _)) => connection,
            Err(error) => {
                // For example too many open files.
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_RETRY).await;
                continue;
            }
        };
        let state = state.clone();
        tokio::spawn(async move {
            let answer = service_fn(|request: Request<Incoming>| {
                let response = answer(request.uri().path(), &state);
                async move { Ok::<_, Infallible>(response) }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .serve_connection(TokioIo::new(connection), answer);
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection for metrics or probes failed");
            }
        });
    }
}

/// Binds the address; where it is `[::]` and there is no IPv6, all addresses of IPv4.
async fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    match TcpListener::bind(address).await {
        Err(error) if address.ip() == Ipv6Addr::UNSPECIFIED && is_without_ipv6(&error) => {
            TcpListener::bind((Ipv4Addr::UNSPECIFIED, address.port())).await
        }
        listener => listener,
    }
}

/// A kernel without IPv6 has no such address family; one with IPv6 turned off has no such address.
fn is_without_ipv6(error: &std::io::Error) -> bool {
    use std::io::ErrorKind;
    /// `EAFNOSUPPORT` of Linux.
    const NO_SUCH_FAMILY: i32 = 97;
    error.kind() == ErrorKind::AddrNotAvailable || error.raw_os_error() == Some(NO_SUCH_FAMILY)
}

fn answer(path: &str, state: &ServerState) -> Response<Full<Bytes>> {
    let (status, text) = match path {
        "/metrics" => (StatusCode::OK, state.metrics.text()),
        "/healthz" => match state.heartbeat.problem() {
            None => (StatusCode::OK, "ok\n".to_owned()),
            Some(problem) => (StatusCode::SERVICE_UNAVAILABLE, format!("{problem}\n")),
        },
        "/readyz" if state.is_ready.load(Ordering::Relaxed) => (StatusCode::OK, "ok\n".to_owned()),
        "/readyz" => (
            StatusCode::SERVICE_UNAVAILABLE,
            "the API server has not answered yet\n".to_owned(),
        ),
        _ => (
            StatusCode::NOT_FOUND,
            "not found: use /metrics, /healthz or /readyz\n".to_owned(),
        ),
    };
    let content = if path == "/metrics" {
        metrics::CONTENT_TYPE
    } else {
        "text/plain; charset=utf-8"
    };
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content));
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heartbeat::Limits;
    use crate::timings::Timings;

    #[tokio::test]
    async fn a_controller_that_is_stuck_is_not_healthy() {
        let heartbeat = Heartbeat::new(Limits {
            reconcile: Duration::ZERO,
            ..Timings::default().stuck
        });
        let state = ServerState {
            metrics: Arc::new(Metrics::new()),
            heartbeat: heartbeat.clone(),
            is_ready: Arc::default(),
        };
        assert_eq!(answer("/healthz", &state).status(), StatusCode::OK);
        let running = heartbeat.begin("queue");
        tokio::task::yield_now().await;
        let healthz = answer("/healthz", &state).status();
        assert_eq!(healthz, StatusCode::SERVICE_UNAVAILABLE);
        drop(running);
        assert_eq!(answer("/healthz", &state).status(), StatusCode::OK);
    }

    #[test]
    fn paths_are_answered() {
        let state = ServerState {
            metrics: Arc::new(Metrics::new()),
            heartbeat: Heartbeat::new(Timings::default().stuck),
            is_ready: Arc::default(),
        };
        assert_eq!(
            answer("/readyz", &state).status(),
            StatusCode::SERVICE_UNAVAILABLE
        );
        state.is_ready.store(true, Ordering::Relaxed);
        for (path, status) in [
            ("/readyz", 200),
            ("/healthz", 200),
            ("/metrics", 200),
            ("/", 404),
        ] {
            assert_eq!(answer(path, &state).status().as_u16(), status, "{path}");
        }
        assert_eq!(
            answer("/metrics", &state).headers()[CONTENT_TYPE],
            metrics::CONTENT_TYPE,
            "Prometheus 3 requires it"
        );
    }
}
