//! Findings as text, and as JSON.

use actor::yaml::Position;
use serde_json::{Map, Value, json};

use super::finding::{Finding, Place};

/// A line for each: `FILE:LINE:COLUMN: error: message [CODE]`.
pub fn lines(findings: &[Finding]) -> String {
    let line = |finding: &Finding| {
        let Position { line, column } = finding.place.position;
        let (file, severity) = (finding.place.file.display(), finding.severity);
        format!("{file}:{line}:{column}: {severity}: {}\n", finding.text())
    };
    findings.iter().map(line).collect::<Vec<_>>().concat()
}

/// A list of them, for programs.
pub fn json(findings: &[Finding]) -> Value {
    findings.iter().map(document).collect()
}

fn document(finding: &Finding) -> Value {
    let mut document = place(&finding.place);
    let mut add = |key: &str, value: Value| document.insert(key.to_owned(), value);
    add("code", json!(finding.code));
    add("severity", json!(finding.severity));
    add("message", json!(finding.message));
    if let Some(help) = &finding.help {
        add("help", json!(help));
    }
    if !finding.related.is_empty() {
        let related = finding.related.iter().map(place).map(Value::Object);
        add("related", related.collect());
    }
    if let Some(actor) = &finding.actor {
        add("actor", json!(actor));
    }
    Value::Object(document)
}

fn place(place: &Place) -> Map<String, Value> {
    let mut document = Map::new();
    let mut add = |key: &str, value: Value| document.insert(key.to_owned(), value);
    add("file", json!(place.file.display().to_string()));
    add("line", json!(place.position.line));
    add("column", json!(place.position.column));
    add("path", place.path.to_json());
    if let Some(source) = &place.source {
        add("source", json!(source));
    }
    document
}
