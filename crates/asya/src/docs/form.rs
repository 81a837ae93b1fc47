//! Documentation of a field as text.

use super::{FieldDocs, ValueDocs};

/// The documentation as `kubectl explain` shows it.
pub fn text(docs: &FieldDocs) -> String {
    let required = required(docs.is_required);
    let mut text = format!("FIELD: {} <{}>{required}\n", docs.path, docs.r#type);
    let is_listed = docs.values.iter().all(|it| it.meaning.is_empty());
    if is_listed && !docs.values.is_empty() {
        let values: Vec<&str> = docs.values.iter().map(|it| it.value.as_str()).collect();
        text.push_str(&format!("VALUES: {}\n", values.join(", ")));
    }
    if !docs.description.is_empty() {
        text.push_str("\nDESCRIPTION:\n");
        for line in docs.description.lines() {
            text.push_str(format!("    {line}").trim_end());
            text.push('\n');
        }
    }
    if !is_listed {
        text.push_str("\nVALUES:\n");
        for ValueDocs { value, meaning } in &docs.values {
            text.push_str(&format!("  {value}\n    {meaning}\n"));
        }
    }
    if !docs.fields.is_empty() {
        text.push_str("\nFIELDS:\n");
    }
    for child in &docs.fields {
        let required = self::required(child.is_required);
        text.push_str(&format!("  {} <{}>{required}\n", child.name, child.r#type));
        if !child.summary.is_empty() {
            let words: Vec<&str> = child.summary.split_whitespace().collect();
            text.push_str(&format!("    {}\n", words.join(" ")));
        }
    }
    text
}

fn required(is_required: bool) -> &'static str {
    if is_required { " -required-" } else { "" }
}
