//! Manifests of the pages: actors, flavors and platforms are linted and rendered by `asya`.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};
use tests::program::{asya, repository, talk};

use tests::page::{Block, Page, pages};

/// Kinds that a real API server judges, in tests of their own.
const OF_A_CLUSTER: [&str; 19] = [
    "ClusterProviderConfig",
    "ClusterRole",
    "ClusterRoleBinding",
    "Composition",
    "ConfigMap",
    "Configuration",
    "Deployment",
    "DeploymentRuntimeConfig",
    "Function",
    "ImageConfig",
    "Namespace",
    "NetworkPolicy",
    "Provider",
    "ProviderConfig",
    "Queue",
    "Role",
    "RoleBinding",
    "Secret",
    "Service",
];

/// Flavors that pages name and do not show.
const SHARED_FLAVORS: [&str; 2] = [
    "examples/gpu-inference/flavors.yaml",
    "install/flavors/small.yaml",
];

/// The page whose examples are documents that are refused.
const OF_ERRORS: &str = "docs/reference/diagnostics.md";

/// Kinds that commands of the page itself judge: the block must begin with `# file: …`.
const OF_COMMANDS: [&str; 1] = ["ActorTest"];

#[test]
fn every_manifest_is_valid() {
    let mut faults = Vec::new();
    let mut judged = 0;
    for page in pages().into_iter().filter(|page| page.path != OF_ERRORS) {
        let flavors = flavors_of(&page);
        for block in page
            .blocks()
            .iter()
            .filter(|block| block.language == "yaml")
        {
            for document in documents(block, &mut faults) {
                let kind = document["kind"].as_str().unwrap_or_default();
                match kind {
                    "AsyncActor" => {
                        judged += 1;
                        faults.extend(judge(block, &document, &flavors));
                    }
                    "EnvironmentConfig" => {}
                    "Input" => faults.extend(judge_input(block, &document)),
                    _ if OF_A_CLUSTER.contains(&kind) => {}
                    _ if OF_COMMANDS.contains(&kind) && block.note("file").is_some() => {}
                    _ => faults.push(format!("{}: nothing judges kind {kind:?}", block.place)),
                }
            }
        }
        faults.extend(lint_all(&page, &flavors));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(judged >= 15, "only {judged} actors were found");
}

/// The scrape job of the page has the same relabelling as the file in `install/`.
#[test]
fn relabelling_is_the_same_on_the_page_and_in_its_file() {
    const KEY: &str = "metric_relabel_configs";
    let page = Page::read("docs/observability.md");
    let blocks = page.blocks();
    let jobs = blocks
        .iter()
        .filter(|block| block.note("part of") == Some("prometheus.yml"))
        .flat_map(|block| actor::yaml::documents(&block.text).unwrap());
    let on_page: Vec<Value> = jobs
        .filter_map(|document| document.pointer("/scrape_configs/0")?.get(KEY).cloned())
        .collect();
    let of_file =
        tests::examples::documents(&repository().join("install/prometheus/relabelling.yaml"));
    assert_eq!(on_page, [of_file[0][KEY].clone()]);
    assert!(on_page[0][0]["regex"].is_string(), "{on_page:?}");
}

/// Returns whether a step's input has fields that the step knows, and no others.
fn judge_input(block: &Block, document: &Value) -> Option<String> {
    let api_version = document["apiVersion"].as_str().unwrap_or_default();
    let group = api_version.split('/').next().unwrap_or_default();
    let step = group.split('.').next().unwrap_or_default();
    let file = format!("package/function-{step}/input/{group}_inputs.yaml");
    let Ok(text) = fs::read_to_string(repository().join(&file)) else {
        return Some(format!("{}: no step has group {group:?}", block.place));
    };
    let crd = actor::yaml::documents(&text).unwrap().remove(0);
    let known = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
    let fields = document.as_object().into_iter().flatten();
    let mut unknown = fields.filter(|(field, _)| known[field.as_str()].is_null());
    let (field, _) = unknown.next()?;
    Some(format!("{}: {file} has no field {field:?}", block.place))
}

/// The objects of a block. A spec alone is that of an actor; what names the thing that it is a part of is
/// only read.
fn documents(block: &Block, faults: &mut Vec<String>) -> Vec<Value> {
    let documents = match actor::yaml::documents(&block.text) {
        Ok(documents) => documents,
        Err(error) => {
            faults.push(format!("{}: {error}", block.place));
            return Vec::new();
        }
    };
    if block.note("part of").is_some() {
        return Vec::new();
    }
    documents
        .into_iter()
        .filter_map(|document| {
            if document["kind"].is_string() {
                return Some(document);
            }
            let keys: Vec<&String> = document.as_object()?.keys().collect();
            if keys != ["spec"] {
                faults.push(format!("{}: begin it with '# part of: …'", block.place));
                return None;
            }
            let mut actor = json!({
                "apiVersion": "asya.sh/v1alpha1", "kind": "AsyncActor",
                "metadata": {"name": "part", "namespace": "default"},
                "spec": {"image": "app:1", "handler": "app.handle"},
            });
            for (key, value) in document["spec"].as_object()? {
                actor["spec"][key] = value.clone();
            }
            Some(actor)
        })
        .collect()
}

fn shown(output: &std::process::Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        talk(output)
    )
}

/// The `EnvironmentConfig`s of the page by name, the first of each, and beside them shared ones
/// and a platform, where the page has none of that name.
fn flavors_of(page: &Page) -> BTreeMap<String, Value> {
    let mut flavors = BTreeMap::new();
    let blocks = page.blocks();
    let of_page = blocks
        .iter()
        .filter(|block| block.language == "yaml")
        .flat_map(|block| actor::yaml::documents(&block.text).unwrap_or_default());
    let others = SHARED_FLAVORS.map(|file| repository().join(file));
    let others = others
        .iter()
        .flat_map(|file| tests::examples::documents(file));
    let platform = json!({
        "apiVersion": "apiextensions.crossplane.io/v1beta1", "kind": "EnvironmentConfig",
        "metadata": {"name": "asya-platform"},
        "data": {
            "defaultTransport": "rabbitmq",
            "runtime": {"adapterImage": "registry.example.org/asya/asya-rest-adapter:v0.1.0"},
            "transports": {
                "rabbitmq": {"type": "rabbitmq", "config": {
                    "host": "rabbitmq.queues.svc.cluster.local",
                    "managementHost": "rabbitmq.queues.svc.cluster.local", "managementPort": 15672,
                    "usernameSecretRef": {"name": "rabbitmq", "key": "username"},
                    "passwordSecretRef": {"name": "rabbitmq", "key": "password"},
                }},
                "sqs": {"type": "sqs", "config": {"region": "eu-west-1"}},
            },
        },
    });
    for document in of_page.chain(others).chain([platform]) {
        if document["kind"] == "EnvironmentConfig" {
            let name = document["metadata"]["name"].as_str().unwrap_or_default();
            flavors.entry(name.to_owned()).or_insert(document);
        }
    }
    flavors
}

/// Findings of lint and render about an actor with the flavors that it names.
fn judge(block: &Block, actor: &Value, flavors: &BTreeMap<String, Value>) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, documents: &[&Value]| {
        let text = actor::yaml::write_stream(documents.iter().copied()).unwrap();
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let file = write("actor.yaml", &[actor]);
    let names = actor["spec"]["flavors"].as_array().into_iter().flatten();
    let mut given = Vec::new();
    for name in names.filter_map(Value::as_str).chain(["asya-platform"]) {
        match flavors.get(name) {
            Some(flavor) => given.push(flavor),
            None => return vec![format!("{}: nobody has flavor {name:?}", block.place)],
        }
    }
    let others = write("others.yaml", &given);
    [
        asya(&["lint", &file, &others]),
        asya(&["render", &file, "-e", &others]),
    ]
    .iter()
    .filter(|output| !output.status.success())
    .map(|output| format!("{}: {}", block.place, shown(output)))
    .collect()
}

/// Findings of lint about all flavors of a page together.
fn lint_all(page: &Page, flavors: &BTreeMap<String, Value>) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("flavors.yaml");
    fs::write(&path, actor::yaml::write_stream(flavors.values()).unwrap()).unwrap();
    let output = asya(&["lint", &path.display().to_string()]);
    let is_wrong = !output.status.success();
    is_wrong.then(|| format!("{}: {}", page.path, shown(&output)))
}
