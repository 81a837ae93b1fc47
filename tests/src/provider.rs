//! The provider, as a process.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;
use test_cluster::process::Process;

use crate::{function, metrics, program};

/// A running provider. It ends with this value.
pub struct Provider {
    // The process ends before its folder is removed.
    _process: Process,
    folder: TempDir,
    metrics: SocketAddr,
}

impl Provider {
    /// Starts it on the cluster of that kubeconfig, with these arguments. It is at work some time later.
    ///
    /// # Panics
    /// When it does not start.
    pub fn start(kubeconfig: &Path, args: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let [metrics] = function::reserve_addresses();
        let mut command = Command::new(program::path("provider-asya"));
        command
            .args(args)
            .args(["--metrics-address", &metrics.to_string()])
            .env_clear()
            .env("KUBECONFIG", kubeconfig);
        Self {
            _process: Process::start("provider-asya", &mut command, folder.path()),
            folder,
            metrics,
        }
    }

    /// Returns the number of reconciliations of one of its controllers, such as `actorhealth`.
    ///
    /// # Panics
    /// When it serves no metrics.
    pub fn reconciliations(&self, controller: &str) -> u64 {
        let text = self.scrape();
        let label = format!("controller=\"{controller}\"");
        metrics::sum(&text, "controller_runtime_reconcile_total", &label)
    }

    /// The metrics, as a scraper gets them.
    ///
    /// # Panics
    /// When they are not served.
    pub fn scrape(&self) -> String {
        metrics::scrape(self.metrics)
    }

    /// Its log, for a test that fails.
    pub fn log(&self) -> String {
        let log = std::fs::read_to_string(self.folder.path().join("provider-asya.log"));
        log.unwrap_or_default()
    }
}
