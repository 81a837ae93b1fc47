//! The controllers of both kinds of config: who uses one is counted, and one in
//! use is not let go.

use std::convert::Infallible;
use std::fmt::Debug;
use std::future::Future;
use std::sync::Arc;

use actor::managed::{Condition, IN_USE_FINALIZER};
use actor::provider_config::ProviderConfigStatus;
use futures::StreamExt as _;
use jiff::Timestamp;
use kube::api::ListParams;
use kube::runtime::controller::{Action, Controller};
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher;
use kube::{Api, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use serde_json::json;

use super::events::{self, Severity};
use super::queues::Context;
use super::{usage, writes};
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

    fn named_by(usage: &ProviderConfigUsage) -> Option<ObjectRef<Self>> {
        let reference = &usage.usage.provider_config_ref;
        let is_ours = reference.kind == actor::provider_config::CLUSTER_KIND;
        is_ours.then(|| ObjectRef::new(&reference.name))
    }
}

/// Guards all configs of one kind until `shutdown`.
pub fn run<K: Config>(
    context: Arc<Context>,
    shutdown: impl Future<Output = ()> + Send + Sync + 'static,
) -> impl Future<Output = ()> {
    let configs: Api<K> = Api::all(context.client.clone());
    let usages: Api<ProviderConfigUsage> = Api::all(context.client.clone());
    Controller::new(configs, watcher::Config::default())
        .watches(usages, watcher::Config::default(), |usage| {
            K::named_by(&usage)
        })
        .graceful_shutdown_on(shutdown)
        .run(reconcile, |_, error, _| match *error {}, context)
        .for_each(|_| futures::future::ready(()))
}

async fn reconcile<K: Config>(config: Arc<K>, context: Arc<Context>) -> Result<Action, Infallible> {
    match pass(config.as_ref(), &context).await {
        Ok(()) => Ok(Action::await_change()),
        Err(error) => {
            let kind = K::kind(&());
            tracing::debug!(%error, %kind, name = config.name_any(), "the pass over a config failed");
            Ok(Action::requeue(context.timings.config_retry))
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
    let users = config
        .usages(context)
        .list_metadata(&ListParams::default().labels(&labels))
        .await?;
    let users = i64::try_from(users.items.len()).unwrap_or(i64::MAX);
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
