//! Live actors on a real API server and a real Crossplane core, with our functions over mTLS.
//!
//! Nobody runs pods or queues here: the tests write what the controllers around an
//! actor would say, and read what its user sees. `live/` holds the cases.

use std::collections::BTreeMap;
use std::path::Path;

use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams};
use real::components;
use real::crossplane::condition;
use real::namespace;
use serde_json::{Value, json};
use tests::examples::documents;
use tests::stack::Stack;

const NAME: &str = "live";

/// How many passes an actor must go through without a write.
const QUIET_PASSES: u64 = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "not dependable yet: `cargo test -p tests --test live -- --ignored`"]
async fn a_live_actor_tells_its_user_what_is_going_on() {
    if components::is_skipped("live actors")
        || !namespace::is_inside("a_live_actor_tells_its_user_what_is_going_on")
    {
        return;
    }
    let live = Live::start().await;
    let spec = json!({"image": "my-org/live:1", "handler": "live.handle"});
    live.stack.apply(&live.stack.actor(NAME, &spec)).await;
    for state in cases("states.yaml") {
        live.check_state(&state).await;
    }
    live.check_that_the_spec_is_as_the_user_wrote_it(&spec)
        .await;
    live.check_that_it_is_quiet().await;
    for mistake in cases("mistakes.yaml") {
        live.check_mistake(&mistake).await;
    }
}

/// A live actor and what is around it.
struct Live {
    stack: Stack,
    actors: Api<DynamicObject>,
}

impl Live {
    async fn start() -> Self {
        let stack = Stack::start().await;
        for file in ["platform.yaml", "flavors.yaml"] {
            stack.apply_file(&folder().join(file)).await;
        }
        let actors = stack.api(&tests::stack::api_version(), actor::KIND).await;
        Self { stack, actors }
    }

    async fn read(&self) -> Value {
        json!(self.actors.get(NAME).await.expect("the actor is there"))
    }

    /// Asks until the actor looks like that; fails with what it looks like instead.
    async fn until(&self, what: &str, mut is_so: impl FnMut(&Value) -> bool) -> Value {
        let deadline = std::time::Instant::now() + real::PATIENCE;
        loop {
            let actor = self.read().await;
            if is_so(&actor) {
                return actor;
            }
            assert!(
                std::time::Instant::now() < deadline,
                "in vain until {what}: {:#}\n{}",
                actor["status"],
                self.stack.crossplane.log()
            );
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    }

    async fn check_state(&self, state: &Value) {
        let kinds = [
            ("queue", actor::PROVIDER_API_VERSION, "Queue"),
            ("deployment", "apps/v1", "Deployment"),
            ("scaledObject", actor::KEDA_API_VERSION, "ScaledObject"),
            ("health", actor::PROVIDER_API_VERSION, "ActorHealth"),
        ];
        for (key, api_version, kind) in kinds {
            if state[key].is_object() {
                let status = with_times(&state[key]);
                self.stack
                    .write_status(api_version, kind, NAME, &status)
                    .await;
            }
        }
        let reason = state["reason"].as_str().expect("a reason");
        let expected: BTreeMap<String, String> =
            serde_json::from_value(state["expected"].clone()).expect("columns");
        let is_told = |actor: &Value| {
            let ready = condition(actor, "ActorReady");
            ready.is_some_and(|ready| ready["reason"] == expected["STATUS"].as_str())
        };
        let actor = self.until(reason, is_told).await;
        let message = actor["status"]["message"].as_str().unwrap_or_default();
        let part = state["message"].as_str().unwrap_or_default();
        assert!(
            message.contains(part),
            "{reason}: no {part:?} in {message:?}"
        );
        let mut shown = BTreeMap::new();
        // The word comes with the last of the status' writes, or just before it.
        let is_shown = |_: &Value| {
            shown = columns(&self.stack.kubectl(&["get", "asya", NAME, "-o", "wide"]));
            let as_expected = |(name, value): (&String, &String)| shown.get(name) == Some(value);
            let is_so = expected.iter().all(as_expected);
            if !is_so {
                println!("kubectl shows {shown:?}");
            }
            is_so
        };
        self.until(&format!("kubectl shows {expected:?}: {reason}"), is_shown)
            .await;
        assert!(shown.contains_key("SYNCED"), "{reason}: {shown:?}");
    }

    async fn check_that_the_spec_is_as_the_user_wrote_it(&self, spec: &Value) {
        let mut stored = self.read().await["spec"].clone();
        stored.as_object_mut().expect("a spec").remove("crossplane");
        assert_eq!(
            stored, *spec,
            "what flavors and defaults give is nowhere stored"
        );
    }

    /// Passes go by without a write to the actor.
    async fn check_that_it_is_quiet(&self) {
        let mut version = self.version().await;
        let mut quiet = 0;
        // The first passes may still answer what happened before.
        for touch in 0..2 * QUIET_PASSES {
            self.make_a_pass(touch).await;
            let now = self.version().await;
            quiet = if now == version { quiet + 1 } else { 0 };
            version = now;
        }
        assert!(
            quiet >= QUIET_PASSES,
            "only {quiet} passes in a row left the actor as it was"
        );
    }

    /// Changes what Crossplane watches and no step reads, and waits for the pass that follows.
    async fn make_a_pass(&self, touch: u64) {
        let queues = self.stack.api(actor::PROVIDER_API_VERSION, "Queue").await;
        let before = self.stack.passes();
        let note = json!({"metadata": {"annotations": {"example.org/touch": touch.to_string()}}});
        let (params, patch) = (PatchParams::default(), Patch::Merge(&note));
        let patched = queues.patch(NAME, &params, &patch).await;
        patched.expect("the queue takes a note");
        real::until("a pass follows", || async {
            (self.stack.passes() > before).then_some(())
        })
        .await;
    }

    async fn version(&self) -> Value {
        self.read().await["metadata"]["resourceVersion"].clone()
    }

    async fn check_mistake(&self, mistake: &Value) {
        let reason = mistake["reason"].as_str().expect("a reason");
        let before = self.objects().await;
        let good = self.read().await["spec"].clone();
        let body = json!({"spec": mistake["spec"]});
        let patch = |body: Value| async move {
            let params = PatchParams::default();
            self.actors.patch(NAME, &params, &Patch::Merge(&body)).await
        };
        patch(body)
            .await
            .unwrap_or_else(|error| panic!("{reason}: {error}"));
        let (word, part) = (
            &mistake["word"],
            mistake["message"].as_str().expect("a message"),
        );
        let is_said = |actor: &Value| {
            let ready = condition(actor, "ActorReady");
            ready.is_some_and(|ready| {
                let message = ready["message"].as_str().unwrap_or_default();
                ready["status"] == "False" && ready["reason"] == *word && message.contains(part)
            })
        };
        let actor = self.until(reason, is_said).await;
        let synced = condition(&actor, "Synced").map(|synced| &synced["status"]);
        assert_eq!(synced, Some(&json!("False")), "{reason}");
        let shown = columns(&self.stack.kubectl(&["get", "asya", NAME]));
        assert_eq!(
            shown.get("STATUS").map(String::as_str),
            word.as_str(),
            "{reason}"
        );
        assert_eq!(
            self.objects().await,
            before,
            "{reason}: all that runs stays as it is"
        );
        let undo = mistake["spec"].as_object().expect("fields").keys();
        let undo: Value = undo.map(|key| (key.clone(), good[key].clone())).collect();
        patch(json!({ "spec": undo })).await.expect("the good spec");
        let is_over = |actor: &Value| {
            condition(actor, "Synced").is_some_and(|synced| synced["status"] == "True")
        };
        self.until(&format!("{reason}: it is repaired"), is_over)
            .await;
    }

    /// What the actor's objects are and want: names, identities and specs.
    async fn objects(&self) -> BTreeMap<String, Value> {
        let kinds = [
            (actor::PROVIDER_API_VERSION, "Queue"),
            (actor::PROVIDER_API_VERSION, "ActorHealth"),
            ("apps/v1", "Deployment"),
            ("v1", "ConfigMap"),
            (actor::KEDA_API_VERSION, "ScaledObject"),
            (actor::KEDA_API_VERSION, "TriggerAuthentication"),
        ];
        let mut found = BTreeMap::new();
        for (api_version, kind) in kinds {
            let api = self.stack.api(api_version, kind).await;
            let of_actor = ListParams::default().labels(&format!("asya.sh/actor={NAME}"));
            let objects = api.list(&of_actor).await.expect("a list");
            assert!(!objects.items.is_empty(), "no {kind}");
            for object in objects {
                let name = format!("{kind} {}", object.metadata.name.unwrap_or_default());
                let uid = object.metadata.uid;
                found.insert(name, json!({"uid": uid, "spec": object.data["spec"]}));
            }
        }
        found
    }
}

/// Conditions with the time that the schema asks for.
fn with_times(status: &Value) -> Value {
    let mut status = status.clone();
    if let Some(conditions) = status["conditions"].as_array_mut() {
        for condition in conditions {
            condition["lastTransitionTime"] = json!("2026-01-01T00:00:00Z");
        }
    }
    status
}

/// The cells of a table with one line, by the names of their columns: each starts below its name.
fn columns(table: &str) -> BTreeMap<String, String> {
    let mut lines = table.lines();
    let (Some(head), Some(line)) = (lines.next(), lines.next()) else {
        return BTreeMap::new();
    };
    let names: Vec<&str> = head.split_whitespace().collect();
    let mut from = 0;
    let starts: Vec<usize> = names
        .iter()
        .map(|name| {
            let start = from + head[from..].find(name).expect("a name is in its head");
            from = start + name.len();
            start
        })
        .collect();
    let cell = |index: usize| {
        let end = starts.get(index + 1).copied().unwrap_or(line.len());
        line.get(starts[index]..end.min(line.len()))
            .unwrap_or_default()
    };
    let cells = names.iter().enumerate();
    cells
        .map(|(index, name)| ((*name).to_owned(), cell(index).trim().to_owned()))
        .collect()
}

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("live")
}

/// The cases of a file, which is one list.
fn cases(file: &str) -> Vec<Value> {
    let mut documents = documents(&folder().join(file));
    assert_eq!(documents.len(), 1, "{file}");
    let Value::Array(cases) = documents.remove(0) else {
        panic!("{file} is no list");
    };
    cases
}
