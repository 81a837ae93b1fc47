//! The process of a handler: started in a group of its own, and ended with all its children.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::process::{Child, ChildStdin, Command};

use super::event::{Event, What};
use super::observe::Events;
use super::plan::Plan;
use super::python::Python;

/// Time in which a runtime must end by itself.
const END_LIMIT: Duration = Duration::from_secs(3);

/// Folders of a run.
#[derive(Debug, Clone)]
pub(super) struct Places {
    /// The runtime files.
    pub(super) runtime: PathBuf,
    /// Script that ends with this program.
    pub(super) guard: PathBuf,
    /// The runtime's socket and those of state proxies.
    pub(super) sockets: PathBuf,
    /// Folders in which modules are searched; the first is the working directory.
    pub(super) modules: Vec<PathBuf>,
}

/// A running runtime. Dropped, its process group is killed.
#[derive(Debug)]
pub(super) struct RuntimeProcess {
    child: Child,
    group: Option<Pid>,
    // Closed when this program ends, however that happens.
    _guard: Option<ChildStdin>,
}

impl RuntimeProcess {
    /// Starts the runtime script with the actor's handler. Its output becomes events.
    pub(super) fn start(
        plan: &Plan,
        python: &Python,
        places: &Places,
        events: &Events,
    ) -> io::Result<Self> {
        let mut command = Command::new(&python.program);
        command
            .arg(&places.guard)
            .arg(places.runtime.join("asya_runtime.py"));
        command.args(&plan.arguments);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("ASYA_") {
                command.env_remove(name);
            }
        }
        command.envs(&plan.variables);
        command.env("ASYA_SOCKET_DIR", &places.sockets);
        command.env("ASYA_STATE_PROXY_DIR", places.sockets.join("state"));
        command.env("PYTHONPATH", python_path(plan, places));
        command.env("PYTHONUNBUFFERED", "1");
        if let Some(folder) = places.modules.first() {
            command.current_dir(folder);
        }
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.process_group(0).kill_on_drop(true);
        let mut child = command.spawn()?;
        let group = child
            .id()
            .and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        if let Some(stdout) = child.stdout.take() {
            tokio::spawn(relay(plan.name.clone(), "stdout", stdout, events.clone()));
        }
        if let Some(stderr) = child.stderr.take() {
            tokio::spawn(relay(plan.name.clone(), "stderr", stderr, events.clone()));
        }
        Ok(Self {
            group,
            _guard: child.stdin.take(),
            child,
        })
    }

    /// Waits for its end.
    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Asks it to end, and kills what is left of its group.
    pub(super) async fn stop(mut self) {
        self.signal(Signal::TERM);
        let _ = tokio::time::timeout(END_LIMIT, self.child.wait()).await;
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // It may have ended.
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for RuntimeProcess {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

/// Returns the module path: folders of the user, then those of the variable, then the runtime's adapters.
fn python_path(plan: &Plan, places: &Places) -> std::ffi::OsString {
    let own = plan.variables.get("PYTHONPATH").cloned();
    let inherited = std::env::var("PYTHONPATH").ok();
    let given = [own, inherited].into_iter().flatten();
    let given: Vec<String> = given.filter(|path| !path.is_empty()).collect();
    let given: Vec<PathBuf> = given.iter().flat_map(std::env::split_paths).collect();
    let all = places.modules.iter().chain(&given).chain([&places.runtime]);
    std::env::join_paths(all.filter(|path| !path.to_string_lossy().contains(':')))
        .unwrap_or_default()
}

/// Sends lines of a handler's output as events; the runtime's own log lines are recognized by their format.
async fn relay(
    actor: String,
    stream: &'static str,
    output: impl AsyncRead + Unpin,
    events: Events,
) {
    let mut lines = BufReader::new(output).split(b'\n');
    while let Ok(Some(line)) = lines.next_segment().await {
        let line = String::from_utf8_lossy(&line).trim_end().to_owned();
        let what = match LogLine::read(&line) {
            Some(_) if stream == "stdout" => What::Output { stream, line },
            Some(log) if log.is_shown => continue,
            Some(LogLine { level, message, .. }) => What::Log { level, message },
            None => What::Output { stream, line },
        };
        if events.send(Event::of(&actor, "", what)).is_err() {
            return;
        }
    }
}

/// A log line of the runtime: `{"time", "level", "message", …}`.
struct LogLine {
    level: String,
    message: String,
    /// True if events show it: that all is well, and a call that has failed, which is logged with its
    /// error's type.
    is_shown: bool,
}

impl LogLine {
    fn read(line: &str) -> Option<Self> {
        let line: serde_json::Value = serde_json::from_str(line).ok()?;
        line["time"].as_str()?;
        let text = |member: &str| line[member].as_str().map(str::to_owned);
        let (level, message) = (text("level")?, text("message")?);
        let is_failure = level == "error" && line.get("id").is_some() && line.get("type").is_some();
        Some(Self {
            is_shown: is_failure || ["debug", "info"].contains(&level.as_str()),
            level,
            message,
        })
    }
}

/// The folder of a file; the working directory for a file without one.
pub(super) fn folder_of(file: &Path) -> PathBuf {
    let folder = file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or_else(|| Path::new(".")).to_owned()
}
