//! Control characters in objects, logs and messages: no command writes them.

use std::process::Stdio;

use serde_json::Value;

use crate::program::{ACTOR, Folder, PLATFORM, Run};

/// Clears the screen, sets the title, overwrites the line, reverses the text, and begins a line of its own,
/// in YAML.
const HOSTILE: &str =
    r"\e[2J\e]0;owned\a\e[31mred\rover\b\x9b2J\u202ereversed\u2066\u061c\nFORGED\tprod/x Running\n";
/// The same characters in the source of a program or in JSON.
const ESCAPED: &str = r"\u001b[2J\u001b]0;owned\u0007\u001b[31mred\rover\u0008\u009b2J\u202ereversed\u2066\u061c\nFORGED\tprod/x Running\n";

/// A live actor whose Queue has such a condition.
const LIVE: &str = r#"
apiVersion: asya.sh/v1alpha1
kind: AsyncActor
metadata: {name: NAME, namespace: prod}
spec: {image: i, handler: a.b}
status:
  flavors: []
  status: TransportError
  message: "HOSTILE"
  conditions:
  - {type: TransportReady, status: "False", reason: TransportError, message: "HOSTILE"}
  - {type: ActorReady, status: "False", reason: TransportError, message: "HOSTILE"}
---
apiVersion: provider.asya.sh/v1alpha1
kind: Queue
metadata: {name: one, namespace: prod, labels: {crossplane.io/composite: one}}
status: {conditions: [{type: Synced, status: "False", reason: ReconcileError, message: "the broker: HOSTILE"}]}
"#;
/// A case of `asya test` that fails.
const CASE: &str = r#"
apiVersion: test.asya.sh/v1alpha1
kind: ActorTest
name: "HOSTILE"
actor: {image: "app:1", handler: a.b, podLabels: {x: "HOSTILE"}}
platform: platform.yaml
expect: {error: something}
"#;
const HANDLER: &str =
    "def handle(x):\n    print(\"HOSTILE\", flush=True)\n    return {\"x\": \"HOSTILE\"}\n";
/// A message whose route has an actor of that name.
const MESSAGE: &str =
    r#"{"id": "1", "route": {"prev": [], "curr": "one", "next": ["HOSTILE"]}, "payload": 1}"#;
const DEAD_LETTER: &str = r#"{"id": "HOSTILE", "payload": "HOSTILE", "status": {"attempt": 2, "error": {"type": "E", "message": "HOSTILE"}}}"#;

/// Answers for actor `a` with one pod, whose logs and dead letters are files.
const KUBECTL: &str = r#"case "$1 $2" in
"get asyncactors.asya.sh") cat actor.json ;;
"get pods") cat pods.json ;;
"get deployments.apps,statefulsets.apps") cat workloads.json ;;
"get job") echo '{"status": {"conditions": [{"type": "Complete", "status": "True"}]}}' ;;
"create "*) echo '{"metadata": {"name": "asya-send-x1"}}' ;;
"logs job/asya-send-x1") cat letters ;;
"logs "*) cat log; cat warning >&2 ;;
esac
"#;
const LIVE_ACTOR: &str = r#"{"kind": "AsyncActor", "metadata": {"name": "a"}, "spec": {}}"#;
const PODS: &str = r#"{"kind": "List", "items": [{"kind": "Pod", "metadata": {"name": "p", "namespace": "prod"},
    "spec": {"containers": [{"name": "asya-runtime"}]},
    "status": {"containerStatuses": [{"name": "asya-runtime", "state": {"running": {}}}]}}]}"#;
const WORKLOADS: &str = r#"{"kind": "List", "items": [{"apiVersion": "apps/v1", "kind": "Deployment",
    "metadata": {"name": "a", "namespace": "prod"}, "spec": {"template": {"spec": {"containers": [
    {"name": "asya-runtime", "image": "app:1"}, {"name": "asya-sidecar", "image": "r/asya-sidecar:1"}]}}}}]}"#;

fn folder() -> Folder {
    let hostile = |text: &str| text.replace("HOSTILE", HOSTILE);
    let escaped = |text: &str| text.replace("HOSTILE", ESCAPED);
    let actor = |handler: &str| {
        let actor = ACTOR.replace("handler:", "podLabels: {x: \"HOSTILE\"}, handler:");
        hostile(&actor.replace("app.handle", handler))
    };
    let bidi = ACTOR.replace("handler:", "podLabels: {x: \"a\\u202eb\"}, handler:");
    Folder::with(&[
        ("live.yaml", &hostile(&LIVE.replace("NAME", "one"))),
        ("named.yaml", &hostile(&LIVE.replace("NAME", "\"HOSTILE\""))),
        ("actor.yaml", &actor("app.handle")),
        ("new.yaml", &actor("app.other")),
        (
            "wrong.yaml",
            &hostile(&ACTOR.replace("handler:", "\"HOSTILE\": 1, handler:")),
        ),
        ("bidi.yaml", &bidi),
        ("platform.yaml", PLATFORM),
        ("case.yaml", &hostile(CASE)),
        ("message.jsonl", &escaped(MESSAGE)),
        ("it.yaml", &ACTOR.replace("app.handle", "it.handle")),
        ("it.py", &escaped(HANDLER)),
        ("actor.json", LIVE_ACTOR),
        ("pods.json", PODS),
        ("workloads.json", WORKLOADS),
        ("letters", &format!("{}\n", escaped(DEAD_LETTER))),
        (
            "log",
            &format!("2026-01-01T00:00:01.000000000Z {}\n", raw()),
        ),
        (
            "warning",
            &format!("Warning: {}\n", raw().replace('\n', " ")),
        ),
    ])
}

/// The characters as they are.
fn raw() -> String {
    serde_json::from_str(&format!("\"{ESCAPED}\"")).unwrap()
}

fn is_hidden(letter: char) -> bool {
    !matches!(letter, '\n' | '\t') && actor::hidden::is_hidden(letter)
}

/// Asserts that a command wrote `expected`, and nothing hidden.
fn check(arguments: &str, run: &Run, expected: &str) {
    for text in [&run.output, &run.stderr] {
        assert!(!text.contains(is_hidden), "{arguments}: {text:?}");
        let forged = text.lines().find(|line| line.starts_with("FORGED"));
        assert_eq!(forged, None, "{arguments}: {text}");
    }
    let both = format!("{}{}", run.output, run.stderr);
    assert!(both.contains(expected), "{arguments}: {both}");
}

#[test]
fn control_characters_of_objects_are_escaped_by_every_command() {
    let folder = folder();
    let clear = "\\u001b[2J\\u001b]0;owned\\u0007";
    let colour = "\\u001b[31mred\\u000dover\\u0008\\u009b2J\\u202ereversed\\u2066";
    let cases = [
        (
            "status -f live.yaml",
            "the broker: \\u001b[2J\\u001b]0;owned\\u0007",
        ),
        ("status -f named.yaml", colour),
        ("status -f named.yaml -o table", colour),
        ("top -f named.yaml", colour),
        (
            "graph bidi.yaml platform.yaml --messages message.jsonl",
            colour,
        ),
        (
            "graph bidi.yaml platform.yaml --messages message.jsonl -o mermaid",
            colour,
        ),
        (
            "graph bidi.yaml platform.yaml --messages message.jsonl -o dot",
            "\\\\u202ereversed",
        ),
        ("explain actor.yaml -e platform.yaml", clear),
        ("explain bidi.yaml -e platform.yaml -o yaml", "a\\u202eb"),
        ("render bidi.yaml -e platform.yaml", "a\\u202eb"),
        ("test case.yaml", colour),
        ("test case.yaml -o junit", "&#x202e;reversed"),
        (
            "diff platform.yaml --old actor.yaml --new new.yaml",
            "app.other",
        ),
        (
            "diff platform.yaml --old live.yaml --new wrong.yaml -o diff",
            "",
        ),
        (
            "diff platform.yaml --old platform.yaml --new actor.yaml",
            "",
        ),
        ("lint wrong.yaml platform.yaml", "u{1b}[2J"),
        ("lint wrong.yaml platform.yaml -o github", ""),
        ("render wrong.yaml -e platform.yaml", ""),
    ];
    for (arguments, expected) in cases {
        check(arguments, &folder.run(arguments), expected);
    }
}

#[test]
fn json_has_the_characters_as_escapes() {
    let folder = folder();
    for arguments in [
        "status -f named.yaml -o json",
        "top -f named.yaml -o json",
        "graph bidi.yaml platform.yaml --messages message.jsonl -o json",
        "explain actor.yaml -e platform.yaml -o json",
        "render actor.yaml -e platform.yaml -o json",
        "test case.yaml -o json",
        "diff platform.yaml --old bidi.yaml --new actor.yaml -o json",
        "lint wrong.yaml platform.yaml -o json",
        "lint wrong.yaml platform.yaml -o sarif",
    ] {
        let run = folder.run(arguments);
        check(arguments, &run, "");
        serde_json::from_str::<Value>(&run.output)
            .unwrap_or_else(|error| panic!("{arguments}: {error}: {}", run.output));
    }
    let run = folder.run("status -f named.yaml -o json");
    let states: Value = serde_json::from_str(&run.output).unwrap();
    assert_eq!(states[0]["message"], raw(), "the same value");
}

#[test]
fn control_characters_of_logs_and_dead_letters_are_escaped() {
    let folder = folder();
    let cases = [
        ("logs a", "\\u001b[31mred"),
        ("logs a -o json", "\\u001b[31mred"),
        ("dead-letters list a", "\\u001b[31mred"),
        ("dead-letters list a -o json", "\\u202ereversed"),
        ("dead-letters peek a", "\\u202ereversed"),
        ("dead-letters requeue a --all", "\\u202ereversed"),
    ];
    for (arguments, expected) in cases {
        let (run, _) = folder.run_with_kubectl(KUBECTL, arguments);
        assert_eq!(run.code, 0, "{arguments}: {}", run.stderr);
        check(arguments, &run, expected);
    }
}

#[test]
fn control_characters_of_handlers_are_escaped() {
    let folder = folder();
    for form in ["text", "json", "results"] {
        let arguments = format!("run it.yaml --send 1 -o {form}");
        let mut command = folder.command(&arguments);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        let run = Run::of(command.stdin(Stdio::null()).output().unwrap());
        assert_eq!(run.code, 0, "{arguments}: {}", run.stderr);
        check(&arguments, &run, "\\u202ereversed");
    }
}
