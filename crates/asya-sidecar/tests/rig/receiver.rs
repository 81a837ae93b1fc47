//! A small HTTP server that keeps what is posted to it.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

/// A request: its path and its body.
pub type Posted = (String, Bytes);

/// Serves on loopback for as long as it lives.
pub struct Receiver {
    pub url: String,
    posted: Arc<Mutex<Vec<Posted>>>,
    serving: tokio::task::JoinHandle<()>,
}

impl Receiver {
    /// Answers 200 to paths that `knows` accepts, else 404.
    pub async fn start(knows: fn(&str) -> bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let posted = Arc::<Mutex<Vec<Posted>>>::default();
        let all = Arc::clone(&posted);
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let all = Arc::clone(&all);
                let answer = service_fn(move |request: Request<Incoming>| {
                    let all = Arc::clone(&all);
                    async move {
                        let path = request.uri().path().to_owned();
                        let is_known = knows(&path);
                        let body = request
                            .into_body()
                            .collect()
                            .await
                            .map(http_body_util::Collected::to_bytes);
                        if is_known {
                            let body = body.unwrap_or_default();
                            all.lock().expect("no panic").push((path, body));
                        }
                        let mut response = Response::new(Full::new(Bytes::new()));
                        if !is_known {
                            *response.status_mut() = StatusCode::NOT_FOUND;
                        }
                        Ok::<_, Infallible>(response)
                    }
                });
                let serving = http1::Builder::new().serve_connection(TokioIo::new(stream), answer);
                tokio::spawn(serving);
            }
        });
        Self {
            url: format!("http://127.0.0.1:{port}"),
            posted,
            serving,
        }
    }

    /// Returns the reports that were posted so far.
    pub fn posted(&self) -> Vec<Posted> {
        self.posted.lock().expect("no panic").clone()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.serving.abort();
    }
}
