//! One container's process, which is started again whenever it ends.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use test_cluster::process::{self, Signal};
use tokio::task::JoinHandle;

use super::template::Process;

/// Between two polls of its end.
const PAUSE: Duration = Duration::from_millis(20);

/// A container.
pub struct Container {
    life: Arc<Mutex<Life>>,
    name: String,
    watch: JoinHandle<()>,
}

/// Its process, and those before it.
struct Life {
    process: Process,
    folder: PathBuf,
    child: Child,
    is_to_stay_down: bool,
    restarts: usize,
    ended: Option<ExitStatus>,
}

impl Container {
    pub(super) fn start(process: Process, folder: &Path) -> Self {
        let name = process.name.clone();
        let child = spawn(&process, folder);
        let life = Arc::new(Mutex::new(Life {
            process,
            folder: folder.to_owned(),
            child,
            is_to_stay_down: false,
            restarts: 0,
            ended: None,
        }));
        let watched = Arc::clone(&life);
        let watch = tokio::spawn(async move {
            loop {
                tokio::time::sleep(PAUSE).await;
                watched.lock().expect("nobody panics with it").tend();
            }
        });
        Self { life, name, watch }
    }

    /// Its name in the template.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn name_owned(&self) -> String {
        self.name.clone()
    }

    /// Kills the process. It is started again, unless the pod ends.
    ///
    /// # Panics
    /// When it cannot be killed.
    pub fn kill(&self) {
        let mut life = self.life();
        life.tend();
        if life.ended.is_none() {
            life.child.kill().expect("the process can be killed");
            life.wait();
        }
    }

    /// Returns the number of restarts of the process.
    pub fn restarts(&self) -> usize {
        self.life().restarts
    }

    /// Sends a signal, unless the process has ended.
    pub(super) fn signal(&self, signal: Signal) {
        // With the lock held nobody waits for the process, so that its id is nobody else's.
        let mut life = self.life();
        life.tend();
        if life.ended.is_none() {
            process::signal(life.child.id(), signal);
        }
    }

    pub(super) fn stay_down(&self) {
        self.life().is_to_stay_down = true;
    }

    pub(super) fn has_ended(&self) -> bool {
        let mut life = self.life();
        life.tend();
        life.ended.is_some()
    }

    pub(super) fn exit_status(&self) -> ExitStatus {
        self.life().ended.expect("the process has ended")
    }

    fn life(&self) -> MutexGuard<'_, Life> {
        self.life.lock().expect("nobody panics with it")
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        self.watch.abort();
        self.stay_down();
        self.kill();
    }
}

impl Life {
    /// Notices an end, and starts the process again.
    fn tend(&mut self) {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().expect("the process can be asked");
        }
        if self.ended.is_some() && !self.is_to_stay_down {
            self.child = spawn(&self.process, &self.folder);
            self.ended = None;
            self.restarts += 1;
        }
    }

    fn wait(&mut self) {
        self.ended = Some(self.child.wait().expect("the process can be waited for"));
    }
}

/// Runs a process to its end, as an init container.
///
/// # Panics
/// When it fails.
pub(super) fn run(process: &Process, folder: &Path) {
    let status = status(process, folder);
    assert!(status.success(), "{}: {status}", process.name);
}

/// Runs a process to its end.
pub(super) fn status(process: &Process, folder: &Path) -> ExitStatus {
    let status = spawn(process, folder).wait();
    status.expect("the process can be waited for")
}

/// Output is added to what earlier processes of the container wrote.
fn spawn(process: &Process, folder: &Path) -> Child {
    let output = |ending: &str| {
        let path = folder.join(format!("{}.{ending}", process.name));
        let file = OpenOptions::new().create(true).append(true).open(path);
        file.expect("a file for what the process writes")
    };
    Command::new(&process.program)
        .args(&process.arguments)
        .current_dir(&process.working_directory)
        .env_clear()
        .envs(&process.environment)
        .stdin(Stdio::null())
        .stdout(output("out"))
        .stderr(output("err"))
        .spawn()
        .unwrap_or_else(|error| panic!("{} does not start: {error}", process.name))
}
