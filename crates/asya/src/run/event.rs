//! Events of messages, as text and as JSON.

use std::time::Duration;

use asya_sidecar::envelope::Envelope;
use bytes::Bytes;
use owo_colors::{OwoColorize as _, Style};
use serde_json::{Map, Value, json};

use crate::visible::{visible, visible_line};

/// Longest payload in text, in characters. JSON has all of it.
const TEXT_LIMIT: usize = 2000;

/// Event of a run.
#[derive(Debug, Clone)]
pub(super) struct Event {
    /// The actor at which it happened.
    pub(super) actor: String,
    /// The message, where it is about one.
    pub(super) id: String,
    /// Kind of the event.
    pub(super) what: What,
}

/// Kinds of events.
#[derive(Debug, Clone)]
pub(super) enum What {
    /// The handler is loaded.
    Ready {
        handler: String,
        folder: String,
        python: String,
    },
    /// The runtime is not ready yet.
    Waiting { reason: String },
    /// The actor gets a message.
    Received { attempt: u32, payload: Value },
    /// The handler streams to the gateway.
    Streamed { data: Value },
    /// A message goes to another actor.
    Sent { to: String, payload: Value },
    /// A route has come to its end.
    Result { payload: Value, route: Value },
    /// The handler has failed, and another attempt follows.
    Retry {
        attempt: u32,
        of: u32,
        after: Duration,
        error: Value,
    },
    /// The message goes to the sump.
    Failed { error: Value },
    /// The message goes to the dead letters.
    DeadLetter { reason: String },
    /// The handler has written a line.
    Output { stream: &'static str, line: String },
    /// The runtime has written a log line.
    Log { level: String, message: String },
    /// The runtime has ended, and is started again.
    Restart { status: String },
}

impl Event {
    /// An event of a message.
    pub(super) fn of(actor: &str, id: &str, what: What) -> Self {
        Self {
            actor: actor.to_owned(),
            id: id.to_owned(),
            what,
        }
    }

    /// Returns whether the message came to a bad end.
    pub(super) fn is_failure(&self) -> bool {
        matches!(self.what, What::Failed { .. } | What::DeadLetter { .. })
    }

    fn name(&self) -> (&'static str, Style) {
        let style = Style::new();
        match &self.what {
            What::Ready { .. } => ("ready", style.dimmed()),
            What::Waiting { .. } => ("waiting", style.yellow()),
            What::Received { .. } => ("received", style),
            What::Streamed { .. } => ("streamed", style.cyan()),
            What::Sent { .. } => ("sent", style),
            What::Result { .. } => ("result", style.green().bold()),
            What::Retry { .. } => ("retry", style.yellow()),
            What::Failed { .. } => ("failed", style.red().bold()),
            What::DeadLetter { .. } => ("dead", style.red().bold()),
            What::Output { stream, .. } => (stream, style.dimmed()),
            What::Log { .. } => ("log", style.yellow()),
            What::Restart { .. } => ("restart", style.yellow()),
        }
    }

    /// One line, or several for an error with its traceback. The actor's name has this width.
    pub(super) fn text(&self, width: usize) -> String {
        let (name, style) = self.name();
        let about = match &self.what {
            What::Ready {
                handler, folder, ..
            } => format!("{handler} from {folder}"),
            What::Waiting { reason } | What::DeadLetter { reason } => reason.clone(),
            What::Received { attempt, payload } => {
                let payload = shown(payload);
                match attempt {
                    0 | 1 => payload,
                    attempt => format!("(attempt {attempt}) {payload}"),
                }
            }
            What::Streamed { data } => shown(data),
            What::Sent { to, payload } => format!("to {to} {}", shown(payload)),
            What::Result { payload, .. } => shown(payload),
            What::Retry {
                attempt,
                of,
                after,
                error,
            } => {
                let (after, error) = (rounded(*after), error_line(error));
                format!("attempt {attempt} of {of} failed, again in {after}: {error}")
            }
            What::Failed { error } => {
                let traceback = error["traceback"].as_str().unwrap_or_default();
                let lines = traceback.trim_end().lines();
                let traceback: String = lines.map(|line| format!("\n    {line}")).collect();
                format!("{}{traceback}", visible_line(&error_line(error)))
            }
            What::Output { line, .. } => line.clone(),
            What::Log { level, message } => format!("{level}: {message}"),
            What::Restart { status } => format!("the runtime ended with {status}"),
        };
        // Only a traceback has lines of its own, which are indented.
        let about = match &self.what {
            What::Failed { .. } => visible(&about),
            _ => visible_line(&about),
        };
        let about = match self.id.as_str() {
            "" => about.into_owned(),
            id => format!("{} {about}", visible_line(id)),
        };
        let name = format!("{name:8}");
        let actor = format!("{:width$}", self.actor);
        format!("{}  {}  {about}\n", visible_line(&actor), name.style(style))
    }

    /// The payload of a result, as one line of JSON; none for other events.
    pub(super) fn result(&self) -> Option<String> {
        match &self.what {
            What::Result { payload, .. } => Some(payload.to_string() + "\n"),
            _ => None,
        }
    }

    /// The line of an event that is also shown where only results are.
    pub(super) fn note(&self) -> Option<String> {
        match &self.what {
            What::Waiting { reason } => Some(format!("{}: {reason}", self.actor)),
            _ => None,
        }
    }

    /// One line of JSON.
    pub(super) fn json(&self) -> String {
        let mut line = Map::new();
        line.insert("event".to_owned(), self.name().0.into());
        line.insert("actor".to_owned(), self.actor.as_str().into());
        if !self.id.is_empty() {
            line.insert("id".to_owned(), self.id.as_str().into());
        }
        let members = match &self.what {
            What::Ready {
                handler,
                folder,
                python,
            } => json!({"handler": handler, "folder": folder, "python": python}),
            What::Waiting { reason } | What::DeadLetter { reason } => json!({"reason": reason}),
            What::Received { attempt, payload } => json!({"attempt": attempt, "payload": payload}),
            What::Streamed { data } => json!({"data": data}),
            What::Sent { to, payload } => json!({"to": to, "payload": payload}),
            What::Result { payload, route } => json!({"payload": payload, "route": route}),
            What::Retry {
                attempt,
                of,
                after,
                error,
            } => json!({"attempt": attempt, "of": of, "after": rounded(*after), "error": error}),
            What::Failed { error } => json!({"error": error}),
            What::Output { line, .. } => json!({"line": line}),
            What::Log { level, message } => json!({"level": level, "message": message}),
            What::Restart { status } => json!({"status": status}),
        };
        if let Value::Object(members) = members {
            line.extend(members);
        }
        Value::Object(line).to_string() + "\n"
    }
}

/// The payload of an envelope.
pub(super) fn payload(envelope: &Envelope) -> Value {
    serde_json::from_str(envelope.payload().get()).unwrap_or_default()
}

/// The envelope of a message; none where it is none.
pub(super) fn envelope(body: &Bytes) -> Option<Envelope> {
    Envelope::parse_lenient(body).ok()
}

fn error_line(error: &Value) -> String {
    let text = |member: &str| error[member].as_str().unwrap_or_default().trim();
    match (text("type"), text("message")) {
        ("", message) => message.to_owned(),
        (r#type, "") => r#type.to_owned(),
        (r#type, message) => format!("{type}: {message}"),
    }
}

/// A pause in text: whole milliseconds below a second, else hundredths of seconds.
fn rounded(pause: Duration) -> String {
    let step = if pause < Duration::from_secs(1) {
        1
    } else {
        10
    };
    // Half a step is added, so that the division rounds.
    let steps = (pause.as_micros() / 500 + step) / (2 * step);
    let millis = u64::try_from(steps * step).unwrap_or(u64::MAX);
    format!("{:?}", Duration::from_millis(millis))
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    let length = text.chars().count();
    if length <= TEXT_LIMIT {
        return text;
    }
    let begin: String = text.chars().take(TEXT_LIMIT).collect();
    format!("{begin}… ({length} characters)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_rounded() {
        let cases = [
            (0, "0ns"),
            (499, "0ns"),
            (500, "1ms"),
            (71_795, "72ms"),
            (999_400, "999ms"),
            (999_900, "1s"),
            (1_234_567, "1.23s"),
            (1_995_000, "2s"),
            (90_000_000, "90s"),
        ];
        for (micros, expected) in cases {
            assert_eq!(rounded(Duration::from_micros(micros)), expected, "{micros}");
        }
    }
}
