//! A cluster with running actors, and operators with few permissions.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;
use test_cluster::cluster::Cluster;
use test_cluster::{components, until};
use tests::kubelet::Kubelet;
use tests::mesh::{Mesh, Transport};
use tests::pod::Image;
use tests::program;

/// A ServiceAccount of `tests/operate/cluster.yaml`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum User {
    /// May do what the commands need.
    Operator,
    /// May read actors, workloads and queues.
    Viewer,
}

/// API server, controllers of Deployments and Jobs, provider, RabbitMQ, and pods as processes.
pub(crate) struct Fixture {
    // Pods end before the broker and the API server.
    _kubelet: Kubelet,
    mesh: Mesh,
    operator: PathBuf,
    viewer: PathBuf,
    folder: TempDir,
}

impl Fixture {
    pub(crate) async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mesh = Mesh::start_on(Cluster::start_with_workloads(), Transport::RabbitMq).await;
        let kinds = program::repository().join("tests/operate/cluster.yaml");
        for object in actor::yaml::documents(&fs::read_to_string(kinds).unwrap()).unwrap() {
            mesh.apply(&object).await;
        }
        let actors = program::repository().join("tests/operate/actors.yaml");
        let actors = fs::read_to_string(actors).unwrap();
        let fixed = folder.path().strip_prefix("/").unwrap();
        let actors = actors.replace("{folder}", fixed.to_str().unwrap());
        let file = folder.path().join("actors.yaml");
        fs::write(&file, &actors).unwrap();
        let rendered = mesh.render_files(&[&file]);
        mesh.apply_queues(&rendered).await;
        let kubelet = Kubelet::start(mesh.cluster(), images()).await;
        for mut actor in actor::yaml::documents(&actors).unwrap() {
            actor["metadata"]["namespace"] = json!("default");
            mesh.apply(&actor).await;
        }
        for actor in rendered.values() {
            mesh.apply(actor.object("Deployment")).await;
        }
        let [operator, viewer] = [
            mesh.cluster().kubeconfig_of("default", "operator").await,
            mesh.cluster().kubeconfig_of("default", "viewer").await,
        ];
        Self {
            _kubelet: kubelet,
            mesh,
            operator,
            viewer,
            folder,
        }
    }

    /// Lets the actor `crashes` process messages with this text.
    pub(crate) fn fix(&self, text: &str) {
        fs::write(self.folder.path().join(text), "").unwrap();
    }

    fn command(&self, user: User, program: &Path, arguments: &[&str]) -> Command {
        let kubectl = components::program("kubectl");
        let kubeconfig = match user {
            User::Operator => &self.operator,
            User::Viewer => &self.viewer,
        };
        let mut command = Command::new(program);
        command
            .args(arguments)
            .args(["-n", "default"])
            .env_clear()
            .env("KUBECONFIG", kubeconfig)
            .env("HOME", self.folder.path())
            .env("PATH", kubectl.parent().unwrap());
        command
    }

    /// Runs `asya`.
    pub(crate) fn asya(&self, user: User, arguments: &[&str]) -> Output {
        let program = program::path("asya");
        self.command(user, &program, arguments).output().unwrap()
    }

    /// Runs `asya` as an operator, and returns what it prints.
    pub(crate) fn succeeds(&self, arguments: &[&str]) -> String {
        let output = self.asya(User::Operator, arguments);
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            program::talk(&output)
        );
        String::from_utf8(output.stdout).unwrap()
    }

    /// Starts `asya`, whose lines are to be read.
    pub(crate) fn stream(&self, arguments: &[&str]) -> Stream {
        let program = program::path("asya");
        let mut command = self.command(User::Operator, &program, arguments);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Stream { child, output }
    }

    /// Waits until the log of an actor's runtime has this line.
    pub(crate) async fn until_logged(&self, actor: &str, line: &str) {
        until(&format!("{actor} logs {line:?}"), || async {
            let output = self.asya(User::Operator, &["logs", actor, "--container", "runtime"]);
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let expected = format!(" runtime | {line}");
            text.lines().any(|it| it.ends_with(&expected)).then_some(())
        })
        .await;
    }

    /// Waits until an actor has dead letters with these ids, and returns the table.
    pub(crate) async fn until_dead(&self, actor: &str, ids: &[&str]) -> String {
        until(&format!("{ids:?} are dead letters"), || async {
            let table = self.succeeds(&["dead-letters", "list", actor]);
            let has = |id: &&str| {
                table
                    .lines()
                    .any(|line| line.starts_with(&format!("{id} ")))
            };
            ids.iter().all(has).then_some(table)
        })
        .await
    }

    /// Names of the Jobs that exist.
    pub(crate) fn jobs(&self) -> Vec<String> {
        let kubectl = components::program("kubectl");
        let mut command = Command::new(kubectl);
        command
            .args(["get", "jobs", "-n", "default", "-o", "json"])
            .env("KUBECONFIG", self.mesh.cluster().kubeconfig());
        let output = command.output().unwrap();
        let list: Value = serde_json::from_slice(&output.stdout).unwrap();
        let jobs = list["items"].as_array().unwrap().iter();
        jobs.map(|job| job["metadata"]["name"].to_string())
            .collect()
    }
}

/// A running command.
pub(crate) struct Stream {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Stream {
    /// Reads lines until one ends so.
    pub(crate) fn until(&mut self, end: &str) {
        let mut line = String::new();
        while !line.trim_end().ends_with(end) {
            line.clear();
            let count = self.output.read_line(&mut line).unwrap();
            assert!(count > 0, "no line ends with {end:?}");
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn images() -> BTreeMap<String, Image> {
    let image = |entry_point: Option<PathBuf>, folder: &str| Image {
        entry_point,
        folder: program::repository().join(folder),
    };
    let sidecar = program::path("asya-sidecar");
    BTreeMap::from([
        ("operate".to_owned(), image(None, "tests/operate")),
        ("asya-sidecar:latest".to_owned(), image(Some(sidecar), "")),
    ])
}
