//! Runs the provider.

use std::process::ExitCode;

use clap::Parser as _;
use provider_asya::program::{self, Flags};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::filter::LevelFilter;

// A fast allocator that gives memory back: objects come and go all the time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let flags = Flags::parse();
    let level = if flags.debug {
        LevelFilter::DEBUG
    } else {
        LevelFilter::INFO
    };
    tracing_subscriber::fmt()
        .json()
        .with_max_level(level)
        .init();
    // Two crates could each bring a default; there is one TLS stack.
    if rustls::crypto::aws_lc_rs::default_provider()
        .install_default()
        .is_err()
    {
        tracing::debug!("a TLS provider is installed already");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let end = match runtime {
        Ok(runtime) => runtime.block_on(program::start(&flags, flags.timings(), asked_to_end())),
        Err(error) => {
            tracing::error!(%error, "cannot start");
            return ExitCode::FAILURE;
        }
    };
    match end {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(%error, "the provider ends");
            ExitCode::FAILURE
        }
    }
}

/// Ends when the process is asked to end.
async fn asked_to_end() {
    let (Ok(mut terminate), Ok(mut interrupt)) = (
        signal(SignalKind::terminate()),
        signal(SignalKind::interrupt()),
    ) else {
        tracing::error!("cannot listen for signals: only SIGKILL ends this process");
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    tracing::info!("asked to end: running passes are finished first");
}
