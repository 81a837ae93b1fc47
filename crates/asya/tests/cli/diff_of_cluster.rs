//! `asya diff --cluster`, of a cluster that a kubectl shows which answers from files.

use serde_json::json;

use crate::program::{Folder, PLATFORM, Run};

const ACTOR: &str = "
apiVersion: asya.sh/v1alpha1
kind: AsyncActor
metadata: {name: one, namespace: prod, uid: 5e9c, resourceVersion: '7'}
spec:
  flavors: [gpu]
  image: app:1
  handler: app.handle
  crossplane: {resourceRefs: [{kind: Deployment}, {kind: Queue}, {kind: ConfigMap}]}
";

const CLAIM: &str = "
apiVersion: asya.sh/v1alpha1
kind: AsyncActor
metadata: {name: one, namespace: prod}
spec: {flavors: [gpu], image: app:1, handler: app.handle, resourceRef: {kind: XAsyncActor, name: one-x7}}
";

const OF_CLAIM: &str = "
apiVersion: asya.sh/v1alpha1
kind: XAsyncActor
metadata:
  name: one-x7
  labels: {crossplane.io/claim-name: one, crossplane.io/claim-namespace: prod}
spec:
  flavors: [gpu]
  image: app:1
  handler: app.handle
  claimRef: {kind: AsyncActor, name: one, namespace: prod}
  resourceRefs: [{kind: Deployment}]
";

const FLAVOR: &str = "
apiVersion: apiextensions.crossplane.io/v1beta1
kind: EnvironmentConfig
metadata: {name: gpu, labels: {asya.sh/flavor: gpu}}
data: {priorityClassName: low}
";

const COMPOSED: &str = "
apiVersion: provider.asya.sh/v1alpha1
kind: Queue
metadata:
  name: one
  namespace: prod
  labels: {crossplane.io/composite: one, asya.sh/transport: sqs}
  annotations: {crossplane.io/composition-resource-name: queue, crossplane.io/external-name: old-name}
spec:
  providerConfigRef: {kind: ClusterProviderConfig, name: sqs}
  forProvider: {sqs: {region: eu-north-1}}
";

/// A cluster in which there is this, as kubectl shows it.
fn cluster(actors: &str, of_claims: &str) -> Folder {
    let configs = format!("{PLATFORM}---{FLAVOR}");
    let folder = Folder::with(&[]);
    for (name, text) in [
        ("actors", actors),
        ("of-claims", of_claims),
        ("configs", &configs),
        ("composed", COMPOSED),
    ] {
        let items = actor::yaml::documents(text).unwrap();
        let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
        folder.add(&format!("{name}.json"), &list.to_string());
    }
    folder
}

const KUBECTL: &str = r#"
echo "$*" >> calls
case "$*" in
"get xasyncactors"*) cat of-claims.json ;;
"get asyncactors"*) cat actors.json ;;
"get environmentconfigs"*) cat configs.json ;;
*) cat composed.json ;;
esac
"#;

fn compared(folder: &Folder, arguments: &str) -> (Run, String) {
    folder.run_with_kubectl(KUBECTL, &format!("diff --cluster {arguments}"))
}

#[test]
fn a_changed_flavor_is_compared_for_all_actors_of_the_cluster() {
    let folder = cluster(ACTOR, "");
    folder.add("gpu.yaml", &FLAVOR.replace("low", "high"));
    folder.add("same.yaml", FLAVOR);
    let (run, calls) = compared(&folder, "--new gpu.yaml --context live");
    assert_eq!((run.code, run.stderr.as_str()), (1, ""), "{}", run.output);
    let first = "1 of 1 actors changes: 1 restarts its pods\n";
    assert!(run.output.starts_with(first), "{}", run.output);
    let row = "priorityClassName  flavor gpu  low  high\n";
    assert!(run.output.contains(row), "{}", run.output);
    let scope = "--output json --all-namespaces --context live";
    assert_eq!(
        calls,
        format!(
            "get asyncactors.asya.sh {scope}\n\
             get environmentconfigs.apiextensions.crossplane.io {scope}\n\
             get queue.provider.asya.sh,deployment.apps --selector app.kubernetes.io/part-of=asya \
             --show-managed-fields {scope}\n"
        ),
        "no Secret, no write"
    );
    let (run, _) = compared(&folder, "--new same.yaml");
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert_eq!(run.output, "nothing changes (1 actor)\n");
}

#[test]
fn namespace_flag_compares_only_its_actors() {
    let folder = cluster(ACTOR, "");
    let elsewhere = ACTOR.replace("namespace: prod", "namespace: test");
    folder.add("branch.yaml", &format!("{ACTOR}---{elsewhere}"));
    folder.add("gpu.yaml", &FLAVOR.replace("low", "high"));
    let (run, calls) = compared(&folder, "-n prod --new branch.yaml --new gpu.yaml");
    assert_eq!((run.code, run.stderr.as_str()), (1, ""), "{}", run.output);
    let first = "1 of 1 actors changes: 1 restarts its pods\n";
    assert!(run.output.starts_with(first), "{}", run.output);
    let scope = " --output json --namespace prod";
    assert!(calls.lines().all(|call| call.ends_with(scope)), "{calls}");
    // Claims are in namespaces, and what Crossplane makes of them is not.
    let other = OF_CLAIM.replace("one", "two").replace("prod", "test");
    let folder = cluster(CLAIM, &format!("{OF_CLAIM}---{other}"));
    folder.add("gpu.yaml", &FLAVOR.replace("low", "high"));
    let (run, _) = compared(&folder, "--namespace prod --new gpu.yaml");
    assert!(run.output.starts_with(first), "{}", run.output);
    let (run, _) = compared(&folder, "--namespace empty --new gpu.yaml");
    let nothing = "error: no actor among the cluster, gpu.yaml: found ";
    assert!(run.stderr.starts_with(nothing), "{}", run.stderr);
    assert_eq!((run.code, run.output.as_str()), (2, ""));
}

#[test]
fn a_live_queue_keeps_its_settings() {
    let folder = cluster(ACTOR, "");
    folder.add("moved.yaml", &PLATFORM.replace("us-east-1", "us-west-2"));
    let (run, _) = compared(&folder, "--new moved.yaml");
    let kept = "queue: it keeps sqs.region eu-north-1: only new actors get us-west-2\n";
    assert!(run.output.contains(kept), "{}{}", run.output, run.stderr);
}

#[test]
fn an_actor_that_is_being_deleted_is_not_compared() {
    let goes = ACTOR
        .replace("name: one", "name: two")
        .replace("uid: 5e9c", "deletionTimestamp: '2026-01-02T03:04:05Z'");
    let folder = cluster(&format!("{ACTOR}---{goes}"), "");
    folder.add("gpu.yaml", &FLAVOR.replace("low", "high"));
    let (run, _) = compared(&folder, "--new gpu.yaml");
    let first = "1 of 1 actors changes: 1 restarts its pods\n";
    assert!(run.output.starts_with(first), "{}", run.output);
}

#[test]
fn files_win_over_the_cluster() {
    let folder = cluster(ACTOR, "");
    folder.add("gpu.yaml", &FLAVOR.replace("low", "high"));
    let (run, _) = compared(&folder, "gpu.yaml --new gpu.yaml");
    assert_eq!(run.output, "nothing changes (1 actor)\n");
}

#[test]
fn a_claim_is_compared_by_its_xr() {
    let folder = cluster(CLAIM, OF_CLAIM);
    folder.add("gpu.yaml", &FLAVOR.replace("low", "high"));
    let (run, calls) = compared(&folder, "--new gpu.yaml");
    assert_eq!((run.code, run.stderr.as_str()), (1, ""), "{}", run.output);
    assert!(
        run.output.contains("prod/one  changed  restart"),
        "{}",
        run.output
    );
    assert!(calls.contains("get xasyncactors.asya.sh "), "{calls}");
    assert!(calls.contains("get deployment.apps "), "{calls}");
}

#[test]
fn an_unreadable_cluster_ends_with_status_2() {
    let folder = cluster("", "");
    folder.add("gpu.yaml", FLAVOR);
    let (run, _) = compared(&folder, "--new gpu.yaml");
    assert_eq!((run.code, run.output.as_str()), (2, ""));
    assert!(
        run.stderr
            .starts_with("error: no actor among the cluster, gpu.yaml: found "),
        "{}",
        run.stderr
    );
    let script = "echo 'the connection was refused' >&2; exit 1";
    let (run, _) = folder.run_with_kubectl(script, "diff --cluster --new gpu.yaml");
    assert_eq!((run.code, run.output.as_str()), (2, ""));
    assert_eq!(
        run.stderr,
        "error: kubectl get asyncactors.asya.sh: the connection was refused\n\
         hint: kubectl config get-contexts shows the contexts, and --context selects one\n"
    );
    let run = folder.run("diff --context live --new gpu.yaml");
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("--cluster"), "{}", run.stderr);
}
