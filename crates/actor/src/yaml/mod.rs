//! The one way YAML is read and written.
//!
//! Manifests follow YAML 1.1 in the API server's tools, so legacy octals count
//! and duplicate keys are refused. Integral floats become integers, as they do
//! on their way through Crossplane.

mod located;

use serde_json::{Number, Value};

pub use located::{Located, Position, Positions, located};

/// A text is not YAML that a manifest may hold.
#[derive(Debug, thiserror::Error)]
pub enum YamlError {
    /// The text could not be read.
    #[error("cannot read YAML: {}{problem}", prefix(*.position))]
    Read {
        /// The problem.
        problem: String,
        /// Position, if it is known.
        position: Option<Position>,
    },
    /// The value could not be written.
    #[error("cannot write YAML: {0}")]
    Write(String),
}

fn prefix(position: Option<Position>) -> String {
    position.map_or_else(String::new, |Position { line, column }| {
        format!("line {line} column {column}: ")
    })
}

/// Every document of a YAML stream; empty ones are left out.
pub fn documents(text: &str) -> Result<Vec<Value>, YamlError> {
    let documents: Vec<Value> = serde_saphyr::from_multiple_with_options(text, options(text))
        .map_err(|error| read_error(&error))?;
    Ok(documents
        .into_iter()
        .filter(|document| !document.is_null())
        .map(integers)
        .collect())
}

/// The only document of a YAML text.
pub fn document(text: &str) -> Result<Value, YamlError> {
    serde_saphyr::from_str_with_options(text, options(text))
        .map(integers)
        .map_err(|error| read_error(&error))
}

/// A value as a YAML document, ending in a line break.
pub fn write(value: &Value) -> Result<String, YamlError> {
    let mut text =
        serde_saphyr::to_string(value).map_err(|error| YamlError::Write(error.to_string()))?;
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}

/// Values as a YAML stream: each document begins with `---`.
pub fn write_stream<'a>(values: impl IntoIterator<Item = &'a Value>) -> Result<String, YamlError> {
    values
        .into_iter()
        .map(|value| Ok(format!("---\n{}", write(value)?)))
        .collect()
}

/// Limits grow with the text, so that a file can hold any number of objects, while aliases can
/// expand it to its own size only.
fn options(text: &str) -> serde_saphyr::Options {
    const NODES: usize = 250_000;
    let length = text.len();
    serde_saphyr::options! {
        legacy_octal_numbers: true,
        budget: serde_saphyr::budget! {
            max_documents: length.max(1),
            max_nodes: length.max(NODES),
            max_events: length.max(2 * NODES).saturating_mul(2),
            max_total_scalar_bytes: length.max(64 << 20),
        },
    }
}

/// A limit of the reader in words: `budget breached: Depth { depth: 65 }` becomes
/// `more than the reader allows: depth 65`.
fn limit(problem: &str) -> Option<String> {
    let breach = problem.strip_prefix("budget breached: ")?;
    let inner = breach.split_once('{').map(|(_, inner)| inner);
    let words = match inner.and_then(|inner| inner.split_once('}')) {
        Some((fields, _)) => fields.trim().replace(':', "").replace('_', " "),
        None => breach.to_lowercase(),
    };
    Some(format!("more than the reader allows: {words}"))
}

/// The reader's message without its excerpt, for errors here are one line, without
/// the place that is known anyway, and without its advice to programmers.
fn read_error(error: &serde_saphyr::Error) -> YamlError {
    const ADVICE: &str = ", set DuplicateKeyPolicy in Options if acceptable";
    let text = error.to_string();
    let position = error.location().map(Position::from);
    let line = text.lines().next().unwrap_or_default();
    let line = line.strip_prefix("error: ").unwrap_or(line);
    let line = line.strip_prefix(&prefix(position)).unwrap_or(line);
    let problem = line.strip_suffix(ADVICE).unwrap_or(line);
    let problem = limit(problem).unwrap_or_else(|| problem.to_owned());
    YamlError::Read { problem, position }
}

/// `value` with integral floats as integers.
fn integers(value: Value) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0; // 2^53
    match value {
        Value::Number(number) => match number.as_f64() {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "checked to be integral and below 2^53"
            )]
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() <= EXACT => {
                Value::Number(Number::from(float as i64))
            }
            _ => Value::Number(number),
        },
        Value::Array(list) => Value::Array(list.into_iter().map(integers).collect()),
        Value::Object(map) => Value::Object(
            map.into_iter()
                .map(|(key, value)| (key, integers(value)))
                .collect(),
        ),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_file_can_hold_thousands_of_documents() {
        let text = "---\nkind: A\nspec: {a: [1, 2, 3]}\n".repeat(5_000);
        assert_eq!(documents(&text).unwrap().len(), 5_000);
        assert_eq!(located(&text).unwrap().len(), 5_000);
    }

    #[test]
    fn errors_name_the_exceeded_limit() {
        let deep = "[".repeat(70) + &"]".repeat(70);
        let error = document(&deep).unwrap_err().to_string();
        assert!(
            error.ends_with("more than the reader allows: depth 65"),
            "{error}"
        );
        let mut bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for (name, before) in ('b'..='i').zip('a'..) {
            let aliases = vec![format!("*{before}"); 10].join(", ");
            bomb += &format!("{name}: &{name} [{aliases}]\n");
        }
        let error = document(&bomb).unwrap_err().to_string();
        assert!(error.contains("more than the reader allows: "), "{error}");
    }

    #[test]
    fn manifests_are_read_as_the_api_servers_tools_read_them() {
        let cases = [
            ("a: 0755", json!({"a": 493}), "octal"),
            ("a: on", json!({"a": true}), "YAML 1.1 booleans"),
            ("a: 1.0", json!({"a": 1}), "integral floats"),
            ("a: 1.5", json!({"a": 1.5}), "other floats"),
            ("a: '5'", json!({"a": "5"}), "quoted numbers stay texts"),
            ("a: ~", json!({"a": null}), "null"),
        ];
        for (text, expected, reason) in cases {
            assert_eq!(document(text).unwrap(), expected, "{text}: {reason}");
        }
    }

    #[test]
    fn duplicate_keys_are_refused_in_one_line() {
        let error = document("a: 1\na: 2\n").unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot read YAML: line 2 column 1: duplicate mapping key: a"
        );
    }

    #[test]
    fn streams_are_read_whole_and_texts_survive_a_round_trip() {
        let values = vec![json!({"a": "on"}), json!({"b": ["1_000", "y", ""]})];
        assert_eq!(documents(&write_stream(&values).unwrap()).unwrap(), values);
        assert_eq!(documents("---\n---\na: 1\n").unwrap(), [json!({"a": 1})]);
    }
}
