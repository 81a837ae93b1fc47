//! `asya status` and `asya diff --cluster` with the real kubectl on a real API server.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;
use test_cluster::cluster::Cluster;
use test_cluster::components;
use test_cluster::shared::Shared;

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
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: environmentconfigs.apiextensions.crossplane.io}
spec:
  group: apiextensions.crossplane.io
  scope: Cluster
  names: {kind: EnvironmentConfig, listKind: EnvironmentConfigList, plural: environmentconfigs, singular: environmentconfig}
  versions:
  - name: v1beta1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
";

/// The platform's settings.
const PLATFORM: &str = "
apiVersion: apiextensions.crossplane.io/v1beta1
kind: EnvironmentConfig
metadata: {name: asya-platform}
data: {transports: {sqs: {type: sqs, config: {region: us-east-1}}}}
";

/// An actor that works, one that is being deleted, and one whose Deployment is stuck.
const OBJECTS: &str = "
apiVersion: asya.sh/v1alpha1
kind: AsyncActor
metadata: {name: works, namespace: default}
spec:
  image: app:1
  handler: app.handle
  crossplane: {resourceRefs: [{apiVersion: provider.asya.sh/v1alpha1, kind: ActorHealth, name: works}]}
status:
  flavors: []
  conditions: [{type: ActorReady, status: 'True', reason: Napping}]
---
apiVersion: asya.sh/v1alpha1
kind: AsyncActor
metadata: {name: deleted, namespace: default, finalizers: [asya.sh/test]}
status: {conditions: [{type: ActorReady, status: 'True', reason: Running}]}
---
apiVersion: asya.sh/v1alpha1
kind: AsyncActor
metadata: {name: stuck, namespace: default}
spec: {crossplane: {resourceRefs: [{apiVersion: apps/v1, kind: Deployment, name: stuck}, {apiVersion: provider.asya.sh/v1alpha1, kind: Queue, name: stuck}]}}
status:
  workload: Deployment
  conditions:
  - {type: WorkloadReady, status: 'False', reason: WorkloadError, message: no quota}
  - {type: ActorReady, status: 'False', reason: WorkloadError, message: no quota}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: stuck
  namespace: default
  labels: {app.kubernetes.io/part-of: asya, crossplane.io/composite: stuck}
spec:
  # No controller may touch the status that the test writes.
  paused: true
  replicas: 0
  selector: {matchLabels: {a: b}}
  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}
";

static FIXTURE: Shared<Fixture> = Shared::new("asya on a cluster", || Box::pin(Fixture::start()));

/// A cluster with [`PLATFORM`] and [`OBJECTS`], and a folder from which programs run.
struct Fixture {
    cluster: Cluster,
    folder: TempDir,
}

impl Fixture {
    async fn start() -> Self {
        let cluster = Cluster::start().await;
        cluster.install_kinds().await;
        let fixture = Self {
            cluster,
            folder: tempfile::tempdir().unwrap(),
        };
        let kinds = fixture.write("kinds.yaml", ACTORS);
        fixture.cluster.install(&kinds).await;
        fixture.write("objects.yaml", OBJECTS);
        fixture.write("platform.yaml", PLATFORM);
        for arguments in [
            &["create", "-f", "objects.yaml", "-f", "platform.yaml"][..],
            &["delete", "asyncactor", "deleted", "--wait=false"],
        ] {
            let output = fixture.run(&components::program("kubectl"), arguments);
            assert!(output.status.success(), "{output:?}");
        }
        fixture
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// Runs `asya`, which finds the cluster through kubectl.
    fn asya(&self, arguments: &[&str]) -> Output {
        self.run(&tests::program::path("asya"), arguments)
    }

    fn run(&self, program: &Path, arguments: &[&str]) -> Output {
        let kubectl = components::program("kubectl");
        Command::new(program)
            .args(arguments)
            .current_dir(self.folder.path())
            .env("KUBECONFIG", self.cluster.kubeconfig())
            .env("NO_COLOR", "1")
            .env("PATH", kubectl.parent().unwrap())
            .output()
            .unwrap()
    }
}

#[test]
fn status_prints_all_actors_and_exits_with_1_if_one_does_not_work() {
    FIXTURE.run(async |fixture| {
        let output = fixture.asya(&["status", "-A"]);
        let text = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(output.status.code(), Some(1), "{:?}", output.stderr);
        let first = "default/deleted  Terminating: since 2";
        assert!(lines[0].starts_with(first), "{text}");
        assert_eq!(
            lines[1..],
            [
                "default/stuck  WorkloadError: no quota",
                "└─ workload  Deployment; WorkloadError",
                "default/works  Napping",
                "└─ flavors  none",
            ]
        );
    });
}

#[test]
fn status_of_an_actor_that_works_exits_with_0() {
    FIXTURE.run(async |fixture| {
        let output = fixture.asya(&["status", "works", "-n", "default"]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    });
}

#[test]
fn status_of_a_missing_actor_exits_with_2_and_names_it() {
    FIXTURE.run(async |fixture| {
        let output = fixture.asya(&["status", "missing"]);
        assert_eq!(output.status.code(), Some(2));
        let error = String::from_utf8(output.stderr).unwrap();
        let expected = "asyncactors.asya.sh \"missing\" not found";
        assert!(error.contains(expected), "{error}");
    });
}

/// The actor that is being deleted is not counted. Whether the one without known objects changes is unknown
/// where its settings do.
fn diff(name: &str, platform: &str, code: i32, first_line: &str) {
    FIXTURE.run(async |fixture| {
        fixture.write(name, platform);
        let output = fixture.asya(&["diff", "--cluster", "--new", name]);
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text.lines().next(), Some(first_line), "{text}");
    });
}

#[test]
fn diff_with_unchanged_settings_exits_with_0() {
    diff("same.yaml", PLATFORM, 0, "nothing changes (2 actors)");
}

#[test]
fn diff_with_another_sidecar_exits_with_1_and_counts_restarts() {
    let changed = PLATFORM.replace("transports", "sidecar: {image: 'sidecar:2'}, transports");
    let first_line = "1 of 2 actors changes: 1 restarts its pods, 1 unknown";
    diff("changed.yaml", &changed, 1, first_line);
}
