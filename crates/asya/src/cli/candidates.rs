//! Names that complete arguments: actors and flavors of the cluster, fields, codes.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use actor::diagnostic::Code;
use clap_complete::engine::{CompletionCandidate, complete};

use super::Program;

/// Longest wait for the cluster while a user types.
const TIMEOUT: &str = "--request-timeout=2s";
/// For kubectl: candidates follow, and no files.
const NO_FILES: &str = ":4";
/// For kubectl: complete names of files.
const FILES: &str = ":0";

/// Names of actors of the current context.
pub fn actors() -> Vec<CompletionCandidate> {
    of_cluster("asyncactors.asya.sh")
}

/// Names of flavors of the current context.
pub fn flavors() -> Vec<CompletionCandidate> {
    let mut names = of_cluster("environmentconfigs.apiextensions.crossplane.io");
    names.retain(|name| name.get_value() != actor::names::PLATFORM);
    names
}

/// Top-level fields of a spec and the other roots of `asya docs`.
pub fn fields() -> Vec<CompletionCandidate> {
    let fields = actor::spec::KNOWN_FIELDS.iter();
    let roots = ["metadata", "platform", "spec", "status"].iter();
    fields.chain(roots).map(CompletionCandidate::new).collect()
}

/// Diagnostic codes with their titles, for `asya explain`.
pub fn codes() -> Vec<CompletionCandidate> {
    let codes = Code::ALL.iter();
    codes
        .map(|code| CompletionCandidate::new(code.id()).help(Some(code.entry().title.into())))
        .collect()
}

/// Names of objects; none where the cluster does not answer: completion is silent.
fn of_cluster(kind: &str) -> Vec<CompletionCandidate> {
    let output = Command::new("kubectl")
        .args(["get", kind, "--all-namespaces", "--output", NAMES, TIMEOUT])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    let text = output.map(|output| output.stdout).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let names: std::collections::BTreeSet<&str> = text.split_whitespace().collect();
    names
        .into_iter()
        .map(|name| CompletionCandidate::new(name.to_owned()))
        .collect()
}

/// The names alone, as the output of `kubectl get`.
const NAMES: &str = "jsonpath={range .items[*]}{.metadata.name}{\"\\n\"}{end}";

/// Returns the output of `kubectl_complete-asya` for the words after `kubectl asya`, of which the last is
/// being typed: a candidate per line, with its help after a tab, then the directive for kubectl.
pub fn for_kubectl(words: impl Iterator<Item = OsString>) -> String {
    let mut command = Program::Kubectl.command();
    let mut words: Vec<OsString> = std::iter::once("kubectl-asya".into())
        .chain(words)
        .collect();
    if words.len() == 1 {
        words.push(OsString::new());
    }
    let last = words.len() - 1;
    let folder = std::env::current_dir().ok();
    let folder: Option<PathBuf> = folder;
    let found = complete(&mut command, words, last, folder.as_deref()).unwrap_or_default();
    let mut text = String::new();
    for candidate in &found {
        text.push_str(&candidate.get_value().to_string_lossy());
        if let Some(help) = candidate.get_help() {
            let help = help.to_string();
            text.push_str(&format!("\t{}", help.lines().next().unwrap_or_default()));
        }
        text.push('\n');
    }
    let directive = if found.is_empty() { FILES } else { NO_FILES };
    text + directive + "\n"
}
