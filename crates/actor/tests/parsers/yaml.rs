//! YAML that we write, as we and Kubernetes read it.

use actor::yaml;
use proptest::prelude::*;
use serde_json::{Map, Value};

use crate::components::is_skipped;
use crate::{reference, texts};

/// Texts that a reader of YAML takes for something else where they are not quoted.
const AMBIGUOUS: &[&str] = &[
    "",
    " ",
    "~",
    "null",
    "true",
    "on",
    "y",
    "No",
    "0755",
    "0o7",
    "0x1F",
    "1_000",
    "1e3",
    ".5",
    ".inf",
    ".NaN",
    "-",
    "---",
    "...",
    "- a",
    "? a",
    "a: b",
    "a:",
    ":a",
    "#",
    "a #b",
    "&a",
    "*a",
    "!a",
    "|",
    ">",
    "%a",
    "@a",
    "`a",
    "'",
    "\"",
    "[",
    "]",
    "{",
    "}",
    ",",
    "<<",
    "=",
    " a",
    "a ",
    "\ta",
    "\n",
    "a\n",
    "\na",
    "a\n\n",
    "a\nb",
    " a\nb",
    "a\n b\n",
    "a\r\nb",
    "\u{85}",
    "\u{2028}",
    "\u{feff}",
    "\0",
    "\u{7f}",
    "\u{e000}",
    "\\",
    "\\n",
    "2026-01-31",
    "12:30:45",
    "1.",
    "+1",
];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => prop::sample::select(AMBIGUOUS).prop_map(str::to_owned),
        1 => prop::collection::vec(prop::sample::select(AMBIGUOUS), 2..4)
            .prop_map(|parts| parts.concat()),
        1 => any::<String>(),
    ]
}

/// Any document with numbers as people write them: of a few digits, since the reader of YAML may
/// miss the last bit of others.
fn document() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
        1 => any::<i32>().prop_map(Value::from),
        1 => any::<i32>().prop_map(|thousandths| Value::from(f64::from(thousandths) / 1000.0)),
        4 => text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((text(), inner), 0..4)
                .prop_map(|fields| Value::from(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// With all numbers as doubles.
fn doubles(value: Value) -> Value {
    match value {
        Value::Number(number) => Value::from(number.as_f64()),
        Value::Array(items) => items.into_iter().map(doubles).collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter();
            fields.map(|(key, value)| (key, doubles(value))).collect()
        }
        other => other,
    }
}

#[test]
fn written_yaml_is_read_back_equally_by_us_and_by_kubernetes() {
    let documents = texts::some(&document());
    let written: Vec<String> = documents
        .iter()
        .map(|document| yaml::write(document).expect("JSON can be written"))
        .collect();
    for (document, text) in documents.iter().zip(&written) {
        let read = yaml::document(text);
        let read = read.unwrap_or_else(|error| panic!("{error}: {document} as\n{text}"));
        assert_eq!(doubles(read), doubles(document.clone()), "{text}");
    }
    if is_skipped("Kubernetes' reader of YAML") {
        return;
    }
    let read = reference::values("yaml", written.iter().map(String::as_str));
    let pairs = documents.iter().zip(&written).zip(read);
    let problems: Vec<_> = pairs
        .filter(|((document, _), read)| {
            let read = read.as_deref().map(serde_json::from_str::<Value>);
            let is_read = matches!(read, Some(Ok(read)) if doubles(read.clone()) == doubles((*document).clone()));
            !is_read && !is_beyond_kubernetes(document)
        })
        .collect();
    let some: Vec<_> = problems.iter().take(20).collect();
    assert!(some.is_empty(), "{} differ: {some:#?}", problems.len());
}

/// Returns whether the document has a text that Kubernetes' reader refuses though YAML 1.2 allows it: one of
/// several lines that begins with a tab, and so is written as a block whose first line does.
fn is_beyond_kubernetes(document: &Value) -> bool {
    let is_beyond =
        |text: &str| text.trim_start_matches('\n').starts_with('\t') && text.contains('\n');
    match document {
        Value::String(text) => is_beyond(text),
        Value::Array(items) => items.iter().any(is_beyond_kubernetes),
        Value::Object(fields) => {
            let mut fields = fields.iter();
            fields.any(|(key, value)| is_beyond(key) || is_beyond_kubernetes(value))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}
