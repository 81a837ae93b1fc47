//! The kind of actors on a real API server, as a real Crossplane core defines it: what is accepted,
//! as it was written; what is refused, in which words; which changes are refused.
//!
//! `validation/` holds the cases; `validation.rs` has them judged by the crossplane CLI too, which
//! knows no former state of an actor.

use std::path::Path;

use actor::spec::{LEGACY_MACHINERY, MACHINERY};
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams};
use kube::core::Status;
use real::cluster::Cluster;
use real::crossplane::Crossplane;
use real::{components, namespace, objects, until};
use serde_json::{Value, json};
use tests::examples::{self, documents};
use tests::validation::{self, DEFINITIONS, definition_file, document};

const TEST: &str = "the_api_server_judges_actors_as_the_documents_say";

/// What core fills in beside what it fills in for composite resources.
const OF_CLAIMS: [&str; 2] = ["compositeDeletePolicy", "compositionUpdatePolicy"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_api_server_judges_actors_as_the_documents_say() {
    if components::is_skipped("the kind of actors") || !namespace::is_inside(TEST) {
        return;
    }
    let cluster = Cluster::start().await;
    let _crossplane = Crossplane::start(&cluster).await;
    let server = Server {
        client: cluster.client().await,
    };
    server.check_that_flavors_and_platforms_are_accepted().await;
    for definition in DEFINITIONS {
        server.define(definition).await;
        server.check_what_is_accepted(definition).await;
        server.check_what_is_refused(definition).await;
        server.check_changes(definition).await;
        server.forget(definition).await;
    }
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

    /// Takes the kind away, with every actor.
    async fn forget(&self, definition: &str) {
        let xrd = document(&definition_file(definition));
        let (xrds, _) = objects::api_of(&self.client, &xrd).await;
        let deleted = xrds.delete(definition, &DeleteParams::default()).await;
        deleted.expect("the definition goes");
        until(&format!("{definition} is gone"), || async {
            let found = xrds.get_opt(definition).await;
            found.expect("an answer").is_none().then_some(())
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

    async fn check_accepted(&self, what: &str, object: &Value) -> Value {
        let answer = self.create(object).await;
        answer.unwrap_or_else(|errors| panic!("{what}: {}", errors.join("; ")))
    }

    async fn check_that_flavors_and_platforms_are_accepted(&self) {
        let mut count = 0;
        for example in examples::all() {
            for file in ["flavors.yaml", "platform.yaml"] {
                let Some(file) = example.file(file) else {
                    continue;
                };
                for document in documents(&file) {
                    self.check_accepted(&shown(&file), &document).await;
                    count += 1;
                }
            }
        }
        assert!(count > 20, "{count} EnvironmentConfigs");
    }

    /// Nothing is filled in: a default of the schema would beat every flavor.
    async fn check_what_is_accepted(&self, definition: &str) {
        let files = [validation::accepted(), validation::accepted_examples()];
        for file in files.into_iter().flatten() {
            let what = format!("{definition}, {}", shown(&file));
            let actor = document(&file);
            let answer = self.check_accepted(&what, &actor).await;
            let mut stored = answer["spec"].clone();
            let spec = stored.as_object_mut().expect("a spec");
            for field in [MACHINERY]
                .iter()
                .chain(&LEGACY_MACHINERY)
                .chain(&OF_CLAIMS)
            {
                spec.remove(*field);
            }
            assert_eq!(stored, actor["spec"], "{what}");
            assert_eq!(answer["status"], Value::Null, "{what}");
        }
    }

    async fn check_what_is_refused(&self, definition: &str) {
        let cases = validation::refused();
        let judged = cases.iter().filter(|case| case.is_judged_by(definition));
        for case in judged {
            let errors = self.create(&case.object).await.err();
            case.check(definition, &errors.unwrap_or_default());
        }
    }

    async fn check_changes(&self, definition: &str) {
        let file = validation::folder().join("changes.yaml");
        let cases = documents(&file).remove(0);
        for (index, case) in cases.as_array().expect("a list").iter().enumerate() {
            let name = format!("changed-{index}");
            let text = case.to_string().replace("{name}", &name);
            let case: Value = serde_json::from_str(&text).expect("JSON as it was");
            self.check_change(definition, &name, &case).await;
        }
    }

    async fn check_change(&self, definition: &str, name: &str, case: &Value) {
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
        match case["expected"].as_str() {
            None => assert!(errors.is_empty(), "{what}: {errors:?}"),
            Some(message) => assert!(
                errors.len() == 1 && errors[0].contains(message),
                "{what}: {message:?}, and no other, in {errors:?}"
            ),
        }
    }
}

/// What the API server finds wrong, each with its field.
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
        .map(|cause| format!("{}: {}", cause.field, cause.message))
        .collect()
}

fn shown(file: &Path) -> String {
    file.display().to_string()
}
