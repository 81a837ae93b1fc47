//! A function's own binary, started on a loopback port.

use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use function_sdk_rust::proto::v1::function_runner_service_client::FunctionRunnerServiceClient;
use test_cluster::ports;
use test_cluster::process::{self, Signal};
use tonic::transport::{Channel, Endpoint};

use crate::memory_group::MemoryGroup;
use crate::{metrics, program};

/// The six functions, in the order of the pipeline.
pub const ALL: [&str; 6] = [
    "function-resolve-flavors",
    "function-render-queue",
    "function-render-deployment",
    "function-inject-sidecar",
    "function-render-scaledobject",
    "function-report-status",
];

/// Every function that is a program: those of the pipeline, and the one that runs all of its steps.
pub const PROGRAMS: [&str; 7] = [
    ALL[0],
    ALL[1],
    ALL[2],
    ALL[3],
    ALL[4],
    ALL[5],
    "function-asya",
];

const TIMEOUT: Duration = Duration::from_secs(20);

/// A running function. It is killed when this value is dropped.
#[derive(Debug)]
pub struct Function {
    child: Child,
    /// Its name.
    pub name: String,
    /// Address that serves gRPC.
    pub address: SocketAddr,
    /// Address that serves metrics.
    pub metrics: SocketAddr,
    /// Control group in which it runs; removed after it.
    group: Option<MemoryGroup>,
}

impl Function {
    /// Starts the function without TLS.
    pub fn start(name: &str) -> Self {
        Self::start_with(name, &["--insecure"])
    }

    /// Starts the function with these arguments beside the addresses, and waits
    /// until it listens.
    ///
    /// # Panics
    /// When it ends or does not listen in time.
    pub fn start_with(name: &str, args: &[&str]) -> Self {
        Self::start_command(name, Command::new(program::path(name)).args(args))
    }

    /// Starts the function without TLS under a limit of `prlimit`, such as `--nofile=64`.
    pub fn start_limited(name: &str, limit: &str) -> Self {
        let program = program::path(name);
        let mut limited = Command::new("prlimit");
        Self::start_command(name, limited.arg(limit).arg(program).arg("--insecure"))
    }

    /// Starts the function without TLS in a control group with this memory limit in bytes, which kills
    /// it as a container's would. None where this process may not create one, which is printed.
    ///
    /// # Panics
    /// When it ends or does not listen in time.
    pub fn start_in_memory(name: &str, limit: u64) -> Option<Self> {
        let group = match MemoryGroup::create(name, limit) {
            Ok(group) => group,
            Err(error) => {
                test_cluster::components::record_skipped(
                    &format!("{name} under a memory limit ({error})"),
                    "control groups",
                );
                return None;
            }
        };
        let mut limited = Command::new("/bin/sh");
        limited
            .args(["-c", "echo $$ >\"$0\" && exec \"$@\""])
            .arg(group.processes())
            .arg(program::path(name))
            .arg("--insecure");
        let mut function = Self::start_command(name, &mut limited);
        function.group = Some(group);
        Some(function)
    }

    /// Like [`start_with`](Self::start_with), at addresses of the caller's.
    ///
    /// # Panics
    /// When it ends or does not listen in time.
    pub fn start_at(name: &str, address: SocketAddr, metrics: SocketAddr, args: &[&str]) -> Self {
        let mut command = Command::new(program::path(name));
        Self::start_command_at(name, command.args(args), address, metrics)
    }

    fn start_command(name: &str, command: &mut Command) -> Self {
        let [address, metrics] = reserve_addresses();
        Self::start_command_at(name, command, address, metrics)
    }

    fn start_command_at(
        name: &str,
        command: &mut Command,
        address: SocketAddr,
        metrics: SocketAddr,
    ) -> Self {
        let child = command
            .args(["--address", &address.to_string()])
            .args(["--metrics-address", &metrics.to_string()])
            .env_clear()
            // A test that needs it sets the flag.
            .env("HEALTH_ADDRESS", "")
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{name} does not start: {error}"));
        let mut function = Self {
            child,
            name: name.to_owned(),
            address,
            metrics,
            group: None,
        };
        until(&format!("{name} listens"), || {
            if let Ok(Some(status)) = function.child.try_wait() {
                panic!("{name} ended with {status}");
            }
            TcpStream::connect(address).is_ok()
        });
        function
    }

    /// A client without TLS.
    ///
    /// # Panics
    /// When it cannot connect.
    pub async fn client(&self) -> FunctionRunnerServiceClient<Channel> {
        FunctionRunnerServiceClient::new(self.channel().await)
            .max_encoding_message_size(64 << 20)
            .max_decoding_message_size(64 << 20)
    }

    /// A connection without TLS.
    ///
    /// # Panics
    /// When it cannot connect.
    pub async fn channel(&self) -> Channel {
        let endpoint =
            Endpoint::from_shared(format!("http://{}", self.address)).expect("an address");
        endpoint
            .connect()
            .await
            .expect("the function accepts connections")
    }

    /// Asks the process to end, as the kubelet asks images without a stop signal.
    pub fn terminate(&self) {
        process::signal(self.child.id(), Signal::TERM);
    }

    /// Asks the process to end, as the kubelet asks our images.
    pub fn stop(&self) {
        process::signal(self.child.id(), Signal::QUIT);
    }

    /// Waits until the process has ended.
    ///
    /// # Panics
    /// When it does not end in time.
    pub fn wait(&mut self) -> ExitStatus {
        let mut status = None;
        until("the function ends", || {
            status = self.child.try_wait().expect("the process can be asked");
            status.is_some()
        });
        status.expect("it has ended")
    }

    /// The most memory that it ever had, in bytes.
    ///
    /// # Panics
    /// When it has ended.
    pub fn peak_memory(&self) -> u64 {
        let file = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(file).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let number = line.and_then(|line| line.split_whitespace().next());
        let kibibytes: u64 = number.and_then(|n| n.parse().ok()).expect("a number");
        kibibytes << 10
    }

    /// Returns the number of its open files and connections.
    ///
    /// # Panics
    /// When it has ended.
    pub fn descriptors(&self) -> usize {
        let folder = format!("/proc/{}/fd", self.child.id());
        std::fs::read_dir(folder).expect("it runs").count()
    }

    /// The metrics, as a scraper gets them.
    ///
    /// # Panics
    /// When they are not served.
    pub fn scrape(&self) -> String {
        metrics::scrape(self.metrics)
    }
}

impl Drop for Function {
    fn drop(&mut self) {
        // It may have ended already, which is as good.
        drop(self.child.kill());
        drop(self.child.wait());
        self.group = None;
    }
}

/// Polls until `happened`.
///
/// # Panics
/// When it does not happen in time.
pub fn until(what: &str, mut happened: impl FnMut() -> bool) {
    let deadline = Instant::now() + TIMEOUT;
    while !happened() {
        assert!(
            Instant::now() < deadline,
            "waited {TIMEOUT:?} without success until {what}"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Loopback addresses that are reserved for the caller: see [`ports::reserve`].
pub fn reserve_addresses<const N: usize>() -> [SocketAddr; N] {
    ports::reserve().map(|port| SocketAddr::from(([127, 0, 0, 1], port)))
}
