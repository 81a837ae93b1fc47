//! Creations that the broker denies in the middle: what they have made is deleted again.

use super::RabbitMqExternal;
use super::api::Answer;
use crate::transport::TransportError;

/// An object that this creation made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Made {
    /// A queue.
    Queue(String),
    /// An exchange.
    Exchange(String),
    /// A policy.
    Policy(String),
}

impl RabbitMqExternal {
    /// Records an object that did not exist before.
    pub(super) fn record_made(&self, made: Made) {
        self.lock_made().push(made);
    }

    /// Deletes what a creation has made, the newest first, where the broker denied or refused the rest of it.
    /// Other errors may pass, and the creation continues then.
    pub(super) async fn undo(&self, error: &TransportError) {
        let is_final = matches!(
            error,
            TransportError::Denied { .. } | TransportError::Refused { .. }
        );
        let made = std::mem::take(&mut *self.lock_made());
        for made in made.into_iter().rev().filter(|_| is_final) {
            if let Err(error) = self.delete_made(&made).await {
                tracing::info!(?made, %error, "cannot delete what a denied creation has made");
            }
        }
    }

    async fn delete_made(&self, made: &Made) -> Result<(), TransportError> {
        let vhost = self.vhost();
        match made {
            Made::Queue(name) => {
                let Answer::Ok(found) = self.read_queue(name).await? else {
                    return Ok(());
                };
                self.check_owner(name, &found)?;
                let is_zero = |key: &str| found[key].as_u64().unwrap_or_default() == 0;
                if is_zero("messages") && is_zero("consumers") {
                    return self.api().delete(&["queues", vhost, name]).await;
                }
                Ok(())
            }
            Made::Exchange(name) => self.api().delete_unused(&["exchanges", vhost, name]).await,
            Made::Policy(name) => self.api().delete(&["policies", vhost, name]).await,
        }
    }
}
