//! `asya lint` refuses what the API server refuses, and accepts what it accepts.
//!
//! `kubernetes/cases.yaml` holds specs of actors with their verdict. The rendered workload of each is
//! applied to a real API server without being stored; `asya lint` reads the actor.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use kube::Client;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use test_cluster::cluster::Cluster;
use test_cluster::{components, objects};
use tests::program::{asya, documents, talk};

/// The platform's settings of all cases.
const PLATFORM: &str = "
apiVersion: apiextensions.crossplane.io/v1beta1
kind: EnvironmentConfig
metadata: {name: asya-platform}
data:
  transports: {sqs: {type: sqs, config: {region: us-east-1}}}
  sidecar: {image: 'registry.example.org/asya-sidecar:v1'}
";

/// A verdict with the first reason.
type Verdict = Result<(), String>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lint_and_api_server_agree_on_every_case() {
    if components::is_skipped("the rules of Kubernetes") {
        return;
    }
    let cluster = Cluster::start().await;
    let client = cluster.client().await;
    let text = fs::read_to_string(folder().join("cases.yaml")).unwrap();
    let cases: Value = actor::yaml::document(&text).unwrap();
    let mut faults = Vec::new();
    for expected in ["refused", "accepted"] {
        for (name, spec) in cases[expected].as_object().unwrap() {
            let is_accepted = expected == "accepted";
            let (linted, served) = verdicts(spec, &client).await;
            for (who, verdict) in [("asya lint", linted), ("the API server", served)] {
                if verdict.is_ok() != is_accepted {
                    faults.push(format!(
                        "{name}: {expected} is expected, and {who} says {verdict:?}"
                    ));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_generated_fields_are_those_that_the_api_server_serves() {
    if components::is_skipped("the fields of Kubernetes") {
        return;
    }
    let cluster = Cluster::start().await;
    let client = cluster.client().await;
    let mut served: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for group in ["apps/v1", "autoscaling/v2"] {
        let request = http::Request::get(format!("/openapi/v3/apis/{group}"));
        let request = request.body(Vec::new()).unwrap();
        let document: Value = client.request(request).await.unwrap();
        let types = document["components"]["schemas"].as_object().unwrap();
        for (name, schema) in types {
            let fields = schema["properties"].as_object().into_iter().flatten();
            let short = name.rsplit('.').next().unwrap_or(name);
            let fields = fields.map(|(field, _)| field.clone()).collect();
            served.insert(short.to_owned(), fields);
        }
    }
    let mut generated: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut current = String::new();
    let file = tests::program::repository().join("crates/asya/src/kubernetes/schema.txt");
    for line in fs::read_to_string(file).unwrap().lines().skip(1) {
        match line.strip_prefix(' ') {
            Some(field) => {
                let name = field.split(' ').next().unwrap_or_default();
                let fields = generated.entry(current.clone()).or_default();
                fields.push(name.trim_end_matches('!').to_owned());
            }
            None => line.clone_into(&mut current),
        }
    }
    assert!(generated.len() > 100, "{}", generated.len());
    for (name, fields) in generated {
        assert_eq!(Some(&fields), served.get(&name), "{name}");
    }
}

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("kubernetes")
}

/// Returns the verdicts of lint and of the API server on an actor with this spec.
async fn verdicts(spec: &Value, client: &Client) -> (Verdict, Verdict) {
    let mut whole = json!({"image": "app:1", "handler": "app.handle"});
    for (field, value) in spec.as_object().unwrap() {
        whole[field] = value.clone();
    }
    whole
        .as_object_mut()
        .unwrap()
        .retain(|_, value| !value.is_null());
    let actor = json!({
        "apiVersion": "asya.sh/v1alpha1", "kind": "AsyncActor",
        "metadata": {"name": "app", "namespace": "default"}, "spec": whole,
    });
    let folder = tempfile::tempdir().unwrap();
    let [actor_file, platform] =
        ["actor.yaml", "platform.yaml"].map(|name| folder.path().join(name));
    fs::write(&actor_file, actor.to_string()).unwrap();
    fs::write(&platform, PLATFORM).unwrap();
    let files = [&actor_file, &platform].map(|file| file.to_str().unwrap());
    let linted = asya(&["lint", files[0], files[1]]);
    let linted = if linted.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&linted.stdout).into_owned())
    };
    let rendered = asya(&["render", files[0], files[1]]);
    if !rendered.status.success() {
        // What is not rendered never reaches the API server.
        return (linted, Err(talk(&rendered)));
    }
    let is_workload = |it: &&Value| {
        ["Deployment", "StatefulSet"].contains(&it["kind"].as_str().unwrap_or_default())
    };
    let all = documents(&rendered);
    let workload = all.iter().find(is_workload).unwrap();
    let (api, _) = objects::api_of(client, workload).await;
    let mut options = PatchParams::apply("tests").force();
    options.dry_run = true;
    let applied = api.patch("app", &options, &Patch::Apply(workload)).await;
    (linted, applied.map(drop).map_err(|error| error.to_string()))
}
