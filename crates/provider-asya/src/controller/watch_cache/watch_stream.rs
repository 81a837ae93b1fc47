//! Watches that report when the API server has accepted them.
//!
//! kube's watcher emits nothing when its request to watch is accepted, and an event may come hours later.
//! Its list proves nothing: a role can grant `list` without `watch`. So this stream observes the answers
//! to the watcher's requests, and holds the end of a list back until the watch after it is answered.

use std::collections::VecDeque;
use std::fmt::Debug;

use futures::StreamExt as _;
use futures::stream::BoxStream;
use http::Request;
use kube::client::Body;
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt as _, watcher as watch};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use tokio::sync::watch::{Receiver, Sender};

use crate::cluster;
use crate::timings::Timings;

/// Longest time that kube's watcher leaves a watch open, in seconds.
const RENEWAL_MAX: u32 = 294;

/// Configuration of a watch that is opened again each [`Timings::watch_renewal`].
pub(in crate::controller) fn config(timings: &Timings) -> watcher::Config {
    let renewal = u32::try_from(timings.watch_renewal.as_secs()).unwrap_or(u32::MAX);
    cluster::watch().timeout(renewal.clamp(1, RENEWAL_MAX))
}

/// One update of a watch.
#[derive(Debug)]
pub(in crate::controller) enum WatchUpdate<K> {
    /// An event of the watcher.
    Event(Event<K>),
    /// The API server has accepted a watch: what was listed stays up to date.
    Accepted,
    /// A request failed. If the API server refused it ([`refusal`]), the stream ends.
    Failed(watcher::Error),
}

/// A list and the watches after it.
pub(in crate::controller) struct WatchStream<K> {
    events: BoxStream<'static, watcher::Result<Event<K>>>,
    accepted: Receiver<()>,
    pending: VecDeque<WatchUpdate<K>>,
    is_refused: bool,
}

impl<K> WatchStream<K>
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    /// Lists and watches the objects of an API.
    pub(in crate::controller) fn new(
        client: &Client,
        api: impl FnOnce(Client) -> Api<K>,
        config: watcher::Config,
    ) -> Self {
        let sender = Sender::new(());
        let accepted = sender.subscribe();
        let events = watch(api(observed(client, sender)), config);
        Self {
            events: events.default_backoff().boxed(),
            accepted,
            pending: VecDeque::new(),
            is_refused: false,
        }
    }

    /// The next update; none after a refusal. `InitDone` comes once the watch after the list was
    /// accepted, or after the failure of its request.
    pub(in crate::controller) async fn next(&mut self) -> Option<WatchUpdate<K>> {
        if let Some(update) = self.pending.pop_front() {
            return Some(update);
        }
        let update = self.receive().await?;
        if !matches!(update, WatchUpdate::Event(Event::InitDone)) {
            return Some(update);
        }
        // The watcher has not requested the watch yet: it does so when it is polled next.
        self.accepted.mark_unchanged();
        match self.receive().await {
            Some(failed @ WatchUpdate::Failed(_)) => {
                self.pending.push_back(update);
                Some(failed)
            }
            next => {
                self.pending.extend(next);
                Some(update)
            }
        }
    }

    async fn receive(&mut self) -> Option<WatchUpdate<K>> {
        if self.is_refused {
            return None;
        }
        tokio::select! {
            biased;
            Ok(()) = self.accepted.changed() => Some(WatchUpdate::Accepted),
            event = self.events.next() => Some(match event? {
                Ok(event) => WatchUpdate::Event(event),
                Err(error) => {
                    self.is_refused = matches!(refusal(&error), Some(401 | 403 | 404));
                    WatchUpdate::Failed(error)
                }
            }),
        }
    }
}

/// A client that reports accepted requests to watch.
fn observed(client: &Client, accepted: Sender<()>) -> Client {
    let namespace = client.default_namespace().to_owned();
    let (client, accepted) = (client.clone(), std::sync::Arc::new(accepted));
    let service = tower::service_fn(move |request: Request<Body>| {
        let (client, accepted) = (client.clone(), accepted.clone());
        async move {
            let query = request.uri().query().unwrap_or_default();
            let is_watch = query.split('&').any(|pair| pair == "watch=true");
            let response = client.send(request).await?;
            if is_watch && response.status().is_success() {
                accepted.send_replace(());
            }
            Ok::<_, kube::Error>(response)
        }
    });
    Client::new(service, namespace)
}

/// Status code of a refused list or watch. For a group that the API server does not know it answers in
/// plain text, which has no reason.
pub(in crate::controller) fn refusal(error: &watcher::Error) -> Option<u16> {
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status)) => Some(status.code),
        _ => None,
    }
}

/// Message of the API server; the rest of the chain repeats it.
pub(in crate::controller) fn cause(error: &watcher::Error) -> String {
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status)) => status.message.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use http::{Response, StatusCode};
    use http_body_util::{BodyExt as _, Full, StreamBody};
    use hyper::body::Frame;
    use k8s_openapi::api::core::v1::ConfigMap;
    use serde_json::json;
    use std::convert::Infallible;

    /// An API server that answers lists and watches with these status codes. A watch stays silent.
    fn server(list: u16, watch: u16) -> Client {
        let service = tower::service_fn(move |request: Request<Body>| async move {
            let query = request.uri().query().unwrap_or_default();
            let is_watch = query.contains("watch=true");
            let code = StatusCode::from_u16(if is_watch { watch } else { list }).unwrap();
            let body = match (code.is_success(), is_watch) {
                (true, true) => {
                    let silent = futures::stream::pending::<Result<Frame<Bytes>, Infallible>>();
                    StreamBody::new(silent).boxed_unsync()
                }
                (true, false) => {
                    let list = json!({"apiVersion": "v1", "kind": "ConfigMapList",
                        "metadata": {"resourceVersion": "7"},
                        "items": [{"metadata": {"name": "one", "resourceVersion": "6"}}]});
                    Full::new(Bytes::from(list.to_string())).boxed_unsync()
                }
                (false, _) => {
                    let status = json!({"apiVersion": "v1", "kind": "Status", "status": "Failure",
                        "code": code.as_u16(), "reason": "", "message": "refused"});
                    Full::new(Bytes::from(status.to_string())).boxed_unsync()
                }
            };
            let response = Response::builder().status(code).body(body);
            Ok::<_, Infallible>(response.unwrap())
        });
        Client::new(service, "default")
    }

    fn shown(update: Option<&WatchUpdate<ConfigMap>>) -> &'static str {
        match update {
            None => "end",
            Some(WatchUpdate::Accepted) => "accepted",
            Some(WatchUpdate::Failed(_)) => "failed",
            Some(WatchUpdate::Event(Event::Init)) => "init",
            Some(WatchUpdate::Event(Event::InitApply(_))) => "object",
            Some(WatchUpdate::Event(Event::InitDone)) => "listed",
            Some(WatchUpdate::Event(_)) => "event",
        }
    }

    #[tokio::test]
    async fn a_list_is_complete_once_the_watch_after_it_is_answered() {
        let cases: [(&str, u16, u16, &[&str]); 4] = [
            (
                "both are granted",
                200,
                200,
                &["init", "object", "listed", "accepted"],
            ),
            (
                "only list is granted: the refusal comes before the end of the list",
                200,
                403,
                &["init", "object", "failed", "listed", "end"],
            ),
            ("neither is granted", 403, 403, &["init", "failed", "end"]),
            (
                "the kind is not served",
                404,
                404,
                &["init", "failed", "end"],
            ),
        ];
        for (reason, list, watch, expected) in cases {
            let client = server(list, watch);
            let mut updates = WatchStream::new(&client, Api::all, watcher::Config::default());
            let mut seen = Vec::new();
            while seen.len() < expected.len() {
                seen.push(shown(updates.next().await.as_ref()));
            }
            assert_eq!(seen, expected, "{reason}");
        }
    }
}
