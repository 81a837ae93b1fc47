//! Mistakes in what a live actor is made from, which only a step can see: the pipeline ends
//! fatally, everything that runs is unchanged, and the actor reports why.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::time::Duration;

use actor::PROVIDER_API_VERSION;
use function_kit::overlay;
use futures::future::join_all;
use kube::api::DeleteParams;
use serde_json::{Map, Value, json};
use test_cluster::crossplane::condition;
use test_cluster::objects;
use tests::examples::documents;
use tests::stack::Stack;

use crate::data::{cases, folder, reason, status};
use tests::live_actor::Live;

/// Checks every mistake, those of actors on `actors` actors at the same time, and reports all
/// that do not end as they should.
pub(crate) async fn check_all(stack: &Stack, spec: &Value, actors: usize) {
    let names: Vec<String> = (1..=actors).map(|n| format!("mistaken-{n}")).collect();
    let actors = join_all(names.iter().map(|name| Mistaken::create(stack, name, spec))).await;
    let (of_platform, of_actors): (Vec<_>, Vec<_>) = cases("mistakes.yaml")
        .into_iter()
        .partition(|case| !case["platform"].is_null());
    let share = |turn: usize| of_actors.iter().skip(turn).step_by(actors.len());
    let turns = actors.iter().enumerate().map(|(turn, actor)| async move {
        let mut faults = Vec::new();
        for mistake in share(turn) {
            faults.extend(actor.check(mistake).await.err());
            faults.extend(actor.is_repaired(reason(mistake)).await.err());
        }
        faults
    });
    let mut faults: Vec<String> = join_all(turns).await.into_iter().flatten().collect();
    // The platform is everyone's: one after the other.
    for mistake in &of_platform {
        faults.extend(actors[0].check_with_platform(mistake).await.err());
    }
    let count = of_platform.len() + of_actors.len();
    assert!(
        faults.is_empty(),
        "{} of {count} mistakes:\n{}\n{}",
        faults.len(),
        faults.join("\n"),
        stack.log()
    );
    join_all(actors.iter().map(|actor| actor.live.delete())).await;
}

/// An actor that mistakes are made with, one after the other.
struct Mistaken<'a> {
    live: Live<'a>,
    /// Its objects before the first.
    objects: BTreeMap<String, Value>,
}

/// The actor's objects, less ActorHealth: it names the versions of the EnvironmentConfigs in use, and
/// follows a platform that is changed and restored.
async fn what_runs(live: &Live<'_>) -> BTreeMap<String, Value> {
    let mut objects = live.objects().await;
    objects.retain(|name, _| !name.starts_with("ActorHealth "));
    objects
}

impl<'a> Mistaken<'a> {
    async fn create(stack: &'a Stack, name: &str, spec: &Value) -> Self {
        let live = Live::create(stack, name, spec).await;
        let objects = what_runs(&live).await;
        Self { live, objects }
    }

    /// Makes a mistake in the actor, checks what follows, and reverts it.
    async fn check(&self, mistake: &Value) -> Result<(), String> {
        let reason = reason(mistake);
        let (patch, undo) = changes(&self.live.read().await, mistake, &self.live.name);
        let patched = self.live.patch(&patch).await;
        patched.map_err(|error| format!("{reason}: {error}"))?;
        let reported = self.is_reported(mistake).await;
        let objects = what_runs(&self.live).await;
        self.live.patch(&undo).await.expect("the good spec");
        reported?;
        if objects != self.objects {
            return Err(format!(
                "{reason}: what runs should stay as it is: {:#?}, then {objects:#?}",
                self.objects
            ));
        }
        Ok(())
    }

    /// Waits until the actor reports the mistake, and checks its other conditions.
    async fn is_reported(&self, mistake: &Value) -> Result<(), String> {
        let reason = reason(mistake);
        let reports = |actor: &Value| Live::reports(actor, mistake);
        let actor = self.live.observed(reason, reports).await?;
        let synced = condition(&actor, "Synced").map(|synced| &synced["status"]);
        if synced != Some(&json!("False")) {
            return Err(format!("{reason}: Synced is {synced:?}"));
        }
        let conditions = actor["status"]["conditions"].as_array();
        let unsaid: Vec<&Value> = conditions
            .into_iter()
            .flatten()
            .filter(|condition| condition["reason"] == "FatalError")
            .collect();
        if !unsaid.is_empty() {
            return Err(format!("{reason}: the step does not set {unsaid:?}"));
        }
        let shown = self.live.shows(status(mistake)).await;
        shown.map_err(|error| format!("{reason}: {error}"))
    }

    async fn is_repaired(&self, reason: &str) -> Result<(), String> {
        let is_over = |actor: &Value| {
            condition(actor, "Synced").is_some_and(|synced| synced["status"] == "True")
        };
        let repaired = format!("{reason}: it is repaired");
        self.live.observed(&repaired, is_over).await.map(drop)
    }

    /// A mistake in the platform's settings, which core observes when it next reconciles the actor.
    async fn check_with_platform(&self, mistake: &Value) -> Result<(), String> {
        let stack = self.live.stack;
        let good = documents(&folder().join("platform.yaml")).remove(0);
        if mistake["platform"] == "absent" {
            let (settings, _) = objects::api_of(&stack.client, &good).await;
            let name = good["metadata"]["name"].as_str().expect("a name");
            let deleted = settings.delete(name, &DeleteParams::default()).await;
            deleted.expect("the platform's settings go");
        } else {
            let mut bad = good.clone();
            let over = mistake["platform"].as_object().expect("settings").clone();
            overlay(bad["data"].as_object_mut().expect("settings"), over);
            stack.apply(&bad).await;
        }
        let checked = async {
            let checked = self.check(mistake).await;
            stack.apply(&good).await;
            checked.and(self.is_repaired(reason(mistake)).await)
        };
        tokio::select! {
            checked = checked => checked,
            never = self.wake() => match never {},
        }
    }

    /// Requests reconciliations again and again.
    async fn wake(&self) -> Infallible {
        for touch in 0_u64.. {
            let touch = touch.to_string();
            let note = ("example.org/touch", touch.as_str());
            let (stack, name) = (self.live.stack, &self.live.name);
            stack
                .annotate(PROVIDER_API_VERSION, "Queue", name, note)
                .await;
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        unreachable!("nobody counts that far")
    }
}

/// The patch that makes the mistake, and the one that takes it back.
fn changes(actor: &Value, mistake: &Value, name: &str) -> (Value, Value) {
    let text = mistake["spec"].to_string().replace("{actor}", name);
    let spec: Value = serde_json::from_str(&text).expect("JSON as it was");
    let notes = &mistake["annotations"];
    let fields = |changes: &Value| changes.as_object().cloned().unwrap_or_default();
    let former = |changes: &Value, now: &Value| -> Map<String, Value> {
        let keys = fields(changes).into_iter();
        keys.map(|(key, _)| (key.clone(), now[key].clone()))
            .collect()
    };
    let patch = |spec: Map<String, Value>, notes: Map<String, Value>| json!({"spec": spec, "metadata": {"annotations": notes}});
    let undo = patch(
        former(&spec, &actor["spec"]),
        former(notes, &actor["metadata"]["annotations"]),
    );
    (patch(fields(&spec), fields(notes)), undo)
}
