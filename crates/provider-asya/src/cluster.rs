//! The client of the Kubernetes API, with every request counted.

use std::sync::Arc;
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use http::{Request, Response};
use kube::client::{Body, ClientBuilder};
use kube::runtime::watcher;
use kube::{Client, Config};
use tower::{Layer, Service};

use crate::metrics::Metrics;

/// Page size of lists. A list of a large cluster in one answer would be in memory as text and as
/// objects, of which most is not kept.
pub const PAGE: u32 = 100;

/// Configuration of a watch that starts with a list in pages.
pub fn watch() -> watcher::Config {
    watcher::Config::default().page_size(PAGE)
}

/// A client for the cluster of the environment: the pod's, or a kubeconfig's.
///
/// # Errors
/// There is neither, or it is invalid.
pub async fn client(metrics: Arc<Metrics>) -> Result<Client, String> {
    let config = Config::infer().await.map_err(|error| error.to_string())?;
    let builder = ClientBuilder::try_from(config).map_err(|error| error.to_string())?;
    Ok(builder.with_layer(&Counting(metrics)).build())
}

/// Waits until the API server answers; `wait` is the time between two requests.
pub async fn wait_until_available(client: &Client, wait: std::time::Duration) {
    let mut is_logged = false;
    while let Err(error) = client.apiserver_version().await {
        // A refusal to return its version is an answer too.
        if matches!(error, kube::Error::Api(_)) {
            return;
        }
        if !is_logged {
            tracing::warn!(%error, "the API server does not answer yet");
            is_logged = true;
        }
        tokio::time::sleep(wait).await;
    }
}

struct Counting(Arc<Metrics>);

impl<S> Layer<S> for Counting {
    type Service = Counted<S>;

    fn layer(&self, inner: S) -> Counted<S> {
        let metrics = self.0.clone();
        Counted { inner, metrics }
    }
}

struct Counted<S> {
    inner: S,
    metrics: Arc<Metrics>,
}

impl<S, B> Service<Request<Body>> for Counted<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<S::Response, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let method = request.method().clone();
        let metrics = self.metrics.clone();
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await;
            let code = answer.as_ref().ok().map(|answer| answer.status().as_u16());
            metrics.request(method.as_str(), code);
            answer
        })
    }
}
