//! A fake of SQS, for nothing but what moto cannot do: names that were deleted just now, throttling,
//! queues, tags and settings that take a while to be seen, and whose credentials came with a call. It
//! holds no messages and checks no value; whatever can be tested on moto is tested there.
//!
//! It speaks the JSON protocol as SQS does: the code of an error is in the body, and its older
//! spelling in the header `x-amzn-query-error`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::request::Parts;
use http::{Response, StatusCode};
use http_body_util::Full;
use serde_json::{Map, Value, json};

use super::fake::{Answer, Server};

/// An account that nobody has.
const ACCOUNT: &str = "000000000000";

/// An error as the service spells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// The code in the body.
    pub code: &'static str,
    /// The code in the header, where there is one.
    pub older_code: Option<&'static str>,
}

/// Writes that are not visible yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lag {
    /// Attributes are seen as they were before.
    Settings,
    /// Queues that are made have no tags yet.
    Tags,
    /// The tags of queues that are made cannot be asked for yet.
    TagCalls,
    /// Queues that are made are not there yet.
    Existence,
}

/// A running service. It ends when this value is dropped.
pub struct FakeSqs {
    /// URL of the service.
    pub endpoint: String,
    state: Arc<Mutex<State>>,
    _server: Server,
}

#[derive(Default)]
struct State {
    queues: BTreeMap<String, Queue>,
    /// Names of refused calls; the empty name means all.
    refusals: BTreeMap<&'static str, Refusal>,
    /// Writes that are not visible yet.
    lag: Option<Lag>,
    /// The session tokens that calls came with, oldest first.
    tokens: Vec<Option<String>>,
    /// Times of calls, by their name.
    calls: BTreeMap<String, Vec<Instant>>,
}

#[derive(Default)]
struct Queue {
    tags: Map<String, Value>,
    attributes: Map<String, Value>,
    /// The attributes as they are seen.
    seen: Map<String, Value>,
    /// Its writes that are not visible yet.
    lag: Option<Lag>,
}

impl Queue {
    /// Returns whether a call of this name finds the queue.
    fn is_seen_by(&self, call: &str) -> bool {
        match self.lag {
            Some(Lag::Existence) => false,
            Some(Lag::TagCalls) => call != "ListQueueTags",
            Some(Lag::Settings | Lag::Tags) | None => true,
        }
    }
}

impl FakeSqs {
    /// Starts a service without any queue.
    pub async fn start() -> Self {
        let state = Arc::<Mutex<State>>::default();
        let of_server = state.clone();
        let server = Server::start(move |endpoint, parts, body| {
            let mut state = of_server.lock().expect("no holder panics");
            state.respond(endpoint, parts, body)
        });
        let server = server.await;
        Self {
            endpoint: server.endpoint.clone(),
            state,
            _server: server,
        }
    }

    /// Refuses calls of this name, such as `CreateQueue`, from now on; of every name, if it is empty.
    pub fn refuse(&self, call: &'static str, refusal: Refusal) {
        self.lock().refusals.insert(call, refusal);
    }

    /// Refuses nothing from now on.
    pub fn accept(&self) {
        self.lock().refusals.clear();
    }

    /// Does not show this of what is written from now on, until [`Self::catch_up`].
    pub fn lag(&self, what: Lag) {
        self.lock().lag = Some(what);
    }

    /// Shows what was written.
    pub fn catch_up(&self) {
        let mut state = self.lock();
        state.lag = None;
        for queue in state.queues.values_mut() {
            queue.lag = None;
            queue.seen = queue.attributes.clone();
        }
    }

    /// Removes a queue, as another owner's `DeleteQueue` does.
    pub fn remove(&self, queue: &str) {
        self.lock().queues.remove(queue);
    }

    /// The session tokens that calls came with, each once, in the order of their first use.
    pub fn tokens(&self) -> Vec<Option<String>> {
        let mut tokens = self.lock().tokens.clone();
        tokens.dedup();
        tokens
    }

    /// Returns the number of calls of this name, refused ones included.
    pub fn calls(&self, call: &str) -> usize {
        self.lock().calls.get(call).map_or(0, Vec::len)
    }

    /// The time between the first two calls of this name.
    pub fn first_wait(&self, call: &str) -> Option<Duration> {
        match self.lock().calls.get(call)?.as_slice() {
            [first, second, ..] => Some(second.duration_since(*first)),
            _ => None,
        }
    }

    /// An attribute of a queue, as it was written.
    pub fn attribute(&self, queue: &str, name: &str) -> Option<Value> {
        self.lock().queues.get(queue)?.attributes.get(name).cloned()
    }

    /// The names of all queues.
    pub fn names(&self) -> Vec<String> {
        self.lock().queues.keys().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder panics")
    }
}

impl State {
    fn respond(&mut self, endpoint: &str, request: &Parts, body: &[u8]) -> Answer {
        let header = |name: &str| request.headers.get(name)?.to_str().ok();
        let call = header("x-amz-target").and_then(|target| target.strip_prefix("AmazonSQS."));
        self.tokens
            .push(header("x-amz-security-token").map(str::to_owned));
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        // STS is asked here too, and is not there.
        let result = self.answer(endpoint, call.unwrap_or_default(), &body);
        let (status, older_code, body) = match result {
            Ok(body) => (StatusCode::OK, None, body),
            Err(Refusal { code, older_code }) => {
                let body = json!({"__type": format!("com.amazonaws.sqs#{code}"), "message": "as configured"});
                (StatusCode::BAD_REQUEST, older_code, body)
            }
        };
        let mut response = Response::builder()
            .status(status)
            .header("content-type", "application/x-amz-json-1.0");
        if let Some(code) = older_code {
            response = response.header("x-amzn-query-error", format!("{code};Sender"));
        }
        let body = Full::new(Bytes::from(body.to_string()));
        response.body(body).expect("a response")
    }

    fn answer(&mut self, endpoint: &str, call: &str, body: &Value) -> Result<Value, Refusal> {
        let calls = self.calls.entry(call.to_owned()).or_default();
        calls.push(Instant::now());
        if let Some(refusal) = self.refusals.get(call).or_else(|| self.refusals.get("")) {
            return Err(*refusal);
        }
        let map = |key: &str| body[key].as_object().cloned().unwrap_or_default();
        if call == "CreateQueue" {
            let name = body["QueueName"].as_str().unwrap_or_default().to_owned();
            let mut attributes = map("Attributes");
            let arn = format!("arn:aws:sqs:us-east-1:{ACCOUNT}:{name}");
            attributes.insert("QueueArn".to_owned(), json!(arn));
            for counter in ["", "NotVisible", "Delayed"] {
                let counter = format!("ApproximateNumberOfMessages{counter}");
                attributes.insert(counter, json!("0"));
            }
            let queue = Queue {
                tags: map("tags"),
                seen: attributes.clone(),
                attributes,
                lag: self.lag,
            };
            let url = url(endpoint, &name);
            self.queues.entry(name).or_insert(queue);
            return Ok(json!({"QueueUrl": url}));
        }
        let name = body["QueueName"].as_str().or_else(|| {
            let (_, name) = body["QueueUrl"].as_str()?.rsplit_once('/')?;
            Some(name)
        });
        let name = name.unwrap_or_default();
        let (url, lag) = (url(endpoint, name), self.lag);
        let absent = Refusal {
            code: "QueueDoesNotExist",
            older_code: Some("AWS.SimpleQueueService.NonExistentQueue"),
        };
        let queue = self.queues.get_mut(name);
        let queue = queue.filter(|queue| queue.is_seen_by(call)).ok_or(absent)?;
        Ok(match call {
            "GetQueueUrl" => json!({"QueueUrl": url}),
            "GetQueueAttributes" => json!({"Attributes": queue.seen}),
            "ListQueueTags" if queue.lag == Some(Lag::Tags) => json!({}),
            "ListQueueTags" => json!({"Tags": queue.tags}),
            "TagQueue" => {
                queue.tags.extend(map("Tags"));
                json!({})
            }
            "SetQueueAttributes" => {
                queue.attributes.extend(map("Attributes"));
                if lag != Some(Lag::Settings) {
                    queue.seen = queue.attributes.clone();
                }
                json!({})
            }
            "DeleteQueue" => {
                self.queues.remove(name);
                json!({})
            }
            _ => {
                return Err(Refusal {
                    code: "UnsupportedOperation",
                    older_code: None,
                });
            }
        })
    }
}

fn url(endpoint: &str, name: &str) -> String {
    format!("{endpoint}/{ACCOUNT}/{name}")
}
