//! Output of cases: lines and JSON.

use std::collections::BTreeMap;

use owo_colors::OwoColorize as _;
use serde_json::{Value, json};

use super::{Outcome, Reported};
use crate::diagnostics::{self, note_document};
use crate::visible::{is_hidden, visible, visible_line};

/// A line for each case, below it a line for each failed expectation, and the counts at the end.
pub fn lines(outcomes: &[Outcome]) -> String {
    let mut lines = Vec::new();
    for Outcome { test, failures, .. } in outcomes {
        let file = test.file.display().to_string();
        let (file, name) = (visible_line(&file), visible_line(&test.name));
        if failures.is_empty() {
            lines.push(format!("{}      {file}: {name}", "ok".green()));
            continue;
        }
        lines.push(format!("{}  {file}: {name}", "failed".red().bold()));
        for failure in failures {
            let (line, column) = (failure.position.line, failure.position.column);
            lines.push(format!(
                "{file}:{line}:{column}: {}",
                visible(&failure.message)
            ));
        }
    }
    let failed = outcomes.iter().filter(|it| !it.failures.is_empty()).count();
    lines.push(format!(
        "{} passed, {failed} failed",
        outcomes.len() - failed
    ));
    lines.into_iter().map(|line| line + "\n").collect()
}

/// The cases as JUnit XML: a suite for each file.
pub fn junit(outcomes: &[Outcome]) -> String {
    let mut suites: BTreeMap<String, Vec<&Outcome>> = BTreeMap::new();
    for outcome in outcomes {
        let file = outcome.test.file.display().to_string();
        suites.entry(file).or_default().push(outcome);
    }
    let failed =
        |outcomes: &[&Outcome]| outcomes.iter().filter(|it| !it.failures.is_empty()).count();
    let all: Vec<&Outcome> = outcomes.iter().collect();
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"asya test\" tests=\"{}\" failures=\"{}\" errors=\"0\">\n",
        all.len(),
        failed(&all)
    );
    for (file, outcomes) in &suites {
        let file = escaped(file);
        text.push_str(&format!(
            "  <testsuite name=\"{file}\" tests=\"{}\" failures=\"{}\" errors=\"0\">\n",
            outcomes.len(),
            failed(outcomes)
        ));
        for Outcome { test, failures, .. } in outcomes {
            let line = test.positions.of(&merge::FieldPath::default()).line;
            let name = escaped(&test.name);
            text.push_str(&format!(
                "    <testcase classname=\"{file}\" name=\"{name}\" file=\"{file}\" line=\"{line}\""
            ));
            if failures.is_empty() {
                text.push_str("/>\n");
                continue;
            }
            text.push_str(">\n");
            for failure in failures {
                let place = failure.position;
                let message = escaped(&failure.message);
                text.push_str(&format!(
                    "      <failure message=\"{message}\">{file}:{}:{}: {message}</failure>\n",
                    place.line, place.column
                ));
            }
            text.push_str("    </testcase>\n");
        }
        text.push_str("  </testsuite>\n");
    }
    text + "</testsuites>\n"
}

/// Text of an attribute or element of XML; characters that XML cannot have are replaced.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push_str("&#10;"),
            '\t' => escaped.push('\t'),
            letter if letter.is_control() => escaped.push('\u{fffd}'),
            letter if is_hidden(letter) => {
                escaped.push_str(&format!("&#x{:x};", u32::from(letter)));
            }
            letter => escaped.push(letter),
        }
    }
    escaped
}

/// The cases as a JSON list.
pub fn json(outcomes: &[Outcome]) -> Value {
    outcomes.iter().map(document).collect()
}

fn document(outcome: &Outcome) -> Value {
    let Outcome {
        test,
        failures,
        reported,
    } = outcome;
    let diagnostics: Vec<Value> = match reported {
        Reported::Errors(errors) => errors.iter().map(diagnostics::document).collect(),
        Reported::Notes(notes) => notes.iter().map(note_document).collect(),
    };
    let failed = failures.iter().map(|failure| {
        let mut document = json!({
            "line": failure.position.line,
            "column": failure.position.column,
            "path": failure.path.to_json(),
            "message": failure.message,
        });
        if let Some(diagnostic) = &failure.diagnostic {
            document["diagnostic"] = diagnostics::document(diagnostic);
        }
        document
    });
    json!({
        "name": test.name,
        "file": test.file.display().to_string(),
        "passed": failures.is_empty(),
        "failures": failed.collect::<Vec<_>>(),
        "diagnostics": diagnostics,
    })
}
