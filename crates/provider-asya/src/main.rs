//! Runs the provider.

use std::process::ExitCode;

use clap::Parser as _;
use provider_asya::program::{self, Flags};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

// A fast allocator that returns memory to the system.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let flags = Flags::parse();
    let level = if flags.debug {
        LevelFilter::DEBUG
    } else {
        LevelFilter::INFO
    };
    // At debug level the SDK of AWS logs credentials, of which the access key is readable.
    let levels = Targets::new()
        .with_default(level)
        .with_target("aws_", LevelFilter::INFO);
    tracing_subscriber::registry()
        .with(tracing_subscriber::fmt::layer().json())
        .with(levels)
        .init();
    // Dependencies could bring different defaults; there is one TLS stack.
    if rustls::crypto::aws_lc_rs::default_provider()
        .install_default()
        .is_err()
    {
        tracing::debug!("a TLS provider is already installed");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let end = match runtime {
        Ok(runtime) => runtime.block_on(program::start(&flags, flags.timings(), shutdown_signal())),
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

/// Returns on SIGTERM or SIGINT.
async fn shutdown_signal() {
    let (Ok(mut terminate), Ok(mut interrupt)) = (
        signal(SignalKind::terminate()),
        signal(SignalKind::interrupt()),
    ) else {
        tracing::error!("cannot handle signals: only SIGKILL ends this process");
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    tracing::info!("shutting down after running reconciles");
}
