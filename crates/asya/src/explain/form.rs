//! An explanation for people, and for programs.

use std::fmt;

use serde_json::{Value, json};

use super::{Contradiction, Derived, Explanation, Field, Origin};

/// Longest value in a table, in characters; programs get all of it.
const VALUE_MAX: usize = 80;

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flavor(name) => write!(f, "flavor {name}"),
            Self::Actor => f.write_str("actor"),
            Self::Platform(setting) => write!(f, "platform ({setting})"),
            Self::LiveQueue => f.write_str("live queue"),
            Self::Default(None) => f.write_str("default"),
            Self::Default(Some(from)) => write!(f, "default ({from})"),
        }
    }
}

/// The explanation as tables for people.
pub fn table(explanation: &Explanation) -> String {
    let mut text = format!("{} in {}\n", explanation.actor, explanation.namespace);
    if !explanation.contradictions.is_empty() {
        let sides = explanation.contradictions.iter().flat_map(|contradiction| {
            let path = contradiction.path.to_string();
            let sides = contradiction.sides.iter();
            sides.map(move |side| [path.clone(), side.flavor.clone(), shown(&side.value)])
        });
        columns(["FIELD", "FLAVOR", "VALUE"], sides, &mut text);
    }
    if !explanation.fields.is_empty() {
        let fields = explanation.fields.iter().map(|field| {
            let path = field.path.to_string();
            [path, field.origin.to_string(), shown(&field.value)]
        });
        columns(["FIELD", "SET BY", "VALUE"], fields, &mut text);
    }
    if !explanation.derived.is_empty() {
        let derived = explanation.derived.iter();
        let rows = derived.map(|it| [it.name.to_owned(), it.from.clone(), shown(&it.value)]);
        columns(["DERIVED", "FROM", "VALUE"], rows, &mut text);
    }
    text
}

/// Appends a table behind an empty line.
fn columns(head: [&str; 3], rows: impl Iterator<Item = [String; 3]>, text: &mut String) {
    let rows: Vec<_> = std::iter::once(head.map(str::to_owned))
        .chain(rows)
        .collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths = [0, 1].map(|column| width(column).unwrap_or_default());
    text.push('\n');
    for [first, second, third] in &rows {
        let [first_width, second_width] = widths;
        let line = format!("{first:first_width$}  {second:second_width$}  {third}");
        text.push_str(line.trim_end());
        text.push('\n');
    }
}

/// A value in one short line. A text stands as it is, unless it would read as
/// something else.
fn shown(value: &Value) -> String {
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

/// The explanation as a document for programs.
pub fn document(explanation: &Explanation) -> Value {
    let Explanation {
        actor,
        namespace,
        fields,
        derived,
        contradictions,
        faults,
    } = explanation;
    let mut document = json!({"actor": actor, "namespace": namespace});
    let lists: [(&str, Vec<Value>); 4] = [
        ("fields", fields.iter().map(field).collect()),
        ("derived", derived.iter().map(derivation).collect()),
        ("conflicts", contradictions.iter().map(conflict).collect()),
        ("errors", faults.iter().map(|fault| json!(fault)).collect()),
    ];
    for (key, list) in lists {
        if !list.is_empty() {
            document[key] = Value::Array(list);
        }
    }
    document
}

fn field(field: &Field) -> Value {
    let origin = match &field.origin {
        Origin::Flavor(name) => json!({"kind": "flavor", "name": name}),
        Origin::Actor => json!({"kind": "actor"}),
        Origin::Platform(setting) => json!({"kind": "platform", "setting": setting}),
        Origin::LiveQueue => json!({"kind": "queue"}),
        Origin::Default(None) => json!({"kind": "default"}),
        Origin::Default(Some(from)) => json!({"kind": "default", "from": from}),
    };
    json!({
        "path": field.path.to_json(),
        "field": field.path.to_string(),
        "value": field.value,
        "origin": origin,
    })
}

fn derivation(derived: &Derived) -> Value {
    json!({"name": derived.name, "value": derived.value, "from": derived.from})
}

fn conflict(contradiction: &Contradiction) -> Value {
    let sides = contradiction.sides.iter();
    let sides = sides.map(|side| json!({"flavor": side.flavor, "value": side.value}));
    json!({
        "path": contradiction.path.to_json(),
        "field": contradiction.path.to_string(),
        "sides": sides.collect::<Vec<_>>(),
    })
}
