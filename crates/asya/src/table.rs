//! Tables in plain text.

use anstream::adapter::strip_str;
use serde_json::Value;

/// Longest value in a table, in characters; JSON and YAML have all of it.
const VALUE_MAX: usize = 80;

/// Appends an empty line and a table. Cells may be coloured.
pub(crate) fn columns<const N: usize>(
    head: [&str; N],
    rows: impl Iterator<Item = [String; N]>,
    text: &mut String,
) {
    let rows: Vec<_> = std::iter::once(head.map(str::to_owned))
        .chain(rows)
        .collect();
    let width = |cell: &String| strip_str(cell).to_string().chars().count();
    let mut widths = [0; N];
    for row in &rows {
        for (widest, cell) in widths.iter_mut().zip(row) {
            *widest = width(cell).max(*widest);
        }
    }
    text.push('\n');
    for row in &rows {
        let mut line = String::new();
        for (cell, widest) in row.iter().zip(widths) {
            line.push_str(cell);
            line.push_str(&" ".repeat(widest - width(cell) + 2));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
}

/// The value in one short line: a text without quotes, unless it would read as another type.
pub(crate) fn shown(value: &Value) -> String {
    let text = match value {
        Value::String(text) if stands_for_itself(text) => text.clone(),
        other => other.to_string(),
    };
    match text.char_indices().nth(VALUE_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn stands_for_itself(text: &str) -> bool {
    let is_plain = !text.is_empty() && text.trim() == text && !text.contains(char::is_control);
    is_plain && serde_json::from_str::<Value>(text).is_err()
}
