//! `asya send`, `asya dead-letters` and `asya logs`, of a cluster that a kubectl shows which answers
//! from files.

use serde_json::{Value, json};

use crate::program::{Folder, Run};

/// Answers by kind, writes its calls down, and keeps what it was given to create.
const KUBECTL: &str = r#"echo "$@" >> calls
case "$1 $2" in
"get asyncactors.asya.sh") cat actor.json 2>/dev/null || { echo 'Error from server (NotFound): asyncactors.asya.sh "a" not found' >&2; exit 1; } ;;
"get deployments.apps,statefulsets.apps") cat workloads.json ;;
"get pods") cat pods.json ;;
"get job") cat job.json ;;
"create "*) cat > created.json; [ -e forbidden ] && { echo 'Error from server (Forbidden): jobs.batch is forbidden' >&2; exit 1; }; echo '{"metadata": {"name": "asya-send-x1"}}' ;;
"delete job") ;;
"logs job/asya-send-x1") cat output ;;
"logs "*) cat "$2-${3#--container=}.log" ;;
*) exit 64 ;;
esac
"#;

fn list(items: &[Value]) -> String {
    json!({"kind": "List", "items": items}).to_string()
}

fn workload(image: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "namespace": "prod"},
        "spec": {"template": {"spec": {"serviceAccountName": "sa", "containers": [
            {"name": "asya-runtime", "image": "app:1"},
            {"name": "asya-sidecar", "image": image, "env": [{"name": "PASSWORD",
                "valueFrom": {"secretKeyRef": {"name": "rabbitmq", "key": "password"}}}]}]}}}})
}

fn pod(name: &str, container: &Value) -> Value {
    json!({"kind": "Pod", "metadata": {"name": name, "namespace": "prod"},
        "spec": {"containers": [{"name": "asya-runtime"}, {"name": "asya-sidecar"}]},
        "status": {"phase": "Pending", "containerStatuses": [
            {"name": "asya-sidecar", "state": container}, {"name": "asya-runtime", "state": {"running": {}}}]}})
}

/// A cluster with actor `a`, whose Job ends so and has this output.
fn cluster(condition: &str, output: &str) -> Folder {
    let folder = Folder::with(&[]);
    let actor = json!({"kind": "AsyncActor", "metadata": {"name": "a"}, "spec": {}});
    folder.add("actor.json", &actor.to_string());
    folder.add(
        "workloads.json",
        &list(&[workload("r.example/asya-sidecar:1")]),
    );
    let conditions =
        json!([{"type": condition, "status": "True", "message": "BackoffLimitExceeded"}]);
    folder.add(
        "job.json",
        &json!({"status": {"conditions": conditions}}).to_string(),
    );
    folder.add("pods.json", &list(&[]));
    folder.add("output", output);
    folder
}

fn run(folder: &Folder, arguments: &str) -> (Run, String) {
    folder.run_with_kubectl(KUBECTL, arguments)
}

#[test]
fn a_message_is_sent_by_a_job_with_the_wiring_of_the_sidecar() {
    let folder = cluster("Complete", "m-7\n");
    let (run, calls) = run(&folder, "send a {\"x\":1} -n prod --next b,c --context lab");
    assert_eq!(
        (run.code, run.output.as_str()),
        (0, "m-7\n"),
        "{}",
        run.stderr
    );
    let created = std::fs::read_to_string(folder.path().join("created.json")).unwrap();
    let job: Value = serde_json::from_str(&created).unwrap();
    let pod = &job["spec"]["template"]["spec"];
    let expected = json!(["send", "--next=b,c", "--", "a", "{\"x\":1}"]);
    assert_eq!(pod["containers"][0]["args"], expected);
    assert_eq!(pod["serviceAccountName"], "sa");
    assert_eq!(pod["containers"][0]["image"], "r.example/asya-sidecar:1");
    assert!(!created.contains("app:1"), "{created}");
    let last = calls.lines().last().unwrap();
    let deleted =
        "delete job asya-send-x1 --wait=false --ignore-not-found --namespace prod --context lab";
    assert_eq!(last, deleted);
    assert!(
        calls.lines().all(|call| call.contains("--context lab")),
        "{calls}"
    );
}

#[test]
fn a_dry_run_prints_the_job_and_creates_none() {
    let folder = cluster("Complete", "");
    let (run, calls) = run(&folder, "send a 1 --dry-run");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(run.documents()[0]["kind"], "Job");
    assert!(!calls.contains("create"), "{calls}");
}

#[test]
fn dead_letters_are_listed_shown_and_changed() {
    let letter = r#"{"id":"m","payload":{},"status":{"attempt":2,"updated_at":"2026-01-01T00:00:00Z","error":{"type":"KeyError","message":"x"}}}"#;
    let cases = [
        (
            "list a",
            "ID  SINCE                 ATTEMPTS  LAST ERROR\nm   2026-01-01T00:00:00Z  2         KeyError: x\n",
        ),
        (
            "peek a --id m",
            &format!("{}\n", serde_json::from_str::<Value>(letter).unwrap()),
        ),
    ];
    for (arguments, expected) in cases {
        let folder = cluster("Complete", &format!("{letter}\n"));
        let (run, _) = run(&folder, &format!("dead-letters {arguments}"));
        assert_eq!(
            (run.code, run.output.as_str()),
            (0, expected),
            "{arguments}: {}",
            run.stderr
        );
    }
    for (arguments, expected) in [
        ("requeue a --all", json!(["requeue", "--all"])),
        ("drop a --id m --id n", json!(["drop", "--id=m", "--id=n"])),
    ] {
        let folder = cluster("Complete", "m\n");
        let (run, _) = run(&folder, &format!("dead-letters {arguments} -o json"));
        assert_eq!(
            (run.code, run.output.as_str()),
            (0, "[\n  \"m\"\n]\n"),
            "{}",
            run.stderr
        );
        let created = std::fs::read_to_string(folder.path().join("created.json")).unwrap();
        let job: Value = serde_json::from_str(&created).unwrap();
        assert_eq!(
            job["spec"]["template"]["spec"]["containers"][0]["args"],
            expected
        );
    }
    let folder = cluster("Complete", "");
    assert_eq!(
        run(&folder, "dead-letters list a").0.output,
        "no dead letters\n"
    );
    assert_eq!(
        run(&folder, "dead-letters drop a").0.code,
        2,
        "neither --all nor --id"
    );
}

/// Failure in a cluster.
struct Case {
    reason: &'static str,
    change: Box<dyn Fn(&Folder)>,
    code: i32,
    message: &'static str,
}

#[test]
fn what_goes_wrong_is_an_error_with_a_remedy_and_leaves_no_job() {
    let waiting = json!({"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}});
    let cases = [
        Case {
            reason: "no such actor",
            change: Box::new(|folder| {
                std::fs::remove_file(folder.path().join("actor.json")).unwrap();
            }),
            code: 2,
            message: "(NotFound)",
        },
        Case {
            reason: "no workload",
            change: Box::new(|folder| folder.add("workloads.json", &list(&[]))),
            code: 1,
            message: "has no workload with container \"asya-sidecar\"",
        },
        Case {
            reason: "another's sidecar",
            change: Box::new(|folder| {
                folder.add("workloads.json", &list(&[workload("go-sidecar:2")]));
            }),
            code: 1,
            message: "is not named \"asya-sidecar\"",
        },
        Case {
            reason: "no rights",
            change: Box::new(|folder| folder.add("forbidden", "")),
            code: 2,
            message: "kubectl auth can-i create jobs",
        },
        Case {
            reason: "the command fails",
            change: Box::new(|folder| {
                folder.add("output", "queue \"asya-a-dlq\": no such queue\n");
                folder.add(
                    "job.json",
                    &json!({"status": {"conditions": [{"type": "Failed", "status": "True"}]}})
                        .to_string(),
                );
            }),
            code: 1,
            message: "the sidecar's command failed: queue \"asya-a-dlq\": no such queue",
        },
        Case {
            reason: "the image is missing",
            change: Box::new(move |folder| {
                folder.add("job.json", "{}");
                folder.add("pods.json", &list(&[pod("p", &waiting)]));
            }),
            code: 2,
            message: "cannot start: ImagePullBackOff: no such image",
        },
    ];
    for case in cases {
        let folder = cluster("Complete", "");
        (case.change)(&folder);
        let (run, calls) = run(&folder, "send a 1");
        let reason = case.reason;
        assert_eq!(run.code, case.code, "{reason}: {}", run.stderr);
        assert!(
            run.stderr.contains(case.message),
            "{reason}: {}",
            run.stderr
        );
        assert!(run.stderr.contains("hint: "), "{reason}: {}", run.stderr);
        let is_created = calls.contains("create ") && reason != "no rights";
        assert_eq!(
            calls.contains("delete job"),
            is_created,
            "{reason}: {calls}"
        );
    }
    let folder = cluster("Complete", "");
    let (run, calls) = run(&folder, "send a {no");
    assert_eq!(
        (run.code, calls.as_str()),
        (2, ""),
        "a payload that is no JSON asks nobody"
    );
    assert!(
        run.stderr.contains("the payload is no JSON"),
        "{}",
        run.stderr
    );
}

#[test]
fn logs_of_all_pods_are_one_log_with_their_sources() {
    let folder = cluster("Complete", "");
    let running = json!({"running": {}});
    folder.add(
        "pods.json",
        &list(&[pod("p1", &running), pod("p2", &running)]),
    );
    folder.add(
        "p1-asya-runtime.log",
        "2026-01-01T00:00:01.000000000Z one\n2026-01-01T00:00:04.000000000Z four\n",
    );
    folder.add(
        "p1-asya-sidecar.log",
        "2026-01-01T00:00:02.000000000Z two\n",
    );
    folder.add(
        "p2-asya-runtime.log",
        "2026-01-01T00:00:03.000000000Z three\n",
    );
    folder.add("p2-asya-sidecar.log", "");
    let (run, calls) = run(&folder, "logs a -n prod --since 5m --tail 10");
    assert_eq!(
        run.output, "p1 runtime | one\np1 sidecar | two\np2 runtime | three\np1 runtime | four\n",
        "{}",
        run.stderr
    );
    assert!(
        calls.contains("get pods --selector asya.sh/actor=a"),
        "{calls}"
    );
    assert!(
        calls.contains(
            "logs p1 --container=asya-runtime --namespace=prod --timestamps --since=300s --tail=10"
        ),
        "{calls}"
    );
    let (run, _) = folder.run_with_kubectl(KUBECTL, "logs a --container sidecar -o json");
    let line: Value = serde_json::from_str(run.output.trim()).unwrap();
    let expected = json!({"pod": "p1", "container": "asya-sidecar",
        "time": "2026-01-01T00:00:02.000000000Z", "line": "two"});
    assert_eq!(line, expected);
    let (run, _) = folder.run_with_kubectl(KUBECTL, "logs a --container nothing");
    assert_eq!(run.code, 1);
    assert!(
        run.stderr.contains("has no such container with a log"),
        "{}",
        run.stderr
    );
}
