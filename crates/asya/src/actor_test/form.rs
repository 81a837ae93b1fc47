//! Output of cases: lines, JUnit XML and JSON.

use std::collections::BTreeMap;

use owo_colors::OwoColorize as _;
use serde_json::{Value, json};

use super::{InvalidCase, Outcome, Reported, Results};
use crate::diagnostics::{self, note_document};
use crate::visible::{is_hidden, visible_line};

/// A line for each case, below it a line for each failed expectation, and the counts at the end. The
/// problems of invalid cases are errors of the command.
pub fn lines(results: &Results) -> String {
    let Results { outcomes, invalid } = results;
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
                visible_line(&failure.message)
            ));
        }
    }
    for InvalidCase { name, file, .. } in invalid {
        let file = file.as_ref().map(|file| format!("{}: ", file.display()));
        let place = format!("{}{name}", file.unwrap_or_default());
        lines.push(format!(
            "{} {}",
            "invalid".red().bold(),
            visible_line(&place)
        ));
    }
    let failed = outcomes.iter().filter(|it| !it.failures.is_empty()).count();
    let mut counts = format!("{} passed, {failed} failed", outcomes.len() - failed);
    if !invalid.is_empty() {
        counts.push_str(&format!(", {} invalid", invalid.len()));
    }
    lines.push(counts);
    lines.into_iter().map(|line| line + "\n").collect()
}

/// The cases as JUnit XML: a suite for each file.
pub fn junit(results: &Results) -> String {
    let mut suites: BTreeMap<String, Suite<'_>> = BTreeMap::new();
    for outcome in &results.outcomes {
        let file = outcome.test.file.display().to_string();
        suites.entry(file).or_default().outcomes.push(outcome);
    }
    for case in &results.invalid {
        let file = case.file.as_ref();
        let file = file.map_or_else(|| case.name.clone(), |file| file.display().to_string());
        suites.entry(file).or_default().invalid.push(case);
    }
    let all = Suite {
        outcomes: results.outcomes.iter().collect(),
        invalid: results.invalid.iter().collect(),
    };
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"asya test\" {}>\n",
        all.counts()
    );
    for (file, suite) in &suites {
        let file = escaped(file);
        text.push_str(&format!(
            "  <testsuite name=\"{file}\" {}>\n",
            suite.counts()
        ));
        for outcome in &suite.outcomes {
            text.push_str(&outcome_element(&file, outcome));
        }
        for case in &suite.invalid {
            text.push_str(&error_element(&file, case));
        }
        text.push_str("  </testsuite>\n");
    }
    text + "</testsuites>\n"
}

/// The cases of a file.
#[derive(Debug, Default)]
struct Suite<'a> {
    outcomes: Vec<&'a Outcome>,
    invalid: Vec<&'a InvalidCase>,
}

impl Suite<'_> {
    /// The attributes with its counts.
    fn counts(&self) -> String {
        let failed = self.outcomes.iter().filter(|it| !it.failures.is_empty());
        format!(
            "tests=\"{}\" failures=\"{}\" errors=\"{}\"",
            self.outcomes.len() + self.invalid.len(),
            failed.count(),
            self.invalid.len()
        )
    }
}

/// The element of a case that ran. `file` is escaped.
fn outcome_element(file: &str, outcome: &Outcome) -> String {
    let Outcome { test, failures, .. } = outcome;
    let line = test.positions.of(&merge::FieldPath::default()).line;
    let name = escaped(&test.name);
    let mut text = format!(
        "    <testcase classname=\"{file}\" name=\"{name}\" file=\"{file}\" line=\"{line}\""
    );
    if failures.is_empty() {
        return text + "/>\n";
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
    text + "    </testcase>\n"
}

/// The element of a case that cannot run. `file` is escaped.
fn error_element(file: &str, case: &InvalidCase) -> String {
    let (name, message) = (escaped(&case.name), escaped(&case.message));
    let place = match (&case.file, case.position) {
        (Some(_), Some(position)) => format!(" file=\"{file}\" line=\"{}\"", position.line),
        (Some(_), None) => format!(" file=\"{file}\""),
        (None, _) => String::new(),
    };
    format!(
        "    <testcase classname=\"{file}\" name=\"{name}\"{place}>\n      \
         <error message=\"{message}\">{message}</error>\n    </testcase>\n"
    )
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

/// The cases as a JSON list. Cases that cannot run have a member `error`.
pub fn json(results: &Results) -> Value {
    let ran = results.outcomes.iter().map(document);
    ran.chain(results.invalid.iter().map(invalid)).collect()
}

fn invalid(case: &InvalidCase) -> Value {
    let mut document = json!({
        "name": case.name,
        "passed": false,
        "error": case.message,
        "failures": [],
        "diagnostics": [],
    });
    if let Some(file) = &case.file {
        document["file"] = json!(file.display().to_string());
    }
    if let Some(position) = case.position {
        document["line"] = json!(position.line);
        document["column"] = json!(position.column);
    }
    document
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
