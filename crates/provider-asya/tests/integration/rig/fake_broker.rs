//! A fake of RabbitMQ's management API, for brokers that no real one can be: each object that was declared is found,
//! with messages counted as 0. It has no policies that apply and no messages.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use bytes::Bytes;
use http::Response;
use http::request::Parts;
use http_body_util::Full;
use serde_json::{Value, json};

use super::fake::Answer;

/// Objects at the broker.
#[derive(Default)]
pub struct FakeBroker {
    /// By path.
    declared: Mutex<BTreeMap<String, Value>>,
    /// Text that each object has in a field of its own.
    pad: String,
}

impl FakeBroker {
    /// A broker whose objects are each so much longer.
    pub fn padded(length: usize) -> Self {
        Self {
            pad: "x".repeat(length),
            ..Self::default()
        }
    }

    /// Returns whether a queue of this name was declared and not deleted.
    pub fn has(&self, name: &str) -> bool {
        let declared = self.lock();
        let mut queues = declared
            .keys()
            .filter(|path| path.starts_with("/api/queues/"));
        queues.any(|path| path.rsplit('/').next() == Some(name))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Value>> {
        self.declared.lock().expect("no holder panics")
    }

    /// Its answer to a request.
    pub fn answer(&self, request: &Parts, body: &[u8]) -> Answer {
        let path = request.uri.path();
        match (request.method.as_str(), path) {
            ("GET", "/api/overview") => {
                self.found(json!({"rabbitmq_version": "3.13.0", "disable_stats": false}))
            }
            ("GET", path) if path.ends_with("/bindings") => answer(200, "[]"),
            ("GET", path) if path.starts_with("/api/bindings/") => {
                let bindings = self.lock().get(path).cloned();
                answer(200, bindings.unwrap_or_else(|| json!([])).to_string())
            }
            ("GET", path) if path.split('/').count() == 4 => answer(200, "[]"),
            ("GET", path) => match self.lock().get(path) {
                Some(object) => self.found(object.clone()),
                None => answer(404, r#"{"error":"Object Not Found"}"#),
            },
            ("PUT", path) => {
                let mut object: Value = serde_json::from_slice(body).expect("JSON");
                object["name"] = json!(path.rsplit('/').next());
                if path.starts_with("/api/queues/") {
                    for counter in [
                        "messages",
                        "messages_ready",
                        "messages_unacknowledged",
                        "consumers",
                    ] {
                        object[counter] = json!(0);
                    }
                    object["type"] = object["arguments"]["x-queue-type"].clone();
                }
                let old = self.lock().insert(path.to_owned(), object);
                answer(if old.is_some() { 204 } else { 201 }, "")
            }
            ("POST", path) => {
                let mut binding: Value = serde_json::from_slice(body).expect("JSON");
                binding["source"] = json!("exchange");
                let mut declared = self.lock();
                let bindings = declared.entry(path.to_owned()).or_insert_with(|| json!([]));
                bindings.as_array_mut().expect("a list").push(binding);
                answer(201, "")
            }
            ("DELETE", path) => {
                self.lock().remove(path);
                answer(204, "")
            }
            _ => answer(204, ""),
        }
    }

    fn found(&self, mut object: Value) -> Answer {
        if !self.pad.is_empty() {
            object["pad"] = json!(self.pad);
        }
        answer(200, object.to_string())
    }
}

/// An answer with this status and body.
pub fn answer(status: u16, body: impl Into<Bytes>) -> Answer {
    let answer = Response::builder().status(status);
    answer.body(Full::new(body.into())).expect("a response")
}
