//! Context that all controllers of a process share.

use std::sync::Arc;

use kube::Client;

use super::connect::Connector;
use super::environment::Environment;
use super::usage::ExistingUsages;
use super::watch_cache::WatchCache;
use crate::heartbeat::Heartbeat;
use crate::metrics::Metrics;
use crate::timings::Timings;

/// Client, connections, caches and metrics of one provider process.
pub struct Context {
    /// Client of the Kubernetes API.
    pub client: Client,
    /// Pods, workloads and scalers of the cluster.
    pub(super) watch_cache: Arc<WatchCache>,
    /// ProviderConfigUsages that existed at start.
    pub(super) existing_usages: ExistingUsages,
    /// EnvironmentConfigs, and the actors to be informed of changes.
    pub(super) environment: Environment,
    /// Clients of brokers and services.
    pub connector: Connector,
    /// Signs of life of the controllers.
    pub heartbeat: Heartbeat,
    /// Every duration.
    pub timings: Timings,
    /// Metrics of the process.
    pub metrics: Arc<Metrics>,
}

impl Context {
    /// A context with empty caches. `own_namespace` is the provider's namespace, which holds the
    /// Secrets of ClusterProviderConfigs.
    pub fn new(
        client: Client,
        own_namespace: &str,
        timings: Timings,
        metrics: Arc<Metrics>,
    ) -> Self {
        let connector = Connector::new(
            client.clone(),
            own_namespace.to_owned(),
            timings.clone(),
            metrics.clone(),
        );
        Self {
            client,
            watch_cache: Arc::default(),
            existing_usages: ExistingUsages::default(),
            environment: Environment::default(),
            connector,
            heartbeat: Heartbeat::new(timings.stuck),
            timings,
            metrics,
        }
    }
}
