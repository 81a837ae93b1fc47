//! The kind of actors on a real API server, as a real Crossplane core defines it: what is accepted,
//! unchanged; what is refused, with which messages; which changes are refused.
//!
//! `validation/` holds the cases; `validation.rs` has them judged by the crossplane CLI too, which
//! knows no former state of an actor.

use actor::spec::{LEGACY_MACHINERY, MACHINERY};
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::Status;
use serde_json::{Value, json};
use test_cluster::cluster::Cluster;
use test_cluster::crossplane::Crossplane;
use test_cluster::{components, namespace, objects, until};
use tests::examples::{self, documents};
use tests::validation::{self, DEFINITIONS, Refused, definition_file, document};

/// Fields that core sets on claims only.
const OF_CLAIMS: [&str; 2] = ["compositeDeletePolicy", "compositionUpdatePolicy"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn valid_actors_are_accepted_and_broken_rules_refused() {
    if is_inside("valid_actors_are_accepted_and_broken_rules_refused") {
        check(DEFINITIONS[0]).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn valid_claims_are_accepted_and_broken_rules_refused() {
    if is_inside("valid_claims_are_accepted_and_broken_rules_refused") {
        check(DEFINITIONS[1]).await;
    }
}

fn is_inside(test: &str) -> bool {
    !components::is_skipped("the kind of actors") && namespace::is_inside(test)
}

/// Checks every case by that definition.
///
/// All in one test: core runs in a network namespace of its own, which is that of one test, and only
/// one of the definitions can be on a cluster.
async fn check(definition: &str) {
    let cluster = Cluster::start().await;
    let _crossplane = Crossplane::start(&cluster).await;
    let server = Server {
        client: cluster.client().await,
    };
    server.check_that_flavors_and_platforms_are_accepted().await;
    server.define(definition).await;
    let mut found = Found::default();
    server.check_what_is_accepted(definition, &mut found).await;
    server.check_what_is_refused(definition, &mut found).await;
    server.check_changes(definition, &mut found).await;
    found.check_that_every_rule_has_refused(definition);
    assert!(found.faults.is_empty(), "{}", found.faults.join("\n"));
}

/// Coverage of a definition by the cases.
#[derive(Default)]
struct Found {
    /// Cases that did not end as they should.
    faults: Vec<String>,
    /// Refused fields with their reasons.
    errors: Vec<Refusal>,
}

/// One thing that is wrong with an object.
struct Refusal {
    /// The field, as a path without indices; empty for the object.
    field: String,
    message: String,
}

/// An API server that Crossplane has defined kinds on.
struct Server {
    client: kube::Client,
}

impl Server {
    /// Has core define the kind, and waits until it is served.
    async fn define(&self, definition: &str) {
        let xrd = document(&definition_file(definition));
        objects::apply(&self.client, &xrd)
            .await
            .expect("the definition is taken");
        let actor = json!({
            "apiVersion": format!("{}/{}", actor::GROUP, actor::VERSION), "kind": actor::KIND,
            "metadata": {"name": "any", "namespace": "default"}, "spec": {}});
        until("actors are served", || async {
            self.create(&actor).await.ok().map(drop)
        })
        .await;
    }

    /// The API for the kind of an object.
    async fn api(&self, object: &Value) -> Api<DynamicObject> {
        objects::api_of(&self.client, object).await.0
    }

    /// Creates an object by dry run, as `kubectl create --dry-run=server` does: unknown fields are
    /// errors.
    async fn create(&self, object: &Value) -> Result<Value, Vec<String>> {
        let url = self.api(object).await.resource_url().to_owned();
        let request = http::Request::post(format!("{url}?dryRun=All&fieldValidation=Strict"))
            .header(http::header::CONTENT_TYPE, "application/json")
            .body(object.to_string().into_bytes())
            .expect("a request");
        self.client.request(request).await.map_err(errors)
    }

    async fn check_that_flavors_and_platforms_are_accepted(&self) {
        let mut count = 0;
        for example in examples::all() {
            for file in ["flavors.yaml", "platform.yaml"] {
                let Some(file) = example.file(file) else {
                    continue;
                };
                for document in documents(&file) {
                    let answer = self.create(&document).await;
                    if let Err(errors) = answer {
                        panic!("{}: {}", file.display(), errors.join("; "));
                    }
                    count += 1;
                }
            }
        }
        assert!(count > 20, "{count} EnvironmentConfigs");
    }

    /// Checks that no defaults are filled in: a default of the schema would beat every flavor.
    async fn check_what_is_accepted(&self, definition: &str, found: &mut Found) {
        let files = [validation::accepted(), validation::accepted_examples()];
        for file in files.into_iter().flatten() {
            let what = format!("{definition}, {}", file.display());
            let actor = document(&file);
            self.make_namespace(&actor).await;
            let answer = match self.create(&actor).await {
                Ok(answer) => answer,
                Err(errors) => {
                    found.faults.push(format!("{what}: {}", errors.join("; ")));
                    continue;
                }
            };
            let mut stored = answer["spec"].clone();
            let spec = stored.as_object_mut().expect("a spec");
            for field in [MACHINERY]
                .iter()
                .chain(&LEGACY_MACHINERY)
                .chain(&OF_CLAIMS)
            {
                spec.remove(*field);
            }
            if stored != actor["spec"] || !answer["status"].is_null() {
                found.faults.push(format!("{what}: it becomes {answer:#}"));
            }
        }
    }

    async fn make_namespace(&self, object: &Value) {
        let namespace = json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": object["metadata"]["namespace"]}});
        let made = objects::apply(&self.client, &namespace).await;
        made.expect("the namespace is made");
    }

    async fn check_what_is_refused(&self, definition: &str, found: &mut Found) {
        let cases = validation::refused().into_iter().map(Refused::of_server);
        for case in cases.filter(|case| case.is_judged_by(definition)) {
            let errors = self.create(&case.object).await.err().unwrap_or_default();
            let judged = case.judge(definition, &errors);
            found.faults.extend(judged.err());
            found
                .errors
                .extend(errors.iter().map(|error| Refusal::read(error)));
        }
    }

    async fn check_changes(&self, definition: &str, found: &mut Found) {
        let file = validation::folder().join("changes.yaml");
        let cases = documents(&file).remove(0);
        for (index, case) in cases.as_array().expect("a list").iter().enumerate() {
            let name = format!("changed-{index}");
            let text = case.to_string().replace("{name}", &name);
            let case: Value = serde_json::from_str(&text).expect("JSON as it was");
            self.check_change(definition, &name, &case, found).await;
        }
    }

    async fn check_change(&self, definition: &str, name: &str, case: &Value, found: &mut Found) {
        let what = format!("{definition}, {}", case["reason"]);
        let actor = json!({
            "apiVersion": format!("{}/{}", actor::GROUP, actor::VERSION), "kind": actor::KIND,
            "metadata": {"name": name, "namespace": "default"}, "spec": case["before"]});
        let made = objects::apply(&self.client, &actor).await;
        made.unwrap_or_else(|error| panic!("{what}: {error}"));
        let dry_run = PatchParams::default().dry_run();
        let change = Patch::Merge(json!({"spec": case["after"]}));
        let changed = self.api(&actor).await.patch(name, &dry_run, &change).await;
        let errors = changed.err().map(errors).unwrap_or_default();
        match (case["expected"].as_str(), &errors[..]) {
            (None, []) => {}
            (Some(message), [error]) if error.contains(message) => {}
            (expected, errors) => {
                let fault = format!("{what}: expected {expected:?}, found {errors:?}");
                found.faults.push(fault);
            }
        }
        found
            .errors
            .extend(errors.iter().map(|error| Refusal::read(error)));
    }
}

impl Refusal {
    /// Reads what [`errors`] has written.
    fn read(error: &str) -> Self {
        let (field, message) = error.split_once(": ").unwrap_or_default();
        let mut path = String::new();
        for part in field.split('[') {
            path.push_str(part.split_once(']').map_or(part, |(_, rest)| rest));
        }
        Self {
            field: path,
            message: message.to_owned(),
        }
    }
}

impl Found {
    /// A rule that no case breaks might as well not be there.
    fn check_that_every_rule_has_refused(&mut self, definition: &str) {
        let xrd = document(&definition_file(definition));
        let schema = &xrd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        let mut rules = Vec::new();
        rules_of(schema, "", &mut rules);
        assert!(rules.len() > 50, "{} rules", rules.len());
        for (field, message) in rules {
            // Some messages quote a name before this.
            let (at, _) = message.char_indices().rev().nth(24).unwrap_or_default();
            let has_refused = |refusal: &Refusal| {
                refusal.field == field && refusal.message.ends_with(&message[at..])
            };
            if !self.errors.iter().any(has_refused) {
                let fault = format!("{definition}: no case of {field:?} is refused by {message:?}");
                self.faults.push(fault);
            }
        }
    }
}

/// The rules of a schema: the field of each, and its message.
fn rules_of(schema: &Value, field: &str, found: &mut Vec<(String, String)>) {
    let rules = schema["x-kubernetes-validations"].as_array();
    for rule in rules.into_iter().flatten() {
        let message = rule["message"].as_str().expect("a message");
        found.push((field.to_owned(), message.to_owned()));
    }
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        let path = [field, name].into_iter().filter(|part| !part.is_empty());
        rules_of(inner, &path.collect::<Vec<_>>().join("."), found);
    }
    for keyword in ["items", "additionalProperties"] {
        if schema[keyword].is_object() {
            rules_of(&schema[keyword], field, found);
        }
    }
}

/// Errors of the API server, each with its field.
fn errors(error: kube::Error) -> Vec<String> {
    let kube::Error::Api(status) = error else {
        panic!("{error}");
    };
    let Status {
        message, details, ..
    } = *status;
    let causes = details.map(|details| details.causes).unwrap_or_default();
    if causes.is_empty() {
        return vec![message];
    }
    causes
        .into_iter()
        // It would report more once the rest is right.
        .filter(|cause| {
            !cause
                .message
                .contains("some validation rules were not checked")
        })
        .map(|cause| {
            let field = cause.field.trim_start_matches("<nil>");
            format!("{field}: {}", cause.message)
        })
        .collect()
}
