//! The provider as a program, and what it costs.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use test_cluster::usage::{self, Usage};

use crate::rig::process::Process;

/// Time limit for thousands of queues.
const TIMEOUT: Duration = Duration::from_hours(1);

/// A running provider. It ends with this value.
pub(crate) struct Program {
    _process: Process,
    url: String,
}

/// Counters at one moment.
pub(crate) struct Measurement {
    pub(crate) at: Instant,
    pub(crate) provider: Usage,
    pub(crate) broker: Usage,
    /// Requests to the API server.
    pub(crate) requests: usize,
    /// Calls to the broker.
    pub(crate) calls: usize,
}

impl Program {
    /// Starts it with no flags but where its metrics are.
    pub(crate) fn start(kubeconfig: &Path, folder: &Path) -> Self {
        let [port] = crate::rig::ports::reserve();
        let mut command = Command::new(optimised());
        command
            .env_clear()
            .env("KUBECONFIG", kubeconfig)
            .args(["--metrics-address", &format!("127.0.0.1:{port}")]);
        Self {
            _process: Process::start("provider-asya", &mut command, folder),
            url: format!("http://127.0.0.1:{port}/metrics"),
        }
    }

    /// Its metrics; nothing until it serves them.
    pub(crate) fn metrics(&self) -> String {
        let output = Command::new("curl").args(["-s", &self.url]).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    }

    /// Waits until its metrics fulfil `holds`.
    ///
    /// # Panics
    /// When they do not in time.
    pub(crate) async fn until(&self, what: &str, holds: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + TIMEOUT;
        while !holds(&self.metrics()) {
            assert!(
                Instant::now() < deadline,
                "waited without success until {what}"
            );
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }

    /// Returns the usage so far of the provider and of the broker, which is the program of that name.
    pub(crate) fn measure(&self, broker: &str) -> Measurement {
        let metrics = self.metrics();
        let usages = usage::measure();
        let of = |name: &str| usages.get(name).copied().unwrap_or_default();
        Measurement {
            at: Instant::now(),
            provider: of("provider-asya"),
            broker: of(broker),
            requests: sum(&metrics, "rest_client_requests_total"),
            calls: sum(&metrics, "asya_provider_external_calls_total"),
        }
    }
}

/// The program in the folder that `ASYA_BIN_DIR` names; without it the optimised one, beside that of the tests.
fn optimised() -> PathBuf {
    if let Some(folder) = std::env::var_os("ASYA_BIN_DIR") {
        return Path::new(&folder).join("provider-asya");
    }
    let profile = Path::new(env!("CARGO_BIN_EXE_provider-asya")).parent();
    let program = profile
        .unwrap()
        .with_file_name("dist")
        .join("provider-asya");
    assert!(program.is_file(), "build {} first", program.display());
    program
}

/// Returns the number of ready objects.
pub(crate) fn ready(metrics: &str) -> usize {
    sum(metrics, "crossplane_managed_resource_ready{")
}

/// The sum of the samples whose lines begin so.
pub(crate) fn sum(metrics: &str, start: &str) -> usize {
    let lines = metrics.lines().filter(|line| line.starts_with(start));
    let values = lines.filter_map(|line| line.rsplit(' ').next()?.parse::<usize>().ok());
    values.sum()
}

pub(crate) fn mebibytes(kibibytes: u64) -> f64 {
    f64::from(u32::try_from(kibibytes).unwrap()) / 1024.0
}
