//! Dead letters, as the sidecar's `peek` prints them.

use serde_json::{Value, json};

/// A dead letter.
#[derive(Debug, Clone, PartialEq)]
pub struct DeadLetter {
    /// The message's id; empty for bytes that are no envelope.
    pub id: String,
    /// Time of its last status change, as it is written.
    pub time: String,
    /// The attempts that were made.
    pub attempts: u64,
    /// The last error, as one line; empty where none is known.
    pub error: String,
    /// The whole message.
    pub message: Value,
}

/// The dead letters in the output of `peek`: a line of JSON each. Other lines are log lines.
pub fn dead_letters(output: &str) -> Vec<DeadLetter> {
    let values = output
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    values.filter(Value::is_object).map(dead_letter).collect()
}

fn dead_letter(message: Value) -> DeadLetter {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let status = &message["status"];
    let error = &status["error"];
    let error = match (text(&error["type"]), text(&error["message"])) {
        (kind, text) if kind.is_empty() || text.is_empty() => kind + &text,
        (kind, text) => format!("{kind}: {text}"),
    };
    DeadLetter {
        id: text(&message["id"]),
        time: text(&status["updated_at"]),
        attempts: status["attempt"].as_u64().unwrap_or(1),
        error: error.lines().next().unwrap_or_default().to_owned(),
        message,
    }
}

/// Rows of a table, with its head.
pub fn table(letters: &[DeadLetter]) -> Vec<[String; 4]> {
    let head = ["ID", "SINCE", "ATTEMPTS", "LAST ERROR"].map(str::to_owned);
    let or_dash = |text: &str| if text.is_empty() { "-" } else { text }.to_owned();
    let rows = letters.iter().map(|letter| {
        [
            or_dash(&letter.id),
            or_dash(&letter.time),
            letter.attempts.to_string(),
            or_dash(&letter.error),
        ]
    });
    [head].into_iter().chain(rows).collect()
}

impl DeadLetter {
    /// The dead letter as JSON.
    pub fn json(&self) -> Value {
        json!({"id": self.id, "since": self.time, "attempts": self.attempts, "error": self.error})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_read_and_log_lines_are_not() {
        let output = "{\"id\":\"m\",\"status\":{\"attempt\":3,\"updated_at\":\"2026-01-01T00:00:00Z\",\
            \"error\":{\"type\":\"KeyError\",\"message\":\"'x'\\nmore\"}}}\n\
            WARN\n{\"not_an_envelope\":\"x\"}\n";
        let rows = table(&dead_letters(output));
        assert_eq!(rows[1], ["m", "2026-01-01T00:00:00Z", "3", "KeyError: 'x'"]);
        assert_eq!(rows[2], ["-", "-", "1", "-"]);
        assert_eq!(rows.len(), 3);
    }
}
