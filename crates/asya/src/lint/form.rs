//! What is written of the findings.

use actor::yaml::Position;
use serde_json::{Map, Value, json};

use super::finding::Finding;

/// A line for each: `FILE:LINE:COLUMN: error: message`.
pub fn lines(findings: &[Finding]) -> String {
    let line = |finding: &Finding| {
        let Position { line, column } = finding.position;
        let (file, severity) = (finding.file.display(), finding.severity);
        format!("{file}:{line}:{column}: {severity}: {}\n", finding.message)
    };
    findings.iter().map(line).collect::<Vec<_>>().concat()
}

/// A list of them, for programs.
pub fn json(findings: &[Finding]) -> Value {
    findings.iter().map(document).collect()
}

fn document(finding: &Finding) -> Value {
    let mut document = Map::new();
    let mut add = |key: &str, value: Value| document.insert(key.to_owned(), value);
    add("file", json!(finding.file.display().to_string()));
    add("line", json!(finding.position.line));
    add("column", json!(finding.position.column));
    add("severity", json!(finding.severity.to_string()));
    add("rule", json!(finding.rule.to_string()));
    add("path", finding.path.to_json());
    add("message", json!(finding.message));
    if let Some(actor) = &finding.actor {
        add("actor", json!(actor));
    }
    Value::Object(document)
}
