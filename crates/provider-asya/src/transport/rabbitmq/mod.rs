//! Queues of RabbitMQ, over the management API.

pub mod api;
pub mod document;
mod others;
mod seen;
mod whole;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use actor::queue::Location;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::Value;
use tokio::time::Instant;

use self::api::{Answer, Api};
use self::document::{Version, Wanted, policy_name};
use self::others::Others;
use self::seen::Surroundings;
use self::whole::{Mending, Suspects};
use super::{Depth, ExternalQueue, Fault, Observation};

/// How long a broker's version is believed: brokers are upgraded under us.
const VERSION_BELIEVED: Duration = Duration::from_mins(10);

/// A broker, with what was learned about it. Clones share both.
#[derive(Clone)]
pub struct Broker {
    api: Api,
    version: Arc<Mutex<Option<(Version, Instant)>>>,
    counting: Duration,
    suspects: Suspects,
    others: Others,
}

impl Broker {
    /// The broker that this API belongs to. Within `counting` it counts the
    /// messages of every queue that has a leader.
    pub fn new(api: Api, counting: Duration) -> Self {
        Self {
            api,
            version: Arc::default(),
            counting,
            suspects: Suspects::default(),
            others: Others::default(),
        }
    }

    /// One queue of it.
    pub fn queue(&self, wanted: Wanted) -> Result<RabbitMqExternal, Fault> {
        wanted.check()?;
        Ok(RabbitMqExternal {
            broker: self.clone(),
            wanted,
        })
    }

    async fn version(&self) -> Result<Version, Fault> {
        if let Some((version, at)) = *self.known_version()
            && at.elapsed() < VERSION_BELIEVED
        {
            return Ok(version);
        }
        let overview = self.api.get(&["overview"]).await?;
        let text = match &overview {
            Answer::Done(overview) => overview["rabbitmq_version"].as_str().unwrap_or_default(),
            Answer::Made | Answer::Absent => "",
        };
        let version = Version::parse(text).ok_or_else(|| Fault::Failed {
            endpoint: self.api.endpoint().to_owned(),
            action: "read overview".to_owned(),
            cause: format!("{text:?} is no version of RabbitMQ"),
        })?;
        *self.known_version() = Some((version, Instant::now()));
        Ok(version)
    }

    /// Whether it counts messages at all: an administrator can turn that off.
    async fn counts_messages(&self) -> Result<bool, Fault> {
        Ok(match self.api.get(&["overview"]).await? {
            Answer::Done(overview) => overview["disable_stats"] == Value::Bool(false),
            _ => false,
        })
    }

    fn known_version(&self) -> std::sync::MutexGuard<'_, Option<(Version, Instant)>> {
        self.version
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// One queue of a broker.
pub struct RabbitMqExternal {
    broker: Broker,
    wanted: Wanted,
}

impl ExternalQueue for RabbitMqExternal {
    fn location(&self) -> Location {
        Location {
            endpoint: Some(self.broker.api.endpoint().to_owned()),
            vhost: Some(self.vhost().to_owned()),
            ..Location::default()
        }
    }

    fn observe(&self, depth: Depth) -> BoxFuture<'_, Result<Observation, Fault>> {
        self.look(depth).boxed()
    }

    fn create(&self) -> BoxFuture<'_, Result<(), Fault>> {
        self.make().boxed()
    }

    fn update(&self) -> BoxFuture<'_, Result<(), Fault>> {
        self.ensure().boxed()
    }

    fn delete(&self) -> BoxFuture<'_, Result<(), Fault>> {
        self.remove().boxed()
    }
}

impl RabbitMqExternal {
    fn api(&self) -> &Api {
        &self.broker.api
    }

    fn vhost(&self) -> &str {
        &self.wanted.queue.vhost
    }

    async fn look(&self, depth: Depth) -> Result<Observation, Fault> {
        let Answer::Done(queue) = self.read_queue(&self.wanted.name).await? else {
            return Ok(Observation::Absent);
        };
        let version = self.broker.version().await?;
        let surroundings = match depth {
            Depth::Glance | Depth::Letters => None,
            Depth::Whole => Some(self.look_around().await?),
        };
        let letters = match (&surroundings, depth) {
            (Some(around), _) => around.dead_letter_queue.clone(),
            (None, Depth::Letters) if self.wanted.queue.dead_letter.enabled => {
                done(self.read_queue(&self.wanted.dead_letter_queue()).await?)
            }
            (None, _) => None,
        };
        let location = self.location();
        let mut found = seen::found(
            &self.wanted,
            version,
            location,
            &queue,
            surroundings.as_ref(),
        );
        found.count_letters(seen::dead_lettered(&self.wanted, letters.as_ref()));
        Ok(Observation::Present(Box::new(found)))
    }

    async fn look_around(&self) -> Result<Surroundings, Fault> {
        let (vhost, exchange) = (self.vhost(), self.wanted.queue.exchange.as_str());
        let name = self.wanted.name.as_str();
        let exchange_found = self.api().get(&["exchanges", vhost, exchange]).await?;
        let bindings = self
            .api()
            .get(&["bindings", vhost, "e", exchange, "q", name])
            .await?;
        let others = self.broker.others.of(self.api(), vhost).await?;
        let policy = self.wanted.policy();
        let policy = self.api().get(&["policies", vhost, &policy]).await?;
        let letters = self.wanted.dead_letter_queue();
        let dead_letter_queue = self.read_queue(&letters).await?;
        let dead_letter_policy = self.wanted.dead_letter_policy();
        let dead_letter_policy = self
            .api()
            .get(&["policies", vhost, &dead_letter_policy])
            .await?;
        let dead_letter_bindings = self
            .api()
            .get(&[
                "bindings",
                vhost,
                "e",
                &self.wanted.dead_letter_exchange(),
                "q",
                &letters,
            ])
            .await?;
        Ok(Surroundings {
            exchange: done(exchange_found),
            bindings: list(bindings),
            policy: done(policy),
            others,
            dead_letter_queue: done(dead_letter_queue),
            dead_letter_policy: done(dead_letter_policy),
            dead_letter_bindings: list(dead_letter_bindings),
        })
    }

    /// The queue of that name. A proxy's own page is none, and neither is what lacks the name.
    async fn read_queue(&self, name: &str) -> Result<Answer, Fault> {
        let answer = self.api().get(&["queues", self.vhost(), name]).await?;
        let is_other = matches!(&answer, Answer::Done(found) if found["name"] != name)
            || answer == Answer::Made;
        if is_other {
            return Err(Fault::Failed {
                endpoint: self.api().endpoint().to_owned(),
                action: format!("read queue {name:?}"),
                cause: "the answer is not that queue: is this the management API?".to_owned(),
            });
        }
        Ok(answer)
    }

    /// Exchange and policy come before the queue, and bindings once it is whole
    /// and before anybody is told of it: there is no moment in which a message
    /// could be lost.
    async fn make(&self) -> Result<(), Fault> {
        let version = self.broker.version().await?;
        self.put_exchange(&self.wanted.queue.exchange, "topic")
            .await?;
        self.make_dead_letter_queue(version, Mending::Allowed)
            .await?;
        let definition = self.wanted.definition(version);
        self.put_policy(&self.wanted.name, &definition).await?;
        self.declare(&self.wanted.name, Mending::Allowed).await?;
        self.bind(
            &self.wanted.queue.exchange,
            &self.wanted.name,
            &self.wanted.queue.routing_keys,
        )
        .await
    }

    /// All but the queue itself.
    async fn ensure(&self) -> Result<(), Fault> {
        let version = self.broker.version().await?;
        let around = self.look_around().await?;
        if around.exchange.is_none() {
            self.put_exchange(&self.wanted.queue.exchange, "topic")
                .await?;
        }
        self.make_dead_letter_queue(version, Mending::Forbidden)
            .await?;
        self.put_policy(&self.wanted.name, &self.wanted.definition(version))
            .await?;
        let mut keys: Vec<String> = seen::missing_keys(&self.wanted, &around).cloned().collect();
        if keys.is_empty()
            && !around
                .bindings
                .iter()
                .any(|binding| seen::owner(binding).is_some())
        {
            // An adopted queue without routing keys gets its mark by a binding of its own.
            keys.push(self.wanted.name.clone());
        }
        self.bind(&self.wanted.queue.exchange, &self.wanted.name, &keys)
            .await
    }

    async fn make_dead_letter_queue(
        &self,
        version: Version,
        mending: Mending,
    ) -> Result<(), Fault> {
        if !self.wanted.queue.dead_letter.enabled {
            return Ok(());
        }
        let exchange = self.wanted.dead_letter_exchange();
        let queue = self.wanted.dead_letter_queue();
        if let Answer::Done(found) = self.read_queue(&queue).await? {
            self.check_owner(&queue, &found)?;
        }
        self.put_exchange(&exchange, "direct").await?;
        self.put_policy(&queue, &self.wanted.dead_letter_definition(version))
            .await?;
        self.declare(&queue, mending).await?;
        self.bind(&exchange, &queue, std::slice::from_ref(&queue))
            .await
    }

    async fn put_exchange(&self, name: &str, kind: &str) -> Result<(), Fault> {
        let path = ["exchanges", self.vhost(), name];
        self.written(self.api().put(&path, &Wanted::exchange_body(kind)).await?)
    }

    async fn put_policy(
        &self,
        queue: &str,
        definition: &serde_json::Map<String, Value>,
    ) -> Result<(), Fault> {
        let name = policy_name(queue);
        if definition.is_empty() {
            // The broker refuses a policy that says nothing.
            return self.api().delete(&["policies", self.vhost(), &name]).await;
        }
        let body = self.wanted.policy_body(queue, definition);
        self.written(
            self.api()
                .put(&["policies", self.vhost(), &name], &body)
                .await?,
        )
    }

    fn check_owner(&self, name: &str, queue: &Value) -> Result<(), Fault> {
        match seen::owner(queue) {
            Some(owner) if owner == self.wanted.mark.as_str() => Ok(()),
            owner => Err(Fault::Foreign {
                name: name.to_owned(),
                owner: owner.unwrap_or("nobody").to_owned(),
            }),
        }
    }

    async fn bind(&self, exchange: &str, queue: &str, keys: &[String]) -> Result<(), Fault> {
        let path = ["bindings", self.vhost(), "e", exchange, "q", queue];
        for key in keys {
            let body = self.wanted.binding_body(key);
            let answer = self.api().post(&path, &body).await?;
            self.written(answer != Answer::Absent)?;
        }
        Ok(())
    }

    /// The queue goes last: after a crash it is still there to be found, and
    /// with it everything that belongs to it.
    async fn remove(&self) -> Result<(), Fault> {
        let vhost = self.vhost();
        let letters = self.wanted.dead_letter_queue();
        if let Answer::Done(found) = self.read_queue(&letters).await?
            && seen::owner(&found) == Some(self.wanted.mark.as_str())
        {
            self.api().delete(&["queues", vhost, &letters]).await?;
            self.api()
                .delete(&["policies", vhost, &self.wanted.dead_letter_policy()])
                .await?;
        }
        self.api()
            .delete(&["policies", vhost, &self.wanted.policy()])
            .await?;
        self.api()
            .delete(&["queues", vhost, &self.wanted.name])
            .await
    }

    /// Writing below a virtual host that is not there is answered like writing
    /// below an exchange that is not there.
    fn written(&self, is_there: bool) -> Result<(), Fault> {
        if is_there {
            return Ok(());
        }
        Err(Fault::Invalid(format!(
            "{} has no virtual host {:?}, or its exchange is gone: create the virtual host, with the rights \
             to configure, write and read for the provider's user",
            self.api().endpoint(),
            self.vhost()
        )))
    }
}

fn done(answer: Answer) -> Option<Value> {
    match answer {
        Answer::Done(value) => Some(value),
        Answer::Made | Answer::Absent => None,
    }
}

fn list(answer: Answer) -> Vec<Value> {
    match answer {
        Answer::Done(Value::Array(list)) => list,
        _ => Vec::new(),
    }
}
