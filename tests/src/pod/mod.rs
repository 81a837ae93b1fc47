//! The processes of a pod, started from its rendered template as a kubelet starts its containers.
//!
//! There are no containers: each is a process with the command, the environment and the volumes of
//! the template; its paths become paths in a folder of the pod's own.
//! A process that ends is started again at once, where a kubelet waits longer each time; the pod's
//! emptyDirs stay. Images are folders and programs of the rig's. The template's requests, probes other
//! than the startup probe, and security settings mean nothing here.

mod container;
mod paths;
mod template;

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use serde_json::Value;
use test_cluster::process::Signal;
use test_cluster::until;

pub use container::Container;
pub use template::{Image, Images, Secrets};

/// The runtime's container.
pub const RUNTIME: &str = "asya-runtime";

/// The sidecar's container.
pub const SIDECAR: &str = "asya-sidecar";

const SIGTERM: i32 = 15;

/// A running pod. Its processes are killed when this value is dropped.
pub struct Pod {
    /// Its name.
    pub name: String,
    grace: Duration,
    folder: PathBuf,
    containers: Vec<Container>,
    startup_probe: Vec<String>,
}

/// End of a pod.
#[derive(Debug)]
pub struct Ending {
    /// Exit statuses of its processes, by container.
    pub processes: Vec<(String, ExitStatus)>,
    /// Standard error of the containers.
    pub log: String,
}

impl Ending {
    /// Returns whether every process has ended within the grace period, and without a complaint.
    pub fn is_clean(&self) -> bool {
        self.processes.iter().all(|(_, status)| status.success())
    }

    /// Returns whether every process has ended within the grace period: SIGTERM may have met it before it
    /// could listen for it.
    pub fn is_in_time(&self) -> bool {
        let on_term = |status: &ExitStatus| status.signal() == Some(SIGTERM);
        let mut processes = self.processes.iter();
        processes.all(|(_, status)| status.success() || on_term(status))
    }
}

/// Runs the one container of a pod to its end, without restarts, in a folder that is made for it. Its
/// output is in the folder as that of [`Pod`].
///
/// # Panics
/// If the pod has several containers, or asks for something that the rig does not have.
pub fn run_once(
    name: &str,
    spec: &Value,
    images: &Images,
    secrets: &Secrets,
    folder: &Path,
) -> impl Future<Output = ExitStatus> + Send + use<> {
    let folder = folder.join(name);
    let volumes = template::make_volumes(&folder, spec, &[]);
    let [container] = template::items(&spec["containers"]) else {
        panic!("{name} has one container");
    };
    let mounts = template::mounts(container, &volumes);
    let process = template::process(container, &mounts, images, secrets);
    async move {
        let ending = tokio::task::spawn_blocking(move || container::status(&process, &folder));
        ending.await.expect("nobody ends the wait")
    }
}

impl Pod {
    /// Starts all containers of a pod template in a folder that is made for it. `ConfigMap`s are taken from
    /// the `rendered` objects.
    ///
    /// # Panics
    /// When the template asks for something that the rig does not have.
    pub fn start(
        name: &str,
        template: &Value,
        rendered: &[Value],
        images: &Images,
        secrets: &Secrets,
        folder: &Path,
    ) -> Self {
        let spec = &template["spec"];
        let folder = folder.join(name);
        let volumes = template::make_volumes(&folder, spec, rendered);
        assert!(
            spec["hostNetwork"].is_null(),
            "{name}: the rig knows no hostNetwork"
        );
        let restarts = spec["restartPolicy"].as_str().unwrap_or("Always");
        assert_eq!(restarts, "Always", "{name}: processes are started again");
        for container in template::items(&spec["initContainers"]) {
            let mounts = template::mounts(container, &volumes);
            let process = template::process(container, &mounts, images, secrets);
            container::run(&process, &folder);
        }
        let mut containers = Vec::new();
        let mut startup_probe = Vec::new();
        for container in template::items(&spec["containers"]) {
            let mounts = template::mounts(container, &volumes);
            if let Some(command) = container["startupProbe"]["exec"]["command"].as_array() {
                startup_probe = command
                    .iter()
                    .map(|part| paths::moved(part.as_str().unwrap_or_default(), &mounts))
                    .collect();
            }
            let process = template::process(container, &mounts, images, secrets);
            containers.push(Container::start(process, &folder));
        }
        Self {
            name: name.to_owned(),
            grace: Duration::from_secs(
                spec["terminationGracePeriodSeconds"]
                    .as_u64()
                    .expect("a grace period is rendered"),
            ),
            folder,
            containers,
            startup_probe,
        }
    }

    /// Waits until the template's startup probe succeeds.
    ///
    /// # Panics
    /// When it does not in time.
    pub async fn started(&self) {
        let (program, arguments) = self.startup_probe.split_first().expect("a startup probe");
        until(&format!("{} has started", self.name), || async {
            let probe = Command::new(program).args(arguments).status();
            probe.expect("the probe runs").success().then_some(())
        })
        .await;
    }

    /// One of its containers.
    ///
    /// # Panics
    /// When it has none of that name.
    pub fn container(&self, name: &str) -> &Container {
        let mut containers = self.containers.iter();
        let found = containers.find(|container| container.name() == name);
        found.unwrap_or_else(|| panic!("{} has no container {name:?}", self.name))
    }

    /// Folder of an emptyDir, by the volume's name.
    pub fn volume(&self, name: &str) -> PathBuf {
        self.folder.join("volumes").join(name)
    }

    /// The JSON lines that a container has written to its standard output so far, in all its lives.
    pub fn lines(&self, container: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.output(container)).unwrap_or_default();
        let lines = text.lines();
        lines
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    }

    /// The file of a container's standard output.
    pub fn output(&self, container: &str) -> PathBuf {
        self.folder.join(format!("{container}.out"))
    }

    /// Ends the pod as a kubelet does: SIGTERM to all containers, without waiting in between, and SIGKILL
    /// to what is still there after the grace period.
    pub async fn terminate(self) -> Ending {
        let names: Vec<String> = self.containers.iter().map(Container::name_owned).collect();
        let order: Vec<&str> = names.iter().map(String::as_str).collect();
        self.terminate_in(&order).await
    }

    /// Like [`terminate`](Self::terminate), with the signals in this order, which kubelets leave to chance.
    ///
    /// # Panics
    /// When a container is not named.
    pub async fn terminate_in(self, order: &[&str]) -> Ending {
        assert_eq!(order.len(), self.containers.len(), "every container");
        for container in &self.containers {
            container.stay_down();
        }
        let start = Instant::now();
        for name in order {
            self.container(name).signal(Signal::TERM);
        }
        let mut processes = Vec::new();
        for container in &self.containers {
            while !container.has_ended() && start.elapsed() < self.grace {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            container.kill();
            processes.push((container.name_owned(), container.exit_status()));
        }
        let log = self.log();
        Ending { processes, log }
    }

    fn log(&self) -> String {
        let logs = self.containers.iter().map(|container| {
            let path = self.folder.join(format!("{}.err", container.name()));
            let text = fs::read_to_string(path).unwrap_or_default();
            format!("== {} {}\n{text}", self.name, container.name())
        });
        logs.collect()
    }
}
