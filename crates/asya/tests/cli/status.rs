//! `asya status` as a program.
//!
//! `tests/status/` has a folder for each case: `objects.yaml`, which says why in its
//! first line, and `expected.txt` with what is written, what is said and how it ends.
//! `UPDATE_CASES=1` writes what comes out now; read the difference as you would read
//! code. What is asked of a cluster is shown by a kubectl that answers from files.

use std::fs;
use std::path::{Path, PathBuf};

use crate::program::{Folder, Run, run_in};
use serde_json::{Value, json};

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/status");
    let entries = fs::read_dir(folder).unwrap();
    let mut cases: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    assert!(!cases.is_empty());
    cases
}

#[test]
fn golden_actors_have_their_expected_trees() {
    for case in cases() {
        let run = run_in(&case, "status -f objects.yaml");
        let found = format!("{}{}exit status {}\n", run.output, run.stderr, run.code);
        let expected = case.join("expected.txt");
        if std::env::var_os("UPDATE_CASES").is_some() {
            fs::write(&expected, &found).unwrap();
        }
        let expected = fs::read_to_string(&expected).unwrap_or_default();
        assert_eq!(found, expected, "{}", case.display());
    }
}

#[test]
fn json_output_is_a_list() {
    let actor = "{apiVersion: asya.sh/v1alpha1, kind: AsyncActor, metadata: {name: a, namespace: prod}, status: \
        {flavors: [], queue: {name: q, queued: 2, deadLettered: 1}, conditions: [{type: ActorReady, status: 'True', reason: Napping, message: idle}]}}";
    let run = Folder::with(&[]).run_with("status -f - -o json", actor);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let found: Value = serde_json::from_str(&run.output).unwrap();
    assert_eq!(
        found,
        json!([{"namespace": "prod", "name": "a", "status": "Napping", "ready": true, "message": "idle",
            "dependsOn": [{"name": "flavors", "ready": null, "summary": "none"},
                {"name": "queue", "ready": null, "summary": "q: 2 queued, 1 dead-lettered"}],
            "queue": {"name": "q", "queued": 2, "deadLettered": 1}}])
    );
}

fn with_kubectl(script: &str, arguments: &str) -> (Run, String) {
    Folder::with(&[]).run_with_kubectl(script, arguments)
}

/// Writes down how it is called, and answers with an actor, then with its Queue.
const ANSWERS: &str = r#"
echo "$*" >> calls
case "$*" in
*asyncactors*) echo '{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "asya.sh/v1alpha1",
  "kind": "AsyncActor", "metadata": {"name": "one", "namespace": "prod"},
  "spec": {"crossplane": {"resourceRefs": [{"kind": "Queue"}, {"kind": "ConfigMap"}, {"kind": "Deployment"}]}},
  "status": {"conditions": [{"type": "TransportReady", "status": "False", "reason": "TransportError"},
    {"type": "ActorReady", "status": "False", "reason": "TransportError", "message": "no queue"}]}}]}' ;;
*) echo '{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "provider.asya.sh/v1alpha1", "kind": "Queue",
  "metadata": {"name": "one", "namespace": "prod", "labels": {"crossplane.io/composite": "one"}},
  "status": {"atProvider": {"name": "asya-one", "queued": 7, "processing": 0, "deadLettered": 2},
    "conditions": [{"type": "Synced", "status": "False", "reason": "ReconcileError", "message": "no broker"}]}}]}' ;;
esac
"#;

#[test]
fn kubectl_reads_actors_and_their_composed_kinds() {
    let of_composed = "get queue.provider.asya.sh,deployment.apps --selector app.kubernetes.io/part-of=asya --output json";
    for (arguments, names, scope) in [
        ("", "", ""),
        ("one -n prod", " one", " --namespace prod"),
        ("-A --context live", "", " --all-namespaces --context live"),
    ] {
        let (run, calls) = with_kubectl(ANSWERS, &format!("status {arguments}"));
        assert_eq!(run.code, 1, "{}", run.stderr);
        assert_eq!(
            run.output,
            "prod/one  TransportError: no queue\n\
             └─ queue  asya-one: 7 queued, 0 processing, 2 dead-lettered; TransportError\n   \
                └─ Queue one: Synced=False, ReconcileError: no broker\n"
        );
        assert_eq!(
            calls,
            format!("get asyncactors.asya.sh{names} --output json{scope}\n{of_composed}{scope}\n")
        );
    }
}

#[test]
fn watch_prints_changes_until_the_cluster_fails() {
    // The state is the same twice, then another, and then nobody answers.
    let script = r#"
echo x >> calls
number=$(wc -l < calls)
if [ "$number" -gt 3 ]; then echo "the connection was refused" >&2; exit 1; fi
word=Creating; if [ "$number" -gt 2 ]; then word=Running; fi
echo '{"apiVersion": "asya.sh/v1alpha1", "kind": "AsyncActor", "metadata": {"name": "one", "namespace": "prod"},
  "status": {"conditions": [{"type": "ActorReady", "status": "True", "reason": "'$word'"}]}}'
"#;
    let (run, _) = with_kubectl(script, "status --watch");
    assert_eq!(run.output, "prod/one  Creating\n\nprod/one  Running\n");
    assert_eq!(run.code, 2);
    assert_eq!(
        run.stderr,
        "error: kubectl get asyncactors.asya.sh: the connection was refused\n\
         hint: kubectl config get-contexts shows the contexts, and --context selects one\n"
    );
}

#[test]
fn an_error_of_kubectl_has_a_hint() {
    for (problem, hint) in [
        (
            "error: the server doesn't have a resource type \"asyncactors\"",
            "this cluster lacks a kind that actors need: asya install prints what it needs",
        ),
        (
            "Error from server (NotFound): asyncactors.asya.sh \"a\" not found",
            "-n selects another namespace",
        ),
        (
            "Error from server (Forbidden): asyncactors.asya.sh is forbidden",
            "kubectl auth can-i --list shows what you may read",
        ),
    ] {
        let script = format!("echo \"{}\" >&2; exit 1", problem.replace('"', "\\\""));
        let (run, _) = with_kubectl(&script, "status");
        assert_eq!((run.code, run.output.as_str()), (2, ""), "{problem}");
        let expected = format!("error: kubectl get asyncactors.asya.sh: {problem}\nhint: {hint}\n");
        assert_eq!(run.stderr, expected);
    }
}

#[test]
fn a_missing_kubectl_is_reported() {
    let (run, _) = with_kubectl("echo nonsense", "status");
    assert_eq!((run.code, run.output.as_str()), (2, ""));
    assert!(
        run.stderr.contains("its answer is not JSON"),
        "{}",
        run.stderr
    );
    let folder = Folder::with(&[]);
    let output = folder
        .command("status")
        .env("PATH", folder.path())
        .output()
        .unwrap();
    let run = Run::of(output);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.starts_with("error: cannot run kubectl: "),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr
            .contains("hint: a cluster is read through kubectl"),
        "{}",
        run.stderr
    );
    let run = Folder::with(&[]).run_with("status -f -", "");
    assert_eq!(
        (run.code, run.stderr.as_str()),
        (2, "error: there are no actors\n")
    );
}
