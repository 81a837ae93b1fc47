//! `asya status` and `asya diff --cluster` with the real kubectl on a real API server.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use test_cluster::cluster::Cluster;
use test_cluster::components;

/// Actors, as far as kubectl needs them: Crossplane makes the kind from the XRD.
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

/// What actors are made from.
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
metadata: {name: goes, namespace: default, finalizers: [asya.sh/test]}
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_state_of_actors_is_read_from_a_real_cluster() {
    if components::is_skipped("asya status on a cluster") {
        return;
    }
    let cluster = Cluster::start().await;
    cluster.install_kinds().await;
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    cluster.install(&file("kinds.yaml", ACTORS)).await;
    let kubectl = components::program("kubectl");
    let config = cluster.kubeconfig();
    let run = |program: &Path, arguments: &[&str]| -> Output {
        let mut command = Command::new(program);
        let command = command.args(arguments).current_dir(folder.path());
        command.env("KUBECONFIG", &config).env("NO_COLOR", "1");
        command
            .env("PATH", kubectl.parent().unwrap())
            .output()
            .unwrap()
    };
    file("objects.yaml", OBJECTS);
    let does = |arguments: &[&str]| {
        let output = run(&kubectl, arguments);
        assert!(output.status.success(), "{output:?}");
    };
    does(&["create", "-f", "objects.yaml"]);
    does(&["delete", "asyncactor", "goes", "--wait=false"]);

    let asya = &tests::program::path("asya");
    let output = run(asya, &["status", "-A"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(output.status.code(), Some(1), "{:?}", output.stderr);
    assert!(
        lines[0].starts_with("default/goes  Terminating: since 2"),
        "{text}"
    );
    assert_eq!(
        lines[1..],
        [
            "default/stuck  WorkloadError: no quota",
            "└─ workload  Deployment; WorkloadError",
            "default/works  Napping",
            "└─ flavors  none",
        ]
    );
    let output = run(asya, &["status", "works", "-n", "default"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let output = run(asya, &["status", "missing"]);
    assert_eq!(output.status.code(), Some(2));
    let talk = String::from_utf8(output.stderr).unwrap();
    assert!(
        talk.contains("asyncactors.asya.sh \"missing\" not found"),
        "{talk}"
    );

    // What the compared sides share is read there as well. The actor that is being deleted
    // does not count; of the one that says nothing of what runs there is nothing to tell.
    file("platform.yaml", PLATFORM);
    does(&["create", "-f", "platform.yaml"]);
    file("same.yaml", PLATFORM);
    file(
        "moved.yaml",
        &PLATFORM.replace("transports", "sidecar: {image: 'sidecar:2'}, transports"),
    );
    for (new, code, first) in [
        ("same.yaml", 0, "nothing changes (2 actors)\n"),
        (
            "moved.yaml",
            1,
            "1 of 2 actors changes: 1 restarts its pods\n",
        ),
    ] {
        let output = run(asya, &["diff", "--cluster", "--new", new]);
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.starts_with(first), "{text}");
    }
}
