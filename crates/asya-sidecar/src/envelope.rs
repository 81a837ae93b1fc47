//! The message between actors: reading it, and the messages that follow from one.
//!
//! The payload, the headers and every member that this program does not know are kept as the bytes
//! that came in, so that a hop changes no number and drops no key.

use std::collections::BTreeMap;

use crate::failure::Failure;
use crate::ids;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// Members by name, with their values as they were written.
pub type Members = BTreeMap<String, Box<RawValue>>;

/// A body that is not an envelope: the reason, in one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidEnvelope(String);

/// Past, current and next actors of a message.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Route {
    /// Actors that have processed the message, oldest first.
    pub prev: Vec<String>,
    /// The actor whose turn it is; empty at the end of the route.
    pub curr: String,
    /// Actors whose turn comes later.
    pub next: Vec<String>,
    /// Members that this program does not know.
    #[serde(flatten)]
    pub unknown: Map<String, Value>,
}

/// An envelope as handlers' runtimes return it for each result: what differs from the request.
#[derive(Debug, Clone, Default)]
pub struct Frame(Members);

/// A message whose id and route are readable.
#[derive(Debug, Clone)]
pub struct Envelope {
    id: String,
    parent_id: Option<String>,
    /// Its route.
    pub route: Route,
    /// Headers by name.
    pub headers: Members,
    /// State of its processing.
    pub status: Map<String, Value>,
    // `payload`, and members that this program does not know.
    rest: Members,
}

/// Phase of a message, as `status.phase` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Waits for an actor.
    Pending,
    /// An actor works on it.
    Processing,
    /// Waits for another attempt.
    Retrying,
    /// Has reached the end of its route.
    Succeeded,
    /// Is not tried again.
    Failed,
}

impl Phase {
    /// The value of `status.phase`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Processing => "processing",
            Self::Retrying => "retrying",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
        }
    }
}

impl Envelope {
    /// Reads an envelope.
    ///
    /// # Errors
    /// When it is not a JSON object, has no id, or a known member has the wrong type.
    pub fn parse(body: &[u8]) -> Result<Self, InvalidEnvelope> {
        let envelope = Self::parse_lenient(body)?;
        if envelope.id.is_empty() {
            return Err(InvalidEnvelope("id: missing or empty".to_owned()));
        }
        Ok(envelope)
    }

    /// Reads an envelope of which only the form matters: id and route may be missing, as in messages
    /// that reach an end actor from outside.
    ///
    /// # Errors
    /// When it is not a JSON object, or a known member has the wrong type.
    pub fn parse_lenient(body: &[u8]) -> Result<Self, InvalidEnvelope> {
        let mut rest: Members = serde_json::from_slice(body)
            .map_err(|error| InvalidEnvelope(format!("not a JSON object: {error}")))?;
        let id = take::<Option<String>>(&mut rest, "id", "a string")?.unwrap_or_default();
        let parent_id = take(&mut rest, "parent_id", "a string")?;
        let route = read_route(take(&mut rest, "route", "an object")?)?;
        let headers = take::<Option<Members>>(&mut rest, "headers", "an object")?;
        let status = take::<Option<Map<String, Value>>>(&mut rest, "status", "an object")?;
        Ok(Self {
            id,
            parent_id,
            route,
            headers: headers.unwrap_or_default(),
            status: status.unwrap_or_default(),
            rest,
        })
    }

    /// An envelope around a body that is none, for the handler of an end actor.
    pub fn wrap(body: &[u8], actor: &str, reason: &InvalidEnvelope) -> Self {
        let payload = json!({
            "error": "msg_parsing_error",
            "details": {"message": reason.to_string(), "type": "asya.InvalidEnvelope"},
            "original_payload": String::from_utf8_lossy(body),
        });
        let mut envelope = Self {
            id: ids::of_bytes(body),
            parent_id: None,
            route: Route {
                curr: actor.to_owned(),
                ..Route::default()
            },
            headers: Members::new(),
            status: Map::new(),
            rest: Members::new(),
        };
        envelope.set_payload(&payload);
        envelope
    }

    /// Its id, of which there may be several copies while a message is delivered again.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Id of the message from which it was fanned out.
    pub fn parent_id(&self) -> Option<&str> {
        self.parent_id.as_deref()
    }

    /// A header that is a text.
    pub fn header(&self, name: &str) -> Option<String> {
        let value = self.headers.get(name)?;
        serde_json::from_str(value.get()).ok()
    }

    /// Sets a header to a text.
    pub fn set_header(&mut self, name: &str, value: &str) {
        self.headers
            .insert(name.to_owned(), raw(&Value::String(value.to_owned())));
    }

    /// The payload as it was written; `null` where there is none.
    pub fn payload(&self) -> Box<RawValue> {
        let payload = self.rest.get("payload").cloned();
        payload.unwrap_or_else(|| raw(&Value::Null))
    }

    fn set_payload(&mut self, payload: &Value) {
        self.rest.insert("payload".to_owned(), raw(payload));
    }

    /// A time in the status, such as `created_at`; none where it is missing or unreadable.
    pub fn time(&self, member: &str) -> Option<Timestamp> {
        self.status.get(member)?.as_str()?.parse().ok()
    }

    /// Returns the number of the attempt, counted from 1.
    pub fn attempt(&self) -> u32 {
        let attempt = self.status.get("attempt").and_then(Value::as_u64);
        let attempt = attempt.and_then(|attempt| u32::try_from(attempt).ok());
        attempt.unwrap_or(1).max(1)
    }

    /// Sets phase, actor and the time of the change, keeps everything else, and notes the time of
    /// creation where nobody has.
    pub fn stamp(&mut self, phase: Phase, actor: &str, now: Timestamp) {
        let now = Value::String(timestamp(now));
        self.status
            .entry("created_at")
            .or_insert_with(|| now.clone());
        self.status.insert("updated_at".to_owned(), now);
        self.status
            .insert("phase".to_owned(), phase.as_str().into());
        self.status.insert("actor".to_owned(), actor.into());
    }

    /// Sets which attempt this is, of how many.
    pub fn stamp_attempt(&mut self, attempt: u32, max_attempts: u32) {
        self.status.insert("attempt".to_owned(), attempt.into());
        self.status
            .insert("max_attempts".to_owned(), max_attempts.into());
    }

    /// The envelope of a frame: the frame's payload, route and headers over this one's. The first
    /// frame keeps the id. Each later one gets an id that depends only on this message's id, the
    /// actor and the index, so that a message that is delivered twice produces the same ids twice.
    pub fn follow(&self, frame: Frame, index: usize, actor: &str) -> Result<Self, InvalidEnvelope> {
        let Frame(mut members) = frame;
        let mut next = self.clone();
        members.remove("id");
        members.remove("parent_id");
        match take::<Option<Map<String, Value>>>(&mut members, "route", "an object")? {
            Some(route) => next.route = read_route(Some(route))?,
            None => next.route = self.route.shifted(),
        }
        if let Some(headers) = take::<Option<Members>>(&mut members, "headers", "an object")? {
            next.headers = headers;
        }
        let status = take::<Option<Map<String, Value>>>(&mut members, "status", "an object")?;
        // The handler may have deleted members.
        if let Some(status) = status {
            next.status = status;
        }
        for settled in ["error", "reason", "attempt", "max_attempts"] {
            next.status.remove(settled);
        }
        members
            .entry("payload".to_owned())
            .or_insert_with(|| raw(&Value::Null));
        next.rest.extend(members);
        if index > 0 {
            next.id = ids::of_child(&self.id, actor, self.route.prev.len(), index);
            next.parent_id = Some(self.id.clone());
        }
        Ok(next)
    }

    /// The envelope that reports a failure: the status names the error, and the payload wraps the
    /// original one.
    #[must_use]
    pub fn failed(&self, failure: &Failure, actor: &str, now: Timestamp) -> Self {
        let mut failed = self.clone();
        let details = failure.details();
        // The original is spliced in as it was written.
        let payload = format!(
            "{{\"error\":{},\"details\":{details},\"original_payload\":{}}}",
            json!(failure.code),
            self.payload().get(),
        );
        match RawValue::from_string(payload) {
            Ok(payload) => {
                failed.rest.insert("payload".to_owned(), payload);
            }
            Err(_) => failed.set_payload(&json!({"error": failure.code, "details": details})),
        }
        failed.stamp_failure(Phase::Failed, failure, actor, now);
        failed
    }

    /// Sets the phase, and the error that led to it.
    pub fn stamp_failure(&mut self, phase: Phase, failure: &Failure, actor: &str, now: Timestamp) {
        self.stamp(phase, actor, now);
        self.status
            .insert("reason".to_owned(), failure.reason.into());
        self.status.insert("error".to_owned(), failure.details());
    }

    /// The JSON of the whole envelope.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut members: BTreeMap<&str, Box<RawValue>> = BTreeMap::new();
        for (name, value) in &self.rest {
            members.insert(name, value.clone());
        }
        members.insert("id", raw(&json!(self.id)));
        if let Some(parent_id) = &self.parent_id {
            members.insert("parent_id", raw(&json!(parent_id)));
        }
        members.insert("route", raw(&self.route));
        members.insert("headers", raw(&self.headers));
        if !self.status.is_empty() {
            members.insert("status", raw(&self.status));
        }
        serde_json::to_vec(&members).unwrap_or_default()
    }
}

impl Route {
    /// The route one step on.
    #[must_use]
    pub fn shifted(&self) -> Self {
        let mut shifted = self.clone();
        if !self.curr.is_empty() {
            shifted.prev.push(self.curr.clone());
        }
        shifted.curr = self.next.first().cloned().unwrap_or_default();
        shifted.next = self.next.iter().skip(1).cloned().collect();
        shifted
    }
}

impl Frame {
    /// Reads a frame.
    ///
    /// # Errors
    /// When it is not a JSON object.
    pub fn parse(json: &[u8]) -> Result<Self, InvalidEnvelope> {
        let members = serde_json::from_slice(json);
        members
            .map(Self)
            .map_err(|error| InvalidEnvelope(format!("frame: not a JSON object: {error}")))
    }
}

/// A time as envelopes have it: RFC 3339 in UTC, in milliseconds.
pub fn timestamp(time: Timestamp) -> String {
    format!("{time:.3}")
}

/// A value's JSON. Maps with text keys, which is all there is here, can always be written.
fn raw(value: &impl Serialize) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// Takes a known member out and reads it; `null` reads as an absent one.
fn take<T: for<'a> Deserialize<'a> + Default>(
    members: &mut Members,
    name: &str,
    expected: &str,
) -> Result<T, InvalidEnvelope> {
    let Some(value) = members.remove(name) else {
        return Ok(T::default());
    };
    serde_json::from_str(value.get())
        .map_err(|_| InvalidEnvelope(format!("{name}: expected {expected}")))
}

fn read_route(route: Option<Map<String, Value>>) -> Result<Route, InvalidEnvelope> {
    let mut unknown = route.unwrap_or_default();
    let mut actors = |name: &str| match unknown.remove(name) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(value) => serde_json::from_value(value)
            .map_err(|_| InvalidEnvelope(format!("route.{name}: expected a list of strings"))),
    };
    let (prev, next) = (actors("prev")?, actors("next")?);
    let curr = match unknown.remove("curr") {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(curr)) => curr,
        Some(_) => return Err(InvalidEnvelope("route.curr: expected a string".to_owned())),
    };
    Ok(Route {
        prev,
        curr,
        next,
        unknown,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn envelope(value: &Value) -> Envelope {
        Envelope::parse(value.to_string().as_bytes()).unwrap()
    }

    fn value(envelope: &Envelope) -> Value {
        serde_json::from_slice(&envelope.to_bytes()).unwrap()
    }

    #[test]
    fn a_hop_keeps_every_key_every_header_and_every_digit() {
        let text = r#"{"id":"m","route":{"prev":[],"curr":"a","next":["b"],"x":1},"headers":{"n":1.10,"h":{"k":[1]}},"status":{"deadline_at":"2030-01-01T00:00:00Z","own":true},"payload":{"big":123456789012345678901234567890,"f":1.0},"unknown":[1.50]}"#;
        let body = Envelope::parse(text.as_bytes()).unwrap().to_bytes();
        let body = String::from_utf8(body).unwrap();
        for kept in [
            r#""n":1.10"#,
            r#""h":{"k":[1]}"#,
            r#""deadline_at":"2030-01-01T00:00:00Z""#,
            r#""own":true"#,
            r#"{"big":123456789012345678901234567890,"f":1.0}"#,
            r#""unknown":[1.50]"#,
            r#""x":1"#,
        ] {
            assert!(body.contains(kept), "{kept} is not in {body}");
        }
    }

    #[test]
    fn null_reads_as_empty() {
        let read = envelope(&json!({"id": "m", "headers": null, "status": null,
            "route": {"prev": null, "curr": "a", "next": null}, "payload": 1}));
        assert_eq!(read.route.curr, "a");
        assert!(read.headers.is_empty() && read.status.is_empty() && read.route.next.is_empty());
    }

    #[test]
    fn invalid_envelopes_are_refused_with_the_member() {
        let cases = [
            ("{", "not a JSON object: "),
            ("[]", "not a JSON object: "),
            ("{}", "id: missing or empty"),
            (r#"{"id":""}"#, "id: missing or empty"),
            (r#"{"id":1}"#, "id: expected a string"),
            (r#"{"id":"m","route":[]}"#, "route: expected an object"),
            (
                r#"{"id":"m","route":{"next":"b"}}"#,
                "route.next: expected a list of strings",
            ),
            (
                r#"{"id":"m","route":{"curr":1}}"#,
                "route.curr: expected a string",
            ),
            (r#"{"id":"m","headers":1}"#, "headers: expected an object"),
            (r#"{"id":"m","status":1}"#, "status: expected an object"),
        ];
        for (body, expected) in cases {
            let error = Envelope::parse(body.as_bytes()).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{body}: {error}");
        }
    }

    #[test]
    fn each_frame_becomes_an_envelope_and_later_ones_get_the_same_id_at_each_delivery() {
        let parent = envelope(&json!({"id": "m", "route": {"curr": "a", "next": ["b"]},
            "headers": {"h": 1}, "status": {"deadline_at": "x", "error": {}}, "payload": 1, "own": 2}));
        let frame = || {
            Frame::parse(
                br#"{"payload":2,"route":{"prev":["a"],"curr":"b","next":[]},"headers":{"h":2}}"#,
            )
            .unwrap()
        };
        let first = value(&parent.follow(frame(), 0, "a").unwrap());
        assert_eq!(
            first,
            json!({"id": "m", "route": {"prev": ["a"], "curr": "b", "next": []},
                "headers": {"h": 2}, "status": {"deadline_at": "x"}, "payload": 2, "own": 2})
        );
        let later = [1, 2].map(|index| value(&parent.follow(frame(), index, "a").unwrap()));
        assert_eq!(later[0]["parent_id"], "m");
        assert_ne!(later[0]["id"], later[1]["id"]);
        assert_eq!(
            later[0],
            value(&parent.follow(frame(), 1, "a").unwrap()),
            "again"
        );
        let elsewhere = value(&parent.follow(frame(), 1, "c").unwrap());
        assert_ne!(later[0]["id"], elsewhere["id"], "another actor");
        let id = later[0]["id"].as_str().unwrap();
        assert_eq!((id.len(), &id[14..15]), (36, "8"), "{id}");
    }

    #[test]
    fn a_frame_without_route_or_headers_keeps_the_messages_own() {
        let parent = envelope(&json!({"id": "m", "route": {"curr": "a", "next": ["b"]},
            "headers": {"h": 1}, "payload": 1}));
        let next = value(&parent.follow(Frame::parse(b"{}").unwrap(), 0, "a").unwrap());
        assert_eq!(
            next,
            json!({"id": "m", "route": {"prev": ["a"], "curr": "b", "next": []},
                "headers": {"h": 1}, "payload": null})
        );
    }
}
