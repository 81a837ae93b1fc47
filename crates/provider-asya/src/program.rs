//! The provider as a program: flags, start and end.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Parser;
use futures::FutureExt as _;
use futures::future::Shared;
use kube::Client;

use crate::controller::{Context, configs, run};
use crate::gate;
use crate::kinds::{ClusterProviderConfig, ProviderConfig};
use crate::metrics::Metrics;
use crate::serve::{self, Shown};
use crate::timings::Timings;

/// Keeps the queues of actors true on RabbitMQ and SQS. Works without any flag.
#[derive(Debug, Clone, Parser)]
#[command(version)]
pub struct Flags {
    /// Log more
    #[arg(short, long, env = "DEBUG")]
    pub debug: bool,
    /// Longest time between two looks at a queue, such as 10m
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub poll: Option<Duration>,
    /// Part of a poll by which it is moved at random, in percent
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u32).range(..=50))]
    pub poll_jitter_percentage: Option<u32>,
    /// Passes that run at the same time
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..))]
    pub max_reconcile_rate: u16,
    /// Address for metrics and probes
    #[arg(long, default_value = "[::]:8080")]
    pub metrics_address: SocketAddr,
    /// Namespace of the provider, in which Secrets of cluster-wide configs are
    #[arg(long, env = "POD_NAMESPACE", default_value = "crossplane-system")]
    pub namespace: String,
}

fn duration(text: &str) -> Result<Duration, String> {
    let duration = actor::duration::parse(text).map_err(|error| error.to_string())?;
    if duration.is_zero() {
        Err("must be more than 0".to_owned())
    } else {
        Ok(duration)
    }
}

impl Flags {
    /// The durations that follow from the flags.
    pub fn timings(&self) -> Timings {
        let timings = Timings::default();
        Timings {
            poll: self.poll.unwrap_or(timings.poll),
            jitter_percent: self
                .poll_jitter_percentage
                .unwrap_or(timings.jitter_percent),
            ..timings
        }
    }
}

/// Why the provider ended before it was asked to.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// There is no cluster to talk to.
    #[error("cannot find out how to reach the API server: {0}")]
    Cluster(String),
    /// The port for metrics is taken.
    #[error("cannot serve metrics and probes on {address}: {cause}")]
    Serve {
        /// Where.
        address: SocketAddr,
        /// Why not.
        cause: std::io::Error,
    },
}

/// Runs the provider until `shutdown`.
pub async fn start(
    flags: &Flags,
    timings: Timings,
    shutdown: impl Future<Output = ()> + Send + Sync + 'static,
) -> Result<(), Failure> {
    let metrics = Arc::new(Metrics::new());
    let is_ready = Arc::new(AtomicBool::new(false));
    let shown = Shown {
        metrics: metrics.clone(),
        is_ready: is_ready.clone(),
    };
    let address = flags.metrics_address;
    let server = tokio::spawn(serve::run(address, shown));
    let client = Client::try_default()
        .await
        .map_err(|error| Failure::Cluster(error.to_string()))?;
    let grace = timings.shutdown;
    let shutdown = shutdown.shared();
    let work = work(client, flags, timings, metrics, is_ready, shutdown.clone());
    tokio::select! {
        () = work => Ok(()),
        () = shutdown.then(|()| tokio::time::sleep(grace)) => {
            tracing::warn!("passes did not end in time");
            Ok(())
        }
        ended = server => match ended {
            Ok(Err(cause)) => Err(Failure::Serve { address, cause }),
            _ => Ok(()),
        },
    }
}

async fn work(
    client: Client,
    flags: &Flags,
    timings: Timings,
    metrics: Arc<Metrics>,
    is_ready: Arc<AtomicBool>,
    shutdown: Shared<impl Future<Output = ()> + Send + Sync + 'static>,
) {
    tokio::select! {
        () = gate::served(&client, &gate::KINDS) => {}
        () = shutdown.clone() => return,
    }
    is_ready.store(true, Ordering::Relaxed);
    tracing::info!(version = env!("CARGO_PKG_VERSION"), "starting controllers");
    let survey_interval = timings.state_metrics;
    let context = Arc::new(Context::new(
        client,
        &flags.namespace,
        timings,
        metrics.clone(),
    ));
    let (store, queues) = run(context.clone(), flags.max_reconcile_rate, shutdown.clone());
    let survey = async {
        loop {
            tokio::time::sleep(survey_interval).await;
            metrics.survey(store.state().iter().map(AsRef::as_ref));
        }
    };
    let controllers = futures::future::join3(
        queues,
        configs::run::<ProviderConfig>(context.clone(), shutdown.clone()),
        configs::run::<ClusterProviderConfig>(context, shutdown),
    );
    tokio::select! {
        _ = controllers => {}
        () = survey => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_change_what_they_name_and_none_is_needed() {
        let flags = Flags::try_parse_from(["provider-asya"]).unwrap();
        assert_eq!(flags.timings(), Timings::default());
        let flags = Flags::try_parse_from(["provider-asya", "--poll", "5m"]).unwrap();
        assert_eq!(flags.timings().poll, Duration::from_mins(5));
        for wrong in [
            ["--poll", "0s"],
            ["--poll", "often"],
            ["--max-reconcile-rate", "0"],
        ] {
            assert!(
                Flags::try_parse_from(["provider-asya"].iter().chain(&wrong)).is_err(),
                "{wrong:?}"
            );
        }
    }
}
