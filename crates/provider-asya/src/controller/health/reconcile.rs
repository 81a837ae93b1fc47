//! One reconcile of one ActorHealth: classify cached pods and workloads, write the status.

use std::collections::BTreeMap;
use std::time::Duration;

use actor::health::{
    self, AtProvider, ENVIRONMENT_WATCHED, Facts, HealthStatus, MountProblem, Mounted, MountedKind,
    Revision, Scaler, Time, Verdict, WATCH_FORBIDDEN, Workload,
};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{Api, ResourceExt as _};
use serde_json::json;
use tokio::time::Instant;

use crate::conditions::{self, ConditionUpdate};
use crate::controller::Context;
use crate::controller::environment::Watched;
use crate::controller::managed::{PAUSED, merge_patch, writes};
use crate::controller::watch_cache::views::{ClaimView, DeploymentView, StatefulSetView};
use crate::controller::watch_cache::{ActorSnapshot, NotSynced};
use crate::kinds::ActorHealth;

/// State of an ActorHealth between two reconciles. Its loss costs one write.
#[derive(Debug, Clone, Default)]
pub(super) struct ObjectState {
    /// The latest status, written or not: a change of scale between two writes would be lost
    /// otherwise.
    status: Option<HealthStatus>,
    /// Time of the last status write.
    written: Option<Instant>,
}

/// Reconciles one ActorHealth once.
pub(super) struct Reconciler<'a> {
    context: &'a Context,
    health: &'a ActorHealth,
    namespace: String,
    pub(super) state: ObjectState,
}

/// A workload, and whether its changes are watched.
struct ObservedWorkload {
    workload: Option<Workload>,
    is_watched: bool,
}

impl<'a> Reconciler<'a> {
    pub(super) fn new(context: &'a Context, health: &'a ActorHealth, state: ObjectState) -> Self {
        Self {
            context,
            health,
            namespace: health.namespace().unwrap_or_default(),
            state,
        }
    }

    /// Reconciles; returns when the next reconcile is due.
    pub(super) async fn run(&mut self) -> kube::Result<Option<Duration>> {
        let before = self.state.status.clone();
        let mut status = before.unwrap_or_else(|| self.health.status.clone());
        let is_paused = self.health.annotations().get(PAUSED);
        let wait = if is_paused.is_some_and(|paused| paused == "true") {
            self.set_condition(&mut status, ConditionUpdate::paused());
            None
        } else {
            let wait = self.classify(&mut status).await?;
            let informed = self.report_environment(&mut status).await?;
            wait.into_iter().chain(informed).min()
        };
        self.state.status = Some(status.clone());
        let delay = self.write(&status).await?;
        Ok(wait.into_iter().chain(delay).min())
    }

    /// Reports whether the actor is informed of changed EnvironmentConfigs; when that is known, where it
    /// is not known yet.
    async fn report_environment(
        &self,
        status: &mut HealthStatus,
    ) -> kube::Result<Option<Duration>> {
        let environment = &self.context.environment;
        environment.compare(self.health);
        if status.conditions.is_empty() {
            // The first status is not due yet.
            return Ok(None);
        }
        Ok(
            match environment.watched(self.context, self.health).await? {
                Watched::Known(update) => {
                    self.set_condition(status, update);
                    None
                }
                Watched::Unknown => Some(self.context.timings.cache_sync_retry),
                Watched::NotUsed => {
                    status
                        .conditions
                        .retain(|condition| condition.type_ != ENVIRONMENT_WATCHED);
                    None
                }
            },
        )
    }

    async fn classify(&self, status: &mut HealthStatus) -> kube::Result<Option<Duration>> {
        let target = &self.health.spec.for_provider;
        let found = match self.context.watch_cache.snapshot(&self.namespace, target) {
            Ok(found) => found,
            Err(NotSynced(problem)) => {
                if let Some(problem) = problem {
                    let update = if problem.is_denied {
                        ConditionUpdate::failed(WATCH_FORBIDDEN, problem.outdated())
                    } else {
                        ConditionUpdate::failed("ReconcileError", problem.message)
                    };
                    self.set_condition(status, update);
                }
                return Ok(Some(self.context.timings.cache_sync_retry));
            }
        };
        let observed = match found.workload.clone() {
            Some(workload) => ObservedWorkload {
                workload: Some(workload),
                is_watched: true,
            },
            None => self.read_workload().await?,
        };
        let exists = observed.workload.is_some();
        let grace = self.grace(status);
        if !exists && grace.is_some() {
            return Ok(grace);
        }
        let verdict = self
            .judge(&found, observed.workload.as_ref(), status)
            .await?;
        if grace.is_some() && is_starting(&verdict.at_provider) {
            return Ok(grace);
        }
        status.at_provider = verdict.at_provider;
        let workload = &target.workload;
        self.set_condition(
            status,
            if exists {
                ConditionUpdate::available()
            } else {
                ConditionUpdate::unavailable(format!(
                    "{} {:?} does not exist",
                    workload.kind, workload.name
                ))
            },
        );
        self.set_condition(
            status,
            match found.outdated {
                None => ConditionUpdate::synced(),
                Some(problem) => ConditionUpdate::failed(WATCH_FORBIDDEN, problem),
            },
        );
        let unwatched =
            (exists && !observed.is_watched).then_some(self.context.timings.target_poll_interval);
        Ok(verdict.look_again.into_iter().chain(unwatched).min())
    }

    /// Returns the time for which a new ActorHealth still waits for its workload and its first pods:
    /// Crossplane applies both in the same reconcile, and each status would cost it another one.
    fn grace(&self, status: &HealthStatus) -> Option<Duration> {
        let created = self.health.metadata.creation_timestamp.as_ref();
        let age = Timestamp::now().duration_since(created?.0);
        let age = Duration::try_from(age).unwrap_or_default();
        let left = self.context.timings.health_grace.checked_sub(age)?;
        (status.conditions.is_empty() && !left.is_zero()).then_some(left)
    }

    /// Reads a workload without the actor's label, to which the actor is bound; it may not exist.
    async fn read_workload(&self) -> kube::Result<ObservedWorkload> {
        let workload = &self.health.spec.for_provider.workload;
        let (client, name) = (self.context.client.clone(), &workload.name);
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
        Ok(ObservedWorkload {
            workload: found,
            is_watched: false,
        })
    }

    async fn judge(
        &self,
        found: &ActorSnapshot,
        workload: Option<&Workload>,
        status: &HealthStatus,
    ) -> kube::Result<Verdict> {
        let timeouts = &self.context.timings.timeouts;
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
            mount_problems: &nothing,
        };
        let mut mount_problems = BTreeMap::new();
        for mounted in health::questions(&facts, timeouts, now) {
            if let Some(mount_problem) = self.mount_problem(&mounted).await? {
                mount_problems.insert(mounted, mount_problem);
            }
        }
        facts.mount_problems = &mount_problems;
        Ok(health::classify(&facts, &status.at_provider, timeouts, now))
    }

    /// Returns why an object cannot be mounted; none without the right to read it.
    async fn mount_problem(&self, mounted: &Mounted) -> kube::Result<Option<MountProblem>> {
        let (client, name) = (self.context.client.clone(), mounted.name.as_str());
        let namespace = &self.namespace;
        let found = match mounted.kind {
            MountedKind::PersistentVolumeClaim => {
                let api: Api<ClaimView> = Api::namespaced(client, namespace);
                api.get_opt(name).await.map(|claim| match claim {
                    Some(claim) => unbound(&claim),
                    None => Some(MountProblem::Missing),
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
                tracing::debug!(%mounted, namespace, "not allowed to read what a pod mounts");
                Ok(None)
            }
            found => found,
        }
    }

    fn set_condition(&self, status: &mut HealthStatus, update: ConditionUpdate) {
        let generation = self.health.metadata.generation;
        let conditions = &mut status.conditions;
        conditions::set(conditions, update, generation, Timestamp::now());
    }

    /// Writes a changed status, at most once each [`Timings::health_interval`](crate::timings::Timings::health_interval); the time until the write
    /// where it is too early.
    async fn write(&mut self, status: &HealthStatus) -> kube::Result<Option<Duration>> {
        let (old, new) = (json!(self.health.status), json!(status));
        if merge_patch(&old, &new).is_none() {
            return Ok(None);
        }
        let interval = self.context.timings.health_interval;
        if let Some(left) = self
            .state
            .written
            .and_then(|written| interval.checked_sub(written.elapsed()))
            .filter(|left| !left.is_zero())
        {
            return Ok(Some(left));
        }
        let api = writes::api_of(&self.context.client, self.health);
        let name = self.health.name_any();
        match writes::status::<ActorHealth>(&api, &name, &old, &new, None).await {
            // The object was deleted.
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(None),
            written => {
                self.state.written = Some(Instant::now());
                written.map(|()| None)
            }
        }
    }
}

/// Returns whether pods are on their way, and none of them fails.
fn is_starting(pods: &AtProvider) -> bool {
    let count = |count: Option<u32>| count.unwrap_or_default();
    count(pods.ready) < count(pods.desired)
        && count(pods.failing) == 0
        && pods.signal.is_none()
        && pods.foreign_scaler.is_none()
}

fn unbound(claim: &ClaimView) -> Option<MountProblem> {
    let phase = claim.status().phase.clone()?;
    (phase != "Bound").then(|| MountProblem::Unbound {
        phase,
        storage_class: claim.spec().storage_class_name.clone(),
    })
}

fn missing<T>(found: Option<&T>) -> Option<MountProblem> {
    found.is_none().then_some(MountProblem::Missing)
}
