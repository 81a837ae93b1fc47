//! The documentation explains every reason that the provider emits, and no other.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

/// Names in CamelCase that are not reasons: kinds, and a policy.
const NO_REASONS: [&str; 3] = ["LateInitialize", "ScaledObject", "TriggerAuthentication"];

#[test]
fn every_reason_is_explained_and_no_other_is() {
    let page = repository().join("docs/transports.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, page) = page.split_once("## Troubleshooting").unwrap();
    let words = Regex::new("`([A-Z][a-z]+([A-Z][A-Za-z]*)*)`").unwrap();
    let explained: BTreeSet<String> = found(&words, page);
    let emitted = emitted();
    let missing: Vec<&String> = emitted.difference(&explained).collect();
    assert!(
        missing.is_empty(),
        "docs/transports.md does not explain {missing:?}"
    );
    let rows = page.lines().filter(|line| line.starts_with('|'));
    // The first cell names a condition, an event or a symptom, the second a reason.
    let cells = rows.map(|row| row.split('|').take(3).collect::<Vec<_>>().join(" "));
    let listed: BTreeSet<String> = cells.flat_map(|cells| found(&words, &cells)).collect();
    let unknown: Vec<&String> = listed.difference(&emitted).collect();
    assert!(unknown.is_empty(), "nothing emits {unknown:?}");
}

fn found(words: &Regex, text: &str) -> BTreeSet<String> {
    let captures = words.captures_iter(text);
    captures.map(|captures| captures[1].to_owned()).collect()
}

/// The reasons in the sources: of conditions, of errors, and of reconcilers of queues and configs.
fn emitted() -> BTreeSet<String> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = vec![
        sources.join("conditions.rs"),
        sources.join("transport/error.rs"),
    ];
    for part in ["queue", "config", "managed"] {
        files.extend(files_in(&sources.join("controller").join(part)));
    }
    let compound = Regex::new("\"([A-Z][a-z]+([A-Z][A-Za-z]*)+)\"").unwrap();
    let field = Regex::new("reason: \"([A-Z][A-Za-z]+)\"").unwrap();
    let mut reasons = BTreeSet::new();
    for file in files {
        let text = fs::read_to_string(file).unwrap();
        let text = text.split("#[cfg(test)]").next().unwrap();
        reasons.extend(found(&compound, text));
        reasons.extend(found(&field, text));
    }
    reasons.retain(|reason| !NO_REASONS.contains(&reason.as_str()));
    assert!(
        reasons.contains("Creating") && reasons.contains("QueueNotOwned"),
        "{reasons:?}"
    );
    reasons
}

fn repository() -> PathBuf {
    test_cluster::components::repository()
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.is_file()).collect()
}
