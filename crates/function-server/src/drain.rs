//! SIGQUIT, the stop signal of our images: the function serves on while its pod leaves DNS, then ends
//! as on SIGTERM.
//!
//! Crossplane core connects to the addresses that the function's headless Service resolves to. It
//! resolves again only when a connection ends, and at most every 30 s (`MinResolutionInterval` of
//! grpc-go). If a pod that is replaced closes its connections before its successor is in DNS, core has
//! no connection to the function for up to 30 s. So a pod that is deleted, and gets no new connections
//! because it is not in DNS, answers on those that it has.
//!
//! SIGTERM cannot have this meaning: the server of the SDK handles it itself, and ends at once.

use std::time::Duration;

use rustix::process::{Signal, getpid, kill_process};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Sends `true` on SIGQUIT, and SIGTERM to this process when `duration` has passed since.
pub(crate) async fn run(duration: Duration, draining: watch::Sender<bool>) {
    let mut quit = match signal(SignalKind::quit()) {
        Ok(quit) => quit,
        Err(error) => {
            tracing::error!(%error, "cannot handle SIGQUIT: this function ends without draining");
            return;
        }
    };
    quit.recv().await;
    draining.send_replace(true);
    let seconds = duration.as_secs();
    tracing::info!(seconds, "SIGQUIT: serving on while this pod leaves DNS");
    tokio::time::sleep(duration).await;
    terminate();
}

/// Ends this process through its handlers of SIGTERM.
pub(crate) fn terminate() {
    if let Err(error) = kill_process(getpid(), Signal::TERM) {
        tracing::error!(%error, "cannot end this process: delete the pod");
    }
}
