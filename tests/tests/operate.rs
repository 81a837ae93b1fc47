//! `asya send`, `asya dead-letters` and `asya logs` with the real kubectl on a real API server. No pod
//! runs there: the test ends the Jobs, and the API server judges them.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;
use test_cluster::cluster::Cluster;
use test_cluster::components;
use test_cluster::shared::Shared;
use test_cluster::until;
use tests::program;

/// The kind of actors, as far as kubectl needs it: Crossplane creates it from the XRD.
const ACTORS: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: asyncactors.asya.sh}
spec:
  group: asya.sh
  scope: Namespaced
  names: {kind: AsyncActor, listKind: AsyncActorList, plural: asyncactors, singular: asyncactor}
  versions:
  - name: v1alpha1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
";

static FIXTURE: Shared<Fixture> =
    Shared::new("asya send on a cluster", || Box::pin(Fixture::start()));

/// A cluster with the actor `hello` and its Deployment, in a namespace that enforces *restricted*.
struct Fixture {
    cluster: Cluster,
    folder: TempDir,
}

impl Fixture {
    async fn start() -> Self {
        let fixture = Self {
            cluster: Cluster::start().await,
            folder: tempfile::tempdir().unwrap(),
        };
        let kinds = fixture.folder.path().join("kinds.yaml");
        fs::write(&kinds, ACTORS).unwrap();
        fixture.cluster.install(&kinds).await;
        let example = program::repository().join("examples/hello");
        let rendered = program::asya(&["render", example.to_str().unwrap()]);
        let mut objects = program::documents(&rendered);
        objects.retain(|object| object["kind"] == "Deployment");
        for object in &mut objects {
            // There is no owner, and no controller may make pods.
            object["metadata"]["ownerReferences"] = json!([]);
            object["spec"]["paused"] = json!(true);
        }
        objects.push(
            json!({"apiVersion": "asya.sh/v1alpha1", "kind": "AsyncActor",
            "metadata": {"name": "hello", "namespace": "default"}, "spec": {}}),
        );
        let text = actor::yaml::write_stream(&objects).unwrap();
        fs::write(fixture.folder.path().join("objects.yaml"), text).unwrap();
        let restricted = "pod-security.kubernetes.io/enforce=restricted";
        fixture.kubectl(&["create", "-f", "objects.yaml"]);
        fixture.kubectl(&["label", "namespace", "default", restricted]);
        fixture
    }

    fn command(&self, program: &Path, arguments: &[&str]) -> Command {
        let kubectl = components::program("kubectl");
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env("KUBECONFIG", self.cluster.kubeconfig())
            .env("NO_COLOR", "1")
            .env("PATH", kubectl.parent().unwrap());
        command
    }

    /// The output of kubectl, which must succeed.
    fn kubectl(&self, arguments: &[&str]) -> String {
        let mut command = self.command(&components::program("kubectl"), arguments);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn asya(&self, arguments: &[&str]) -> Output {
        self.command(&program::path("asya"), arguments)
            .output()
            .unwrap()
    }

    fn jobs(&self) -> Vec<Value> {
        let jobs = self.kubectl(&["get", "jobs", "-n", "default", "-o", "json"]);
        let jobs: Value = serde_json::from_str(&jobs).unwrap();
        jobs["items"].as_array().unwrap().clone()
    }
}

#[test]
fn a_job_is_accepted_and_its_failure_ends_the_command() {
    FIXTURE.run_alone(async |fixture| {
        let arguments = ["dead-letters", "requeue", "hello", "--all", "-n", "default"];
        let mut command = fixture.command(&program::path("asya"), &arguments);
        let child = command.stderr(Stdio::piped()).spawn().unwrap();
        let job = until("the Job is created", || async { fixture.jobs().pop() }).await;
        let pod = &job["spec"]["template"]["spec"];
        assert_eq!(pod["containers"][0]["args"], json!(["requeue", "--all"]));
        assert_eq!(pod["containers"].as_array().unwrap().len(), 1);
        let conditions: Vec<Value> = ["FailureTarget", "Failed"]
            .map(|kind| {
                json!({"type": kind, "status": "True", "reason": "BackoffLimitExceeded", "message": "it failed"})
            })
            .to_vec();
        let patch = json!({"status": {"startTime": "2026-01-01T00:00:00Z", "conditions": conditions}});
        let name = job["metadata"]["name"].as_str().unwrap();
        let patch = format!("--patch={patch}");
        let merge = ["patch", "job", name, "-n", "default", "--subresource=status", "--type=merge"];
        fixture.kubectl(&[&merge[..], &[&patch]].concat());
        let output = child.wait_with_output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{errors}");
        assert!(errors.contains("the sidecar's command failed"), "{errors}");
        assert!(fixture.jobs().is_empty(), "it is deleted");
    });
}

#[test]
fn a_job_that_nobody_runs_is_deleted_after_its_deadline() {
    FIXTURE.run_alone(async |fixture| {
        let output = fixture.asya(&["send", "hello", "{}", "-n", "default", "--timeout", "1s"]);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(
            errors.contains("has not ended within 1s: it has no pod"),
            "{errors}"
        );
        assert!(fixture.jobs().is_empty());
    });
}

#[test]
fn logs_of_an_actor_without_pods_are_an_error() {
    FIXTURE.run(async |fixture| {
        let output = fixture.asya(&["logs", "hello", "-n", "default"]);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
    });
}
