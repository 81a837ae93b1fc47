//! Start of actors in `asya run`: handlers that are not ready, actors without messages, no message.

use std::io::{BufRead as _, BufReader};
use std::process::{ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::program::{FOREIGN, Folder};
use crate::run::{actor, command, folder, run};

/// A handler that is ready once the file `up` exists.
const CHECKED: &str = "import os
class It:
    def __call__(self, payload):
        return payload
    def asya_check_ready(self):
        if not os.path.exists('up'):
            raise RuntimeError('no target')
handle = It()";

/// The first event of that kind. The end of the output is a failure.
fn event(output: &mut BufReader<ChildStdout>, kind: &str) -> Value {
    loop {
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let event: Value = serde_json::from_str(&line).unwrap();
        if event["event"] == kind {
            return event;
        }
    }
}

#[test]
fn a_handler_that_is_not_ready_is_reported_with_its_reason() {
    let cases = [
        (
            "import time\ntime.sleep(600)",
            "the handler is loading",
            "a long import",
        ),
        (CHECKED, "not ready: no target", "a check that fails"),
    ];
    for (module, reason, why) in cases {
        let folder = folder(module, "");
        let mut child = command(&folder, &["it.yaml", "--send", "1", "-o", "json"])
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let expected = json!({"event": "waiting", "actor": "it", "reason": reason});
        assert_eq!(event(&mut output, "waiting"), expected, "{why}");
        let id = child.id().to_string();
        Command::new("kill")
            .args(["-s", "TERM", &id])
            .status()
            .unwrap();
        let status = child.wait().unwrap();
        assert_eq!(status.code(), Some(1), "{why}: a message has no result");
    }
}

#[test]
fn a_handler_that_becomes_ready_gets_the_messages() {
    let folder = folder(CHECKED, "");
    let mut child = command(&folder, &["it.yaml", "--send", "1", "-o", "json"])
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    event(&mut output, "waiting");
    folder.add("up", "");
    assert_eq!(event(&mut output, "result")["payload"], 1);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn waiting_is_a_note_where_only_results_are_printed() {
    let folder = folder(CHECKED, "");
    let mut command = command(&folder, &["it.yaml", "--send", "1", "-o", "results"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    errors.read_line(&mut line).unwrap();
    assert_eq!(line, "note: it: not ready: no target\n");
    folder.add("up", "");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn input_without_a_message_is_an_error() {
    let folder = folder("def handle(payload):\n    return payload", "");
    let ran = run(&folder, &["it.yaml"]);
    assert_eq!(ran.code, 2, "{}", ran.output);
    assert_eq!(
        ran.stderr,
        "error: there is no message\n\
         hint: give messages with --send, or as lines of JSON on standard input\n"
    );
}

#[test]
fn steps_of_other_vendors_are_skipped() {
    let folder = folder("def handle(payload):\n    return payload", "");
    folder.add("composition.yaml", FOREIGN);
    let ran = run(
        &folder,
        &[
            "it.yaml",
            "composition.yaml",
            "--send",
            "1",
            "-o",
            "results",
        ],
    );
    assert_eq!(
        (ran.code, ran.output.as_str()),
        (0, "1\n"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr
            .starts_with("warning: step \"foreign\" is skipped"),
        "{}",
        ran.stderr
    );
}

/// Actors of which only `first` can start without more input.
fn several() -> Folder {
    let secret = ", env: [{name: KEY, valueFrom: {secretKeyRef: {name: s, key: k}}}]";
    Folder::with(&[
        ("first.yaml", &actor("first", "")),
        ("secret.yaml", &actor("secret", secret)),
        ("broken.yaml", &actor("broken", "")),
        (
            "first.py",
            "def handle(payload):\n    if payload:\n        \
             yield 'SET', '.route.next', [payload]\n    yield payload",
        ),
        ("secret.py", "def handle(payload):\n    return 'secret'"),
        ("broken.py", "import nothing_like_it"),
    ])
}

#[test]
fn an_actor_starts_when_the_first_message_for_it_arrives() {
    let cases: [(&str, &[&str], i32, &str, &str); 5] = [
        ("\"\"", &[], 0, "\"\"\n", ""),
        (
            "\"secret\"",
            &[],
            2,
            "",
            "error: secret.yaml: actor \"secret\": variable KEY has no value",
        ),
        ("\"secret\"", &["--env", "KEY=x"], 0, "\"secret\"\n", ""),
        (
            "\"broken\"",
            &[],
            2,
            "",
            "error: actor \"broken\": handler \"broken.handle\" does not load",
        ),
        (
            "{\"route\": {\"curr\": \"first\"}, \"payload\": \"\"}",
            &[],
            0,
            "\"\"\n",
            "",
        ),
    ];
    let folder = several();
    for (send, more, code, output, stderr) in cases {
        let files = ["first.yaml", "secret.yaml", "broken.yaml"];
        let arguments = ["--route", "first", "--send", send, "-o", "results"];
        let ran = run(&folder, &[&files[..], &arguments, more].concat());
        let found = (ran.code, ran.output.as_str());
        assert_eq!(found, (code, output), "{send}: {}", ran.stderr);
        assert!(ran.stderr.contains(stderr), "{send}: {}", ran.stderr);
    }
}

#[test]
fn only_actors_with_messages_start() {
    let folder = several();
    let files = ["first.yaml", "secret.yaml", "broken.yaml"];
    let envelope = r#"{"route": {"curr": "first"}, "payload": ""}"#;
    let ran = run(
        &folder,
        &[&files[..], &["--send", envelope, "-o", "json"]].concat(),
    );
    let ready: Vec<Value> = ran
        .output
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|event| event["event"] == "ready")
        .map(|event| event["actor"].clone())
        .collect();
    assert_eq!(
        (ran.code, ready),
        (0, vec![json!("first")]),
        "{}",
        ran.stderr
    );
}
