//! The provider as a program: flags, start and end.

use std::future::Future;
use std::hash::{BuildHasher as _, RandomState};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Parser;
use clap::builder::FalseyValueParser;
use futures::FutureExt as _;
use futures::future::Shared;
use kube::Client;

use crate::cluster;
use crate::controller::{Context, binding, config, health, queue};
use crate::crd_gate;
use crate::kinds::{ClusterProviderConfig, ProviderConfig};
use crate::lease::{LeaderElection, LeaseConfig, LeaseLost};
use crate::metrics::Metrics;
use crate::serve::{self, ServerState};
use crate::timings::Timings;

/// Crossplane provider of Asya: reconciles queues of actors with RabbitMQ and SQS, injects actors into
/// workloads of other owners, and reports the health of actors. No flag is required.
#[derive(Debug, Clone, Parser)]
#[command(version)]
pub struct Flags {
    /// Log at debug level
    #[arg(short, long, env = "DEBUG", value_parser = FalseyValueParser::new())]
    pub debug: bool,
    /// Poll interval of queues, such as 10m (default 10m)
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub poll: Option<Duration>,
    /// Random jitter of the poll interval, in percent, 0 to 50 (default 10)
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u32).range(..=50))]
    pub poll_jitter_percentage: Option<u32>,
    /// Concurrent reconciles of each controller
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..))]
    pub max_reconcile_rate: u16,
    /// Listen address of metrics and probes
    #[arg(long, default_value = "[::]:8080")]
    pub metrics_address: SocketAddr,
    /// Namespace of the provider, with the Lease and the Secrets of ClusterProviderConfigs
    #[arg(long, env = "POD_NAMESPACE", default_value = "crossplane-system")]
    pub namespace: String,
    /// Leader election: one replica reconciles, the others stand by
    #[arg(short, long, env = "LEADER_ELECTION", value_parser = FalseyValueParser::new())]
    pub leader_election: bool,
    /// Leader-election lease duration, such as 60s (default 60s)
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub lease_duration: Option<Duration>,
    /// Name of the provider, part of the Lease's name
    #[arg(long, env = "PROVIDER_NAME", default_value = env!("CARGO_PKG_NAME"))]
    pub provider_name: String,
    /// Name of this replica in the Lease
    #[arg(long, env = "HOSTNAME", default_value = env!("CARGO_PKG_NAME"))]
    pub replica_name: String,
}

fn duration(text: &str) -> Result<Duration, String> {
    let duration = actor::duration::parse(text).map_err(|error| error.to_string())?;
    if duration.is_zero() {
        Err("must be greater than 0".to_owned())
    } else {
        Ok(duration)
    }
}

impl Flags {
    /// Timings with the durations of the flags.
    pub fn timings(&self) -> Timings {
        let timings = Timings::default();
        Timings {
            poll: self.poll.unwrap_or(timings.poll),
            jitter_percent: self
                .poll_jitter_percentage
                .unwrap_or(timings.jitter_percent),
            lease: self.lease_duration.unwrap_or(timings.lease),
            ..timings
        }
    }

    /// Leader election of this replica. The random part distinguishes it from an earlier process of
    /// the same name.
    fn election(&self, client: Client, timings: &Timings) -> LeaderElection {
        let random = RandomState::new().hash_one(0_u8);
        LeaderElection::new(
            client,
            &self.namespace,
            &format!("crossplane-leader-election-{}", self.provider_name),
            &format!("{}_{random:016x}", self.replica_name),
            LeaseConfig::with_duration(timings.lease),
        )
    }
}

/// Reason for which the provider ended by itself.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// There is no cluster configuration.
    #[error("no configuration for the API server: {0}")]
    Cluster(String),
    /// The address of metrics and probes cannot be bound.
    #[error("cannot serve metrics and probes on {address}: {cause}")]
    Serve {
        /// The address.
        address: SocketAddr,
        /// The cause.
        cause: std::io::Error,
    },
    /// The lease was lost.
    #[error(transparent)]
    Lease(#[from] LeaseLost),
}

/// Runs the provider until `shutdown`.
///
/// # Errors
/// It cannot start, or it has lost its Lease: the kubelet starts it again.
pub async fn start(
    flags: &Flags,
    timings: Timings,
    shutdown: impl Future<Output = ()> + Send + Sync + 'static,
) -> Result<(), Failure> {
    let metrics = Arc::new(Metrics::new());
    let is_ready = Arc::new(AtomicBool::new(false));
    let client = cluster::client(metrics.clone())
        .await
        .map_err(Failure::Cluster)?;
    let context = Context::new(client, &flags.namespace, timings, metrics.clone());
    let context = Arc::new(context);
    let state = ServerState {
        metrics,
        heartbeat: context.heartbeat.clone(),
        is_ready: is_ready.clone(),
    };
    let address = flags.metrics_address;
    let server = tokio::spawn(serve::run(address, state));
    tokio::select! {
        end = wait_and_run(flags, context, &is_ready, shutdown.shared()) => end,
        ended = server => match ended {
            Ok(Err(cause)) => Err(Failure::Serve { address, cause }),
            _ => Ok(()),
        },
    }
}

/// Waits until the API server, the kinds and the lease are there, then runs the controllers.
async fn wait_and_run(
    flags: &Flags,
    context: Arc<Context>,
    is_ready: &AtomicBool,
    shutdown: Shared<impl Future<Output = ()> + Send + Sync + 'static>,
) -> Result<(), Failure> {
    let (client, timings) = (&context.client, &context.timings);
    let prepared = async {
        cluster::wait_until_available(client, timings.start_retry).await;
        // Waiting for kinds or for the lease is ready, too.
        is_ready.store(true, Ordering::Relaxed);
        crd_gate::wait_until_served(client, &crd_gate::KINDS).await;
    };
    tokio::select! {
        () = prepared => {}
        () = shutdown.clone() => return Ok(()),
    }
    if !flags.leader_election {
        Box::pin(run_controllers(flags, context, shutdown)).await;
        return Ok(());
    }
    let mut election = flags.election(client.clone(), timings);
    tokio::select! {
        () = election.acquire() => {}
        () = shutdown.clone() => return Ok(()),
    }
    tokio::select! {
        () = Box::pin(run_controllers(flags, context, shutdown)) => {}
        lost = election.renew() => return Err(lost.into()),
    }
    election.release().await;
    Ok(())
}

/// Runs the controllers until `shutdown`, then waits at most [`Timings::shutdown`] for running reconciles.
async fn run_controllers(
    flags: &Flags,
    context: Arc<Context>,
    shutdown: Shared<impl Future<Output = ()> + Send + Sync + 'static>,
) {
    tracing::info!(version = env!("CARGO_PKG_VERSION"), "starting controllers");
    let (metrics, timings) = (context.metrics.clone(), context.timings.clone());
    let concurrency = flags.max_reconcile_rate;
    let (all_queues, queues) = queue::run(context.clone(), concurrency, shutdown.clone());
    let (all_bindings, bindings) = binding::run(context.clone(), concurrency, shutdown.clone());
    let controllers = futures::future::join5(
        queues,
        bindings,
        health::run(context.clone(), concurrency, shutdown.clone()),
        config::run::<ProviderConfig>(context.clone(), shutdown.clone()),
        config::run::<ClusterProviderConfig>(context, shutdown.clone()),
    );
    let survey = async {
        loop {
            tokio::time::sleep(timings.state_metrics).await;
            metrics.survey(all_queues.state().iter().map(AsRef::as_ref));
            metrics.survey(all_bindings.state().iter().map(AsRef::as_ref));
        }
    };
    tokio::select! {
        _ = controllers => {}
        () = survey => {}
        () = shutdown.then(|()| tokio::time::sleep(timings.shutdown)) => {
            tracing::warn!("running reconciles did not end in time");
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    /// `docs/reference` is generated from this file.
    #[test]
    fn help_matches_the_reference() {
        let mut command = Flags::command().mut_args(|flag| flag.hide_env_values(true));
        let help = command.render_help().to_string();
        let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
        let help = lines.join("\n");
        assert_eq!(help, include_str!("help.txt").trim_end(), "found:\n{help}");
    }

    #[test]
    fn flags_set_timings_and_none_is_required() {
        let flags = Flags::try_parse_from(["provider-asya"]).unwrap();
        assert_eq!(flags.timings(), Timings::default());
        let flags = Flags::try_parse_from(["provider-asya", "--poll", "5m"]).unwrap();
        assert_eq!(flags.timings().poll, Duration::from_mins(5));
        let flags = ["provider-asya", "-l", "--lease-duration", "15s"];
        let flags = Flags::try_parse_from(flags).unwrap();
        assert!(flags.leader_election);
        assert_eq!(flags.timings().lease, Duration::from_secs(15));
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
