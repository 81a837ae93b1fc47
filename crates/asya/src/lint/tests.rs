//! Positions of findings do not depend on the text of any message.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use function_kit::FACTS_KEY;
use function_kit::value::{json_to_struct, struct_to_json};
use function_proto::v1::RunFunctionRequest;
use pipeline::Functions;
use serde_json::{Value, json};

use super::{Finding, Linter};
use crate::inputs::{compositions_of_actors, sources};
use crate::steps;

/// The folders in which lint finds something: failing examples, and the golden cases of lint.
fn folders() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let children = |folder: PathBuf| {
        let entries = std::fs::read_dir(folder).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.filter(|path| path.is_dir()).collect::<Vec<_>>()
    };
    let mut folders = children(root.join("../../examples"));
    folders.retain(|folder| {
        folder
            .file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .starts_with("failing-")
    });
    assert!(!folders.is_empty());
    folders.extend(children(root.join("tests/lint")));
    folders.sort();
    folders
}

fn findings(folder: &Path, functions: &Functions) -> Vec<Finding> {
    let sources = sources(&[folder.to_owned()], false).unwrap();
    let [composition, legacy_composition] = compositions_of_actors().unwrap();
    let linter = Linter {
        functions,
        composition,
        legacy_composition,
        namespace: "default",
    };
    let groups = sources.groups.iter();
    sources
        .findings
        .iter()
        .cloned()
        .chain(groups.flat_map(|group| linter.lint(group)))
        .collect()
}

/// Everything of a finding but its texts.
fn without_texts(findings: &[Finding]) -> Vec<String> {
    let texts = findings.iter().map(|finding| {
        let Finding {
            place,
            severity,
            code,
            related,
            message: _,
            help: _,
            actor,
            check: _,
        } = finding;
        format!("{place:?} {severity} {code} {related:?} {actor:?}")
    });
    let mut texts: Vec<String> = texts.collect();
    texts.sort();
    texts
}

/// All functions, each of which words every message in another way.
fn reworded() -> Functions {
    let own = Arc::new(steps::functions().unwrap());
    let names: Vec<String> = own.names().map(str::to_owned).collect();
    names.into_iter().fold(Functions::none(), |all, name| {
        let own = Arc::clone(&own);
        all.with(&name.clone(), move |mut request: RunFunctionRequest| {
            // A step that is called again finds its own diagnostics in the context.
            request.context = request.context.map(|context| {
                let context = texts(struct_to_json(&context), |text| {
                    text.trim_start_matches(OTHER_WORDS).to_owned()
                });
                json_to_struct(context.as_object().unwrap())
            });
            let mut response = own.run(&name, request).unwrap_or_default();
            for result in &mut response.results {
                result.message = OTHER_WORDS.to_owned();
            }
            response.context = response.context.map(|context| {
                let context = texts(struct_to_json(&context), |text| {
                    format!("{OTHER_WORDS}{text}")
                });
                json_to_struct(context.as_object().unwrap())
            });
            response
        })
    })
}

/// Looks as if it named another flavor and another field.
const OTHER_WORDS: &str = "flavor \"other\": spec.other (set by the actor in other): ";

/// The context with the texts of all diagnostics changed.
fn texts(mut context: Value, change: impl Fn(&str) -> String) -> Value {
    let facts = context.get_mut(FACTS_KEY);
    let diagnostics = facts.and_then(|facts| facts.get_mut("diagnostics")?.as_array_mut());
    for diagnostic in diagnostics.into_iter().flatten() {
        for key in ["message", "help"] {
            if let Some(text) = diagnostic.get(key).and_then(Value::as_str) {
                diagnostic[key] = json!(change(text));
            }
        }
    }
    context
}

#[test]
fn rewording_messages_moves_no_finding() {
    let (plain, reworded) = (steps::functions().unwrap(), reworded());
    let mut changed = 0;
    for folder in folders() {
        let before = findings(&folder, &plain);
        let after = findings(&folder, &reworded);
        assert_eq!(
            without_texts(&before),
            without_texts(&after),
            "{}",
            folder.display()
        );
        changed += usize::from(before != after);
    }
    assert!(changed > 5, "only {changed} folders have messages of steps");
}

#[test]
fn failing_examples_have_their_findings_where_the_mistake_is() {
    let expected = [
        ("failing-flavor-conflict", "flavors.yaml", 3, 1, "ASYA211"),
        ("failing-flavor-conflict", "flavors.yaml", 11, 1, "ASYA211"),
        ("failing-flavor-conflict", "flavors.yaml", 15, 5, "ASYA230"),
        ("failing-forbidden-command", "xr.yaml", 13, 13, "ASYA404"),
        ("failing-missing-flavor", "xr.yaml", 7, 27, "ASYA905"),
        ("failing-missing-flavor", "xr.yaml", 7, 44, "ASYA905"),
        ("failing-no-image", "xr.yaml", 6, 1, "ASYA124"),
        ("failing-unknown-transport", "xr.yaml", 7, 3, "ASYA311"),
    ];
    let functions = steps::functions().unwrap();
    let mut found = Vec::new();
    for folder in folders() {
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        if !name.starts_with("failing-") {
            continue;
        }
        let findings = findings(&folder, &functions);
        found.extend(findings.into_iter().map(|finding| {
            let file = finding.place.file.file_name().unwrap().to_str().unwrap();
            let position = finding.place.position;
            format!(
                "{name}/{file}:{}:{} {}",
                position.line, position.column, finding.code
            )
        }));
    }
    let expected = expected.map(|(folder, file, line, column, code)| {
        format!("{folder}/{file}:{line}:{column} {code}")
    });
    assert_eq!(found, expected);
}
