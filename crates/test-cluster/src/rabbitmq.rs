//! Debian's `rabbitmq-server` with the management plugin, as a node of its own.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::process::{self, Process, Signal};
use crate::watchdog::Folder;
use crate::{http, ports, until, until_within};

/// The server's own script; that in `sbin` changes the user.
const SERVER: &str = "/usr/lib/rabbitmq/bin/rabbitmq-server";

/// The script that controls a node, of the same kind.
const CONTROL: &str = "/usr/lib/rabbitmq/bin/rabbitmqctl";

/// Variable with the folder of a whole Debian system, whose server is then started instead of the machine's:
/// `cargo xtask rabbitmq-4` sets it. Needs root.
const ROOT: &str = "ASYA_RABBITMQ_ROOT";

/// Starts the program `$3` of the system in folder `$1`, which sees the folder for temporary files `$2`. The
/// mounts end with the process.
const IN_ROOT: &str = r#"mkdir -p "$1$2" && mount --rbind "$2" "$1$2" && mount -t proc proc "$1/proc" &&
root=$1 && shift 2 && exec chroot "$root" "$@""#;

/// Timeout of a node's start: on a machine with other work, and with queues to recover, it can
/// take a minute.
const START: Duration = Duration::from_mins(3);

/// `guest` and its password of the same name, as HTTP has them.
const LOGIN: &str = "Basic Z3Vlc3Q6Z3Vlc3Q=";

/// A broker with the user `guest`, whose password is the same.
pub struct RabbitMq {
    // Processes end before their folder is removed.
    server: Process,
    _epmd: Process,
    epmd: u16,
    distribution: u16,
    folder: Folder,
    /// Port of AMQP, on 127.0.0.1.
    pub amqp: u16,
    /// Port of the management API, on 127.0.0.1.
    pub management: u16,
}

impl RabbitMq {
    /// Starts a broker and waits until its API answers.
    ///
    /// # Panics
    /// If it does not start.
    pub async fn start() -> Self {
        Self::start_with("").await
    }

    /// Starts a broker with these lines in its configuration beside its own.
    ///
    /// # Panics
    /// If it does not start.
    pub async fn start_with(settings: &str) -> Self {
        let server = root().map_or_else(|| SERVER.into(), |root| root.join(&SERVER[1..]));
        assert!(
            server.is_file(),
            "no {}: install the Debian package rabbitmq-server",
            server.display()
        );
        let folder = Folder::new();
        let dir = folder.path();
        let [amqp, management, epmd, distribution] = ports::reserve();
        fs::write(
            dir.join("rabbitmq.conf"),
            format!(
                "listeners.tcp.1 = 127.0.0.1:{amqp}\nmanagement.tcp.ip = 127.0.0.1\n\
                 management.tcp.port = {management}\n{settings}"
            ),
        )
        .expect("a configuration");
        fs::write(dir.join("enabled_plugins"), "[rabbitmq_management].\n").expect("plugins");
        let mut command = Command::new("epmd");
        command.args(["-address", "127.0.0.1", "-port", &epmd.to_string()]);
        let epmd_process = Process::start("epmd", &mut command, dir);
        let server = start_server(dir, management, epmd, distribution);
        let mut broker = Self {
            server,
            _epmd: epmd_process,
            epmd,
            distribution,
            folder,
            amqp,
            management,
        };
        broker.until_it_answers().await;
        broker
    }

    /// Kills the node, as when its machine loses power, and starts it again with what it had on disk.
    ///
    /// # Panics
    /// If it does not start.
    pub async fn kill_and_restart(&mut self) {
        self.kill().await;
        self.restart().await;
    }

    /// Kills the node, as when its machine loses power.
    pub async fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.until_it_has_ended().await;
    }

    /// Asks the node to end, as a rollout of brokers does.
    pub async fn stop(&mut self) {
        self.signal(Signal::TERM);
        self.until_it_has_ended().await;
    }

    /// The script ends with its node.
    async fn until_it_has_ended(&mut self) {
        until("RabbitMQ has ended", || {
            let has_ended = self.server.has_ended();
            async move { has_ended.then_some(()) }
        })
        .await;
    }

    /// Starts a node that has ended, with what it had on disk.
    ///
    /// # Panics
    /// If it does not start.
    pub async fn restart(&mut self) {
        let dir = self.folder.path();
        self.server = start_server(dir, self.management, self.epmd, self.distribution);
        self.until_it_answers().await;
    }

    async fn until_it_answers(&mut self) {
        let (management, dir) = (self.management, self.folder.path());
        until_within(START, "RabbitMQ answers", || {
            self.server.check(dir);
            async move {
                let (status, _) = ask(management, "GET", "overview", None).await.ok()?;
                (status == 200).then_some(())
            }
        })
        .await;
    }

    /// The script has started the node as a child of its own, which writes its number there.
    fn signal(&self, signal: Signal) {
        let file = self.folder.path().join("pid");
        let node = fs::read_to_string(&file).unwrap_or_default();
        if let Ok(node) = node.trim().parse() {
            process::signal(node, signal);
            drop(fs::remove_file(file));
        }
    }

    /// Process id of the node.
    ///
    /// # Panics
    /// If the node has not written it.
    pub fn node(&self) -> u32 {
        let text = fs::read_to_string(self.folder.path().join("pid")).expect("the node is started");
        text.trim().parse().expect("a process id")
    }

    /// Sets the fraction of the machine's memory from which on the node takes nothing from publishers: 0 blocks
    /// them at once, 0.4 is the default.
    ///
    /// # Panics
    /// If the node does not accept it.
    pub fn set_memory_watermark(&self, fraction: f32) {
        let dir = self.folder.path();
        let mut control = program(CONTROL, dir, self.management, self.epmd);
        control.args(["set_vm_memory_high_watermark", &fraction.to_string()]);
        let output = control.output().expect("rabbitmqctl starts");
        assert!(
            output.status.success(),
            "rabbitmqctl: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }

    /// URL of the management API.
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.management)
    }

    /// Asks the management API: the path is what follows `/api/`, percent-encoded. The answer is the
    /// status, and the body or null.
    ///
    /// # Panics
    /// If it does not answer.
    pub async fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
        let answer = ask(self.management, method, path, body).await;
        answer.unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }
}

impl Drop for RabbitMq {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

fn root() -> Option<PathBuf> {
    env::var_os(ROOT).map(PathBuf::from)
}

/// A program of the server's, with what identifies the node in `dir`.
fn program(path: &str, dir: &Path, management: u16, epmd: u16) -> Command {
    let mut command = match root() {
        None => Command::new(path),
        Some(root) => {
            let mut command = Command::new("unshare");
            command
                .args(["--mount", "sh", "-c", IN_ROOT, "sh"])
                .arg(root)
                .arg(env::temp_dir())
                .arg(path);
            command
        }
    };
    command
        // It writes crash reports there.
        .current_dir(dir)
        .env("HOME", dir)
        .env("ERL_CRASH_DUMP", dir.join("crash.dump"))
        .env("ERL_EPMD_PORT", epmd.to_string())
        .env("ERL_EPMD_ADDRESS", "127.0.0.1")
        .env("RABBITMQ_NODENAME", format!("test{management}@localhost"))
        .env("RABBITMQ_CONF_ENV_FILE", "/dev/null");
    command
}

fn start_server(dir: &Path, management: u16, epmd: u16, distribution: u16) -> Process {
    let mut command = program(SERVER, dir, management, epmd);
    command
        .env("RABBITMQ_DIST_PORT", distribution.to_string())
        .env("RABBITMQ_CONFIG_FILE", dir.join("rabbitmq"))
        .env("RABBITMQ_ENABLED_PLUGINS_FILE", dir.join("enabled_plugins"))
        .env("RABBITMQ_MNESIA_BASE", dir.join("mnesia"))
        .env("RABBITMQ_LOG_BASE", dir.join("log"))
        .env("RABBITMQ_PID_FILE", dir.join("pid"))
        .env(
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS",
            "-kernel inet_dist_use_interface {127,0,0,1} +S 2:2",
        );
    Process::start("rabbitmq", &mut command, dir)
}

async fn ask(
    port: u16,
    method: &str,
    path: &str,
    body: Option<&Value>,
) -> io::Result<(u16, Value)> {
    let head = [
        ("Authorization", LOGIN),
        ("Content-Type", "application/json"),
    ];
    http::ask(port, (method, &format!("/api/{path}")), &head, body).await
}
