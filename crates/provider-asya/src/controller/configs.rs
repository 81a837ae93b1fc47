//! The controllers of both kinds of config: who uses one is counted, and one in
//! use is not let go. Their watches know every config, and spare the passes over
//! queues the question.

mod news;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt::Debug;
use std::future::Future;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use actor::managed::{Condition, IN_USE_FINALIZER};
use actor::provider_config::ProviderConfigStatus;
use actor::queue::ProviderConfigRef;
use futures::{StreamExt as _, TryStreamExt as _};
use jiff::Timestamp;
use kube::api::{ListParams, PartialObjectMeta};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::{Predicate as _, PredicateConfig, WatchStreamExt as _, predicates, watcher};
use kube::{Api, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::time::Instant;

use self::news::News;
use super::connect::{Changed, Known};
use super::events::{self, Severity};
use super::queues::Context;
use super::{usage, writes};
use crate::cluster;
use crate::kinds::{ClusterProviderConfig, ProviderConfig, ProviderConfigUsage};

/// Why a config is not let go.
const IN_USE: &str = "Blocking deletion while usages still exist";

/// A kind of config.
pub trait Config:
    Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static
{
    /// Its status.
    fn status(&self) -> &ProviderConfigStatus;
    /// The API where its objects are written.
    fn api(&self, context: &Context) -> Api<Self>;
    /// The API where its users' records are.
    fn usages(&self, context: &Context) -> Api<ProviderConfigUsage>;
    /// Where everybody finds what the watch knows.
    fn known(known: &Known) -> &OnceLock<Store<Self>>;
    /// The config that a record names, if it is of this kind.
    fn named_by(usage: &ProviderConfigUsage) -> Option<ObjectRef<Self>>;
}

impl Config for ProviderConfig {
    fn status(&self) -> &ProviderConfigStatus {
        &self.status
    }

    fn api(&self, context: &Context) -> Api<Self> {
        writes::api_of(&context.client, self)
    }

    fn usages(&self, context: &Context) -> Api<ProviderConfigUsage> {
        Api::namespaced(
            context.client.clone(),
            &self.namespace().unwrap_or_default(),
        )
    }

    fn known(known: &Known) -> &OnceLock<Store<Self>> {
        &known.namespaced
    }

    fn named_by(usage: &ProviderConfigUsage) -> Option<ObjectRef<Self>> {
        let reference = &usage.usage.provider_config_ref;
        let object = ObjectRef::new(&reference.name).within(&usage.namespace()?);
        (reference.kind == actor::provider_config::KIND).then_some(object)
    }
}

impl Config for ClusterProviderConfig {
    fn status(&self) -> &ProviderConfigStatus {
        &self.status
    }

    fn api(&self, context: &Context) -> Api<Self> {
        Api::all(context.client.clone())
    }

    fn usages(&self, context: &Context) -> Api<ProviderConfigUsage> {
        Api::all(context.client.clone())
    }

    fn known(known: &Known) -> &OnceLock<Store<Self>> {
        &known.cluster
    }

    fn named_by(usage: &ProviderConfigUsage) -> Option<ObjectRef<Self>> {
        let reference = &usage.usage.provider_config_ref;
        let is_ours = reference.kind == actor::provider_config::CLUSTER_KIND;
        is_ours.then(|| ObjectRef::new(&reference.name))
    }
}

/// What the passes over configs of one kind share.
struct Guard {
    context: Arc<Context>,
    /// When each config's users were counted last, by its uid.
    counted: Mutex<BTreeMap<String, Instant>>,
}

/// Guards all configs of one kind until `shutdown`.
pub fn run<K: Config>(
    context: Arc<Context>,
    shutdown: impl Future<Output = ()> + Send + Sync + 'static,
) -> impl Future<Output = ()> {
    let usages: Api<ProviderConfigUsage> = Api::all(context.client.clone());
    let (reader, writer) = reflector::store();
    if K::known(&context.connector.known)
        .set(reader.clone())
        .is_err()
    {
        tracing::error!(kind = %K::kind(&()), "configs of this kind are guarded twice");
    }
    let (mut news, listeners) = (News::default(), context.clone());
    let changes = watcher(Api::<K>::all(context.client.clone()), cluster::watch())
        .default_backoff()
        .modify(|config| config.managed_fields_mut().clear())
        .reflect(writer)
        .inspect_ok(move |event| {
            if let Some(config) = news.of(event) {
                listeners.connector.known.tell(changed(config));
            }
        })
        .touched_objects()
        .predicate_filter(
            predicates::generation.combine(predicates::finalizers),
            PredicateConfig::default(),
        );
    let guard = Guard {
        context,
        counted: Mutex::default(),
    };
    Controller::for_stream(changes, reader)
        .watches(usages, cluster::watch(), |usage| K::named_by(&usage))
        .graceful_shutdown_on(shutdown)
        .run(reconcile, |_, error, _| match *error {}, Arc::new(guard))
        .for_each(|_| futures::future::ready(()))
}

fn changed<K: Config>(config: &K) -> Changed {
    Changed {
        reference: ProviderConfigRef {
            kind: K::kind(&()).into_owned(),
            name: config.name_any(),
        },
        namespace: config.namespace(),
    }
}

async fn reconcile<K: Config>(config: Arc<K>, guard: Arc<Guard>) -> Result<Action, Infallible> {
    let (context, kind) = (&guard.context, K::kind(&()));
    let is_deleted = config.meta().deletion_timestamp.is_some();
    if let Some(wait) = guard.wait(&config.uid().unwrap_or_default())
        && !is_deleted
    {
        return Ok(Action::requeue(wait));
    }
    let start = Instant::now();
    let end = pass(config.as_ref(), context).await;
    let controller = kind.to_ascii_lowercase();
    context
        .metrics
        .pass(&controller, end.is_err(), start.elapsed());
    match end {
        Ok(()) => Ok(Action::await_change()),
        Err(error) => {
            tracing::debug!(%error, %kind, name = config.name_any(), "the pass over a config failed");
            Ok(Action::requeue(context.timings.config_retry))
        }
    }
}

impl Guard {
    /// How long this config's next count has to wait; none, where it is made now. A thousand new
    /// queues are a thousand new users, and each count lists them all.
    fn wait(&self, uid: &str) -> Option<Duration> {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let interval = self.context.timings.config_interval;
        let ago = counted.get(uid).map(Instant::elapsed);
        let wait = ago.and_then(|ago| interval.checked_sub(ago));
        if wait.is_none() {
            counted.insert(uid.to_owned(), Instant::now());
        }
        wait
    }
}

/// How many objects use a config.
///
/// A record without its object is nobody's use, and nobody collects it. We may not: Crossplane
/// grants a provider no deletion of its own kinds.
async fn count(usages: &Api<ProviderConfigUsage>, labels: &str) -> kube::Result<i64> {
    let is_of_someone = |record: &&PartialObjectMeta<ProviderConfigUsage>| {
        let mut owners = record.owner_references().iter();
        owners.any(|owner| owner.controller == Some(true))
    };
    let mut page = ListParams::default().labels(labels).limit(cluster::PAGE);
    let mut users = 0;
    loop {
        let records = usages.list_metadata(&page).await?;
        users += records.items.iter().filter(is_of_someone).count();
        match records.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => page = page.continue_token(&token),
            None => return Ok(i64::try_from(users).unwrap_or(i64::MAX)),
        }
    }
}

async fn pass<K: Config>(config: &K, context: &Context) -> kube::Result<()> {
    let (api, name) = (config.api(context), config.name_any());
    let labels = format!(
        "{}={name},{}={}",
        usage::CONFIG,
        usage::CONFIG_KIND,
        K::kind(&())
    );
    let users = count(&config.usages(context), &labels).await?;
    let is_deleted = config.meta().deletion_timestamp.is_some();
    if is_deleted && users == 0 {
        return writes::finalizer(&api, config, IN_USE_FINALIZER, false)
            .await
            .map(drop);
    }
    if !is_deleted {
        writes::finalizer(&api, config, IN_USE_FINALIZER, true).await?;
    }
    let old = config.status();
    let mut new = ProviderConfigStatus {
        users: Some(users),
        ..old.clone()
    };
    let says_so = |condition: &Condition| condition.type_ == "Terminating";
    if is_deleted && !old.conditions.iter().any(says_so) {
        events::tell(
            &context.client,
            config,
            Severity::Warning,
            "UsageAccounting",
            IN_USE,
        )
        .await;
        new.conditions.push(Condition {
            type_: "Terminating".to_owned(),
            status: "True".to_owned(),
            reason: "InUse".to_owned(),
            message: Some(IN_USE.to_owned()),
            last_transition_time: format!("{:.0}", Timestamp::now()),
            observed_generation: config.meta().generation,
        });
    }
    writes::status(&api, &name, &json!(old), &json!(new), None).await
}
