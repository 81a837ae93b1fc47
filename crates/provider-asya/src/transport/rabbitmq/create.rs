//! Creation of a queue with everything that belongs to it.

use std::sync::{MutexGuard, PoisonError};

use serde_json::Value;

use super::api::Answer;
use super::definition::{self, QueueDefinition, Repair, Version};
use super::undo::Made;
use super::{RabbitMqExternal, found};
use crate::transport::{TransportError, owner_in_message};

impl RabbitMqExternal {
    /// Creates the queue: first the queue itself, whose owner tag decides whether anything else is written,
    /// and bindings last, once it is declared completely and has its policy. So no message arrives too
    /// early, and a creator that loses against another owner has changed nothing. A creation that the broker
    /// denies in the middle leaves nothing that it has made.
    pub(super) async fn create_queue(&self) -> Result<(), TransportError> {
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

    pub(super) async fn create_dead_letter_queue(
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

    pub(super) async fn put_exchange(&self, name: &str, kind: &str) -> Result<(), TransportError> {
        let path = ["exchanges", self.vhost(), name];
        let body = QueueDefinition::exchange_body(kind);
        let answer = self.api().declare(&path, &body).await?;
        if answer == Answer::Created {
            self.record_made(Made::Exchange(name.to_owned()));
        }
        self.written(answer != Answer::NotFound)
    }

    pub(super) fn lock_made(&self) -> MutexGuard<'_, Vec<Made>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn check_owner(&self, name: &str, queue: &Value) -> Result<(), TransportError> {
        self.check_owner_tag(name, definition::owner(queue))
    }

    pub(super) fn check_owner_tag(
        &self,
        name: &str,
        owner: Option<&str>,
    ) -> Result<(), TransportError> {
        let ours = self.definition.owner_tag.as_str();
        let owner = owner.unwrap_or("nobody");
        if owner == ours {
            return Ok(());
        }
        Err(TransportError::Foreign {
            name: name.to_owned(),
            owner: owner_in_message(owner.to_owned(), ours),
        })
    }

    pub(super) async fn bind(
        &self,
        exchange: &str,
        queue: &str,
        keys: &[String],
    ) -> Result<(), TransportError> {
        let path = ["bindings", self.vhost(), "e", exchange, "q", queue];
        for key in keys {
            let body = self.definition.binding_body(key);
            let answer = self.api().add(&path, &body).await?;
            self.written(answer != Answer::NotFound)?;
        }
        Ok(())
    }
}
