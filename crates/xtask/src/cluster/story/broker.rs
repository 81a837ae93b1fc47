//! The broker's management API, at the name that pods use.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::TIMEOUT;
use crate::cannot;
use crate::cluster::poll::until;
use crate::cluster::workloads::call;

const API: &str = "http://rabbitmq.default.svc.cluster.local:15672/api";

/// Messages that one request takes.
const BATCH: usize = 500;

/// The broker, with a user who may do everything.
pub(super) struct Broker {
    /// The user's password as it is in a Secret's `data`.
    pub(super) encoded_password: String,
    /// File with curl's option for the login, which no command line shows.
    login: PathBuf,
}

impl Broker {
    /// Writes the login to the file.
    pub(super) fn new(encoded_password: String, login: PathBuf) -> Result<Self> {
        let bytes = STANDARD
            .decode(&encoded_password)
            .context("the broker's password is not base64")?;
        let password = String::from_utf8(bytes).context("the broker's password is not UTF-8")?;
        fs::write(&login, format!("user = \"asya:{password}\"\n"))
            .with_context(|| cannot("write", &login))?;
        Ok(Self {
            encoded_password,
            login,
        })
    }

    /// Publishes an envelope to the first actor of a route, as sidecars do.
    pub(super) fn publish(&self, id: &str, route: &[&str], payload: &Value) -> Result<()> {
        let [actor, next @ ..] = route else {
            bail!("message {id} has no route");
        };
        let envelope = json!({
            "id": id, "route": {"prev": [], "curr": actor, "next": next}, "headers": {},
            "payload": payload});
        let body = json!({
            "properties": {"delivery_mode": 2}, "routing_key": actor,
            "payload_encoding": "string", "payload": envelope.to_string()});
        let answer = self.ask("POST", "exchanges/%2F/asya/publish", &body)?;
        if answer != json!({"routed": true}) {
            bail!("the broker has no queue for {actor}: {answer}");
        }
        Ok(())
    }

    /// Creates an empty queue that actors can send to by its name.
    pub(super) fn create_queue(&self, name: &str) -> Result<()> {
        let settings = json!({"durable": true, "arguments": {"x-queue-type": "quorum"}});
        self.ask("PUT", &format!("queues/%2F/{name}"), &settings)?;
        let key = json!({"routing_key": name});
        self.ask("POST", &format!("bindings/%2F/e/asya/q/{name}"), &key)?;
        while !self.take(name)?.is_empty() {}
        Ok(())
    }

    /// Takes some of the messages of a queue out of it.
    pub(super) fn take(&self, name: &str) -> Result<Vec<Value>> {
        let options = json!({"count": BATCH, "ackmode": "ack_requeue_false", "encoding": "auto"});
        let answer = self.ask("POST", &format!("queues/%2F/{name}/get"), &options)?;
        let messages = answer
            .as_array()
            .context("the broker returns no messages")?;
        messages
            .iter()
            .map(|message| {
                let text = message["payload"].as_str().unwrap_or_default();
                serde_json::from_str(text).with_context(|| format!("a message in {name}"))
            })
            .collect()
    }

    /// Takes the next message of a queue, and waits for it.
    pub(super) fn wait_for_one(&self, name: &str) -> Result<Value> {
        let options = json!({"count": 1, "ackmode": "ack_requeue_false", "encoding": "auto"});
        until(&format!("a message is in {name}"), TIMEOUT, || {
            let answer = self.ask("POST", &format!("queues/%2F/{name}/get"), &options)?;
            let text = answer[0]["payload"].as_str();
            let Some(text) = text else {
                return Ok(Err("none".to_owned()));
            };
            Ok(Ok(serde_json::from_str(text).context("no JSON")?))
        })
    }

    /// Waits until a consumer has a message of a queue at work.
    pub(super) fn wait_for_unacknowledged(&self, name: &str) -> Result<()> {
        until(&format!("a message of {name} is at work"), TIMEOUT, || {
            let queue = self.ask("GET", &format!("queues/%2F/{name}"), &Value::Null)?;
            let count = &queue["messages_unacknowledged"];
            Ok(if count.as_u64().is_some_and(|count| count > 0) {
                Ok(())
            } else {
                Err(count.to_string())
            })
        })
    }

    /// The answer; null when it is empty.
    fn ask(&self, method: &str, path: &str, body: &Value) -> Result<Value> {
        let mut curl = Command::new("curl");
        curl.args(["--fail", "--silent", "--show-error"])
            .arg("--config")
            .arg(&self.login)
            .args(["--header", "content-type: application/json"])
            .args(["--request", method, "--data", &body.to_string()])
            .arg(format!("{API}/{path}"));
        let answer = call(curl)?;
        if answer.trim().is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_str(&answer).with_context(|| format!("{method} {path}: {answer:?}"))
    }
}
