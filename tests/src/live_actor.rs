//! A live actor: its conditions, and the objects that were created for it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::stack::{self, Stack};
use crate::table::columns;
use actor::spec::{LEGACY_MACHINERY, MACHINERY};
use actor::{KEDA_API_VERSION, PROVIDER_API_VERSION};
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use test_cluster::crossplane::condition;

/// The kinds of which a Standalone actor that scales has objects, with our own sidecar.
const KINDS: [(&str, &str); 5] = [
    (PROVIDER_API_VERSION, "Queue"),
    (PROVIDER_API_VERSION, "ActorHealth"),
    ("apps/v1", "Deployment"),
    (KEDA_API_VERSION, "ScaledObject"),
    (KEDA_API_VERSION, "TriggerAuthentication"),
];

/// A live actor.
pub struct Live<'a> {
    /// Stack in which it runs.
    pub stack: &'a Stack,
    /// Its name.
    pub name: String,
    /// Time in which it must report anything.
    pub patience: Duration,
    actors: Api<DynamicObject>,
    composed: Vec<(&'static str, Api<DynamicObject>)>,
}

impl<'a> Live<'a> {
    /// An actor that is there.
    pub async fn of(stack: &'a Stack, name: &str) -> Self {
        let mut composed = Vec::new();
        for (api_version, kind) in KINDS {
            composed.push((kind, stack.api(api_version, kind).await));
        }
        Self {
            stack,
            name: name.to_owned(),
            patience: test_cluster::TIMEOUT,
            actors: stack.api(&stack::api_version(), actor::KIND).await,
            composed,
        }
    }

    /// Makes an actor, and waits until all its objects are there.
    pub async fn create(stack: &'a Stack, name: &str, spec: &Value) -> Self {
        let live = Self::apply(stack, name, spec).await;
        let all = format!("all objects of {name} are there");
        test_cluster::until(&all, || async {
            live.has_all_objects().await.then_some(())
        })
        .await;
        live
    }

    /// Makes an actor, and waits for nothing.
    pub async fn apply(stack: &'a Stack, name: &str, spec: &Value) -> Self {
        let live = Self::of(stack, name).await;
        stack.apply(&stack.actor(name, spec)).await;
        live
    }

    /// Returns whether there is an object of each kind. KEDA's follow once the queue is ready, which it
    /// becomes by the provider: without one they are not waited for.
    pub async fn has_all_objects(&self) -> bool {
        let found = self.objects().await;
        let has = |kind: &str| found.keys().any(|name| name.starts_with(kind));
        let is_late = |kind: &str| {
            let of_keda = KINDS.contains(&(KEDA_API_VERSION, kind));
            of_keda && !self.stack.has_provider()
        };
        let mut kinds = self.composed.iter().map(|(kind, _)| *kind);
        kinds.all(|kind| is_late(kind) || has(kind))
    }

    /// The actor as it is.
    pub async fn read(&self) -> Value {
        let actor = self.actors.get(&self.name).await;
        json!(actor.expect("the actor is there"))
    }

    /// Merges a patch into it.
    pub async fn patch(&self, patch: &Value) -> kube::Result<()> {
        let (params, patch) = (PatchParams::default(), Patch::Merge(patch));
        self.actors
            .patch(&self.name, &params, &patch)
            .await
            .map(drop)
    }

    /// Polls until the actor fulfils `is_so`, and returns it; its conditions as the error if it does not in
    /// time.
    pub async fn observed(
        &self,
        what: &str,
        mut is_so: impl FnMut(&Value) -> bool,
    ) -> Result<Value, String> {
        let deadline = Instant::now() + self.patience;
        loop {
            let actor = self.read().await;
            if is_so(&actor) {
                return Ok(actor);
            }
            if Instant::now() > deadline {
                let conditions = &actor["status"]["conditions"];
                return Err(format!(
                    "waited without success until {what}: {conditions:#}"
                ));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Like [`observed`](Self::observed), and fails with the logs.
    pub async fn until(&self, what: &str, is_so: impl FnMut(&Value) -> bool) -> Value {
        let observed = self.observed(what, is_so).await;
        observed.unwrap_or_else(|error| panic!("{error}\n{}", self.stack.log()))
    }

    /// Returns whether an actor reports that it cannot work, with the status and message of a case.
    pub fn reports(actor: &Value, case: &Value) -> bool {
        let status = case["status"].as_str().expect("a status");
        let part = case["message"].as_str().expect("a message");
        condition(actor, "ActorReady").is_some_and(|ready| {
            let message = ready["message"].as_str().unwrap_or_default();
            ready["status"] == "False" && ready["reason"] == status && message.contains(part)
        })
    }

    /// Deletes it, and waits until it is deleted.
    pub async fn delete(&self) {
        let deleted = self
            .actors
            .delete(&self.name, &DeleteParams::default())
            .await;
        deleted.expect("the actor is deleted");
        test_cluster::until(&format!("{} is deleted", self.name), || async {
            let found = self.actors.get_opt(&self.name).await;
            found.expect("an answer").is_none().then_some(())
        })
        .await;
    }

    /// Output of `kubectl get asya` for the actor, with these arguments.
    pub async fn shown(&self, args: &[&str]) -> BTreeMap<String, String> {
        columns(&self.table(args).await)
    }

    /// Polls until `kubectl get asya` prints that status; the error is what it prints instead if it
    /// does not in time.
    ///
    /// Core applies an actor's status with the conditions that it read when the reconciliation began, and
    /// updates the conditions after that: between the two, the actor has old ones.
    pub async fn shows(&self, expected: &str) -> Result<(), String> {
        let deadline = Instant::now() + self.patience;
        loop {
            let shown = self.shown(&[]).await;
            if shown.get("STATUS").is_some_and(|status| status == expected) {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(format!("kubectl shows {shown:?}, and not {expected}"));
            }
        }
    }

    /// The table that `kubectl get asya` prints, with these arguments.
    pub async fn table(&self, args: &[&str]) -> String {
        let get = ["get", "asya", &self.name];
        self.stack.kubectl(&[&get, args].concat()).await
    }

    /// Its objects: what they are and what they want.
    pub async fn objects(&self) -> BTreeMap<String, Value> {
        let of_actor = ListParams::default().labels(&format!("asya.sh/actor={}", self.name));
        let mut found = BTreeMap::new();
        for (kind, api) in &self.composed {
            for object in api.list(&of_actor).await.expect("a list") {
                let metadata = object.metadata;
                let name = format!("{kind} {}", metadata.name.unwrap_or_default());
                let object = json!({
                    "uid": metadata.uid, "generation": metadata.generation,
                    "deletionTimestamp": metadata.deletion_timestamp, "spec": object.data["spec"]});
                found.insert(name, object);
            }
        }
        found
    }

    /// Asks for so many pods, as KEDA does.
    pub async fn scale(&self, replicas: u64) {
        let deployments = self.stack.api("apps/v1", "Deployment").await;
        let scale = json!({"spec": {"replicas": replicas}});
        let (keda, patch) = (PatchParams::default(), Patch::Merge(&scale));
        let scaled = deployments.patch_scale(&self.name, &keda, &patch).await;
        scaled.expect("the Deployment is scaled");
    }

    /// Returns the generation of its Deployment.
    pub async fn generation_of_deployment(&self) -> Value {
        let deployments = self.stack.api("apps/v1", "Deployment").await;
        let deployment = deployments.get(&self.name).await;
        json!(deployment.expect("a Deployment").metadata.generation)
    }

    /// Makes the provider leave its queue alone, which no broker has.
    pub async fn pause_queue(&self) {
        let pause = ("crossplane.io/paused", "true");
        self.stack
            .annotate(PROVIDER_API_VERSION, "Queue", &self.name, pause)
            .await;
    }

    /// Fails when the stored spec differs from what its user wrote.
    ///
    /// # Panics
    /// When it does.
    pub async fn check_that_the_spec_is_as_the_user_wrote_it(&self, spec: &Value) {
        let mut stored = self.read().await["spec"].take();
        let fields = stored.as_object_mut().expect("a spec");
        // Crossplane's own; the last is a claim's, which names its composite resource.
        fields.remove(MACHINERY);
        fields.retain(|field, _| !LEGACY_MACHINERY.contains(&field.as_str()));
        fields.remove("resourceRef");
        assert_eq!(
            stored, *spec,
            "what flavors and defaults give is nowhere stored"
        );
    }
}
