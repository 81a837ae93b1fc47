//! Reports to the gateway: best effort, in the background. A gateway that is down delays nothing and
//! loses only its own reports.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode, Uri, header};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::envelope::{Envelope, timestamp};
use crate::failure::Failure;
use crate::http_client::HttpClient;

/// Header with the URL of the gateway that a message came from.
pub const URL: &str = "x-asya-gateway-url";

/// Header that turns reports off by the value `off`.
pub const STATUS: &str = "x-asya-mesh-status";

/// Reports that wait, and their bytes. More are dropped.
const WAITING: usize = 1000;
const WAITING_BYTES: usize = 4 * 1024 * 1024;

/// Timeout of a report to a gateway.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Step of an actor's work on a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// It was received.
    Received,
    /// The handler was called.
    Processing,
    /// The handler has answered.
    Completed,
}

impl Step {
    fn as_str(self) -> &'static str {
        match self {
            Self::Received => "received",
            Self::Processing => "processing",
            Self::Completed => "completed",
        }
    }

    /// The part of an actor's work that is done.
    fn share(self) -> f64 {
        match self {
            Self::Received => 0.1,
            Self::Processing => 0.5,
            Self::Completed => 1.0,
        }
    }
}

/// Sender of progress reports. Without a URL, only messages that name a gateway are reported.
#[derive(Debug, Clone)]
pub struct Gateway {
    url: Option<String>,
    actor: String,
    reports: mpsc::Sender<Report>,
    waiting_bytes: Arc<AtomicUsize>,
    observer: Option<Observer>,
}

/// Gets what handlers stream, in place of a gateway: the message's id, and the data as JSON.
#[derive(Clone)]
pub struct Observer(Arc<Observe>);

type Observe = dyn Fn(&str, &Bytes) + Send + Sync;

impl Observer {
    /// Calls the function on the thread of the worker, which waits for it.
    pub fn new(function: impl Fn(&str, &Bytes) + Send + Sync + 'static) -> Self {
        Self(Arc::new(function))
    }
}

impl std::fmt::Debug for Observer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Observer")
    }
}

/// One report, in both forms that gateways know.
#[derive(Debug)]
struct Report {
    url: String,
    id: String,
    /// `progress`, `fly` or `final`: the last part of the older form's path.
    kind: &'static str,
    /// Status of a status event of the newer form; none for what a handler streams.
    status: Option<String>,
    /// Data: the body of the older form, and a part of that of the newer one.
    data: Bytes,
    /// Bytes of waiting reports, of which this is one.
    waiting_bytes: Arc<AtomicUsize>,
}

impl Report {
    /// Body of the newer form.
    fn event(&self) -> Bytes {
        let data = String::from_utf8_lossy(&self.data);
        match &self.status {
            None => format!("{{\"type\":\"fly\",\"data\":{data}}}"),
            Some(status) => {
                let status = json!(status);
                format!("{{\"type\":\"status\",\"status\":{status},\"data\":{data}}}")
            }
        }
        .into()
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        self.waiting_bytes
            .fetch_sub(self.data.len(), Ordering::Relaxed);
    }
}

impl Gateway {
    /// Starts the task that sends reports. It ends with the last clone of the value.
    pub fn start(url: Option<String>, actor: &str) -> Self {
        let (reports, waiting) = mpsc::channel(WAITING);
        tokio::spawn(send_all(waiting));
        Self {
            url,
            actor: actor.to_owned(),
            reports,
            waiting_bytes: Arc::default(),
            observer: None,
        }
    }

    /// No gateway: what handlers stream goes to an observer in this process, and nothing is reported.
    pub fn local(actor: &str, observer: Observer) -> Self {
        let (reports, _) = mpsc::channel(1);
        Self {
            url: None,
            actor: actor.to_owned(),
            reports,
            waiting_bytes: Arc::default(),
            observer: Some(observer),
        }
    }

    /// Reports how far the actor is.
    pub fn progress(&self, envelope: &Envelope, step: Step) {
        let Some(url) = self.url_for(envelope) else {
            return;
        };
        let route = &envelope.route;
        #[expect(clippy::cast_precision_loss, reason = "routes are short")]
        let (done, all) = (
            route.prev.len() as f64,
            (route.prev.len() + 1 + route.next.len()) as f64,
        );
        let percent = (done + step.share()) / all * 100.0;
        let data = json!({
            "status": step.as_str(), "prev": route.prev, "curr": route.curr, "next": route.next,
            "current_actor_idx": route.prev.len(), "actor": self.actor,
            "progress_percent": percent, "timestamp": timestamp(jiff::Timestamp::now()),
        });
        self.report(url, envelope, "progress", step.as_str(), &data);
    }

    /// Sends on what the handler streams.
    pub fn fly(&self, envelope: &Envelope, data: &Bytes) {
        if let Some(Observer(observe)) = &self.observer {
            observe(envelope.id(), data);
        }
        let Some(url) = self.url_for(envelope) else {
            return;
        };
        if serde_json::from_slice::<&RawValue>(data).is_ok() {
            self.enqueue(url, envelope, "fly", None, data.clone());
        }
    }

    /// Reports the end of a message at the sink or the sump.
    pub fn finished(&self, envelope: &Envelope, is_sump: bool) {
        let Some(url) = self.url_for(envelope) else {
            return;
        };
        let phase = envelope.status.get("phase").and_then(Value::as_str);
        let status = if is_sump || phase == Some("failed") {
            "failed"
        } else {
            "succeeded"
        };
        let mut data = json!({
            "id": envelope.id(), "status": status,
            "timestamp": timestamp(jiff::Timestamp::now()),
        });
        if status == "failed" {
            let error = envelope.status.get("error").cloned().unwrap_or_default();
            data["error"] = error.get("message").cloned().unwrap_or_default();
            data["error_details"] = error;
        } else {
            data["progress"] = json!(1.0);
            data["result"] = serde_json::from_str(envelope.payload().get()).unwrap_or_default();
        }
        self.report(url, envelope, "final", status, &data);
    }

    /// Reports a failure that goes to the sump, where nobody may report it.
    pub fn failed(&self, envelope: &Envelope, failure: &Failure) {
        let Some(url) = self.url_for(envelope) else {
            return;
        };
        let data = json!({
            "status": "failed", "error": failure.message, "error_details": failure.details(),
            "actor": self.actor, "timestamp": timestamp(jiff::Timestamp::now()),
        });
        self.report(url, envelope, "progress", "failed", &data);
    }

    fn report(
        &self,
        url: String,
        envelope: &Envelope,
        kind: &'static str,
        status: &str,
        data: &Value,
    ) {
        let data = data.to_string().into();
        self.enqueue(url, envelope, kind, Some(status.to_owned()), data);
    }

    fn enqueue(
        &self,
        url: String,
        envelope: &Envelope,
        kind: &'static str,
        status: Option<String>,
        data: Bytes,
    ) {
        let bytes = data.len();
        let waiting = self.waiting_bytes.fetch_add(bytes, Ordering::Relaxed);
        // Counted off again when it is sent, or dropped.
        let report = Report {
            url,
            id: envelope.id().to_owned(),
            kind,
            status,
            data,
            waiting_bytes: Arc::clone(&self.waiting_bytes),
        };
        let has_room = waiting == 0 || waiting + bytes <= WAITING_BYTES;
        if !has_room || self.reports.try_send(report).is_err() {
            tracing::debug!("report to the gateway dropped: too many wait");
        }
    }

    /// The gateway of a message.
    fn url_for(&self, envelope: &Envelope) -> Option<String> {
        let is_off = self.observer.is_some() || envelope.header(STATUS).as_deref() == Some("off");
        if is_off || envelope.id().is_empty() {
            return None;
        }
        let given = envelope.header(URL).filter(|url| is_http(url));
        let url = given.or_else(|| self.url.clone())?;
        Some(url.trim_end_matches('/').to_owned())
    }
}

/// Returns whether a URL that came in a message may be asked.
fn is_http(url: &str) -> bool {
    url.parse::<Uri>().is_ok_and(|url| {
        url.host().is_some_and(|host| !host.is_empty())
            && matches!(url.scheme_str(), Some("http" | "https"))
    })
}

async fn send_all(mut waiting: mpsc::Receiver<Report>) {
    let client = HttpClient::new(TIMEOUT);
    let knows_events = AtomicBool::new(true);
    while let Some(report) = waiting.recv().await {
        // One after the other: reports of a message arrive in their order.
        if let Err(error) = send(&client, &report, &knows_events).await {
            tracing::debug!(id = report.id, error, "report to the gateway lost");
        }
    }
}

/// Sends a report in the newer form; in the older one to a gateway that does not know that.
async fn send(
    client: &HttpClient,
    report: &Report,
    knows_events: &AtomicBool,
) -> Result<(), String> {
    let id = utf8_percent_encode(&report.id, NON_ALPHANUMERIC);
    let url = &report.url;
    if knows_events.load(Ordering::Relaxed) {
        let url = format!("{url}/api/v1/mesh/{id}/events");
        let status = post(client, url, report.event()).await?;
        if status != StatusCode::NOT_FOUND {
            return Ok(());
        }
    }
    let kind = report.kind;
    let status = post(
        client,
        format!("{url}/mesh/{id}/{kind}"),
        report.data.clone(),
    )
    .await?;
    // Learned from an answer to the older form only: a missing message is 404 in the newer one too.
    if status.is_success() {
        knows_events.store(false, Ordering::Relaxed);
    }
    Ok(())
}

async fn post(client: &HttpClient, url: String, body: Bytes) -> Result<StatusCode, String> {
    let request = Request::post(url)
        .header(header::CONTENT_TYPE, "application/json")
        .body(body)
        .map_err(|error| error.to_string())?;
    client.send(request).await.map(|response| response.status())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn reports_that_wait_are_limited_in_bytes() {
        let (reports, mut waiting) = mpsc::channel(WAITING);
        let gateway = Gateway {
            url: Some("http://gateway".to_owned()),
            actor: "a".to_owned(),
            reports,
            waiting_bytes: Arc::default(),
            observer: None,
        };
        let envelope = br#"{"id":"m","route":{"prev":[],"curr":"a","next":[]},"payload":1}"#;
        let envelope = Envelope::parse(envelope).expect("an envelope");
        let data: Bytes = format!("{:?}", "x".repeat(1024 * 1024)).into();
        for _ in 0..20 {
            gateway.fly(&envelope, &data);
        }
        assert_eq!(waiting.len(), 3);
        let report = waiting.recv().await.expect("a report");
        assert_eq!(
            report.event().len(),
            data.len() + r#"{"type":"fly","data":}"#.len()
        );
        drop(report);
        gateway.fly(&envelope, &data);
        assert_eq!(waiting.len(), 3);
    }
}
