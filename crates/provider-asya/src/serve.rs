//! Metrics and probes over HTTP.

use std::convert::Infallible;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;

use crate::metrics::{self, Metrics};

/// What the server shows.
#[derive(Clone)]
pub struct Shown {
    /// Behind `/metrics`.
    pub metrics: Arc<Metrics>,
    /// Behind `/readyz`: whether the API server has answered.
    pub is_ready: Arc<AtomicBool>,
}

/// Serves `/metrics`, `/healthz` and `/readyz` for as long as it is polled.
pub async fn run(address: SocketAddr, shown: Shown) -> std::io::Result<()> {
    let listener = listen(address).await?;
    loop {
        let connection = match listener.accept().await {
            Ok((connection, _)) => connection,
            Err(error) => {
                // Too many open files, say: the next one may do better.
                tracing::warn!(%error, "cannot accept a connection");
                tokio::task::yield_now().await;
                continue;
            }
        };
        let shown = shown.clone();
        tokio::spawn(async move {
            let answer = service_fn(|request: Request<Incoming>| {
                let response = answer(request.uri().path(), &shown);
                async move { Ok::<_, Infallible>(response) }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .serve_connection(TokioIo::new(connection), answer);
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection for metrics or probes ended badly");
            }
        });
    }
}

/// Listens on all addresses of IPv4 where all were asked for and there is no IPv6.
async fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    match TcpListener::bind(address).await {
        Err(error) if address.ip() == Ipv6Addr::UNSPECIFIED && is_without_ipv6(&error) => {
            TcpListener::bind((Ipv4Addr::UNSPECIFIED, address.port())).await
        }
        listener => listener,
    }
}

/// A kernel without IPv6 knows no such family of addresses; one that has it turned off has no
/// such address.
fn is_without_ipv6(error: &std::io::Error) -> bool {
    use std::io::ErrorKind;
    /// `EAFNOSUPPORT` of Linux.
    const NO_SUCH_FAMILY: i32 = 97;
    error.kind() == ErrorKind::AddrNotAvailable || error.raw_os_error() == Some(NO_SUCH_FAMILY)
}

fn answer(path: &str, shown: &Shown) -> Response<Full<Bytes>> {
    let (status, text) = match path {
        "/metrics" => (StatusCode::OK, shown.metrics.text()),
        "/healthz" => (StatusCode::OK, "ok\n".to_owned()),
        "/readyz" if shown.is_ready.load(Ordering::Relaxed) => (StatusCode::OK, "ok\n".to_owned()),
        "/readyz" => (
            StatusCode::SERVICE_UNAVAILABLE,
            "the API server has not answered yet\n".to_owned(),
        ),
        _ => (
            StatusCode::NOT_FOUND,
            "there are /metrics, /healthz and /readyz\n".to_owned(),
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

    #[test]
    fn each_path_has_its_answer() {
        let shown = Shown {
            metrics: Arc::new(Metrics::new()),
            is_ready: Arc::default(),
        };
        assert_eq!(
            answer("/readyz", &shown).status(),
            StatusCode::SERVICE_UNAVAILABLE
        );
        shown.is_ready.store(true, Ordering::Relaxed);
        for (path, status) in [
            ("/readyz", 200),
            ("/healthz", 200),
            ("/metrics", 200),
            ("/", 404),
        ] {
            assert_eq!(answer(path, &shown).status().as_u16(), status, "{path}");
        }
        assert_eq!(
            answer("/metrics", &shown).headers()[CONTENT_TYPE],
            metrics::CONTENT_TYPE,
            "Prometheus 3 reads nothing without it"
        );
    }
}
