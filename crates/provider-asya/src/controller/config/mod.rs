//! The controllers of ProviderConfigs and ClusterProviderConfigs: they count users and keep a config
//! that is in use from being deleted. Their stores are the cache of configs.

mod change_filter;
mod reconcile;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::future::Future;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use actor::provider_config::ProviderConfigStatus;
use actor::queue::ProviderConfigRef;
use futures::{StreamExt as _, TryStreamExt as _};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::{Predicate as _, PredicateConfig, WatchStreamExt as _, predicates, watcher};
use kube::{Api, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use self::change_filter::ChangeFilter;
use super::Context;
use super::connect::{ConfigCache, ConfigChange};
use super::managed::writes;
use crate::cluster;
use crate::kinds::{ClusterProviderConfig, ProviderConfig, ProviderConfigUsage};

/// ProviderConfig or ClusterProviderConfig.
pub trait Config:
    Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static
{
    /// Name of the controller in metrics.
    const CONTROLLER: &'static str;
    /// Status of the config.
    fn status(&self) -> &ProviderConfigStatus;
    /// API of configs of this kind.
    fn api(&self, context: &Context) -> Api<Self>;
    /// API of its ProviderConfigUsages.
    fn usages(&self, context: &Context) -> Api<ProviderConfigUsage>;
    /// Place of this kind's store in the cache of configs.
    fn store(configs: &ConfigCache) -> &OnceLock<Store<Self>>;
    /// The config that a usage names, where it is of this kind.
    fn used_by(usage: &ProviderConfigUsage) -> Option<ObjectRef<Self>>;
}

impl Config for ProviderConfig {
    const CONTROLLER: &'static str = "providerconfig";

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

    fn store(configs: &ConfigCache) -> &OnceLock<Store<Self>> {
        &configs.namespaced
    }

    fn used_by(usage: &ProviderConfigUsage) -> Option<ObjectRef<Self>> {
        let reference = &usage.usage.provider_config_ref;
        let object = ObjectRef::new(&reference.name).within(&usage.namespace()?);
        (reference.kind == actor::provider_config::KIND).then_some(object)
    }
}

impl Config for ClusterProviderConfig {
    const CONTROLLER: &'static str = "clusterproviderconfig";

    fn status(&self) -> &ProviderConfigStatus {
        &self.status
    }

    fn api(&self, context: &Context) -> Api<Self> {
        Api::all(context.client.clone())
    }

    fn usages(&self, context: &Context) -> Api<ProviderConfigUsage> {
        Api::all(context.client.clone())
    }

    fn store(configs: &ConfigCache) -> &OnceLock<Store<Self>> {
        &configs.cluster
    }

    fn used_by(usage: &ProviderConfigUsage) -> Option<ObjectRef<Self>> {
        let reference = &usage.usage.provider_config_ref;
        let is_ours = reference.kind == actor::provider_config::CLUSTER_KIND;
        is_ours.then(|| ObjectRef::new(&reference.name))
    }
}

/// State that all reconciles of configs of one kind share.
struct ConfigContext {
    provider: Arc<Context>,
    /// Time of the last count of each config's users, by its uid.
    counted: Mutex<BTreeMap<String, Instant>>,
}

/// Reconciles all configs of one kind until `shutdown`.
pub fn run<K: Config>(
    provider: Arc<Context>,
    shutdown: impl Future<Output = ()> + Send + Sync + 'static,
) -> impl Future<Output = ()> {
    let usages: Api<ProviderConfigUsage> = Api::all(provider.client.clone());
    let (reader, writer) = reflector::store();
    if K::store(&provider.connector.configs)
        .set(reader.clone())
        .is_err()
    {
        tracing::error!(kind = %K::kind(&()), "the controller of this kind runs twice");
    }
    let (mut filter, listeners) = (ChangeFilter::default(), provider.clone());
    let changes = watcher(Api::<K>::all(provider.client.clone()), cluster::watch())
        .default_backoff()
        .modify(|config| config.managed_fields_mut().clear())
        .reflect(writer)
        .inspect_ok(move |event| {
            if let Some(config) = filter.changed(event) {
                listeners.connector.configs.notify(change(config));
            }
        })
        .touched_objects()
        .predicate_filter(
            predicates::generation.combine(predicates::finalizers),
            PredicateConfig::default(),
        );
    let heartbeat = provider.heartbeat.clone();
    let context = ConfigContext {
        provider,
        counted: Mutex::default(),
    };
    let controller = Controller::for_stream(changes, reader)
        .watches(usages, cluster::watch(), |usage| K::used_by(&usage))
        .graceful_shutdown_on(shutdown)
        .run(reconcile, error_policy, Arc::new(context))
        .for_each(|_| futures::future::ready(()));
    async move { heartbeat.watch(K::CONTROLLER, controller).await }
}

fn change<K: Config>(config: &K) -> ConfigChange {
    ConfigChange {
        reference: ProviderConfigRef {
            kind: K::kind(&()).into_owned(),
            name: config.name_any(),
        },
        namespace: config.namespace(),
    }
}

async fn reconcile<K: Config>(config: Arc<K>, context: Arc<ConfigContext>) -> kube::Result<Action> {
    let provider = &context.provider;
    let is_deleted = config.meta().deletion_timestamp.is_some();
    if let Some(wait) = context.wait(&config.uid().unwrap_or_default())
        && !is_deleted
    {
        return Ok(Action::requeue(wait));
    }
    let start = Instant::now();
    let _running = provider.heartbeat.begin(K::CONTROLLER);
    let reconciled = reconcile::reconcile(config.as_ref(), provider).await;
    provider
        .metrics
        .reconciled(K::CONTROLLER, reconciled.is_err(), start.elapsed());
    reconciled.map(|()| Action::await_change())
}

/// Retries after [`Timings::config_retry`](crate::timings::Timings::config_retry).
#[expect(clippy::needless_pass_by_value, reason = "the signature of kube")]
fn error_policy<K: Config>(
    config: Arc<K>,
    error: &kube::Error,
    context: Arc<ConfigContext>,
) -> Action {
    tracing::debug!(%error, kind = %K::kind(&()), name = config.name_any(), "reconcile failed");
    Action::requeue(context.provider.timings.config_retry)
}

impl ConfigContext {
    /// Time until the users of this config may be counted again; none where they are counted now. A
    /// thousand new queues are a thousand new users, and each count lists all of them.
    fn wait(&self, uid: &str) -> Option<Duration> {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let interval = self.provider.timings.config_interval;
        counted.retain(|_, at| at.elapsed() < interval);
        let ago = counted.get(uid).map(Instant::elapsed);
        let wait = ago.and_then(|ago| interval.checked_sub(ago));
        if wait.is_none() {
            counted.insert(uid.to_owned(), Instant::now());
        }
        wait
    }
}
