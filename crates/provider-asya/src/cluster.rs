//! The client of the Kubernetes API, with every request counted.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use http::{Request, Response};
use kube::client::{Body, ClientBuilder};
use kube::runtime::watcher;
use kube::{Client, Config};
use tower::{BoxError, Layer, Service};

use crate::metrics::Metrics;

/// Page size of lists. A list of a large cluster in one answer would be in memory as text and as
/// objects, of which most is not kept.
pub const PAGE: u32 = 100;

/// Response timeout: longest time until an answer starts. A connection that lost its peer without a reset
/// gives its reconcile back after that.
const RESPONSE_MAX: Duration = Duration::from_secs(30);

/// Read timeout of a connection. The API server sends a bookmark on every watch about once a minute, so
/// one that is silent for longer has lost its peer, and starts again.
const IDLE_MAX: Duration = Duration::from_secs(150);

/// Configuration of a watch that starts with a list in pages.
pub fn watch() -> watcher::Config {
    watcher::Config::default().page_size(PAGE)
}

/// A client for the cluster of the environment: the pod's, or a kubeconfig's.
///
/// # Errors
/// There is neither, or it is invalid.
pub async fn client(metrics: Arc<Metrics>) -> Result<Client, String> {
    let mut config = Config::infer().await.map_err(|error| error.to_string())?;
    config.read_timeout = Some(IDLE_MAX);
    config.reset_reader_on_write = true;
    let builder = ClientBuilder::try_from(config).map_err(|error| error.to_string())?;
    Ok(builder.with_layer(&Counting(metrics, RESPONSE_MAX)).build())
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

struct Counting(Arc<Metrics>, Duration);

impl<S> Layer<S> for Counting {
    type Service = Counted<S>;

    fn layer(&self, inner: S) -> Counted<S> {
        let metrics = self.0.clone();
        let response_max = self.1;
        Counted {
            inner,
            metrics,
            response_max,
        }
    }
}

struct Counted<S> {
    inner: S,
    metrics: Arc<Metrics>,
    response_max: Duration,
}

impl<S, B> Service<Request<Body>> for Counted<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Future: Send + 'static,
    S::Error: Into<BoxError> + Send,
    S::Response: Send,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<S::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let method = request.method().clone();
        let metrics = self.metrics.clone();
        let answer = self.inner.call(request);
        let limit = self.response_max;
        Box::pin(async move {
            let answer = tokio::time::timeout(limit, answer).await;
            let answer: Result<S::Response, BoxError> = match answer {
                Ok(answer) => answer.map_err(Into::into),
                Err(_) => Err(format!("no answer within {} s", limit.as_secs_f32()).into()),
            };
            let code = answer.as_ref().ok().map(|answer| answer.status().as_u16());
            metrics.request(method.as_str(), code);
            answer
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_request_without_an_answer_fails_after_the_response_timeout() {
        let silent = tower::service_fn(|_: Request<Body>| {
            std::future::pending::<Result<Response<Body>, std::io::Error>>()
        });
        let counting = Counting(Arc::new(Metrics::new()), Duration::from_millis(20));
        let request = Request::new(Body::empty());
        let error = counting.layer(silent).call(request).await.unwrap_err();
        assert_eq!(error.to_string(), "no answer within 0.02 s");
    }
}
