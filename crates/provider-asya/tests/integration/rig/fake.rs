//! The HTTP server of a fake service.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Collected, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// Answers of a service.
pub type Answer = Response<Full<Bytes>>;

/// A running server on loopback. It ends when this value is dropped.
pub struct Server {
    /// Its URL.
    pub endpoint: String,
    task: JoinHandle<()>,
}

impl Server {
    /// Starts a server that answers so; `answer` also gets the server's URL.
    pub async fn start<A>(answer: A) -> Self
    where
        A: Fn(&str, &Parts, &[u8]) -> Answer + Send + Sync + 'static,
    {
        Self::start_slow(Duration::ZERO, answer).await
    }

    /// Starts a server that answers so, each request after a time.
    pub async fn start_slow<A>(after: Duration, answer: A) -> Self
    where
        A: Fn(&str, &Parts, &[u8]) -> Answer + Send + Sync + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound listener");
        let endpoint = format!("http://{address}");
        let shared = Arc::new((endpoint.clone(), answer));
        let task = tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                let shared = shared.clone();
                let service = service_fn(move |request: Request<Incoming>| {
                    let shared = shared.clone();
                    async move {
                        let (endpoint, answer) = shared.as_ref();
                        let (parts, body) = request.into_parts();
                        let body = body.collect().await.map(Collected::to_bytes);
                        tokio::time::sleep(after).await;
                        Ok::<_, Infallible>(answer(endpoint, &parts, &body.unwrap_or_default()))
                    }
                });
                let connection =
                    http1::Builder::new().serve_connection(TokioIo::new(connection), service);
                tokio::spawn(async move { drop(connection.await) });
            }
        });
        Self { endpoint, task }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}
