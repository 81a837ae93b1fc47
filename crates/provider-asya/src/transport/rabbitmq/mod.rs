//! Queues on RabbitMQ, through the management API.

mod answer;
pub mod api;
mod connector;
pub mod definition;
mod foreign_policies;
mod limited_json;
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
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use actor::provider_config::SharedPolicyRecord;
use actor::queue::Location;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::Value;
use tokio::time::Instant;

use self::api::{Answer, Api};
use self::definition::Repair;
use self::definition::{QueueDefinition, Version};
use self::foreign_policies::ForeignPolicies;
use self::observe::RelatedObjects;
use self::partial_declare::UncountedQueues;
use self::polls::QueueLists;
use self::shared_policies::{Purpose, SharedPolicies};
use self::undo::Made;
use super::{Depth, ExternalQueue, Observation, TransportError};

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
        let overview = self.api.get(&["overview"]).await?;
        let text = match &overview {
            Answer::Ok(overview) => overview["rabbitmq_version"].as_str().unwrap_or_default(),
            Answer::Created | Answer::NotFound => "",
        };
        let version = Version::parse(text).ok_or_else(|| TransportError::Failed {
            endpoint: self.api.endpoint().to_owned(),
            action: "read overview".to_owned(),
            cause: format!("{text:?} is not a version of RabbitMQ"),
        })?;
        *self.cached_version() = Some((version, Instant::now()));
        Ok(version)
    }

    /// Returns whether the broker counts messages: an administrator can turn statistics off.
    async fn counts_messages(&self) -> Result<bool, TransportError> {
        Ok(match self.api.get(&["overview"]).await? {
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
        let exchange_answer = self.api().get(&["exchanges", vhost, exchange]).await?;
        let bindings = self
            .api()
            .get(&["bindings", vhost, "e", exchange, "q", name])
            .await?;
        let foreign_policies = self
            .broker
            .foreign_policies
            .matching(self.api(), vhost, name)
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
        let dead_letter_bindings = self
            .api()
            .get(&[
                "bindings",
                vhost,
                "e",
                &self.definition.dead_letter_exchange(),
                "q",
                &dead_letters,
            ])
            .await?;
        Ok(RelatedObjects {
            exchange: found(exchange_answer),
            bindings: items(bindings),
            policy,
            own_policy,
            foreign_policies,
            dead_letter_queue,
            dead_letter_policy,
            dead_letter_own_policy,
            dead_letter_bindings: items(dead_letter_bindings),
            retry_queues: self.read_retry_queues().await?,
        })
    }

    /// Reads a queue. An answer without its name is not a queue, such as the page of a proxy.
    async fn read_queue(&self, name: &str) -> Result<Answer, TransportError> {
        let answer = self.api().get(&["queues", self.vhost(), name]).await?;
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

    /// Creates the queue: first the queue itself, whose owner tag decides whether anything else is written,
    /// and bindings last, once it is declared completely and has its policy. So no message arrives too
    /// early, and a creator that loses against another owner has changed nothing. A creation that the broker
    /// denies in the middle leaves nothing that it has made.
    async fn create_queue(&self) -> Result<(), TransportError> {
        self.lock_made().clear();
        let created = self.create_objects().await;
        if let Err(error) = &created {
            self.undo(error).await;
        }
        created
    }

    async fn create_objects(&self) -> Result<(), TransportError> {
        let version = self.broker.version().await?;
        let (name, dead_letters) = (&self.definition.name, self.definition.dead_letter_queue());
        let existing = found(self.read_queue(name).await?);
        if let Some(found) = &existing
            && definition::owner(found).is_some()
        {
            self.check_owner(name, found)?;
        }
        if self.definition.queue.dead_letter.enabled
            && let Answer::Ok(found) = self.read_queue(&dead_letters).await?
        {
            self.check_owner(&dead_letters, &found)?;
        }
        for delay in &self.definition.queue.retry_delays_seconds {
            let name = self.definition.retry_queue(*delay);
            if let Answer::Ok(found) = self.read_queue(&name).await? {
                self.check_owner(&name, &found)?;
            }
        }
        let body = self.definition.queue_body(existing.as_ref());
        self.declare(&self.definition.name, &body, Repair::Allowed)
            .await?;
        self.put_exchange(&self.definition.queue.exchange, "topic")
            .await?;
        self.create_dead_letter_queue(version, Repair::Allowed)
            .await?;
        self.put_retry_queues(version, Repair::Allowed).await?;
        let policy = self.definition.policy_definition(version, &body);
        self.put_policies(&self.definition.name, &policy, existing.as_ref(), version)
            .await?;
        self.bind(
            &self.definition.queue.exchange,
            &self.definition.name,
            &self.definition.queue.routing_keys,
        )
        .await
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
        if keys.is_empty()
            && !related
                .bindings
                .iter()
                .any(|binding| definition::owner(binding).is_some())
        {
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

    async fn create_dead_letter_queue(
        &self,
        version: Version,
        repair: Repair,
    ) -> Result<(), TransportError> {
        if !self.definition.queue.dead_letter.enabled {
            return Ok(());
        }
        let exchange = self.definition.dead_letter_exchange();
        let queue = self.definition.dead_letter_queue();
        let existing = found(self.read_queue(&queue).await?);
        if let Some(found) = &existing {
            self.check_owner(&queue, found)?;
        }
        let body = self.definition.dead_letter_body();
        self.declare(&queue, &body, repair).await?;
        self.put_exchange(&exchange, "direct").await?;
        let policy = self.definition.dead_letter_policy_definition(version);
        self.put_policies(&queue, &policy, existing.as_ref(), version)
            .await?;
        self.bind(&exchange, &queue, std::slice::from_ref(&queue))
            .await
    }

    async fn put_exchange(&self, name: &str, kind: &str) -> Result<(), TransportError> {
        let path = ["exchanges", self.vhost(), name];
        let body = QueueDefinition::exchange_body(kind);
        let answer = self.api().declare(&path, &body).await?;
        if answer == Answer::Created {
            self.record_made(Made::Exchange(name.to_owned()));
        }
        self.written(answer != Answer::NotFound)
    }

    fn lock_made(&self) -> MutexGuard<'_, Vec<Made>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check_owner(&self, name: &str, queue: &Value) -> Result<(), TransportError> {
        match definition::owner(queue) {
            Some(owner) if owner == self.definition.owner_tag.as_str() => Ok(()),
            owner => Err(TransportError::Foreign {
                name: name.to_owned(),
                owner: owner.unwrap_or("nobody").to_owned(),
            }),
        }
    }

    async fn bind(
        &self,
        exchange: &str,
        queue: &str,
        keys: &[String],
    ) -> Result<(), TransportError> {
        let path = ["bindings", self.vhost(), "e", exchange, "q", queue];
        for key in keys {
            let body = self.definition.binding_body(key);
            let answer = self.api().post(&path, &body).await?;
            self.written(answer != Answer::NotFound)?;
        }
        Ok(())
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

fn items(answer: Answer) -> Vec<Value> {
    match answer {
        Answer::Ok(Value::Array(list)) => list,
        _ => Vec::new(),
    }
}
