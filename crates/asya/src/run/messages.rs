//! Messages from the command line and from standard input.

use std::io::BufRead;

use asya_sidecar::admin::Message;
use asya_sidecar::envelope::Envelope;
use asya_sidecar::ids;
use bytes::Bytes;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::serde_message::json_problem;

/// A message for an actor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// The actor that gets it.
    pub actor: String,
    /// Its id.
    pub id: String,
    /// The envelope.
    pub body: Bytes,
}

/// Reason for which there is no message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// It is no JSON.
    #[error("{from}: a message is JSON: {reason}")]
    NoJson {
        /// Source of the text.
        from: String,
        /// Description of the problem.
        reason: String,
    },
    /// It is an envelope with a member of a wrong form.
    #[error("{from}: the message has a route and a payload, and is no envelope: {reason}")]
    NoEnvelope {
        /// Source of the text.
        from: String,
        /// Description of the problem.
        reason: String,
    },
    /// The message has no route.
    #[error("{from}: {count} actors, and no route: which one gets the message?")]
    NoRoute {
        /// Source of the text.
        from: String,
        /// Number of actors.
        count: usize,
    },
}

impl MessageError {
    /// Returns the remedy, if there is one.
    pub fn hint(&self) -> Option<String> {
        let is_route = matches!(self, Self::NoRoute { .. });
        is_route.then(|| {
            "--route first,second names the actors in their order; or send an envelope, with route and payload"
                .to_owned()
        })
    }
}

/// Makes envelopes of the user's input: adds ids and a route.
#[derive(Debug, Clone)]
pub struct Composer {
    /// Actors of the route, unless the message has its own.
    pub route: Vec<String>,
    /// Number of actors that run.
    pub actors: usize,
    /// Messages composed so far.
    pub count: usize,
    /// Ids of messages.
    pub ids: Ids,
}

/// Ids of messages that have none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ids {
    /// `m-1`, `m-2` and so on.
    Counted,
    /// UUIDs. Required where messages of other programs are in the same queues.
    Random,
}

impl Composer {
    /// Every message in a text: one JSON value after the other. A value with `route` and `payload` is
    /// an envelope, any other one a payload.
    ///
    /// # Errors
    /// For the first one that is none.
    pub fn read(&mut self, from: &str, text: &str) -> Result<Vec<Outgoing>, MessageError> {
        let values = serde_json::Deserializer::from_str(text).into_iter::<Box<RawValue>>();
        let mut messages = Vec::new();
        for value in values {
            let value = value.map_err(|error| MessageError::NoJson {
                from: from.to_owned(),
                reason: json_problem(&error),
            })?;
            messages.push(self.compose(from, value.get())?);
        }
        if messages.is_empty() {
            return Err(MessageError::NoJson {
                from: from.to_owned(),
                reason: "it is empty".to_owned(),
            });
        }
        Ok(messages)
    }

    fn compose(&mut self, from: &str, json: &str) -> Result<Outgoing, MessageError> {
        self.count += 1;
        let id = match self.ids {
            Ids::Counted => format!("m-{}", self.count),
            Ids::Random => ids::random(),
        };
        let value: Value = serde_json::from_str(json).unwrap_or_default();
        let is_envelope = value["route"].is_object() && value.get("payload").is_some();
        let invalid = |reason: String| MessageError::NoEnvelope {
            from: from.to_owned(),
            reason,
        };
        if is_envelope {
            let mut value = value;
            if value["id"].as_str().unwrap_or_default().is_empty() {
                value["id"] = id.into();
            }
            let text = value.to_string();
            let envelope = Envelope::parse(text.as_bytes());
            let envelope = envelope.map_err(|error| invalid(error.to_string()))?;
            if envelope.route.curr.is_empty() {
                return Err(invalid("route.curr names no actor".to_owned()));
            }
            return Ok(Outgoing {
                actor: envelope.route.curr.clone(),
                id: envelope.id().to_owned(),
                body: text.into(),
            });
        }
        let Some((actor, next)) = self.route.split_first() else {
            return Err(MessageError::NoRoute {
                from: from.to_owned(),
                count: self.actors,
            });
        };
        let message = Message {
            id: Some(id),
            actor: actor.clone(),
            next: next.to_vec(),
            payload: json.to_owned(),
        };
        let (id, body) = message.envelope().map_err(invalid)?;
        Ok(Outgoing {
            actor: actor.clone(),
            id,
            body,
        })
    }
}

/// Reads lines until the end of the input or until `take` returns false, and calls it with those that are
/// not empty, and their numbers.
pub(crate) fn lines(input: impl BufRead, mut take: impl FnMut(usize, String) -> bool) {
    for (index, line) in input.lines().enumerate() {
        let Ok(line) = line else { return };
        if !line.trim().is_empty() && !take(index + 1, line) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn composer(route: &[&str]) -> Composer {
        Composer {
            route: route.iter().map(|actor| (*actor).to_owned()).collect(),
            actors: 2,
            count: 0,
            ids: Ids::Counted,
        }
    }

    #[test]
    fn payloads_follow_the_route_and_envelopes_their_own() {
        let mut composer = composer(&["a", "b"]);
        let text = r#"{"x":1} "text" {"id":"own","route":{"curr":"c"},"payload":2}"#;
        let messages = composer.read("--send", text).unwrap();
        let found: Vec<(&str, &str)> = messages
            .iter()
            .map(|message| (message.actor.as_str(), message.id.as_str()))
            .collect();
        assert_eq!(found, [("a", "m-1"), ("a", "m-2"), ("c", "own")]);
        let first: Value = serde_json::from_slice(&messages[0].body).unwrap();
        assert_eq!(first["route"]["next"], serde_json::json!(["b"]));
    }

    #[test]
    fn random_ids_differ_between_runs() {
        let id = || {
            let mut composer = Composer {
                ids: Ids::Random,
                ..composer(&["a"])
            };
            composer.read("--send", "1").unwrap().remove(0).id
        };
        assert_ne!(id(), id());
    }

    #[test]
    fn what_is_no_message_is_an_error_with_its_place() {
        let cases: [(&[&str], &str, &str); 4] = [
            (
                &["a"],
                "{x}",
                "--send: a message is JSON: line 1 column 2: expected a key in double quotes",
            ),
            (&["a"], "", "--send: a message is JSON: it is empty"),
            (
                &[],
                "{}",
                "--send: 2 actors, and no route: which one gets the message?",
            ),
            (
                &["a"],
                r#"{"route":{},"payload":1}"#,
                "--send: the message has a route and a payload, and is no envelope: ",
            ),
        ];
        for (route, text, expected) in cases {
            let error = composer(route)
                .read("--send", text)
                .unwrap_err()
                .to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
