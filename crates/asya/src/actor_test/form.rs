//! Output of cases: lines and JSON.

use owo_colors::OwoColorize as _;
use serde_json::{Value, json};

use super::Outcome;

/// A line for each case, below it a line for each failed expectation, and the counts at the end.
pub fn lines(outcomes: &[Outcome]) -> String {
    let mut lines = Vec::new();
    for Outcome { test, failures } in outcomes {
        let file = test.file.display();
        if failures.is_empty() {
            lines.push(format!("{}      {file}: {}", "ok".green(), test.name));
            continue;
        }
        lines.push(format!("{}  {file}: {}", "failed".red().bold(), test.name));
        for failure in failures {
            let (line, column) = (failure.position.line, failure.position.column);
            lines.push(format!("    {file}:{line}:{column}: {}", failure.message));
        }
    }
    let failed = outcomes.iter().filter(|it| !it.failures.is_empty()).count();
    lines.push(format!(
        "{} passed, {failed} failed",
        outcomes.len() - failed
    ));
    lines.into_iter().map(|line| line + "\n").collect()
}

/// The cases as a JSON list.
pub fn json(outcomes: &[Outcome]) -> Value {
    outcomes.iter().map(document).collect()
}

fn document(Outcome { test, failures }: &Outcome) -> Value {
    let failed = failures.iter().map(|failure| {
        json!({
            "line": failure.position.line,
            "column": failure.position.column,
            "path": failure.path.to_json(),
            "message": failure.message,
        })
    });
    json!({
        "name": test.name,
        "file": test.file.display().to_string(),
        "passed": failures.is_empty(),
        "failures": failed.collect::<Vec<_>>(),
    })
}
