//! The order to end.

use tokio::sync::watch;

/// Gives the order.
#[derive(Debug)]
pub struct StopSender(watch::Sender<bool>);

/// Receives the order.
#[derive(Debug, Clone)]
pub struct Stop(watch::Receiver<bool>);

/// Both ends.
pub fn channel() -> (StopSender, Stop) {
    let (sender, receiver) = watch::channel(false);
    (StopSender(sender), Stop(receiver))
}

impl StopSender {
    /// Gives the order. Once given it stands.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl Stop {
    /// Returns whether it was given.
    pub fn is_requested(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits for it; for ever if its sender is dropped.
    pub async fn requested(&mut self) {
        if self.0.wait_for(|stopped| *stopped).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
