//! Keys of AWS and a password, planted in the environment of the program and in an actor: no command writes
//! them, except `render`, whose output is the object that needs them.

use std::process::Stdio;

use crate::program::{ACTOR, Folder, PLATFORM, Run};

const PLANTED: [(&str, &str); 4] = [
    ("AWS_ACCESS_KEY_ID", "AKIAPLANTED"),
    ("AWS_SECRET_ACCESS_KEY", "plantedSecretKey"),
    ("AWS_SESSION_TOKEN", "plantedSessionToken"),
    ("ASYA_RABBITMQ_URL", "amqp://u:plantedPassword@mq"),
];
/// Parts of the values, so that one in another form is found too.
const PARTS: [&str; 4] = [
    "AKIAPLANTED",
    "plantedSecretKey",
    "plantedSessionToken",
    "plantedPassword",
];

const CASE: &str = "
apiVersion: test.asya.sh/v1alpha1
kind: ActorTest
name: keys
actor: {image: app:1, handler: a.b, ENVIRONMENT}
platform: platform.yaml
expect: {error: something}
";
const LIVE: &str = "
apiVersion: asya.sh/v1alpha1
kind: AsyncActor
metadata: {name: one, namespace: prod}
spec: {image: i, handler: a.b, ENVIRONMENT}
status: {status: Running, conditions: [{type: ActorReady, status: \"True\", reason: Running}]}
";
const LIVE_JSON: &str = r#"{"kind": "AsyncActor", "metadata": {"name": "a", "namespace": "prod"},
    "spec": {"image": "i", "handler": "a.b", "env": [ENTRIES]}}"#;
const WORKLOADS: &str = r#"{"kind": "List", "items": [{"apiVersion": "apps/v1", "kind": "Deployment",
    "metadata": {"name": "a", "namespace": "prod"}, "spec": {"template": {"spec": {"containers": [
    {"name": "asya-runtime", "image": "app:1", "env": [ENTRIES]},
    {"name": "asya-sidecar", "image": "r/asya-sidecar:1", "env": [ENTRIES]}]}}}}]}"#;
const KUBECTL: &str = r#"case "$1 $2" in
"get asyncactors.asya.sh") cat actor.json ;;
"get deployments.apps,statefulsets.apps") cat workloads.json ;;
"get job") echo '{"status": {"conditions": [{"type": "Complete", "status": "True"}]}}' ;;
"create "*) echo '{"metadata": {"name": "asya-send-x1"}}' ;;
"logs "*) echo '{"id": "1", "payload": 1}' ;;
esac
"#;
const HANDLER: &str = "def handle(x):\n    raise ValueError('no')\n";

/// `env: [...]` with the planted values, and its entries.
fn environment() -> (String, String) {
    let entries =
        PLANTED.map(|(name, value)| format!("{{\"name\": \"{name}\", \"value\": \"{value}\"}}"));
    let entries = entries.join(", ");
    (format!("env: [{entries}]"), entries)
}

fn folder() -> Folder {
    let (variables, entries) = environment();
    let with = |text: &str| text.replace("handler:", &format!("{variables}, handler:"));
    let actor = with(ACTOR);
    Folder::with(&[
        ("actor.yaml", &actor),
        ("new.yaml", &actor.replace("planted", "other-planted")),
        // Refused: a variable twice, an unknown field, a value of another type.
        ("twice.yaml", &with(&actor)),
        ("wrong.yaml", &actor.replace("image:", "imag: x, image:")),
        (
            "type.yaml",
            &actor.replace("\"value\": ", "\"value\": [1], \"valu\": "),
        ),
        ("platform.yaml", PLATFORM),
        ("case.yaml", &CASE.replace("ENVIRONMENT", &variables)),
        ("live.yaml", &LIVE.replace("ENVIRONMENT", &variables)),
        ("it.yaml", &actor.replace("app.handle", "it.handle")),
        ("it.py", HANDLER),
        ("actor.json", &LIVE_JSON.replace("ENTRIES", &entries)),
        ("workloads.json", &WORKLOADS.replace("ENTRIES", &entries)),
    ])
}

fn check(arguments: &str, run: &Run) {
    let written = [&run.output, &run.stderr, &run.summary];
    assert!(written.iter().any(|text| !text.is_empty()), "{arguments}");
    for part in PARTS {
        for text in written {
            assert!(!text.contains(part), "{arguments}: {part}: {text}");
        }
    }
}

#[test]
fn planted_keys_are_written_by_no_command() {
    let folder = folder();
    for arguments in [
        "explain actor.yaml -e platform.yaml",
        "explain actor.yaml -e platform.yaml -o json",
        "explain actor.yaml -e platform.yaml -o yaml",
        "explain twice.yaml -e platform.yaml",
        "explain type.yaml -e platform.yaml",
        "render twice.yaml -e platform.yaml",
        "render type.yaml -e platform.yaml",
        "lint actor.yaml twice.yaml wrong.yaml type.yaml platform.yaml",
        "lint actor.yaml twice.yaml wrong.yaml type.yaml platform.yaml -o json",
        "lint actor.yaml twice.yaml wrong.yaml type.yaml platform.yaml -o sarif",
        "diff platform.yaml --old actor.yaml --new new.yaml",
        "diff platform.yaml --old actor.yaml --new new.yaml -o json",
        "diff platform.yaml --old actor.yaml --new new.yaml -o diff",
        "diff platform.yaml --old platform.yaml --new actor.yaml -o diff",
        "diff platform.yaml --old actor.yaml --new twice.yaml",
        "test case.yaml",
        "test case.yaml -o json",
        "test case.yaml -o junit",
        "status -f live.yaml",
        "status -f live.yaml -o json",
        "graph actor.yaml platform.yaml",
    ] {
        let mut command = folder.command(arguments);
        command.envs(PLANTED).stdin(Stdio::null());
        check(arguments, &Run::of(command.output().unwrap()));
    }
}

#[test]
fn planted_keys_are_written_by_no_command_for_a_cluster() {
    let folder = folder();
    for arguments in [
        "logs a",
        "send a 1",
        "dead-letters list a",
        "dead-letters peek a",
    ] {
        let (run, _) = folder.run_with_kubectl(KUBECTL, arguments);
        check(arguments, &run);
    }
}

#[test]
fn planted_keys_are_written_by_no_local_run() {
    let folder = folder();
    for form in ["text", "json", "results"] {
        let arguments = format!("run it.yaml --send 1 -o {form}");
        let mut command = folder.command(&arguments);
        command.envs(PLANTED).stdin(Stdio::null());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        check(&arguments, &Run::of(command.output().unwrap()));
    }
}
