//! Every file of `tests/cases`: layers and a top, and the document or the conflicts they give.

use std::fs;
use std::path::Path;

use merge::{Layer, Provenance};
use serde::Deserialize;
use serde_json::{Map, Value};

/// One case file. It has either `document` or `conflicts`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Case {
    /// The rule or edge that the case holds on to.
    reason: String,
    layers: Vec<NamedDocument>,
    #[serde(default)]
    top: Option<Map<String, Value>>,
    #[serde(default)]
    ignored_keys: Vec<String>,
    #[serde(default)]
    document: Option<Map<String, Value>>,
    /// In the compact form.
    #[serde(default)]
    provenance: Option<Value>,
    /// The text of each, in order.
    #[serde(default)]
    conflicts: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NamedDocument {
    name: String,
    document: Map<String, Value>,
}

/// Merges the case of `file` and compares; `Err` lists the differences.
fn check(file: &Path) -> Result<(), String> {
    #[expect(
        clippy::disallowed_methods,
        reason = "only the library itself may not read files"
    )]
    let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
    let case: Case = serde_saphyr::from_str(&text).map_err(|error| error.to_string())?;
    if case.document.is_some() != case.conflicts.is_empty() {
        return Err("a case has either a document or conflicts".to_owned());
    }
    let differs = |what: &str, found: &dyn std::fmt::Debug, expected: &dyn std::fmt::Debug| {
        Err(format!(
            "{what}: found {found:#?}, expected {expected:#?}, since {}",
            case.reason
        ))
    };

    let layers: Vec<Layer<'_>> = case
        .layers
        .iter()
        .map(|layer| Layer {
            name: &layer.name,
            document: &layer.document,
        })
        .collect();
    let ignored_keys: Vec<&str> = case.ignored_keys.iter().map(String::as_str).collect();

    match (
        merge::documents(&layers, case.top.as_ref(), &ignored_keys),
        &case.document,
    ) {
        (Ok(merged), Some(document)) => {
            // Compared as text, because to serde_json the numbers 0.0 and -0.0 are equal.
            if to_text(&merged.document) != to_text(document) {
                return differs("document", &merged.document, document);
            }
            let compact = merged.provenance.to_json();
            if case
                .provenance
                .as_ref()
                .is_some_and(|expected| *expected != compact)
            {
                return differs("provenance", &compact, &case.provenance);
            }
            if Provenance::from_json(&compact).as_ref() != Some(&merged.provenance) {
                return differs("provenance read back", &compact, &merged.provenance);
            }
            Ok(())
        }
        (Err(conflicts), None) => {
            let texts: Vec<String> = conflicts.iter().map(ToString::to_string).collect();
            if texts != case.conflicts {
                return differs("conflicts", &texts, &case.conflicts);
            }
            if conflicts.to_string() != texts.join("; ") {
                return differs(
                    "joined conflicts",
                    &conflicts.to_string(),
                    &texts.join("; "),
                );
            }
            Ok(())
        }
        (Ok(merged), None) => differs("result", &merged.document, &case.conflicts),
        (Err(conflicts), Some(document)) => differs("result", &conflicts.to_string(), document),
    }
}

fn to_text(document: &Map<String, Value>) -> String {
    Value::from(document.clone()).to_string()
}

#[test]
fn every_golden_case_has_its_expected_output() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    #[expect(
        clippy::disallowed_methods,
        reason = "only the library itself may not read files"
    )]
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no case was found");

    let failures: Vec<String> = files
        .iter()
        .filter_map(|file| {
            check(file)
                .err()
                .map(|failure| format!("{}: {failure}", file.display()))
        })
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}
