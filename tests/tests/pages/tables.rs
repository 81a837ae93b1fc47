//! The tables from which the reference is written have all that the code has, and nothing else.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use actor::status::reasons::{ANYWHERE, REASONS, is_known};
use actor::status::{ConditionType, StatusReason};
use actor::variables::VARIABLES;
use serde_json::Value;
use tests::examples::documents as documents_of;
use tests::page::Page;
use tests::program::repository;
use tests::validation::{definition_file, document};

/// Crates that are not shipped: their variables are for who tests.
const TOOLS: [&str; 2] = ["/crates/test-cluster/", "/crates/xtask/"];

/// Variables of the adapters, whose own page has them.
const OF_ADAPTERS: &str = "ASYA_TARGET_";

#[test]
fn every_condition_that_a_function_has_ever_answered_is_in_the_table() {
    let mut unknown = BTreeSet::new();
    let mut seen = 0;
    for (file, document) in answers() {
        let lists = [&document["conditions"], &document["status"]["conditions"]];
        for condition in lists.into_iter().filter_map(Value::as_array).flatten() {
            let text = |key: &str| condition[key].as_str().unwrap_or_default();
            let mut types = ConditionType::ALL.into_iter();
            let Some(of) = types.find(|of| of.as_str() == text("type")) else {
                continue;
            };
            seen += 1;
            let (status, reason) = (text("status"), text("reason"));
            let is_status = || {
                StatusReason::ALL
                    .iter()
                    .any(|status| status.as_str() == reason)
            };
            let is_listed =
                is_known(of, status, reason) || of == ConditionType::ActorReady && is_status();
            if !is_listed {
                unknown.insert(format!("{of} {status} {reason} ({})", file.display()));
            }
        }
    }
    let unknown: Vec<String> = unknown.into_iter().collect();
    assert!(unknown.is_empty(), "{}", unknown.join("\n"));
    assert!(seen > 400, "only {seen} conditions were found");
}

#[test]
fn every_reason_in_the_table_is_emitted() {
    let table = repository().join("crates/actor/src/status/reasons.rs");
    let sources: Vec<String> = files("crates", "rs")
        .into_iter()
        .filter(|file| *file != table)
        .map(|file| fs::read_to_string(file).unwrap())
        .collect();
    let of_conditions = REASONS.iter().flat_map(|(_, reasons)| *reasons);
    let nobodys: Vec<&str> = of_conditions
        .chain(ANYWHERE)
        .map(|reason| reason.name)
        // Crossplane's own.
        .filter(|name| *name != "FatalError")
        .filter(|name| {
            let quoted = format!("\"{name}\"");
            !sources.iter().any(|source| source.contains(&quoted))
        })
        .filter(|name| !is_in_a_case(name))
        .collect();
    assert!(nobodys.is_empty(), "nothing emits {nobodys:?}");
}

#[test]
fn every_status_and_every_common_reason_has_a_remedy_on_its_page() {
    let page = fs::read_to_string(repository().join("docs/statuses.md")).unwrap();
    let statuses = StatusReason::ALL.iter().map(|status| status.as_str());
    let common = ANYWHERE.iter().map(|reason| reason.name);
    let missing: Vec<&str> = statuses
        .chain(common)
        .filter(|name| !page.contains(&format!("`{name}`")))
        .collect();
    assert!(
        missing.is_empty(),
        "docs/statuses.md does not explain {missing:?}"
    );
}

/// Messages that a page quotes and that a source holds.
const QUOTED: [(&str, &str); 10] = [
    ("docs/transports.md", "not allowed to list scalers"),
    (
        "docs/transports.md",
        "another replica is the leader: standing by",
    ),
    ("docs/transports.md", "waiting until the kind is served"),
    ("docs/transports.md", "is this the management API?"),
    ("docs/transports.md", "there are no credentials for SQS"),
    ("docs/statuses.md", "scaled to 0 by hand"),
    ("docs/statuses.md", "KEDA is paused"),
    (
        "docs/observability.md",
        "Waiting for flavor EnvironmentConfigs",
    ),
    ("docs/observability.md", "Flavors applied"),
    ("docs/observability.md", "Flavors not applied"),
];

#[test]
fn quoted_messages_are_those_of_the_sources() {
    let sources: Vec<String> = files("crates", "rs")
        .into_iter()
        .filter(|file| file.display().to_string().contains("/src/"))
        .map(|file| fs::read_to_string(file).unwrap())
        .collect();
    for (page, message) in QUOTED {
        assert!(Page::read(page).text.contains(message), "{page}: {message}");
        let is_a_message = sources.iter().any(|source| source.contains(message));
        assert!(
            is_a_message,
            "no source has {message:?}, which {page} quotes"
        );
    }
}

/// Crossplane appends its own columns to those of the definition.
#[test]
fn the_table_of_kubectl_get_has_the_columns_of_the_definition() {
    let page = Page::read("README.md");
    let blocks = page.blocks();
    let table = blocks.iter().find_map(|block| {
        let rows = block.text.strip_prefix("$ kubectl get asya ")?;
        Some(rows.lines().skip(1).collect::<Vec<_>>())
    });
    let table = table.expect("README.md shows the output of kubectl get asya");
    let definition = document(&definition_file("asyncactors.asya.sh"));
    let columns = definition["spec"]["versions"][0]["additionalPrinterColumns"].as_array();
    let columns = columns.unwrap().iter();
    let shown_by_default = columns.filter(|column| column["priority"].as_i64().unwrap_or(0) == 0);
    let own: Vec<&str> = shown_by_default
        .filter_map(|column| column["name"].as_str())
        .collect();
    let expected = [
        &["NAME"],
        &own[..],
        &["SYNCED", "READY", "COMPOSITION", "AGE"],
    ]
    .concat();
    let header: Vec<&str> = table[0].split_whitespace().collect();
    assert_eq!(header, expected);
    for row in &table[1..] {
        let status = row.split_whitespace().nth(1).unwrap_or_default();
        let mut statuses = StatusReason::ALL.iter();
        assert!(statuses.any(|known| known.as_str() == status), "{row}");
    }
}

#[test]
fn every_environment_variable_is_in_the_table_and_no_other_is() {
    let listed: BTreeSet<&str> = VARIABLES.iter().map(|variable| variable.name).collect();
    let mut used = BTreeSet::new();
    let table = repository().join("crates/actor/src/variables.rs");
    let mut sources = files("crates", "rs");
    sources.retain(|file| {
        let path = file.display().to_string();
        *file != table && path.contains("/src/") && !TOOLS.iter().any(|tool| path.contains(tool))
    });
    sources.push(repository().join("runtime/asya_runtime.py"));
    for file in sources {
        let text = fs::read_to_string(&file).unwrap();
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        used.extend(quoted_names(text));
    }
    for (_, document) in answers() {
        names_of_env(&document, &mut used);
    }
    let unlisted: Vec<&String> = used
        .iter()
        .filter(|name| !listed.contains(name.as_str()) && !name.starts_with(OF_ADAPTERS))
        .collect();
    assert!(unlisted.is_empty(), "not in the table: {unlisted:?}");
    let unused: Vec<&&str> = listed
        .iter()
        .filter(|name| !used.contains(**name))
        .collect();
    assert!(unused.is_empty(), "nothing uses {unused:?}");
}

/// The one standard variable in the table.
const COLLECTOR: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

/// Whole names of ours between quotation marks.
fn quoted_names(text: &str) -> BTreeSet<String> {
    let is_ours = |part: &&str| part.starts_with("ASYA_") || *part == COLLECTOR;
    let parts = text.split('"').filter(is_ours);
    let is_name = |part: &&str| {
        let mut letters = part.chars();
        !part.ends_with('_') && letters.all(|letter| letter.is_ascii_uppercase() || letter == '_')
    };
    parts.filter(is_name).map(str::to_owned).collect()
}

/// Names from the table in every `env` of a document.
fn names_of_env(document: &Value, names: &mut BTreeSet<String>) {
    match document {
        Value::Object(map) => {
            for (key, value) in map {
                let variables = value.as_array().filter(|_| key == "env");
                for variable in variables.into_iter().flatten() {
                    let name = variable["name"].as_str().unwrap_or_default();
                    // Cases also set variables of their own, to check that they are passed on.
                    if VARIABLES.iter().any(|listed| listed.name == name) {
                        names.insert(name.to_owned());
                    }
                }
                names_of_env(value, names);
            }
        }
        Value::Array(list) => list.iter().for_each(|item| names_of_env(item, names)),
        _ => {}
    }
}

/// Returns whether a case has the reason: in a function's response, or in what it observes.
fn is_in_a_case(reason: &str) -> bool {
    let line = format!("reason: {reason}");
    let mut files = files("crates/function-report-status/tests", "yaml").into_iter();
    files.any(|file| fs::read_to_string(file).unwrap().contains(&line))
}

/// Expected responses of functions.
fn answers() -> Vec<(PathBuf, Value)> {
    let mut answers = Vec::new();
    for file in expected_files() {
        for document in documents_of(&file) {
            answers.push((file.clone(), document));
        }
    }
    answers
}

fn expected_files() -> Vec<PathBuf> {
    let mut files = [files("crates", "yaml"), files("examples", "yaml")].concat();
    files.retain(|file| {
        let name = file.file_name().unwrap_or_default();
        name == "response.yaml" || name == "expected.yaml"
    });
    files
}

/// Every file of that kind below a folder of the repository.
fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    below(&repository().join(folder), extension, &mut files);
    files
}

fn below(folder: &Path, extension: &str, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            below(&path, extension, files);
        } else if path.extension().is_some_and(|found| found == extension) {
            files.push(path);
        }
    }
}
