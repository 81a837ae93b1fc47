//! Queues on RabbitMQ, through the management API.

mod answer;
pub mod api;
mod bindings;
mod connector;
mod create;
pub mod definition;
mod foreign_policies;
mod limited_json;
mod limited_object;
mod listed_queue;
mod observe;
mod partial_declare;
mod policies;
pub mod polls;
mod retry_queues;
mod shared_policies;
pub mod shared_policy;
mod shared_record;
mod undo;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actor::provider_config::SharedPolicyRecord;
use actor::queue::Location;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::Value;
use tokio::time::Instant;

use self::api::{Answer, Api};
use self::definition::{QueueDefinition, Repair, Version};
use self::foreign_policies::ForeignPolicies;
use self::observe::RelatedObjects;
use self::partial_declare::UncountedQueues;
use self::polls::QueueLists;
use self::shared_policies::{Purpose, SharedPolicies};
use self::undo::Made;
use super::{Depth, ExternalQueue, Observation, TransportError};
use crate::text;

/// Time for which a broker's version is cached: brokers are upgraded while the provider runs.
const VERSION_CACHED: Duration = Duration::from_mins(10);

/// A broker, with caches of its state. Clones share them.
#[derive(Clone)]
pub struct Broker {
    api: Api,
    version: Arc<Mutex<Option<(Version, Instant)>>>,
    counting: Duration,
    uncounted_queues: UncountedQueues,
    foreign_policies: ForeignPolicies,
    shared_policies: SharedPolicies,
    queue_lists: QueueLists,
}

impl Broker {
    /// The broker behind a management API. Within `counting` it counts the messages of every queue
    /// that has a leader.
    pub fn new(api: Api, counting: Duration) -> Self {
        Self {
            api,
            version: Arc::default(),
            counting,
            uncounted_queues: UncountedQueues::default(),
            foreign_policies: ForeignPolicies::default(),
            shared_policies: SharedPolicies::default(),
            queue_lists: QueueLists::default(),
        }
    }

    /// A queue of the broker.
    ///
    /// # Errors
    /// The broker would refuse a name.
    pub fn queue(&self, definition: QueueDefinition) -> Result<RabbitMqExternal, TransportError> {
        definition.check()?;
        Ok(RabbitMqExternal {
            broker: self.clone(),
            definition,
            poll: None,
            made: Mutex::default(),
            written_policies: Mutex::default(),
        })
    }

    async fn version(&self) -> Result<Version, TransportError> {
        if let Some((version, at)) = *self.cached_version()
            && at.elapsed() < VERSION_CACHED
        {
            return Ok(version);
        }
        let overview = self.api.read(&["overview"]).await?;
        let text = match &overview {
            Answer::Ok(overview) => overview["rabbitmq_version"].as_str().unwrap_or_default(),
            Answer::Created | Answer::NotFound => "",
        };
        let version = Version::parse(text).ok_or_else(|| TransportError::Failed {
            endpoint: self.api.endpoint().to_owned(),
            action: "read overview".to_owned(),
            cause: format!(
                "{:?} is not a version of RabbitMQ",
                text::clean(text, text::FOREIGN_MAX)
            ),
        })?;
        *self.cached_version() = Some((version, Instant::now()));
        Ok(version)
    }

    /// Returns whether the broker counts messages: an administrator can turn statistics off.
    async fn counts_messages(&self) -> Result<bool, TransportError> {
        Ok(match self.api.read(&["overview"]).await? {
            Answer::Ok(overview) => overview["disable_stats"] == Value::Bool(false),
            _ => false,
        })
    }

    fn cached_version(&self) -> std::sync::MutexGuard<'_, Option<(Version, Instant)>> {
        self.version
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// One queue of a broker.
pub struct RabbitMqExternal {
    broker: Broker,
    definition: QueueDefinition,
    /// Interval of its polls, where lists may be read for them.
    poll: Option<Duration>,
    /// Objects that the creation has made.
    made: Mutex<Vec<Made>>,
    /// Policies that were written since the record was read.
    written_policies: Mutex<BTreeSet<String>>,
}

impl ExternalQueue for RabbitMqExternal {
    fn location(&self) -> Location {
        Location {
            endpoint: Some(self.broker.api.endpoint().to_owned()),
            vhost: Some(self.vhost().to_owned()),
            ..Location::default()
        }
    }

    fn shows_changes_at_once(&self) -> bool {
        true
    }

    fn observe(&self, depth: Depth) -> BoxFuture<'_, Result<Observation, TransportError>> {
        self.observe_queue(depth).boxed()
    }

    fn names_to_record(&self) -> BoxFuture<'_, Result<Vec<String>, TransportError>> {
        self.policies_to_write().boxed()
    }

    fn shared_policies_to_record(&self) -> Vec<SharedPolicyRecord> {
        self.proposed_records()
    }

    fn shared_policies_recorded(&self, records: &[SharedPolicyRecord]) {
        self.set_recorded(records);
    }

    fn absent_policies(
        &self,
        names: Vec<String>,
    ) -> BoxFuture<'_, Result<Vec<String>, TransportError>> {
        self.missing_policies(names).boxed()
    }

    fn create(&self) -> BoxFuture<'_, Result<(), TransportError>> {
        self.noting_the_write(self.create_queue()).boxed()
    }

    fn update(&self) -> BoxFuture<'_, Result<(), TransportError>> {
        self.noting_the_write(self.update_queue()).boxed()
    }

    fn delete(&self) -> BoxFuture<'_, Result<(), TransportError>> {
        self.noting_the_write(self.delete_queue()).boxed()
    }
}

impl RabbitMqExternal {
    fn api(&self) -> &Api {
        &self.broker.api
    }

    fn vhost(&self) -> &str {
        &self.definition.queue.vhost
    }

    async fn observe_queue(&self, depth: Depth) -> Result<Observation, TransportError> {
        let name = &self.definition.name;
        let queue = match depth {
            Depth::Quick | Depth::WithDeadLetters => self.poll_queue(name).await?,
            Depth::Full => self.read_queue(name).await?,
        };
        let Answer::Ok(queue) = queue else {
            return Ok(Observation::Missing);
        };
        let version = self.broker.version().await?;
        let related = match depth {
            Depth::Quick | Depth::WithDeadLetters => None,
            Depth::Full => Some(self.read_related(version, &queue).await?),
        };
        let dead_letter_queue = match (&related, depth) {
            (Some(related), _) => related.dead_letter_queue.clone(),
            (None, Depth::WithDeadLetters) if self.definition.queue.dead_letter.enabled => found(
                self.poll_queue(&self.definition.dead_letter_queue())
                    .await?,
            ),
            (None, _) => None,
        };
        let location = self.location();
        let mut observed = observe::observed(
            &self.definition,
            version,
            location,
            &queue,
            related.as_ref(),
        );
        observed.set_dead_letters(observe::dead_lettered(
            &self.definition,
            dead_letter_queue.as_ref(),
        ));
        Ok(Observation::Present(Box::new(observed)))
    }

    async fn read_related(
        &self,
        version: Version,
        queue: &Value,
    ) -> Result<RelatedObjects, TransportError> {
        let (vhost, exchange) = (self.vhost(), self.definition.queue.exchange.as_str());
        let name = self.definition.name.as_str();
        let exchange_answer = self.api().read(&["exchanges", vhost, exchange]).await?;
        let path = ["bindings", vhost, "e", exchange, "q", name];
        let desired = &self.definition.queue.routing_keys;
        let bindings = self.read_bindings(&path, desired).await?;
        let foreign_policy = self
            .broker
            .foreign_policies
            .first_match(self.api(), vhost, name)
            .await?;
        let desired = self.definition.policy_definition(version, queue);
        let policy = self.policy_slot(name, &desired).await?;
        let own_policy = self
            .own_policy(name, &desired, Some(queue), version, Purpose::Observe)
            .await?;
        let dead_letters = self.definition.dead_letter_queue();
        let dead_letter_queue = found(self.read_queue(&dead_letters).await?);
        let desired = self.definition.dead_letter_policy_definition(version);
        let dead_letter_policy = self.policy_slot(&dead_letters, &desired).await?;
        let dead_letter_own_policy = self
            .own_policy(
                &dead_letters,
                &desired,
                dead_letter_queue.as_ref(),
                version,
                Purpose::Observe,
            )
            .await?;
        let dead_letter_exchange = self.definition.dead_letter_exchange();
        let path = [
            "bindings",
            vhost,
            "e",
            dead_letter_exchange.as_str(),
            "q",
            dead_letters.as_str(),
        ];
        let desired = std::slice::from_ref(&dead_letters);
        let dead_letter_bindings = self.read_bindings(&path, desired).await?;
        Ok(RelatedObjects {
            exchange: found(exchange_answer),
            bindings,
            policy,
            own_policy,
            foreign_policy,
            dead_letter_queue,
            dead_letter_policy,
            dead_letter_own_policy,
            dead_letter_bindings,
            retry_queues: self.read_retry_queues().await?,
        })
    }

    /// Reads a queue. An answer without its name is not a queue, such as the page of a proxy.
    async fn read_queue(&self, name: &str) -> Result<Answer, TransportError> {
        let answer = self.api().read(&["queues", self.vhost(), name]).await?;
        let is_other = matches!(&answer, Answer::Ok(found) if found["name"] != name)
            || answer == Answer::Created;
        if is_other {
            return Err(TransportError::Failed {
                endpoint: self.api().endpoint().to_owned(),
                action: format!("read queue {name:?}"),
                cause: "the answer is not that queue: is this the management API?".to_owned(),
            });
        }
        Ok(answer)
    }

    /// Corrects everything but the queue itself.
    async fn update_queue(&self) -> Result<(), TransportError> {
        let version = self.broker.version().await?;
        let Answer::Ok(queue) = self.read_queue(&self.definition.name).await? else {
            // It was deleted a moment ago: the next observation finds out.
            return Ok(());
        };
        let related = self.read_related(version, &queue).await?;
        if related.exchange.is_none() {
            self.put_exchange(&self.definition.queue.exchange, "topic")
                .await?;
        }
        self.create_dead_letter_queue(version, Repair::Forbidden)
            .await?;
        self.put_retry_queues(version, Repair::Forbidden).await?;
        let policy = self.definition.policy_definition(version, &queue);
        self.put_policies(&self.definition.name, &policy, Some(&queue), version)
            .await?;
        let mut keys: Vec<String> = observe::missing_keys(&self.definition, &related)
            .cloned()
            .collect();
        if keys.is_empty() && related.bindings.owner.is_none() {
            // An adopted queue without routing keys gets its owner tag by a binding of its own.
            keys.push(self.definition.name.clone());
        }
        self.bind(
            &self.definition.queue.exchange,
            &self.definition.name,
            &keys,
        )
        .await
    }

    /// Deletes the queue last: after a crash it still exists, and with it everything that belongs to it
    /// is found.
    async fn delete_queue(&self) -> Result<(), TransportError> {
        let (vhost, version) = (self.vhost(), self.broker.version().await?);
        let dead_letters = self.definition.dead_letter_queue();
        if let Answer::Ok(found) = self.read_queue(&dead_letters).await?
            && definition::owner(&found) == Some(self.definition.owner_tag.as_str())
        {
            let policy = self.definition.dead_letter_policy_definition(version);
            let slot = self.policy_slot(&dead_letters, &policy).await?;
            self.api().delete(&["queues", vhost, &dead_letters]).await?;
            self.delete_policy(slot).await?;
        }
        self.delete_retry_queues().await?;
        if let Answer::Ok(found) = self.read_queue(&self.definition.name).await? {
            let policy = self.definition.policy_definition(version, &found);
            let slot = self.policy_slot(&self.definition.name, &policy).await?;
            self.delete_policy(slot).await?;
        }
        self.api()
            .delete(&["queues", vhost, &self.definition.name])
            .await
    }

    /// The broker answers a write below a missing virtual host like one below a missing exchange.
    fn written(&self, parent_exists: bool) -> Result<(), TransportError> {
        if parent_exists {
            return Ok(());
        }
        Err(TransportError::Invalid(format!(
            "{} has no virtual host {:?}, or its exchange was deleted: create the virtual host, with the rights \
             to configure, write and read for the provider's user",
            self.api().endpoint(),
            self.vhost()
        )))
    }
}

fn found(answer: Answer) -> Option<Value> {
    match answer {
        Answer::Ok(value) => Some(value),
        Answer::Created | Answer::NotFound => None,
    }
}
