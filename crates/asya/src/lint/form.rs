//! Findings as text, and as JSON.

use actor::yaml::Position;
use serde_json::{Map, Value, json};

use actor::diagnostic::Severity;
use owo_colors::{OwoColorize as _, Style};

use super::finding::{Finding, Place};
use crate::visible::{visible, visible_line};

/// A line for each: `FILE:LINE:COLUMN: error: message [CODE]`.
pub fn lines(findings: &[Finding]) -> String {
    let line = |finding: &Finding| {
        let Position { line, column } = finding.place.position;
        let file = finding.place.file.display();
        let severity = finding.severity.style(style(finding.severity)).to_string();
        let (file, text) = (file.to_string(), finding.text());
        let (file, text) = (visible_line(&file), visible_line(&text));
        format!("{file}:{line}:{column}: {severity}: {text}\n")
    };
    findings.iter().map(line).collect::<Vec<_>>().concat()
}

fn style(severity: Severity) -> Style {
    match severity {
        Severity::Error => Style::new().red().bold(),
        Severity::Warning => Style::new().yellow().bold(),
        Severity::Info => Style::new().cyan(),
    }
}

/// A workflow command of GitHub Actions for each, which annotates the line in a pull request.
pub fn github(findings: &[Finding]) -> String {
    let data = |text: &str| {
        let text = visible(text).replace('%', "%25");
        text.replace('\r', "%0D").replace('\n', "%0A")
    };
    let property = |text: &str| data(text).replace(':', "%3A").replace(',', "%2C");
    let line = |finding: &Finding| {
        let command = match finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "notice",
        };
        let Position { line, column } = finding.place.position;
        let file = property(&finding.place.file.display().to_string());
        let (code, text) = (finding.code, data(&finding.text()));
        format!("::{command} file={file},line={line},col={column},title={code}::{text}\n")
    };
    findings.iter().map(line).collect()
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
