//! Faults of the way to the API server, as the provider meets them. Whoever else asks it does not.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::{StreamExt as _, TryStreamExt};
use http::{Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, BodyStream, Full, StreamBody};
use hyper::body::Body as HttpBody;
use kube::client::Body;
use serde_json::json;
use tokio::sync::watch;
use tower::{BoxError, Layer, Service};

/// Handling of the provider's requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApiFault {
    /// They are answered.
    None,
    /// Connections are refused, and open watches end.
    Unreachable,
    /// They are answered, and every watch ends at once.
    WatchesEnd,
    /// Writes are done, and their answers are lost.
    AnswersLost,
    /// Writes are not done: the answer has this status, reason and message.
    Refused(u16, &'static str, &'static str),
    /// Nothing is done: the answer has this status, reason and message.
    AllRefused(u16, &'static str, &'static str),
}

impl ApiFault {
    fn ends_watches(self) -> bool {
        matches!(self, Self::Unreachable | Self::WatchesEnd)
    }

    /// The answer to a request that replaces the API server's own.
    fn answer(self, is_write: bool) -> Option<Result<Response<AnyBody>, BoxError>> {
        match self {
            Self::None | Self::WatchesEnd | Self::AnswersLost => None,
            Self::Unreachable => Some(Err("connection refused".into())),
            Self::Refused(..) if !is_write => None,
            Self::Refused(code, reason, message) | Self::AllRefused(code, reason, message) => {
                let status = json!({"apiVersion": "v1", "kind": "Status", "status": "Failure",
                    "code": code, "reason": reason, "message": message});
                let body = Full::new(Bytes::from(status.to_string()));
                let mut response = Response::new(any(body));
                *response.status_mut() = StatusCode::from_u16(code).expect("a status");
                Some(Ok(response))
            }
        }
    }
}

/// The fault that is there now. All clones are of one way.
#[derive(Debug, Clone)]
pub struct ApiFaults {
    now: watch::Sender<ApiFault>,
    met: Arc<AtomicU64>,
}

impl Default for ApiFaults {
    fn default() -> Self {
        Self {
            now: watch::Sender::new(ApiFault::None),
            met: Arc::default(),
        }
    }
}

impl ApiFaults {
    /// From now on it is this one.
    pub fn set(&self, fault: ApiFault) {
        self.met.store(0, Ordering::Relaxed);
        self.now.send_replace(fault);
    }

    /// Returns the number of requests that have met the present one.
    pub fn met(&self) -> u64 {
        self.met.load(Ordering::Relaxed)
    }

    fn meet(&self) {
        self.met.fetch_add(1, Ordering::Relaxed);
    }
}

impl<S> Layer<S> for ApiFaults {
    type Service = Faulty<S>;

    fn layer(&self, inner: S) -> Faulty<S> {
        let faults = self.clone();
        Faulty { inner, faults }
    }
}

/// The body of any answer.
pub type AnyBody = UnsyncBoxBody<Bytes, BoxError>;

/// A client whose requests meet the fault that is there.
pub struct Faulty<S> {
    inner: S,
    faults: ApiFaults,
}

impl<S, B> Service<Request<Body>> for Faulty<S>
where
    S: Service<Request<Body>, Response = Response<B>, Error = BoxError>,
    S::Future: Send + 'static,
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<AnyBody>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let is_write = request.method() != Method::GET;
        let query = request.uri().query().unwrap_or_default();
        let is_watch = query.split('&').any(|pair| pair.starts_with("watch="));
        let fault = *self.faults.now.borrow();
        if let Some(answer) = fault.answer(is_write) {
            self.faults.meet();
            return Box::pin(async { answer });
        }
        let (answer, faults) = (self.inner.call(request), self.faults.clone());
        Box::pin(async move {
            let answer = answer.await?;
            if fault == ApiFault::AnswersLost && is_write {
                faults.meet();
                return Err("connection closed before message completed".into());
            }
            Ok(answer.map(|body| {
                if is_watch {
                    until_it_ends(body, faults)
                } else {
                    any(body)
                }
            }))
        })
    }
}

/// The body of a watch, which ends where a fault ends watches.
fn until_it_ends<B>(body: B, faults: ApiFaults) -> AnyBody
where
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let mut now = faults.now.subscribe();
    let end = async move {
        // It never fails: the sender is one of the faults' own.
        drop(now.wait_for(|fault| fault.ends_watches()).await);
        faults.meet();
    };
    let frames = TryStreamExt::map_err(BodyStream::new(body), Into::into);
    any(StreamBody::new(frames.take_until(Box::pin(end))))
}

fn any<B>(body: B) -> AnyBody
where
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    body.map_err(Into::into).boxed_unsync()
}
