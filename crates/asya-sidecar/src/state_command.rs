//! `asya-sidecar state`: the connector of a state proxy.

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;

use asya_sidecar::state::config::{StateConfig, StoreConfig, StoreKind};
use asya_sidecar::state::{self, FileStore, S3Store, Socket, Store};
use asya_sidecar::stop;
use clap::ValueEnum;
use tokio::signal::unix::{SignalKind, signal};

use crate::{invalid, start_logging, start_tokio};

/// Store of a connector.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Connector {
    /// In the directory STATE_DIRECTORY, such as a mounted PersistentVolumeClaim
    File,
    /// In the bucket STATE_BUCKET of S3 or of a compatible service
    S3,
}

/// Runs a connector until SIGTERM.
pub(crate) fn run(connector: Option<Connector>) -> ExitCode {
    let kind = connector.map(|connector| match connector {
        Connector::File => StoreKind::File,
        Connector::S3 => StoreKind::S3,
    });
    let config = match StateConfig::read(kind, &|name| std::env::var(name).ok()) {
        Ok(config) => config,
        Err(problems) => return invalid(&problems),
    };
    start_logging(config.log_level);
    let Some(tokio) = start_tokio() else {
        return ExitCode::FAILURE;
    };
    match tokio.block_on(serve(config)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If nothing reads it, the exit code still counts.
            let _ = writeln!(std::io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(config: StateConfig) -> std::io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let store: Arc<dyn Store> = match &config.store {
        StoreConfig::File(directory) => Arc::new(FileStore::open(directory)?),
        StoreConfig::S3(bucket) => Arc::new(S3Store::new(bucket).await),
    };
    let socket = Socket::bind(&config.socket)?;
    let (sender, stop) = stop::channel();
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("asked to end: serving until the runtime has disconnected");
        sender.stop();
    });
    tracing::info!(socket = %config.socket.display(), "listening");
    state::serve(socket, store, stop).await;
    tracing::info!("stopped");
    Ok(())
}
