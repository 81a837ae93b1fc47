//! From a Queue to the way to its broker: ProviderConfig, Secrets, tenancy and a
//! client that all queues of one config share.

mod clients;
mod known;
mod url_safety;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use actor::provider_config::{ClusterProviderConfigSpec, ProviderConfigSpec, SqsConnection};
use actor::queue::ProviderConfigRef;
use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client, ResourceExt as _};
use tokio::time::Instant;

pub use self::known::{Changed, Known};
use crate::kinds::Queue;
use crate::metrics::Metrics;
use crate::owner::OwnerMark;
use crate::tenancy;
use crate::timings::Timings;
use crate::transport::ExternalQueue;
use crate::transport::rabbitmq::{self, Broker};
use crate::transport::sqs::{self, Service};

/// A queue's external side, and what its config says beside that.
pub struct Connection {
    /// The queue at its broker.
    pub external: Box<dyn ExternalQueue>,
    /// Our mark.
    pub mark: OwnerMark,
    /// The config's uid and generation.
    pub config: (String, i64),
    /// How often counters are read; never, where there is nothing.
    pub counters: Option<Duration>,
    /// Whether queues without a mark may be taken.
    pub may_adopt: bool,
    /// Why the password cannot stand in a URL, where it cannot.
    pub unsafe_password: Option<String>,
}

/// Makes connections, and keeps a client per config.
pub struct Connector {
    client: Client,
    own_namespace: String,
    timings: Timings,
    metrics: Arc<Metrics>,
    sqs_pace: Arc<sqs::Pace>,
    /// What is known of configs.
    pub known: Known,
    clients: Mutex<BTreeMap<Key, Kept>>,
}

/// A config: kind, namespace where it has one, and name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConfigKey {
    kind: String,
    namespace: Option<String>,
    name: String,
}

impl ConfigKey {
    /// The config that a queue names.
    pub fn of(queue: &Queue) -> Self {
        let reference = &queue.spec.provider_config_ref;
        let is_namespaced = reference.kind == actor::provider_config::KIND;
        Self {
            kind: reference.kind.clone(),
            namespace: queue.namespace().filter(|_| is_namespaced),
            name: reference.name.clone(),
        }
    }
}

/// A config and a region; brokers have none.
type Key = (ConfigKey, String);

struct Kept {
    /// The config that the client was made from: uid and generation.
    version: (String, i64),
    /// When its Secrets were read last; never, where they are in doubt.
    read: Option<Instant>,
    /// What the Secrets held.
    secrets: Vec<Vec<u8>>,
    backend: Backend,
}

#[derive(Clone)]
enum Backend {
    RabbitMq(Box<Broker>),
    Sqs(Service),
}

/// A config as far as connections are concerned.
struct Config {
    reference: ProviderConfigRef,
    version: (String, i64),
    spec: ProviderConfigSpec,
    /// Where Secrets are that do not say where they are.
    namespace: String,
    cluster: Option<ClusterProviderConfigSpec>,
}

/// Why there is no connection; one line, with what to do.
pub type Reason = String;

impl Connector {
    /// Makes connections with what is in this cluster. `own_namespace` is the
    /// provider's: Secrets that a ClusterProviderConfig names are there.
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
            sqs_pace: sqs::Pace::new(metrics.calls_to("sqs")),
            metrics,
            known: Known::default(),
            clients: Mutex::default(),
        }
    }

    /// Connects a queue called `name` at its broker.
    pub async fn connect(&self, queue: &Queue, name: &str) -> Result<Connection, Reason> {
        let namespace = queue.namespace().unwrap_or_default();
        let reference = &queue.spec.provider_config_ref;
        let known = self
            .known
            .find(&self.client, reference, &namespace, &self.own_namespace);
        let config = known.await?;
        self.check_tenant(&config, &namespace, name).await?;
        let owner_id = config.spec.owner_id.as_deref().unwrap_or(&config.version.0);
        let mark = OwnerMark::new(owner_id, &namespace, &queue.name_any()).map_err(text)?;
        let (external, unsafe_password) = self.external(&config, queue, name, mark.clone()).await?;
        let counters = match config.spec.counters_interval.as_deref() {
            None => self.timings.counters,
            Some(interval) => actor::duration::parse(interval)
                .map_err(|error| format!("countersInterval of {}: {error}", config.shown()))?,
        };
        Ok(Connection {
            external,
            mark,
            config: config.version,
            counters: (!counters.is_zero()).then_some(counters),
            may_adopt: config.cluster.is_none_or(|cluster| cluster.allow_adopt),
            unsafe_password,
        })
    }

    /// Has the Secrets of a config read again, which may have been replaced. Where they are
    /// as they were its clients stay, and with them what they know of the broker.
    pub fn doubt_credentials(&self, queue: &Queue) {
        let config = ConfigKey::of(queue);
        let mut clients = self.lock();
        let of_config = clients.iter_mut().filter(|((key, _), _)| *key == config);
        for (_, kept) in of_config {
            kept.read = None;
        }
    }

    /// Drops the clients of configs that no object uses.
    pub fn keep_only(&self, used: &BTreeSet<ConfigKey>) {
        self.lock().retain(|(config, _), _| used.contains(config));
    }

    async fn check_tenant(
        &self,
        config: &Config,
        namespace: &str,
        queue: &str,
    ) -> Result<(), Reason> {
        let Some(cluster) = &config.cluster else {
            return Ok(());
        };
        let labels = if tenancy::needs_labels(cluster) {
            let api: Api<Namespace> = Api::all(self.client.clone());
            let found = api.get(namespace).await.map_err(|error| {
                format!("cannot read namespace {namespace:?}, whose labels `allowedNamespaces` asks for: {error}")
            })?;
            found.metadata.labels.unwrap_or_default()
        } else {
            BTreeMap::new()
        };
        tenancy::check(&config.reference.name, cluster, namespace, &labels, queue).map_err(text)
    }

    /// The queue at its broker, and what is wrong with the broker's password.
    async fn external(
        &self,
        config: &Config,
        queue: &Queue,
        name: &str,
        mark: OwnerMark,
    ) -> Result<(Box<dyn ExternalQueue>, Option<String>), Reason> {
        let wanted = &queue.spec.for_provider;
        match (&wanted.rabbitmq, &wanted.sqs) {
            (Some(settings), None) => {
                let Some(connection) = &config.spec.rabbitmq else {
                    return Err(format!("{} is not for RabbitMQ", config.shown()));
                };
                let secrets = self.rabbitmq_secrets(config, connection).await?;
                let unsafe_password = url_safety::complaint(config, connection, secrets.get(1));
                let make = async |secrets: &[Vec<u8>]| self.broker(connection, secrets);
                let Backend::RabbitMq(broker) = self.backend(config, "", secrets, make).await?
                else {
                    return Err(format!(
                        "{} has become one for RabbitMQ just now",
                        config.shown()
                    ));
                };
                let wanted = rabbitmq::document::Wanted {
                    name: name.to_owned(),
                    queue: settings.clone(),
                    mark,
                    priority: connection.policy_priority,
                };
                let external = broker.queue(wanted).map_err(text)?;
                Ok((Box::new(external), unsafe_password))
            }
            (None, Some(settings)) => {
                let Some(connection) = &config.spec.sqs else {
                    return Err(format!("{} is not for SQS", config.shown()));
                };
                check_endpoint(config, connection, settings.endpoint.as_deref())?;
                let secrets = self
                    .sqs_secrets(config, connection, &settings.region)
                    .await?;
                let service = self
                    .service(config, connection, &settings.region, secrets)
                    .await?;
                let at_provider = &queue.status.at_provider;
                let wanted = sqs::Wanted {
                    name: name.to_owned(),
                    queue: settings.clone(),
                    tags: tags(queue, &config.reference),
                    mark,
                    account_id: at_provider
                        .location
                        .as_ref()
                        .and_then(|location| location.account_id.clone()),
                };
                Ok((Box::new(service.queue(wanted).map_err(text)?), None))
            }
            _ => Err(
                "exactly one of 'rabbitmq' and 'sqs' must be set in `spec.forProvider`".to_owned(),
            ),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<Key, Kept>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Config {
    fn shown(&self) -> String {
        format!("{} {:?}", self.reference.kind, self.reference.name)
    }

    fn key(&self, region: &str) -> Key {
        let config = ConfigKey {
            kind: self.reference.kind.clone(),
            namespace: self.cluster.is_none().then(|| self.namespace.clone()),
            name: self.reference.name.clone(),
        };
        (config, region.to_owned())
    }
}

/// The config decides where its credentials are sent, never the object.
fn check_endpoint(
    config: &Config,
    connection: &SqsConnection,
    of_queue: Option<&str>,
) -> Result<(), Reason> {
    let of_config = connection
        .endpoint
        .as_deref()
        .map(|url| url.trim_end_matches('/'));
    let of_queue = of_queue
        .map(|url| url.trim_end_matches('/'))
        .filter(|url| !url.is_empty());
    if of_queue.is_some() && of_queue != of_config {
        return Err(format!(
            "the queue is at endpoint {:?}, and {} leads to {:?}: set `spec.sqs.endpoint` there",
            of_queue.unwrap_or_default(),
            config.shown(),
            of_config.unwrap_or("AWS")
        ));
    }
    Ok(())
}

/// Crossplane's tags, by which a queue leads back to its object.
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

fn text(error: impl std::fmt::Display) -> Reason {
    error.to_string()
}
