//! What the documents show: every manifest of `docs/` and `install/` is taken by a real API server,
//! and every word that the provider emits is explained.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot go on panics"
)]

mod rig;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::Namespace;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams, ValidationDirective};
use kube::discovery::{self, Scope};
use kube::{Api, Client, ResourceExt as _};
use regex::Regex;
use serde_json::{Value, json};

/// Kinds of Crossplane's own and those that it serves, which this cluster does not have.
const OF_CROSSPLANE: [&str; 4] = [
    "AsyncActor",
    "Configuration",
    "DeploymentRuntimeConfig",
    "Provider",
];

/// Words in the same letters as reasons that are none: kinds, and a policy.
const NO_REASONS: [&str; 3] = ["LateInitialize", "ScaledObject", "TriggerAuthentication"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_api_server_takes_every_manifest() {
    if rig::is_skipped("manifests of the documents") {
        return;
    }
    let cluster = rig::cluster::Cluster::start().await;
    cluster.install_kinds().await;
    let client = cluster.client().await;
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let namespace = json!({"metadata": {"name": "crossplane-system"}});
    let namespace = serde_json::from_value(namespace).unwrap();
    let parameters = PostParams::default();
    namespaces.create(&parameters, &namespace).await.unwrap();
    let mut refused = Vec::new();
    let mut taken = 0;
    for (place, object) in manifests() {
        let kind = object["kind"].as_str().unwrap_or_default().to_owned();
        if OF_CROSSPLANE.contains(&kind.as_str()) {
            continue;
        }
        match dry_run(&client, object).await {
            Ok(()) => taken += 1,
            Err(reason) => refused.push(format!("{place}: {kind}: {reason}")),
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
    assert!(taken >= 20, "only {taken} manifests were found");
}

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

/// The reasons in the sources: of conditions, of faults, and of whatever a pass over a queue or a
/// config says.
fn emitted() -> BTreeSet<String> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = vec![
        sources.join("conditions.rs"),
        sources.join("transport/fault.rs"),
    ];
    for part in ["controller/pass.rs", "controller/configs.rs"] {
        files.push(sources.join(part));
    }
    for part in ["controller/pass", "controller/configs"] {
        files.extend(files_in(&sources.join(part)));
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

/// Every manifest, with where it stands.
fn manifests() -> Vec<(String, Value)> {
    let block = Regex::new("(?s)```yaml\n(.*?)```").unwrap();
    let mut manifests = Vec::new();
    let mut add = |file: &Path, text: &str| {
        for document in actor::yaml::documents(text)
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()))
        {
            // A part of some other program's configuration has no kind.
            if document["kind"].is_string() {
                manifests.push((file.display().to_string(), document));
            }
        }
    };
    for folder in ["docs", "install"] {
        for file in files_below(&repository().join(folder)) {
            let text = fs::read_to_string(&file).unwrap();
            match file.extension().and_then(|extension| extension.to_str()) {
                Some("yaml") => add(&file, &text),
                Some("md") => {
                    for captures in block.captures_iter(&text) {
                        add(&file, &captures[1]);
                    }
                }
                _ => {}
            }
        }
    }
    manifests
}

async fn dry_run(client: &Client, object: Value) -> Result<(), String> {
    let object: DynamicObject =
        serde_json::from_value(object).map_err(|error| error.to_string())?;
    let kind = object.types.as_ref().unwrap().try_into().unwrap();
    let served = discovery::pinned_kind(client, &kind).await;
    let (resource, capabilities) = served.map_err(|error| error.to_string())?;
    let api: Api<DynamicObject> = match (&capabilities.scope, object.namespace()) {
        (Scope::Cluster, None) => Api::all_with(client.clone(), &resource),
        (Scope::Namespaced, Some(namespace)) => {
            Api::namespaced_with(client.clone(), &namespace, &resource)
        }
        (_, namespace) => return Err(format!("is not of namespace {namespace:?}")),
    };
    let mut parameters = PatchParams::apply("documents").dry_run();
    parameters.field_validation = Some(ValidationDirective::Strict);
    api.patch(&object.name_any(), &parameters, &Patch::Apply(&object))
        .await
        .map(drop)
        .map_err(|error| error.to_string())
}

fn repository() -> PathBuf {
    real::components::repository()
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.is_file()).collect()
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = files_in(folder);
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_below(&path));
        }
    }
    files.sort();
    files
}
