//! The second half of a pass: do what was decided.

use actor::names::EXTERNAL_NAME;
use jiff::Timestamp;
use kube::ResourceExt as _;
use tokio::time::Instant;

use super::{Pass, Stop};
use crate::conditions::Statement;
use crate::controller::connect::Connection;
use crate::controller::events::Severity;
use crate::controller::writes;
use crate::counters::Counters;
use crate::creation;
use crate::plan::{Refusal, Step, Waiting};
use crate::requeue::Next;
use crate::transport::{Drift, Found};

impl Pass<'_> {
    pub(super) async fn act(
        &mut self,
        step: Step,
        found: Option<&Found>,
        connection: &Connection,
        name: &str,
    ) -> Result<Next, Stop> {
        match step {
            Step::Rest => {
                self.say_usable(found);
                self.say(Statement::synced());
                Ok(Next::Poll)
            }
            Step::Create => self.create(connection, name).await,
            Step::Update(drift) => self.update(connection, found, &drift).await,
            Step::Delete => self.delete(connection).await,
            Step::Release => Err(self.release().await?),
            Step::Wait(waiting) => self.wait(&waiting).await,
            Step::Refuse(refusal) => {
                let reason = match &refusal {
                    Refusal::NothingToObserve => "ReconcileError",
                    Refusal::Foreign { .. } => "QueueOwnedByAnother",
                    Refusal::Unmarked { .. } | Refusal::AdoptionForbidden { .. } => "QueueNotOwned",
                };
                if !self.is_deleted() {
                    self.say(Statement::unavailable(refusal.to_string()));
                    Counters::write(None, &mut self.status.at_provider);
                }
                let event = "CannotObserveExternalResource";
                Err(Stop::Failed(event, reason, refusal.to_string(), Next::Poll))
            }
        }
    }

    /// Says whether the queue can be used, after everything that it needs was found or made.
    fn say_usable(&mut self, found: Option<&Found>) {
        if let Some(found) = found {
            self.say(match &found.unusable {
                Some(reason) => Statement::unavailable(reason.clone()),
                None => Statement::available(),
            });
        }
    }

    async fn create(&mut self, connection: &Connection, name: &str) -> Result<Next, Stop> {
        let object = self.queue.name_any();
        let begun = creation::next(self.queue.annotations(), Timestamp::now());
        let version = self.queue.resource_version();
        let pending = [(creation::PENDING, begun.as_str())];
        // A conflict ends the pass here: this proves that we know the newest object.
        self.queue = writes::annotations(&self.api, &object, &pending, version.as_deref()).await?;
        self.say(Statement::creating());
        let created = self.within(connection.external.create()).await;
        let end = creation::next(self.queue.annotations(), Timestamp::now());
        if let Err(fault) = created {
            let failed = [(creation::FAILED, end.as_str())];
            self.queue = writes::annotations(&self.api, &object, &failed, None).await?;
            return Err(self.fault("CannotCreateExternalResource", "create", &fault));
        }
        let done = [(creation::SUCCEEDED, end.as_str()), (EXTERNAL_NAME, name)];
        self.queue = writes::annotations(&self.api, &object, &done, None).await?;
        self.tell_success("CreatedExternalResource", "creation")
            .await;
        self.say(Statement::synced());
        self.memory.whole_look = None;
        Ok(Next::After(self.context.timings.first_backoff))
    }

    async fn update(
        &mut self,
        connection: &Connection,
        found: Option<&Found>,
        drift: &[Drift],
    ) -> Result<Next, Stop> {
        tracing::debug!(queue = %self.shown(), ?drift, "the queue differs");
        if let Err(fault) = self.within(connection.external.update()).await {
            return Err(self.fault("CannotUpdateExternalResource", "update", &fault));
        }
        self.memory.updated = Some(Instant::now());
        self.memory.whole_look = None;
        self.tell_success("UpdatedExternalResource", "update").await;
        self.say_usable(found);
        self.say(Statement::synced());
        Ok(Next::Poll)
    }

    async fn delete(&mut self, connection: &Connection) -> Result<Next, Stop> {
        self.say(Statement::deleting(None));
        if let Err(fault) = self.within(connection.external.delete()).await {
            return Err(self.fault("CannotDeleteExternalResource", "delete", &fault));
        }
        self.memory.is_queue_deleted = true;
        self.tell_success("DeletedExternalResource", "deletion")
            .await;
        self.say(Statement::synced());
        // The object goes once the queue is seen to be gone.
        Ok(Next::After(self.context.timings.first_backoff))
    }

    async fn wait(&mut self, waiting: &Waiting) -> Result<Next, Stop> {
        let message = match waiting {
            Waiting::Visibility => {
                let message = "Waiting for external resource existence to be confirmed";
                self.tell(Severity::Normal, "PendingExternalResource", message)
                    .await;
                return Ok(Next::Backoff);
            }
            Waiting::OtherFinalizers => "waits until other finalizers are removed".to_owned(),
            Waiting::Scalers => "waits until the actor's scalers are gone".to_owned(),
            Waiting::Empty(Some(0)) => {
                "waits until the queue has been empty for a while".to_owned()
            }
            Waiting::Empty(Some(held)) => {
                format!(
                    "waits until the queue is empty: it holds {held} messages, dead letters included"
                )
            }
            Waiting::Empty(None) => {
                "waits until the queue is empty: how many messages it holds is not known yet"
                    .to_owned()
            }
        };
        self.say(Statement::deleting(Some(message)));
        self.say(Statement::synced());
        Ok(Next::Backoff)
    }
}
