//! One look at one actor, and what is written of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use actor::health::{
    self, Facts, HealthStatus, Mounted, MountedKind, Obstacle, Revision, Scaler, Time, Verdict,
    Workload,
};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{Api, ResourceExt as _};
use serde_json::json;
use tokio::time::Instant;

use super::Context;
use super::sight::{Found, NotYet};
use super::views::{ClaimView, DeploymentView, StatefulSetView};
use crate::conditions::{self, Statement};
use crate::controller::PAUSED;
use crate::controller::{patch, writes};
use crate::kinds::ActorHealth;

/// What is remembered of one object between two rounds. Losing it costs one write.
#[derive(Debug, Clone, Default)]
pub(super) struct Memory {
    /// What there was to say last, written or not: a change of scale between two writes
    /// would be lost otherwise.
    status: Option<HealthStatus>,
    /// When it was written.
    written: Option<Instant>,
    /// Failures in a row.
    pub(super) failures: u32,
}

/// The memories of all objects, by their uid.
#[derive(Debug, Default)]
pub(super) struct Memories(Mutex<BTreeMap<String, Memory>>);

impl Memories {
    /// What is remembered of an object.
    pub(super) fn of(&self, uid: &str) -> Memory {
        self.lock().get(uid).cloned().unwrap_or_default()
    }

    /// Remembers this of an object.
    pub(super) fn keep(&self, uid: &str, memory: Memory) {
        self.lock().insert(uid.to_owned(), memory);
    }

    /// Forgets an object.
    pub(super) fn forget(&self, uid: &str) {
        self.lock().remove(uid);
    }

    /// Forgets all but these objects: they have no finalizer, so most go without a last round.
    pub(super) fn keep_only(&self, uids: &BTreeSet<String>) {
        self.lock().retain(|uid, _| uids.contains(uid));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Memory>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One look at one actor.
pub(super) struct Round<'a> {
    context: &'a Context,
    health: &'a ActorHealth,
    namespace: String,
    pub(super) memory: Memory,
}

/// A workload, and whether its changes are watched.
struct Known {
    workload: Option<Workload>,
    is_watched: bool,
}

impl<'a> Round<'a> {
    pub(super) fn new(context: &'a Context, health: &'a ActorHealth, memory: Memory) -> Self {
        Self {
            context,
            health,
            namespace: health.namespace().unwrap_or_default(),
            memory,
        }
    }

    /// Looks, writes what is new, and says when to look again.
    pub(super) async fn run(&mut self) -> kube::Result<Option<Duration>> {
        let before = self.memory.status.clone();
        let mut status = before.unwrap_or_else(|| self.health.status.clone());
        let is_paused = self.health.annotations().get(PAUSED);
        let wait = if is_paused.is_some_and(|paused| paused == "true") {
            self.say(&mut status, Statement::paused());
            None
        } else {
            self.look(&mut status).await?
        };
        self.memory.status = Some(status.clone());
        let delay = self.write(&status).await?;
        Ok(wait.into_iter().chain(delay).min())
    }

    async fn look(&self, status: &mut HealthStatus) -> kube::Result<Option<Duration>> {
        let target = &self.health.spec.for_provider;
        let found = match self.context.sight.of(&self.namespace, target) {
            Ok(found) => found,
            Err(NotYet(problem)) => {
                if let Some(problem) = problem {
                    self.say(status, Statement::failed("ReconcileError", problem));
                }
                return Ok(Some(self.context.provider.timings.sight_retry));
            }
        };
        let known = match found.workload.clone() {
            Some(workload) => Known {
                workload: Some(workload),
                is_watched: true,
            },
            None => self.ask_for_workload().await?,
        };
        let is_there = known.workload.is_some();
        let verdict = self.judge(&found, known.workload.as_ref(), status).await?;
        status.at_provider = verdict.at_provider;
        let workload = &target.workload;
        self.say(
            status,
            if is_there {
                Statement::available()
            } else {
                Statement::unavailable(format!(
                    "{} {:?} is not there",
                    workload.kind, workload.name
                ))
            },
        );
        self.say(status, Statement::synced());
        let unwatched =
            (is_there && !known.is_watched).then_some(self.context.provider.timings.bound_look);
        Ok(verdict.look_again.into_iter().chain(unwatched).min())
    }

    /// A workload without the actor's label: another owner's, that an actor is bound to, or
    /// none.
    async fn ask_for_workload(&self) -> kube::Result<Known> {
        let workload = &self.health.spec.for_provider.workload;
        let (client, name) = (self.context.provider.client.clone(), &workload.name);
        let found = match workload.kind.as_str() {
            "StatefulSet" => {
                let api: Api<StatefulSetView> = Api::namespaced(client, &self.namespace);
                api.get_opt(name).await?.map(|found| found.read())
            }
            "Deployment" => {
                let api: Api<DeploymentView> = Api::namespaced(client, &self.namespace);
                api.get_opt(name).await?.map(|found| found.read())
            }
            _ => None,
        };
        Ok(Known {
            workload: found,
            is_watched: false,
        })
    }

    async fn judge(
        &self,
        found: &Found,
        workload: Option<&Workload>,
        status: &HealthStatus,
    ) -> kube::Result<Verdict> {
        let patience = &self.context.provider.timings.patience;
        let now = Time::from_seconds(Timestamp::now().as_second());
        let nothing = BTreeMap::new();
        let mut facts = Facts {
            target: &self.health.spec.for_provider,
            workload,
            revisions: found.revisions.iter().collect::<Vec<&Revision>>(),
            pods: found.pods.iter().map(AsRef::as_ref).collect(),
            scalers: found
                .scalers
                .as_ref()
                .map(|scalers| scalers.iter().collect::<Vec<&Scaler>>()),
            obstacles: &nothing,
        };
        let mut obstacles = BTreeMap::new();
        for mounted in health::questions(&facts, patience, now) {
            if let Some(obstacle) = self.obstacle(&mounted).await? {
                obstacles.insert(mounted, obstacle);
            }
        }
        facts.obstacles = &obstacles;
        Ok(health::classify(&facts, &status.at_provider, patience, now))
    }

    /// Why an object cannot be mounted; nothing where we may not look.
    async fn obstacle(&self, mounted: &Mounted) -> kube::Result<Option<Obstacle>> {
        let (client, name) = (self.context.provider.client.clone(), mounted.name.as_str());
        let namespace = &self.namespace;
        let found = match mounted.kind {
            MountedKind::PersistentVolumeClaim => {
                let api: Api<ClaimView> = Api::namespaced(client, namespace);
                api.get_opt(name).await.map(|claim| match claim {
                    Some(claim) => unbound(&claim),
                    None => Some(Obstacle::Missing),
                })
            }
            MountedKind::ConfigMap => {
                let api: Api<ConfigMap> = Api::namespaced(client, namespace);
                api.get_metadata_opt(name)
                    .await
                    .map(|found| missing(found.as_ref()))
            }
            MountedKind::Secret => {
                let api: Api<Secret> = Api::namespaced(client, namespace);
                api.get_metadata_opt(name)
                    .await
                    .map(|found| missing(found.as_ref()))
            }
        };
        match found {
            Err(kube::Error::Api(status)) if status.is_forbidden() => {
                tracing::debug!(%mounted, namespace, "not allowed to look at what a pod mounts");
                Ok(None)
            }
            found => found,
        }
    }

    fn say(&self, status: &mut HealthStatus, statement: Statement) {
        let generation = self.health.metadata.generation;
        let conditions = &mut status.conditions;
        conditions::set(conditions, statement, generation, Timestamp::now());
    }

    /// Writes what is new, unless it is too soon after the last time; then it says how
    /// long to wait.
    async fn write(&mut self, status: &HealthStatus) -> kube::Result<Option<Duration>> {
        let (old, new) = (json!(self.health.status), json!(status));
        if patch::between(&old, &new).is_none() {
            return Ok(None);
        }
        let interval = self.context.provider.timings.health_interval;
        if let Some(left) = self
            .memory
            .written
            .and_then(|written| interval.checked_sub(written.elapsed()))
            .filter(|left| !left.is_zero())
        {
            return Ok(Some(left));
        }
        let api = writes::api_of(&self.context.provider.client, self.health);
        let name = self.health.name_any();
        match writes::status::<ActorHealth>(&api, &name, &old, &new, None).await {
            // It was deleted meanwhile, and nobody asks any more.
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(None),
            written => {
                self.memory.written = Some(Instant::now());
                written.map(|()| None)
            }
        }
    }
}

fn unbound(claim: &ClaimView) -> Option<Obstacle> {
    let phase = claim.status().phase.clone()?;
    (phase != "Bound").then(|| Obstacle::Unbound {
        phase,
        storage_class: claim.spec().storage_class_name.clone(),
    })
}

fn missing<T>(found: Option<&T>) -> Option<Obstacle> {
    found.is_none().then_some(Obstacle::Missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_that_are_gone_are_forgotten() {
        let memories = Memories::default();
        let failed = Memory {
            failures: 3,
            ..Memory::default()
        };
        for uid in ["here", "gone"] {
            memories.keep(uid, failed.clone());
        }
        memories.keep_only(&BTreeSet::from(["here".to_owned()]));
        let failures = ["here", "gone"].map(|uid| memories.of(uid).failures);
        assert_eq!(failures, [3, 0]);
    }
}
