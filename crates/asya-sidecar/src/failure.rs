//! Failure of a message.

use serde_json::{Value, json};

/// A failure of one message, as its status and the payload at the sump report it.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// The kind of failure, such as `processing_error`.
    pub code: &'static str,
    /// The value of `status.reason`.
    pub reason: &'static str,
    /// One line.
    pub message: String,
    /// The error's type, such as `builtins.KeyError`.
    pub r#type: String,
    /// The type and its bases, most derived first.
    pub mro: Vec<String>,
    /// The handler's traceback.
    pub traceback: Option<String>,
    /// Members that the runtime wrote beside these.
    pub unknown: serde_json::Map<String, Value>,
}

impl Failure {
    fn new(code: &'static str, reason: &'static str, r#type: &str, message: String) -> Self {
        Self {
            code,
            reason,
            message,
            r#type: r#type.to_owned(),
            mro: vec![r#type.to_owned()],
            traceback: None,
            unknown: serde_json::Map::new(),
        }
    }

    /// The handler, or the runtime for it, has answered with an error.
    pub fn of_handler(answer: &Value, status: u16) -> Self {
        let details = match answer.get("details") {
            Some(Value::Object(details)) => details.clone(),
            // Older runtimes have no details.
            _ => answer.as_object().cloned().unwrap_or_default(),
        };
        let mut unknown = details;
        let mut text = |name: &str| match unknown.remove(name) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        let message = text("message");
        let r#type = text("type").unwrap_or_else(|| "asya.UnknownError".to_owned());
        let traceback = text("traceback");
        let mro = match unknown.remove("mro") {
            Some(Value::Array(mro)) => mro,
            _ => Vec::new(),
        };
        let mro: Vec<String> = mro
            .into_iter()
            .filter_map(|name| name.as_str().map(str::to_owned))
            .collect();
        let is_parsing = answer.get("error").and_then(Value::as_str) == Some("msg_parsing_error")
            || status == 400;
        let (code, reason) = if is_parsing {
            ("msg_parsing_error", "ParseError")
        } else {
            ("processing_error", "RuntimeError")
        };
        Self {
            code,
            reason,
            message: message
                .unwrap_or_else(|| format!("the runtime answered {status} without a message")),
            mro: if mro.is_empty() {
                vec![r#type.clone()]
            } else {
                mro
            },
            r#type,
            traceback,
            unknown,
        }
    }

    /// The runtime has not answered in time.
    pub fn timeout(after: std::time::Duration) -> Self {
        let text = format!("the handler did not answer within {}", seconds(after));
        let mut failure = Self::new("timeout_error", "Timeout", "asya.RuntimeTimeoutError", text);
        failure.mro.push("builtins.TimeoutError".to_owned());
        failure
    }

    /// `status.deadline_at` is over.
    pub fn deadline(deadline: &str) -> Self {
        let text = format!("the deadline {deadline} is over");
        let mut failure = Self::new("deadline_exceeded", "Timeout", "asya.DeadlineError", text);
        failure.mro.push("builtins.TimeoutError".to_owned());
        failure
    }

    /// The message is at the wrong actor.
    pub fn route_mismatch(found: &str, actor: &str) -> Self {
        let text = format!("route.curr is {found:?}, and this is the queue of {actor:?}");
        Self::new(
            "route_mismatch",
            "RouteMismatch",
            "asya.RouteMismatchError",
            text,
        )
    }

    /// No queue takes messages for an actor.
    pub fn unroutable(actor: &str) -> Self {
        let text = format!("no queue receives messages for actor {actor:?}: create the actor");
        Self::new("unroutable", "Unroutable", "asya.UnroutableError", text)
    }

    /// A result is larger than the transport takes.
    pub fn too_large(actor: &str, bytes: usize, limit: usize) -> Self {
        let text = format!(
            "the message for actor {actor:?} has {bytes} bytes, and the queue takes {limit}: store large data elsewhere and send its address"
        );
        Self::new("too_large", "TooLarge", "asya.MessageTooLargeError", text)
    }

    /// The runtime's answer cannot be understood.
    pub fn protocol(text: String) -> Self {
        Self::new(
            "protocol_error",
            "ProtocolError",
            "asya.RuntimeProtocolError",
            text,
        )
    }

    /// The error as JSON: `{type, mro, message, traceback}`.
    pub fn details(&self) -> Value {
        let mut details = self.unknown.clone();
        details.insert("type".to_owned(), json!(self.r#type));
        details.insert("mro".to_owned(), json!(self.mro));
        details.insert("message".to_owned(), json!(self.message));
        if let Some(traceback) = &self.traceback {
            details.insert("traceback".to_owned(), json!(traceback));
        }
        Value::Object(details)
    }

    /// Returns whether the error is of this type or derived from it. `KeyError` matches any module's, and
    /// `builtins.KeyError` that one, also where the runtime writes built-in types without a module.
    pub fn is_a(&self, name: &str) -> bool {
        let own = std::iter::once(&self.r#type).chain(&self.mro);
        let wanted = name.strip_prefix("builtins.").unwrap_or(name);
        own.into_iter().any(|own| {
            let own = own.strip_prefix("builtins.").unwrap_or(own);
            own == wanted
                || !name.contains('.') && own.rsplit('.').next().is_some_and(|own| own == name)
        })
    }
}

/// A duration in whole or decimal seconds.
fn seconds(duration: std::time::Duration) -> String {
    format!("{} s", duration.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_details_of_both_kinds_of_runtimes_are_read() {
        let answer = json!({"error": "processing_error", "details": {"message": "no", "type": "m.E",
            "mro": ["m.E", "builtins.ValueError"], "traceback": "t", "own": 1}});
        let failure = Failure::of_handler(&answer, 500);
        assert_eq!(failure.code, "processing_error");
        assert_eq!(failure.details(), answer["details"]);
        let short = Failure::of_handler(&json!({"error": "msg_parsing_error"}), 400);
        assert_eq!(short.code, "msg_parsing_error");
        assert_eq!(short.mro, ["asya.UnknownError"]);
    }

    #[test]
    fn types_match_by_short_and_by_qualified_name() {
        let failure = |mro: &[&str]| Failure {
            mro: mro.iter().map(|name| (*name).to_owned()).collect(),
            ..Failure::of_handler(&json!({"details": {"type": mro[0]}}), 500)
        };
        let cases: [(&[&str], &str, bool); 7] = [
            (&["builtins.KeyError"], "KeyError", true),
            (&["KeyError"], "builtins.KeyError", true),
            (&["a.b.Own", "builtins.ValueError"], "ValueError", true),
            (&["a.b.Own"], "a.b.Own", true),
            (&["a.b.Own"], "Own", true),
            (&["a.b.Own"], "b.Own", false),
            (&["a.KeyErrorLike"], "KeyError", false),
        ];
        for (mro, name, expected) in cases {
            assert_eq!(failure(mro).is_a(name), expected, "{name} in {mro:?}");
        }
    }
}
