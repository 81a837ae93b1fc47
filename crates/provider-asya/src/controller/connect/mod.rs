//! Connections of Queues to their brokers: ProviderConfig, Secrets, tenancy, and one client for all
//! queues of a config.

mod clients;
mod config_cache;
mod namespaces;
mod shared_policies;
mod slots;
mod tenant;
mod url_safety;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use actor::provider_config::{
    ClusterProviderConfigSpec, ProviderConfigSpec, SharedPolicyRecord, SqsConnection,
};
use actor::queue::{AtProvider, ProviderConfigRef};
use kube::runtime::reflector::Store;
use kube::{Client, ResourceExt as _};
use tokio::time::Instant;

pub use self::config_cache::{ConfigCache, ConfigChange};
use self::namespaces::NamespaceCache;
pub use self::slots::{Answers, Priority, SLOW, Slot, Slots};
use crate::kinds::Queue;
use crate::metrics::Metrics;
use crate::owner::OwnerTag;
use crate::requeue;
use crate::timings::Timings;
use crate::transport::ExternalQueue;
use crate::transport::rabbitmq::api::Reader;
use crate::transport::rabbitmq::definition::PolicyRecord;
use crate::transport::rabbitmq::{self, Broker};
use crate::transport::sqs::{self, Service};

/// Connection of one Queue to its queue, with settings of its ProviderConfig.
pub struct Connection {
    /// The queue at its broker or service.
    pub external: Box<dyn ExternalQueue>,
    /// Owner tag of the Queue.
    pub owner_tag: OwnerTag,
    /// Uid and generation of the ProviderConfig.
    pub config: (String, i64),
    /// Interval of counters; none turns them off.
    pub counters: Option<Duration>,
    /// True if queues without an owner tag may be adopted.
    pub may_adopt: bool,
    /// Reason for which the password cannot be part of a URL, if it cannot.
    pub unsafe_password: Option<String>,
    /// First part of the owner tag.
    pub owner_id: String,
}

/// Makes connections; keeps one client of each ProviderConfig.
pub struct Connector {
    client: Client,
    own_namespace: String,
    timings: Timings,
    metrics: Arc<Metrics>,
    sqs_limits: Arc<sqs::RateLimits>,
    /// ProviderConfigs and ClusterProviderConfigs.
    pub configs: ConfigCache,
    /// Slots of reconciles by config.
    pub slots: Slots,
    namespaces: NamespaceCache,
    /// All Queues, once their controller runs.
    pub queues: OnceLock<Store<Queue>>,
    /// Readers of large answers.
    readers: Mutex<BTreeMap<Tenant, Reader>>,
    clients: Mutex<BTreeMap<ClientKey, CachedClient>>,
}

/// Identity of a config: kind, namespace of a namespaced one, name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConfigKey {
    kind: String,
    namespace: Option<String>,
    name: String,
}

impl ConfigKey {
    /// The config of a Queue.
    pub fn of(queue: &Queue) -> Self {
        let reference = &queue.spec.provider_config_ref;
        let is_namespaced = reference.kind == actor::provider_config::KIND;
        Self {
            kind: reference.kind.clone(),
            namespace: queue.namespace().filter(|_| is_namespaced),
            name: reference.name.clone(),
        }
    }

    /// Its tenant.
    fn tenant(&self) -> Tenant {
        self.namespace
            .clone()
            .map_or_else(|| Tenant::Config(self.clone()), Tenant::Namespace)
    }
}

/// Owner of configs, whose reconciles and large answers have a common limit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tenant {
    /// A namespace, with all ProviderConfigs in it.
    Namespace(String),
    /// A ClusterProviderConfig.
    Config(ConfigKey),
}

/// Key of a client: config and region; brokers have no region.
pub type ClientKey = (ConfigKey, String);

/// The client that a Queue uses.
pub fn client_key(queue: &Queue) -> ClientKey {
    let sqs = queue.spec.for_provider.sqs.as_ref();
    let region = sqs.map(|sqs| sqs.region.clone()).unwrap_or_default();
    (ConfigKey::of(queue), region)
}

struct CachedClient {
    /// Uid and generation of the config that the client was made from.
    version: (String, i64),
    /// Time at which its Secrets were read last; none if they must be read again.
    read: Option<Instant>,
    /// Values of the Secrets.
    secrets: Vec<Vec<u8>>,
    backend: Backend,
}

#[derive(Clone)]
enum Backend {
    RabbitMq(Box<Broker>),
    Sqs(Service),
}

/// A config of either kind.
struct ResolvedConfig {
    reference: ProviderConfigRef,
    version: (String, i64),
    spec: ProviderConfigSpec,
    /// Recorded shared policies.
    shared_policies: Vec<SharedPolicyRecord>,
    /// Namespace of Secrets that are named without one.
    namespace: String,
    cluster: Option<ClusterProviderConfigSpec>,
}

/// Reason for which there is no connection: one line with the remedy.
pub type ConnectError = String;

impl Connector {
    /// A connector without clients. `own_namespace` is the provider's, with the Secrets of
    /// ClusterProviderConfigs.
    pub fn new(
        client: Client,
        own_namespace: String,
        timings: Timings,
        metrics: Arc<Metrics>,
    ) -> Self {
        Self {
            client,
            own_namespace,
            timings,
            sqs_limits: sqs::RateLimits::new(metrics.calls_to("sqs")),
            metrics,
            configs: ConfigCache::default(),
            slots: Slots::default(),
            namespaces: NamespaceCache::default(),
            queues: OnceLock::new(),
            readers: Mutex::default(),
            clients: Mutex::default(),
        }
    }

    /// Connects a Queue with the queue called `name`.
    ///
    /// # Errors
    /// The config or a Secret is missing or invalid, or the config does not allow it.
    pub async fn connect(&self, queue: &Queue, name: &str) -> Result<Connection, ConnectError> {
        let namespace = queue.namespace().unwrap_or_default();
        let reference = &queue.spec.provider_config_ref;
        let config = self
            .configs
            .find(&self.client, reference, &namespace, &self.own_namespace)
            .await?;
        self.check_tenant(&config, queue, name, tenant::claim(queue, name))
            .await?;
        let owner_tag =
            OwnerTag::new(config.owner_id(), &namespace, &queue.name_any()).map_err(text)?;
        let counters = match config.spec.counters_interval.as_deref() {
            None => self.timings.counters,
            Some(interval) => actor::duration::parse(interval)
                .map_err(|error| format!("countersInterval of {}: {error}", config.display()))?,
        };
        let counters = (!counters.is_zero()).then_some(counters);
        let poll = requeue::poll_interval(queue.annotations(), counters, &self.timings);
        let (external, unsafe_password) = self
            .external(&config, queue, name, owner_tag.clone(), poll)
            .await?;
        let owner_id = config.owner_id().to_owned();
        Ok(Connection {
            external,
            owner_tag,
            config: config.version,
            counters,
            may_adopt: config.cluster.is_none_or(|cluster| cluster.allow_adopt),
            unsafe_password,
            owner_id,
        })
    }

    /// Makes the next connection read the Secrets of a config again. Where they are unchanged its
    /// clients stay, with what they have cached of the broker.
    pub fn invalidate_credentials(&self, queue: &Queue) {
        let config = ConfigKey::of(queue);
        let mut clients = self.lock();
        let of_config = clients.iter_mut().filter(|((key, _), _)| *key == config);
        for (_, cached) in of_config {
            cached.read = None;
        }
    }

    /// Drops clients that no Queue uses.
    pub fn retain(&self, used: &BTreeSet<ClientKey>) {
        self.lock().retain(|client, _| used.contains(client));
        let configs: BTreeSet<&ConfigKey> = used.iter().map(|(config, _)| config).collect();
        self.slots.retain(|config| configs.contains(config));
        self.readers_lock().retain(|_, reader| !reader.is_unused());
    }

    /// The queue at its broker, which is polled at this interval, and why the password is not URL-safe.
    async fn external(
        &self,
        config: &ResolvedConfig,
        queue: &Queue,
        name: &str,
        owner_tag: OwnerTag,
        poll: Duration,
    ) -> Result<(Box<dyn ExternalQueue>, Option<String>), ConnectError> {
        let settings = &queue.spec.for_provider;
        match (&settings.rabbitmq, &settings.sqs) {
            (Some(settings), None) => {
                let Some(connection) = &config.spec.rabbitmq else {
                    return Err(format!("{} is not for RabbitMQ", config.display()));
                };
                let secrets = self.rabbitmq_secrets(config, connection).await?;
                let unsafe_password = url_safety::problem(config, connection, secrets.get(1));
                let make = async |secrets: &[Vec<u8>]| self.broker(config, connection, secrets);
                let Backend::RabbitMq(broker) = self.backend(config, "", secrets, make).await?
                else {
                    return Err(format!(
                        "{} was changed to SQS a moment ago",
                        config.display()
                    ));
                };
                let definition = rabbitmq::definition::QueueDefinition {
                    name: name.to_owned(),
                    queue: settings.clone(),
                    owner_tag,
                    priority: connection.policy_priority,
                    shared: self.shared_policy(config, &connection.shared_policy, &settings.vhost),
                    policies: policy_record(&queue.status.at_provider),
                    recorded_delays: queue
                        .status
                        .at_provider
                        .retry_delays_seconds
                        .iter()
                        .copied()
                        .collect(),
                };
                let mut external = broker.queue(definition).map_err(text)?;
                if poll >= self.timings.list_poll {
                    external = external.polled_each(poll);
                }
                Ok((Box::new(external), unsafe_password))
            }
            (None, Some(settings)) => {
                let Some(connection) = &config.spec.sqs else {
                    return Err(format!("{} is not for SQS", config.display()));
                };
                check_endpoint(config, connection, settings.endpoint.as_deref())?;
                let secrets = self
                    .sqs_secrets(config, connection, &settings.region)
                    .await?;
                let service = self
                    .service(config, connection, &settings.region, secrets)
                    .await?;
                let at_provider = &queue.status.at_provider;
                let definition = sqs::QueueDefinition {
                    name: name.to_owned(),
                    queue: settings.clone(),
                    tags: tags(queue, &config.reference),
                    owner_tag,
                    account_id: at_provider
                        .location
                        .as_ref()
                        .and_then(|location| location.account_id.clone()),
                };
                Ok((Box::new(service.queue(definition).map_err(text)?), None))
            }
            _ => Err(
                "exactly one of 'rabbitmq' and 'sqs' must be set in `spec.forProvider`".to_owned(),
            ),
        }
    }

    /// The reader of large answers of a config's tenant.
    fn reader(&self, config: &ConfigKey) -> Reader {
        let mut readers = self.readers_lock();
        readers.entry(config.tenant()).or_default().clone()
    }

    fn readers_lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<Tenant, Reader>> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<ClientKey, CachedClient>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ResolvedConfig {
    /// Owner of its queues.
    fn owner_id(&self) -> &str {
        self.spec.owner_id.as_deref().unwrap_or(&self.version.0)
    }

    fn display(&self) -> String {
        format!("{} {:?}", self.reference.kind, self.reference.name)
    }

    fn key(&self, region: &str) -> ClientKey {
        let config = ConfigKey {
            kind: self.reference.kind.clone(),
            namespace: self.cluster.is_none().then(|| self.namespace.clone()),
            name: self.reference.name.clone(),
        };
        (config, region.to_owned())
    }
}

/// Policies that the provider has written, by the status.
fn policy_record(status: &AtProvider) -> PolicyRecord {
    match (&status.policies, &status.location) {
        (Some(names), _) => PolicyRecord::Recorded(names.iter().cloned().collect()),
        (None, Some(_)) => PolicyRecord::Unrecorded,
        (None, None) => PolicyRecord::New,
    }
}

/// Refuses another endpoint than the config's: only the config decides where its credentials are sent.
fn check_endpoint(
    config: &ResolvedConfig,
    connection: &SqsConnection,
    of_queue: Option<&str>,
) -> Result<(), ConnectError> {
    let of_config = connection
        .endpoint
        .as_deref()
        .map(|url| url.trim_end_matches('/'));
    let of_queue = of_queue
        .map(|url| url.trim_end_matches('/'))
        .filter(|url| !url.is_empty());
    if of_queue.is_some() && of_queue != of_config {
        return Err(format!(
            "the queue is at endpoint {:?}, and {} connects to {:?}: set `spec.sqs.endpoint` there",
            of_queue.unwrap_or_default(),
            config.display(),
            of_config.unwrap_or("AWS")
        ));
    }
    Ok(())
}

/// Crossplane's tags, which name the object of a queue.
fn tags(queue: &Queue, config: &ProviderConfigRef) -> BTreeMap<String, String> {
    let pairs = [
        ("crossplane-kind", format!("queue.{}", crate::kinds::GROUP)),
        ("crossplane-name", queue.name_any()),
        (
            "crossplane-namespace",
            queue.namespace().unwrap_or_default(),
        ),
        ("crossplane-providerconfig", config.name.clone()),
        ("crossplane-providerconfig-kind", config.kind.clone()),
    ];
    pairs.map(|(key, value)| (key.to_owned(), value)).into()
}

fn version(metadata: &kube::api::ObjectMeta) -> (String, i64) {
    (
        metadata.uid.clone().unwrap_or_default(),
        metadata.generation.unwrap_or_default(),
    )
}

fn text(error: impl std::fmt::Display) -> ConnectError {
    error.to_string()
}
