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
use crate::controller::{Context, bindings, configs, health, run};
use crate::gate;
use crate::kinds::{ClusterProviderConfig, ProviderConfig};
use crate::lease::{Claim, Lost, Terms};
use crate::metrics::Metrics;
use crate::serve::{self, Shown};
use crate::timings::Timings;

/// Keeps the queues of actors true on RabbitMQ and SQS, binds actors to workloads of others and
/// watches their health. Works without any flag.
#[derive(Debug, Clone, Parser)]
#[command(version)]
pub struct Flags {
    /// Log more
    #[arg(short, long, env = "DEBUG", value_parser = FalseyValueParser::new())]
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
    /// Namespace of the provider, in which Secrets of cluster-wide configs and the Lease are
    #[arg(long, env = "POD_NAMESPACE", default_value = "crossplane-system")]
    pub namespace: String,
    /// Let one of several replicas work while the others stand by
    #[arg(short, long, env = "LEADER_ELECTION", value_parser = FalseyValueParser::new())]
    pub leader_election: bool,
    /// How long a replica that is gone keeps the others from working, such as 60s
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub lease_duration: Option<Duration>,
    /// Name of the provider, which is part of the Lease's
    #[arg(long, env = "PROVIDER_NAME", default_value = env!("CARGO_PKG_NAME"))]
    pub provider_name: String,
    /// Name of this replica, as the Lease shows it
    #[arg(long, env = "HOSTNAME", default_value = env!("CARGO_PKG_NAME"))]
    pub replica_name: String,
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
            lease: self.lease_duration.unwrap_or(timings.lease),
            ..timings
        }
    }

    /// This replica's claim to the Lease. The random part tells it from another process of the
    /// same name, as after a restart.
    fn claim(&self, client: Client, timings: &Timings) -> Claim {
        let random = RandomState::new().hash_one(0_u8);
        Claim::new(
            client,
            &self.namespace,
            &format!("crossplane-leader-election-{}", self.provider_name),
            &format!("{}_{random:016x}", self.replica_name),
            Terms::lasting(timings.lease),
        )
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
    /// Another replica works now, or may soon.
    #[error(transparent)]
    Lease(#[from] Lost),
}

/// Runs the provider until `shutdown`.
///
/// # Errors
/// It cannot start, or it has lost its Lease; whoever runs it should start it again.
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
    let client = cluster::client(metrics.clone())
        .await
        .map_err(Failure::Cluster)?;
    let context = Arc::new(Context::new(client, &flags.namespace, timings, metrics));
    tokio::select! {
        end = stand_by_and_work(flags, context, &is_ready, shutdown.shared()) => end,
        ended = server => match ended {
            Ok(Err(cause)) => Err(Failure::Serve { address, cause }),
            _ => Ok(()),
        },
    }
}

/// Waits until there is work for this replica, and does it.
async fn stand_by_and_work(
    flags: &Flags,
    context: Arc<Context>,
    is_ready: &AtomicBool,
    shutdown: Shared<impl Future<Output = ()> + Send + Sync + 'static>,
) -> Result<(), Failure> {
    let (client, timings) = (&context.client, &context.timings);
    let prepared = async {
        cluster::answers(client, timings.start_retry).await;
        // Without a kind to work on, or with another replica at work, all is well with this one.
        is_ready.store(true, Ordering::Relaxed);
        gate::served(client, &gate::KINDS).await;
    };
    tokio::select! {
        () = prepared => {}
        () = shutdown.clone() => return Ok(()),
    }
    if !flags.leader_election {
        Box::pin(work(flags, context, shutdown)).await;
        return Ok(());
    }
    let mut claim = flags.claim(client.clone(), timings);
    tokio::select! {
        () = claim.acquire() => {}
        () = shutdown.clone() => return Ok(()),
    }
    tokio::select! {
        () = Box::pin(work(flags, context, shutdown)) => {}
        lost = claim.keep() => return Err(lost.into()),
    }
    claim.release().await;
    Ok(())
}

/// Runs the controllers until `shutdown`, and a while longer where passes do not end.
async fn work(
    flags: &Flags,
    context: Arc<Context>,
    shutdown: Shared<impl Future<Output = ()> + Send + Sync + 'static>,
) {
    tracing::info!(version = env!("CARGO_PKG_VERSION"), "starting controllers");
    let (metrics, timings) = (context.metrics.clone(), context.timings.clone());
    let of_queues = context.clone();
    let concurrency = flags.max_reconcile_rate;
    let (all_queues, queues) = run(context.clone(), concurrency, shutdown.clone());
    let (all_bindings, bindings) = bindings::run(context.clone(), concurrency, shutdown.clone());
    let controllers = futures::future::join5(
        queues,
        bindings,
        health::run(context.clone(), concurrency, shutdown.clone()),
        configs::run::<ProviderConfig>(context.clone(), shutdown.clone()),
        configs::run::<ClusterProviderConfig>(context, shutdown.clone()),
    );
    let survey = async {
        loop {
            tokio::time::sleep(timings.state_metrics).await;
            let queues = all_queues.state();
            metrics.survey(queues.iter().map(AsRef::as_ref));
            of_queues.forget_all_but(&queues);
            metrics.survey(all_bindings.state().iter().map(AsRef::as_ref));
        }
    };
    tokio::select! {
        _ = controllers => {}
        () = survey => {}
        () = shutdown.then(|()| tokio::time::sleep(timings.shutdown)) => {
            tracing::warn!("passes did not end in time");
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    /// The reference of programs is made of this file.
    #[test]
    fn help_is_what_the_documents_show() {
        let mut command = Flags::command().mut_args(|flag| flag.hide_env_values(true));
        let help = command.render_help().to_string();
        let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
        let help = lines.join("\n");
        assert_eq!(
            help,
            include_str!("program/help.txt").trim_end(),
            "found:\n{help}"
        );
    }

    #[test]
    fn flags_change_what_they_name_and_none_is_needed() {
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
