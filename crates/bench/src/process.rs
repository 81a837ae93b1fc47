//! A program under measurement.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

/// Timeout until a program listens, also under a tool that slows it down fifty times.
const TIMEOUT: Duration = Duration::from_mins(1);
/// Interval between checks for the moment from which on it listens.
const LOOK: Duration = Duration::from_micros(200);

/// A running function without TLS. It is killed when this value is dropped.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    /// Port on which it listens.
    pub(crate) port: u16,
    /// From its start until it took a connection.
    pub(crate) start: Duration,
}

impl Process {
    /// Starts the program, with the arguments of `before` in front of it, and waits until it listens.
    pub(crate) fn start(program: &Path, before: &[String]) -> Result<Self> {
        let shown = program.display();
        let port = free_port()?;
        let arguments = before.iter().map(PathBuf::from);
        let arguments: Vec<PathBuf> = arguments.chain([program.to_owned()]).collect();
        let begin = Instant::now();
        let child = Command::new(&arguments[0])
            .args(&arguments[1..])
            .args(["--insecure", "--address", &format!("127.0.0.1:{port}")])
            .args(["--metrics-address", ""])
            .env_clear()
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start `{shown}`"))?;
        let mut process = Self {
            child,
            port,
            start: Duration::ZERO,
        };
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if let Some(status) = process.child.try_wait()? {
                bail!("`{shown}` ended with {status}");
            }
            if begin.elapsed() > TIMEOUT {
                bail!("`{shown}` does not listen");
            }
            std::thread::sleep(LOOK);
        }
        process.start = begin.elapsed();
        Ok(process)
    }

    /// Time on a processor so far, of all its threads.
    pub(crate) fn cpu(&self) -> Result<Duration> {
        let folder = format!("/proc/{}/task", self.child.id());
        let mut nanoseconds = 0;
        for thread in fs::read_dir(&folder).with_context(|| format!("cannot read {folder}"))? {
            // A thread may end at any moment.
            let Ok(text) = fs::read_to_string(thread?.path().join("schedstat")) else {
                continue;
            };
            let first = text.split(' ').next().unwrap_or_default();
            nanoseconds += first.parse::<u64>().context("schedstat is not a number")?;
        }
        Ok(Duration::from_nanos(nanoseconds))
    }

    /// Resident memory now, in bytes.
    pub(crate) fn resident(&self) -> Result<u64> {
        let file = format!("/proc/{}/status", self.child.id());
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {file}"))?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|line| line.split_whitespace().next());
        let kibibytes: u64 = number.context("no VmRSS")?.parse().context("VmRSS")?;
        Ok(kibibytes << 10)
    }

    /// Asks it to end, and waits for that. No client may be connected: a stock server waits for
    /// those that are.
    pub(crate) async fn end(mut self) -> Result<()> {
        let id = Pid::from_child(&self.child);
        kill_process(id, Signal::TERM).context("cannot ask it to end")?;
        let begin = Instant::now();
        while self
            .child
            .try_wait()
            .context("cannot wait for it")?
            .is_none()
        {
            if begin.elapsed() > TIMEOUT {
                bail!("a program does not end");
            }
            // Not by blocking: a connection that was dropped is closed by this thread.
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already, which is as good.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn free_port() -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").context("no free port")?;
    Ok(listener.local_addr()?.port())
}
