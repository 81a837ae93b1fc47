//! The message between actors, and what follows from one.

use serde_json::{Value, json};

/// An envelope whose id and route are readable.
pub(crate) struct Envelope(Value);

impl Envelope {
    /// Reads an envelope, or says what is wrong with it.
    pub(crate) fn read(body: &[u8]) -> Result<Self, String> {
        let envelope: Value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
        match envelope["id"].as_str() {
            Some(id) if !id.is_empty() => Ok(Self(envelope)),
            _ => Err("the message has no id".to_owned()),
        }
    }

    /// The actor whose turn it is.
    pub(crate) fn actor(&self) -> &str {
        self.0["route"]["curr"].as_str().unwrap_or_default()
    }

    /// The envelope as it came.
    pub(crate) fn as_json(&self) -> &Value {
        &self.0
    }

    /// The envelope of a frame of the runtime's answer, and the actor that it goes to; none at the end
    /// of the route.
    pub(crate) fn followed_by<'a>(
        &self,
        index: usize,
        frame: &'a Value,
    ) -> (Option<&'a str>, Value) {
        let mut next = self.0.clone();
        for part in ["payload", "route", "headers"] {
            next[part] = frame[part].clone();
        }
        if index > 0 {
            let id = self.0["id"].as_str().unwrap_or_default();
            next["id"] = json!(format!("{id}-{index}"));
            next["parent_id"] = json!(id);
        }
        let actor = frame["route"]["curr"].as_str();
        (actor.filter(|actor| !actor.is_empty()), next)
    }

    /// The envelope that tells of a failure.
    pub(crate) fn failed(&self, error: &str, details: &Value) -> Value {
        let mut failed = self.0.clone();
        failed["payload"] = json!({
            "error": error, "details": details, "id": self.0["id"],
            "original_payload": self.0["payload"]});
        failed["status"] = json!({"phase": "failed", "actor": self.actor()});
        failed
    }
}

/// The envelope that tells of a message that is none.
pub(crate) fn unreadable(body: &[u8], reason: &str) -> Value {
    json!({
        "id": "unreadable", "route": {"prev": [], "curr": "", "next": []},
        "payload": {"error": "msg_parsing_error", "details": {"message": reason},
            "original_payload": String::from_utf8_lossy(body)}})
}

#[test]
fn each_frame_becomes_an_envelope_of_its_own() {
    let whole = json!({"id": "m", "route": {"prev": [], "curr": "a", "next": ["b"]},
        "headers": {"trace": "t"}, "status": {"phase": "processing"}, "payload": 1});
    let envelope = Envelope::read(whole.to_string().as_bytes()).unwrap();
    let route = |curr: &str| json!({"prev": ["a"], "curr": curr, "next": []});
    let cases = [
        ("the first keeps the id", 0, "b", Some("b"), "m", None),
        (
            "a later one has its own",
            2,
            "b",
            Some("b"),
            "m-2",
            Some("m"),
        ),
        ("a route has an end", 0, "", None, "m", None),
    ];
    for (reason, index, curr, expected, id, parent) in cases {
        let frame = json!({"payload": 2, "route": route(curr), "headers": {}});
        let (next, body) = envelope.followed_by(index, &frame);
        assert_eq!(next, expected, "{reason}");
        let mut wanted = json!({"id": id, "route": route(curr), "headers": {},
            "status": {"phase": "processing"}, "payload": 2});
        if let Some(parent) = parent {
            wanted["parent_id"] = json!(parent);
        }
        assert_eq!(body, wanted, "{reason}");
    }
}

#[test]
fn what_is_no_envelope_is_told_apart() {
    let cases = [
        ("no JSON", "{", false),
        ("no object", "[]", false),
        ("no id", "{}", false),
        ("an empty id", r#"{"id":""}"#, false),
        ("a number for an id", r#"{"id":1}"#, false),
        ("an id will do", r#"{"id":"m"}"#, true),
    ];
    for (reason, body, is_envelope) in cases {
        let read = Envelope::read(body.as_bytes());
        assert_eq!(read.is_ok(), is_envelope, "{reason}");
    }
}
