//! Announces changed EnvironmentConfigs (flavors and the platform's settings) to the actors that use
//! them.
//!
//! Crossplane watches an actor's composed objects, and not what functions require. So an ActorHealth
//! names the EnvironmentConfigs that its actor was rendered with, and their versions. The provider
//! watches all EnvironmentConfigs, as metadata; where a version differs it sets the annotation
//! [`ANNOTATION`] of the composite resource, which makes Crossplane reconcile it.
//!
//! - The comparison needs no memory: after a restart, or with another replica active, a change that
//!   happened in between is found from the ActorHealth objects.
//! - Announcements are paced by [`Timings::announcement_interval`](crate::timings::Timings), so that a
//!   flavor of thousands of actors does not occupy Crossplane and the API server.
//! - Nothing but the annotation is written, by a merge patch with the uid. Tools that apply manifests
//!   see no drift, because no manifest has the annotation.

mod announcements;
mod rights;

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use kube::core::{GroupVersionKind, PartialObjectMeta};
use kube::runtime::reflector::{ObjectRef, Store};
use kube::runtime::watcher::{self, Event};
use kube::{Api, Resource as _, ResourceExt as _};
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::Instant;

use actor::health::{ENVIRONMENT_WATCHED, UsedEnvironmentConfig};

use self::announcements::{Announcement, Announcements, Composite, Key, Next};
use self::rights::{KindKey, Rights};
use super::Context;
use super::watch_cache::watch_stream::{self, WatchStream, WatchUpdate};
use crate::conditions::ConditionUpdate;
use crate::kinds::ActorHealth;

/// Annotation of a composite resource: hash of the versions of its EnvironmentConfigs when one of them
/// had changed.
pub const ANNOTATION: &str = "asya.sh/environment-changed";

/// Reason of the condition where a right is missing.
const FORBIDDEN: &str = "Forbidden";

/// Field manager of the annotation.
const MANAGER: &str = env!("CARGO_PKG_NAME");

/// An EnvironmentConfig, of which only the metadata is read.
type Metadata = PartialObjectMeta<DynamicObject>;

/// State of EnvironmentConfigs and of the actors that have to be informed of their changes.
#[derive(Debug, Default)]
pub struct Environment {
    state: Mutex<State>,
    rights: Rights,
    /// Wakes the task that writes annotations.
    added: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// Versions of all EnvironmentConfigs, by name; none before the first list.
    versions: Option<BTreeMap<String, String>>,
    /// The list that is being received.
    listed: BTreeMap<String, String>,
    /// Reason and message if they cannot be watched.
    problem: Option<(&'static str, String)>,
    announcements: Announcements,
}

/// State of the watch for changes to an actor's EnvironmentConfigs.
#[derive(Debug)]
pub(super) enum Watched {
    /// The condition that reports it.
    Known(ConditionUpdate),
    /// Not known yet.
    Unknown,
    /// Its ActorHealth names no EnvironmentConfig.
    NotUsed,
}

impl Environment {
    /// Compares the versions that an actor uses with the present ones.
    pub(super) fn compare(&self, health: &ActorHealth) {
        let key = key(health);
        let mut state = self.lock();
        let used = &health.spec.for_provider.environment_configs;
        match (state.changed(used), composite(health)) {
            (Some(versions), Some(composite)) => {
                state
                    .announcements
                    .add(key, composite, versions, Instant::now());
                self.added.notify_one();
            }
            _ => state.announcements.remove(&key),
        }
    }

    /// Forgets a deleted ActorHealth.
    pub(super) fn forget(&self, health: &ActorHealth) {
        self.lock().announcements.remove(&key(health));
    }

    /// Returns whether the actor is informed of changes.
    ///
    /// # Errors
    /// The API server does not answer.
    pub(super) async fn watched(
        &self,
        context: &Context,
        health: &ActorHealth,
    ) -> kube::Result<Watched> {
        if health.spec.for_provider.environment_configs.is_empty() {
            return Ok(Watched::NotUsed);
        }
        let Some(composite) = composite(health) else {
            return Ok(Watched::NotUsed);
        };
        {
            let state = self.lock();
            if let Some((reason, message)) = &state.problem {
                let update = ConditionUpdate::environment_not_watched(reason, message.clone());
                return Ok(Watched::Known(update));
            }
            if state.versions.is_none() {
                return Ok(Watched::Unknown);
            }
        }
        let retry = context.timings.missing_kind_retry;
        let right = self.rights.of(&context.client, &composite, retry).await?;
        Ok(Watched::Known(match right {
            Ok(_) => ConditionUpdate::environment_watched(),
            Err(cause) => ConditionUpdate::environment_not_watched(FORBIDDEN, cause),
        }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Hash of the present versions, where one differs from what is used; none while they are not known.
    fn changed(&self, used: &[UsedEnvironmentConfig]) -> Option<String> {
        let versions = self.versions.as_ref()?;
        let is_changed = |used: &UsedEnvironmentConfig| {
            used.version.is_some() && versions.get(&used.name) != used.version.as_ref()
        };
        used.iter().any(is_changed).then(|| {
            let mut hasher = DefaultHasher::new();
            for used in used {
                (&used.name, versions.get(&used.name)).hash(&mut hasher);
            }
            format!("{:016x}", hasher.finish())
        })
    }
}

/// Watches EnvironmentConfigs and annotates the actors of the store; never returns.
pub(super) async fn run(context: &Context, actors: &Store<ActorHealth>) {
    futures::join!(
        watch(context, actors),
        announce(context),
        recheck(context, actors)
    );
}

async fn watch(context: &Context, actors: &Store<ActorHealth>) {
    let (api_version, kind) = actor::ENVIRONMENT_CONFIG;
    let (group, version) = api_version.split_once('/').unwrap_or_default();
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    let config = watch_stream::config(&context.timings);
    loop {
        let api = |client| Api::<Metadata>::all_with(client, &resource);
        let mut updates = WatchStream::new(&context.client, api, config.clone());
        while let Some(update) = updates.next().await {
            match update {
                WatchUpdate::Event(event) => apply(context, actors, event),
                WatchUpdate::Accepted => {
                    if context.environment.lock().problem.take().is_some() {
                        reconcile_all(context, actors);
                    }
                }
                WatchUpdate::Failed(error) => fail(context, actors, &error),
            }
        }
        tokio::time::sleep(context.timings.missing_kind_retry).await;
    }
}

/// Records a failed list or watch. A problem that lasts remains until a watch is accepted.
fn fail(context: &Context, actors: &Store<ActorHealth>, error: &watcher::Error) {
    let Some(problem) = problem(error) else {
        tracing::warn!(%error, "cannot watch EnvironmentConfigs at present");
        return;
    };
    tracing::warn!(problem = problem.1, "cannot watch EnvironmentConfigs");
    let is_new = {
        let mut state = context.environment.lock();
        state.problem.replace(problem.clone()) != Some(problem)
    };
    if is_new {
        reconcile_all(context, actors);
    }
}

/// A problem that lasts until somebody solves it; none for an interruption.
fn problem(error: &watcher::Error) -> Option<(&'static str, String)> {
    match watch_stream::refusal(error)? {
        403 => Some((
            FORBIDDEN,
            "the provider may not list and watch EnvironmentConfigs: apply \
             `install/provider-asya/rbac.yaml`"
                .to_owned(),
        )),
        404 => Some((
            "NotServed",
            "the cluster does not serve EnvironmentConfigs".to_owned(),
        )),
        _ => None,
    }
}

fn apply(context: &Context, actors: &Store<ActorHealth>, event: Event<Metadata>) {
    let entry = |object: &Metadata| {
        let name = object.name_any();
        let metadata = object.meta();
        let used = UsedEnvironmentConfig::new(&name, metadata.uid.as_deref(), metadata.generation);
        (name, used.version.unwrap_or_default())
    };
    let mut state = context.environment.lock();
    let mut is_first = false;
    let changed = match event {
        Event::Init => {
            state.listed.clear();
            return;
        }
        Event::InitApply(object) => {
            let (name, version) = entry(&object);
            state.listed.insert(name, version);
            return;
        }
        Event::InitDone => {
            let listed = std::mem::take(&mut state.listed);
            is_first = state.versions.replace(listed).is_none();
            None
        }
        Event::Apply(object) => {
            let (name, version) = entry(&object);
            let versions = state.versions.get_or_insert_default();
            if versions.insert(name.clone(), version.clone()) == Some(version) {
                return;
            }
            Some(name)
        }
        Event::Delete(object) => {
            let name = object.name_any();
            state.versions.get_or_insert_default().remove(&name);
            Some(name)
        }
    };
    drop(state);
    let uses = |health: &ActorHealth| {
        let used = &health.spec.for_provider.environment_configs;
        changed
            .as_ref()
            .is_none_or(|name| used.iter().any(|used| used.name == *name))
    };
    let mut count = 0;
    for health in actors.state().iter().filter(|health| uses(health)) {
        context.environment.compare(health);
        count += 1;
    }
    if let Some(name) = changed.filter(|_| count > 0) {
        tracing::info!(name, actors = count, "EnvironmentConfig changed");
    }
    if is_first {
        reconcile_all(context, actors);
    }
}

/// Reconciles all ActorHealth objects, so that each reports whether its actor is informed.
fn reconcile_all(context: &Context, actors: &Store<ActorHealth>) {
    for health in actors.state() {
        let health = ObjectRef::from_obj(health.as_ref());
        context.watch_cache.trigger_health(health);
    }
}

/// Asks again for missing rights that an ActorHealth reports, of some kinds at a time.
async fn recheck(context: &Context, actors: &Store<ActorHealth>) {
    let mut last = None;
    loop {
        tokio::time::sleep(context.timings.missing_kind_retry).await;
        // Its solution reconciles all.
        if context.environment.lock().problem.is_some() {
            continue;
        }
        let actors = actors.state();
        let denied: Vec<_> = actors.iter().filter_map(denied_kind).collect();
        let kinds = denied.iter().map(|(_, kind)| kind.clone()).collect();
        let kinds = rights::next_kinds(&kinds, last.as_ref());
        last = kinds.last().cloned();
        let kinds = kinds.into_iter().collect();
        context.environment.rights.forget_denied(&kinds);
        for (health, _) in denied.into_iter().filter(|(_, kind)| kinds.contains(kind)) {
            context.watch_cache.trigger_health(health);
        }
    }
}

/// An ActorHealth that reports a missing right, and the kind of its composite resource.
fn denied_kind(health: &Arc<ActorHealth>) -> Option<(ObjectRef<ActorHealth>, KindKey)> {
    let mut conditions = health.status.conditions.iter();
    let is_denied = conditions
        .any(|condition| condition.type_ == ENVIRONMENT_WATCHED && condition.reason == FORBIDDEN);
    let kind = composite(health)?.kind_key();
    is_denied.then(|| (ObjectRef::from_obj(health.as_ref()), kind))
}

/// Writes annotations, one after the other.
async fn announce(context: &Context) {
    let environment = &context.environment;
    loop {
        let next = environment.lock().announcements.next(Instant::now());
        match next {
            Next::Never => environment.added.notified().await,
            Next::At(due) => {
                tokio::select! {
                    () = tokio::time::sleep_until(due) => {}
                    () = environment.added.notified() => {}
                }
            }
            Next::Now(key, announcement) => {
                send(context, &key, &announcement).await;
                tokio::time::sleep(context.timings.announcement_interval).await;
            }
        }
    }
}

async fn send(context: &Context, key: &Key, announcement: &Announcement) {
    let environment = &context.environment;
    let composite = &announcement.composite;
    let answer = write(context, key, announcement).await;
    let mut denied = None;
    {
        let announcements = &mut environment.lock().announcements;
        match answer {
            Ok(true) => announcements.sent(key, Instant::now()),
            // Its ActorHealth reports that it is not informed.
            Ok(false) => announcements.remove(key),
            // It was deleted, or created again.
            Err(kube::Error::Api(status)) if [404, 409].contains(&status.code) => {
                announcements.remove(key);
            }
            Err(kube::Error::Api(status)) if status.code == 403 => {
                announcements.remove(key);
                denied = Some(status.message.clone());
            }
            Err(error) => {
                tracing::warn!(kind = composite.kind, name = composite.name, %error, "cannot annotate");
                let until = Instant::now() + context.timings.longest_backoff / 4;
                announcements.postpone(key, until);
            }
        }
    }
    if let Some(cause) = denied {
        let retry = context.timings.missing_kind_retry;
        environment.rights.deny(composite, cause, retry);
        let health = ObjectRef::new(&key.1).within(&key.0);
        context.watch_cache.trigger_health(health);
    }
}

/// Sets the annotation; whether the provider may.
async fn write(context: &Context, key: &Key, announcement: &Announcement) -> kube::Result<bool> {
    let composite = &announcement.composite;
    let client = context.client.clone();
    let retry = context.timings.missing_kind_retry;
    let rights = &context.environment.rights;
    let Ok(kind) = rights.of(&client, composite, retry).await? else {
        return Ok(false);
    };
    let api: Api<DynamicObject> = if kind.is_namespaced {
        Api::namespaced_with(client, &key.0, &kind.resource)
    } else {
        Api::all_with(client, &kind.resource)
    };
    let patch = json!({"metadata": {
        "uid": composite.uid,
        "annotations": {ANNOTATION: announcement.value()},
    }});
    let parameters = PatchParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PatchParams::default()
    };
    api.patch_metadata(&composite.name, &parameters, &Patch::Merge(&patch))
        .await
        .map(|_| true)
}

fn key(health: &ActorHealth) -> Key {
    (health.namespace().unwrap_or_default(), health.name_any())
}

/// The composite resource that an ActorHealth belongs to.
fn composite(health: &ActorHealth) -> Option<Composite> {
    let owners = health.metadata.owner_references.as_deref();
    let mut owners = owners.unwrap_or_default().iter();
    let owner = owners.find(|owner| owner.controller == Some(true))?;
    Some(Composite {
        api_version: owner.api_version.clone(),
        kind: owner.kind.clone(),
        name: owner.name.clone(),
        uid: owner.uid.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(name: &str, version: Option<&str>) -> UsedEnvironmentConfig {
        UsedEnvironmentConfig {
            name: name.to_owned(),
            version: version.map(str::to_owned),
        }
    }

    #[test]
    fn only_a_different_version_is_a_change() {
        let present = [("gpu", "a.2"), ("asya-platform", "b.1")];
        let versions = present.map(|(name, version)| (name.to_owned(), version.to_owned()));
        let state = State {
            versions: Some(BTreeMap::from(versions)),
            ..State::default()
        };
        let cases = [
            ("the present ones", vec![used("gpu", Some("a.2"))], false),
            ("a former one", vec![used("gpu", Some("a.1"))], true),
            ("created again", vec![used("gpu", Some("c.2"))], true),
            ("deleted", vec![used("cpu", Some("d.1"))], true),
            ("without a version", vec![used("gpu", None)], false),
            ("none", vec![], false),
            (
                "one of several",
                vec![used("gpu", Some("a.2")), used("asya-platform", Some("b.0"))],
                true,
            ),
        ];
        for (reason, used, expected) in cases {
            assert_eq!(state.changed(&used).is_some(), expected, "{reason}");
        }
        let unknown = State::default();
        let stale = [used("gpu", Some("a.1"))];
        assert_eq!(unknown.changed(&stale), None, "before the first list");
    }
}
