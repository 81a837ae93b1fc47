//! `/metrics`, `/healthz` and `/readyz` over HTTP.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;

use crate::metrics::Metrics;
use crate::runtime::Runtime;
use crate::transport::Transport;

/// Between two attempts to listen, and after a connection that could not be accepted.
const PAUSE: Duration = Duration::from_secs(5);

/// Time in which a client must write a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Reported state.
pub struct Status {
    /// The metrics.
    pub metrics: Arc<Metrics>,
    /// The broker.
    pub transport: Arc<dyn Transport>,
    /// The runtime.
    pub runtime: Runtime,
}

/// Serves for as long as it is polled. An address that is taken is tried again: messages do not wait
/// for metrics.
pub async fn serve(address: SocketAddr, status: Arc<Status>) -> Infallible {
    loop {
        match TcpListener::bind(address).await {
            Ok(listener) => accept(&listener, &status).await,
            Err(error) => tracing::error!(%address, %error, "cannot serve metrics: trying again"),
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Serves on a listener until it fails.
pub async fn accept(listener: &TcpListener, status: &Arc<Status>) {
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                return;
            }
        };
        let status = Arc::clone(status);
        tokio::spawn(async move {
            let answer = service_fn(|request| {
                let status = Arc::clone(&status);
                async move { Ok::<_, Infallible>(status.answer(&request).await) }
            });
            let mut server = http1::Builder::new();
            server
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_TIMEOUT);
            if let Err(error) = server.serve_connection(TokioIo::new(stream), answer).await {
                tracing::debug!(%error, "connection of a client of the metrics");
            }
        });
    }
}

impl Status {
    async fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return text(StatusCode::METHOD_NOT_ALLOWED, "only GET\n".to_owned());
        }
        match request.uri().path() {
            "/metrics" => {
                let exposition = self.metrics.exposition(self.transport.reconnects());
                let mut response = text(StatusCode::OK, exposition);
                let kind = header::HeaderValue::from_static(OPEN_METRICS);
                response.headers_mut().insert(header::CONTENT_TYPE, kind);
                response
            }
            "/healthz" => text(StatusCode::OK, "ok\n".to_owned()),
            "/readyz" => match self.missing().await {
                None => text(StatusCode::OK, "ok\n".to_owned()),
                Some(missing) => text(StatusCode::SERVICE_UNAVAILABLE, format!("{missing}\n")),
            },
            _ => text(
                StatusCode::NOT_FOUND,
                "paths are /metrics, /healthz and /readyz\n".to_owned(),
            ),
        }
    }

    /// Reason for which the actor receives no messages.
    async fn missing(&self) -> Option<&'static str> {
        if !self.runtime.is_ready().await {
            Some("the runtime is not ready")
        } else if !self.transport.is_ready() {
            Some("no messages are received: the broker is not connected, or the queue is missing")
        } else {
            None
        }
    }
}

fn text(status: StatusCode, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    let kind = header::HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
