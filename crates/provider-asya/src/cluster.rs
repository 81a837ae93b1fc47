//! The client of the Kubernetes API, with every request counted.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use http::{Request, Response, Uri};
use hyper::body::{Frame, SizeHint};
use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::retry::RetryPolicy;
use kube::client::{Body, ClientBuilder, ConfigExt as _};
use kube::runtime::watcher;
use kube::{Client, Config};
use tokio::time::Sleep;
use tower::retry::RetryLayer;
use tower::{BoxError, Layer, Service, ServiceBuilder};

use crate::metrics::Metrics;

/// Page size of lists. A list of a large cluster in one answer would be in memory as text and as
/// objects, of which most is not kept.
pub const PAGE: u32 = 100;

/// Timeouts of connections to the API server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApiTimeouts {
    /// Longest time until an answer starts, and again until it has ended, unless it is that of a watch (default
    /// 30s). A connection that lost its peer without a reset gives its reconcile back after that.
    pub response: Duration,
    /// Read timeout of a connection (default 150s). The API server sends a bookmark on every watch about
    /// once a minute, so one that is silent for longer has lost its peer, and starts again.
    pub idle: Duration,
    /// Time without traffic after which the kernel probes a connection, and the interval of its
    /// probes, of which three may be unanswered (default 30s).
    pub keepalive: Duration,
}

impl Default for ApiTimeouts {
    fn default() -> Self {
        Self {
            response: Duration::from_secs(30),
            idle: Duration::from_secs(150),
            keepalive: Duration::from_secs(30),
        }
    }
}

/// Unanswered keepalive probes after which a connection is closed.
const KEEPALIVE_PROBES: u32 = 3;

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
    connect(config, ApiTimeouts::default(), metrics)
}

/// A client for a cluster, with requests counted by `metrics`.
///
/// # Errors
/// The configuration is invalid.
pub fn connect(
    mut config: Config,
    timeouts: ApiTimeouts,
    metrics: Arc<Metrics>,
) -> Result<Client, String> {
    config.read_timeout = Some(timeouts.idle);
    config.reset_reader_on_write = true;
    let counting = Counting(metrics, timeouts.response);
    if config.proxy_url.is_some() {
        let builder = ClientBuilder::try_from(config).map_err(text)?;
        return Ok(builder.with_layer(&counting).build());
    }
    // As kube's own builder does it, which has no keepalive. An error means that it was done before.
    drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_keepalive(Some(timeouts.keepalive));
    tcp.set_keepalive_interval(Some(timeouts.keepalive));
    tcp.set_keepalive_retries(Some(KEEPALIVE_PROBES));
    let tls = config
        .rustls_https_connector_with_connector(tcp)
        .map_err(text)?;
    let mut connector = TimeoutConnector::new(tls);
    connector.set_connect_timeout(config.connect_timeout);
    connector.set_read_timeout(config.read_timeout);
    connector.set_write_timeout(config.write_timeout);
    connector.set_reset_reader_on_write(config.reset_reader_on_write);
    let service = hyper_util::client::legacy::Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .build(connector);
    let retry = config.default_retry.then(RetryPolicy::server_retry);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(retry.map(RetryLayer::new))
        .option_layer(config.auth_layer().map_err(text)?)
        .layer(config.extra_headers_layer().map_err(text)?)
        .map_err(BoxError::from)
        .service(service);
    let builder = ClientBuilder::new(service, config.default_namespace);
    Ok(builder.with_layer(&counting).build())
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
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
    B: Send,
{
    type Response = Response<LimitedBody<B>>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let method = request.method().clone();
        let is_watch = is_watch(request.uri());
        let metrics = self.metrics.clone();
        let answer = self.inner.call(request);
        let limit = self.response_max;
        Box::pin(async move {
            let answer = tokio::time::timeout(limit, answer).await;
            let answer: Result<Response<B>, BoxError> = match answer {
                Ok(answer) => answer.map_err(Into::into),
                Err(_) => Err(format!("no answer within {} s", limit.as_secs_f32()).into()),
            };
            let code = answer.as_ref().ok().map(|answer| answer.status().as_u16());
            metrics.request(method.as_str(), code);
            let limit = (!is_watch).then_some(limit);
            answer.map(|answer| answer.map(|body| LimitedBody::new(body, limit)))
        })
    }
}

/// Returns whether a request is answered for as long as its connection lasts.
fn is_watch(uri: &Uri) -> bool {
    let mut parameters = uri.query().unwrap_or_default().split('&');
    parameters.any(|parameter| ["watch=true", "watch=1", "follow=true"].contains(&parameter))
}

/// A body that fails unless it has ended within a time. Otherwise one whose peer is lost would end with its
/// connection only.
#[derive(Debug)]
struct LimitedBody<B> {
    body: Pin<Box<B>>,
    /// The time, and its end; none where there is no limit.
    limit: Option<(Duration, Pin<Box<Sleep>>)>,
}

impl<B> LimitedBody<B> {
    fn new(body: B, limit: Option<Duration>) -> Self {
        Self {
            body: Box::pin(body),
            limit: limit.map(|limit| (limit, Box::pin(tokio::time::sleep(limit)))),
        }
    }
}

impl<B> hyper::body::Body for LimitedBody<B>
where
    B: hyper::body::Body,
    B::Error: Into<BoxError>,
{
    type Data = B::Data;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, BoxError>>> {
        let frame = self.body.as_mut().poll_frame(context);
        if frame.is_ready() {
            return frame.map(|frame| frame.map(|frame| frame.map_err(Into::into)));
        }
        if let Some((limit, end)) = &mut self.limit
            && end.as_mut().poll(context).is_ready()
        {
            let error = format!("the answer has not ended within {} s", limit.as_secs_f32());
            return Poll::Ready(Some(Err(error.into())));
        }
        Poll::Pending
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures::StreamExt as _;
    use http_body_util::{BodyExt as _, Full, StreamBody};

    use super::*;

    #[tokio::test]
    async fn only_a_watch_is_answered_for_longer_than_the_response_timeout() {
        let starts = tower::service_fn(|_: Request<Body>| async {
            let first = std::future::ready(Bytes::from_static(b"{"));
            let first = futures::stream::once(first).chain(futures::stream::pending());
            let body =
                StreamBody::new(first.map(|data| Ok::<_, std::io::Error>(Frame::data(data))));
            Ok::<_, std::io::Error>(Response::new(body))
        });
        let counting = Counting(Arc::new(Metrics::new()), Duration::from_millis(20));
        for (path, expected) in [
            (
                "/api/v1/pods",
                Some("the answer has not ended within 0.02 s"),
            ),
            (
                "/api/v1/pods?limit=100&watching=true",
                Some("the answer has not ended within 0.02 s"),
            ),
            ("/api/v1/pods?allowWatchBookmarks=true&watch=true", None),
        ] {
            let request = Request::get(path).body(Body::empty()).unwrap();
            let answer = counting.layer(starts).call(request).await.unwrap();
            let body = answer.into_body().collect();
            let body = tokio::time::timeout(Duration::from_millis(200), body).await;
            let error = body.ok().map(|body| body.unwrap_err().to_string());
            assert_eq!(error.as_deref(), expected, "{path}");
        }
    }

    #[tokio::test]
    async fn a_request_without_an_answer_fails_after_the_response_timeout() {
        let silent = tower::service_fn(|_: Request<Body>| {
            std::future::pending::<Result<Response<Full<Bytes>>, std::io::Error>>()
        });
        let counting = Counting(Arc::new(Metrics::new()), Duration::from_millis(20));
        let request = Request::new(Body::empty());
        let error = counting.layer(silent).call(request).await.unwrap_err();
        assert_eq!(error.to_string(), "no answer within 0.02 s");
    }
}
