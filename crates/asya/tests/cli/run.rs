//! `asya run` as a program, with handlers in Python.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::program::{Folder, Run};

/// Timeout of everything that a test waits for.
const TIMEOUT: Duration = Duration::from_mins(1);

/// An actor with a handler beside it.
pub(crate) fn actor(name: &str, spec: &str) -> String {
    format!(
        "apiVersion: asya.sh/v1alpha1\nkind: AsyncActor\nmetadata: {{name: {name}}}\n\
         spec: {{image: \"app:1\", handler: {name}.handle{spec}}}\n"
    )
}

const FAST_RETRY: &str = ", resiliency: {retry: {policy: constant, maxAttempts: 2, initialInterval: 10ms, jitter: false}}";

/// A folder with the actor `it`, whose module is this.
pub(crate) fn folder(module: &str, spec: &str) -> Folder {
    Folder::with(&[("it.yaml", &actor("it", spec)), ("it.py", module)])
}

pub(crate) fn command(folder: &Folder, arguments: &[&str]) -> Command {
    let mut command = folder.command("run");
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("PYTHONDONTWRITEBYTECODE", "1").args(arguments);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

pub(crate) fn run(folder: &Folder, arguments: &[&str]) -> Run {
    let mut command = command(folder, arguments);
    Run::of(command.stdin(Stdio::null()).output().unwrap())
}

/// The events of a run with `-o json`.
fn events(run: &Run) -> Vec<Value> {
    let lines = run.output.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn of_kind<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events
        .iter()
        .filter(|event| event["event"] == kind)
        .collect()
}

/// A handler with what comes of one message.
struct Case {
    reason: &'static str,
    module: &'static str,
    send: &'static str,
    arguments: &'static [&'static str],
    /// Payloads of the results.
    results: &'static str,
    /// Types of the errors that went to the sump.
    failures: &'static [&'static str],
    /// Data that the handler streams.
    streamed: &'static str,
}

const CASES: &[Case] = &[
    Case {
        reason: "a function",
        module: "def handle(payload):\n    return {'got': payload}",
        send: r#"{"x": 1}"#,
        arguments: &[],
        results: r#"[{"got": {"x": 1}}]"#,
        failures: &[],
        streamed: "[]",
    },
    Case {
        reason: "a coroutine, and a payload that is a text",
        module: "import asyncio\nasync def handle(payload):\n    await asyncio.sleep(0)\n    return payload.upper()",
        send: r#""text""#,
        arguments: &[],
        results: r#"["TEXT"]"#,
        failures: &[],
        streamed: "[]",
    },
    Case {
        reason: "a generator",
        module: "def handle(payload):\n    yield 1\n    yield None\n    yield 2",
        send: "{}",
        arguments: &[],
        results: "[1, 2]",
        failures: &[],
        streamed: "[]",
    },
    Case {
        reason: "an asynchronous generator that streams",
        module: "async def handle(payload):\n    yield 'FLY', {'token': 'a'}\n    yield 'FLY', 'b'\n    yield 3",
        send: "{}",
        arguments: &[],
        results: "[3]",
        failures: &[],
        streamed: r#"[{"token": "a"}, "b"]"#,
    },
    Case {
        reason: "a method of a class, which is made once",
        module: "class It:\n    def __init__(self):\n        self.made = 'once'\n    def __call__(self, payload):\n        return self.made\nhandle = It()",
        send: "1",
        arguments: &[],
        results: r#"["once"]"#,
        failures: &[],
        streamed: "[]",
    },
    Case {
        reason: "no result: the route ends here, with the message itself",
        module: "def handle(payload):\n    return None",
        send: r#"{"x": 1}"#,
        arguments: &[],
        results: r#"[{"x": 1}]"#,
        failures: &[],
        streamed: "[]",
    },
    Case {
        reason: "an exception",
        module: "def handle(payload):\n    return payload['none']",
        send: "{}",
        arguments: &[],
        results: "[]",
        failures: &["KeyError"],
        streamed: "[]",
    },
    Case {
        reason: "a result that is no JSON",
        module: "def handle(payload):\n    return object()",
        send: "{}",
        arguments: &[],
        results: "[]",
        failures: &["TypeError"],
        streamed: "[]",
    },
    Case {
        reason: "a handler that hangs",
        module: "import time\ndef handle(payload):\n    time.sleep(600)",
        send: "{}",
        arguments: &["--timeout", "1s"],
        results: "[]",
        failures: &["asya.RuntimeTimeoutError"],
        streamed: "[]",
    },
];

#[test]
fn handlers_of_all_kinds_run() {
    for case in CASES {
        let folder = folder(case.module, "");
        let mut arguments = vec!["it.yaml", "-o", "json", "--send", case.send];
        arguments.extend(case.arguments);
        let run = run(&folder, &arguments);
        let events = events(&run);
        let values = |kind: &str, member: &str| {
            let found = of_kind(&events, kind).into_iter();
            Value::from(found.map(|event| event[member].clone()).collect::<Vec<_>>())
        };
        let reason = case.reason;
        let expected: Value = serde_json::from_str(case.results).unwrap();
        assert_eq!(
            values("result", "payload"),
            expected,
            "{reason}: {}{}",
            run.output,
            run.stderr
        );
        let streamed: Value = serde_json::from_str(case.streamed).unwrap();
        assert_eq!(values("streamed", "data"), streamed, "{reason}");
        let failures: Vec<&str> = of_kind(&events, "failed")
            .iter()
            .map(|event| event["error"]["type"].as_str().unwrap())
            .collect();
        let is_like = |(found, expected): (&&str, &&str)| found.ends_with(*expected);
        assert_eq!(
            failures.len(),
            case.failures.len(),
            "{reason}: {}",
            run.output
        );
        assert!(
            failures.iter().zip(case.failures).all(is_like),
            "{reason}: {failures:?}"
        );
        assert_eq!(run.code, i32::from(!case.failures.is_empty()), "{reason}");
    }
}

#[test]
fn a_message_goes_along_its_route_and_handlers_change_it() {
    let folder = Folder::with(&[
        ("a.yaml", &actor("first", "")),
        ("b.yaml", &actor("second", "")),
        ("c.yaml", &actor("third", "")),
        (
            "first.py",
            "def handle(payload):\n    return payload + ['first']",
        ),
        (
            "second.py",
            "def handle(payload):\n    yield 'SET', '.route.next[:0]', ['third']\n    yield payload + ['second']",
        ),
        (
            "third.py",
            "def handle(payload):\n    return payload + ['third']",
        ),
    ]);
    let all = ["a.yaml", "b.yaml", "c.yaml"];
    let with = |more: &[&str]| run(&folder, &[&all[..], more].concat());
    let ran = with(&["--route", "first,second", "--send", "[]", "-o", "results"]);
    let expected = "[\"first\",\"second\",\"third\"]\n";
    assert_eq!(
        (ran.code, ran.output.as_str()),
        (0, expected),
        "{}",
        ran.stderr
    );
    assert!(
        ran.summary
            .starts_with("1 message, 1 result, 0 failed; 3 calls in "),
        "{}",
        ran.summary
    );
    let envelope = r#"{"route": {"prev": [], "curr": "third", "next": []}, "payload": ["own"]}"#;
    let ran = with(&["--send", envelope, "-o", "results"]);
    assert_eq!(ran.output, "[\"own\",\"third\"]\n");
    let ran = with(&["--send", "[]"]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.contains("3 actors, and no route"),
        "{}",
        ran.stderr
    );
    let ran = with(&["--route", "first,nobody", "--send", "[]", "-o", "json"]);
    let events = events(&ran);
    let failed = of_kind(&events, "failed");
    let message = failed[0]["error"]["message"].as_str().unwrap();
    assert!(message.contains("nobody"), "{message}");
}

#[test]
fn retries_are_shown_and_lead_to_the_sump() {
    let folder = folder(
        "def handle(payload):\n    raise ValueError('no')",
        FAST_RETRY,
    );
    let ran = run(&folder, &["it.yaml", "--send", "{}"]);
    assert_eq!(ran.code, 1);
    for line in [
        "it  retry     m-1 attempt 1 of 2 failed, again in 10ms: ValueError: no",
        "it  received  m-1 (attempt 2) {}",
        "it  failed    m-1 ValueError: no",
    ] {
        assert!(
            ran.output.lines().any(|it| it == line),
            "{line}: {}",
            ran.output
        );
    }
    assert!(
        ran.output.contains("it.py\", line 2"),
        "a traceback: {}",
        ran.output
    );
    assert!(
        ran.summary
            .starts_with("1 message, 0 results, 1 failed; 2 calls"),
        "{}",
        ran.summary
    );
}

#[test]
fn a_message_on_which_the_runtime_crashes_goes_to_the_dead_letters() {
    let module =
        "import os\ndef handle(payload):\n    if payload:\n        os._exit(9)\n    return 'good'";
    let ran = run(
        &folder(module, ""),
        &[
            "it.yaml",
            "-o",
            "json",
            "--max-deliveries",
            "2",
            "--send",
            "true",
            "--send",
            "false",
        ],
    );
    let events = events(&ran);
    assert_eq!(of_kind(&events, "dead").len(), 1, "{}", ran.output);
    assert_eq!(of_kind(&events, "result").len(), 1, "{}", ran.output);
    assert_eq!(ran.code, 1);
}

#[test]
fn variables_are_resolved_as_in_a_pod() {
    let spec = ", env: [{name: PLAIN, value: p}, {name: SECRET, valueFrom: {secretKeyRef: {name: s, key: k}}}, \
        {name: NS, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}]";
    let module = "import os\ndef handle(payload):\n    return [os.environ.get(n) for n in ('PLAIN', 'SECRET', 'NS', 'ASYA_LEAK')]";
    let folder = folder(module, spec);
    folder.add(
        "secret.yaml",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {k: from-object}\n",
    );
    folder.add(".env", "# of the developer\nexport SECRET='from file'\n");
    let missing = run(&folder, &["it.yaml", "--send", "1"]);
    assert_eq!(missing.code, 2);
    assert_eq!(
        missing.stderr,
        "error: it.yaml: actor \"it\": variable SECRET has no value: it is key \"k\" of Secret \"s\"\n\
         hint: give it as --env SECRET=VALUE or in --env-file FILE, or add the object to the files\n"
    );
    let cases: [(&[&str], &str); 3] = [
        (&["secret.yaml"], "from-object"),
        (&["--env-file", ".env"], "from file"),
        (&["--env-file", ".env", "-e", "SECRET=typed"], "typed"),
    ];
    for (more, expected) in cases {
        let arguments = [&["it.yaml", "--send", "1", "-o", "results"], more].concat();
        let mut command = command(&folder, &arguments);
        let ran = Run::of(
            command
                .env("ASYA_LEAK", "x")
                .stdin(Stdio::null())
                .output()
                .unwrap(),
        );
        let expected = json!(["p", expected, "default", null]);
        assert_eq!(ran.output, format!("{expected}\n"), "{}", ran.stderr);
    }
}

#[test]
fn what_cannot_run_is_an_error_with_a_remedy() {
    let old = "echo 3.7.1";
    let cases: [(&str, &str, &[&str], &str, &str); 6] = [
        (
            "import nothing_like_it",
            "",
            &[],
            "does not load",
            "No module named 'nothing_like_it'",
        ),
        (
            "",
            "",
            &[],
            "does not load",
            "--handlers names another folder",
        ),
        (
            "",
            "",
            &["--python", "no-python"],
            "no Python interpreter \"no-python\"",
            "--python",
        ),
        (
            "",
            "",
            &["--python", "bin/python"],
            "is Python 3.7.1, and handlers need 3.8",
            "--python",
        ),
        (
            "",
            "",
            &["--transport", "kafka"],
            "expected memory, or rabbitmq=URL",
            "--transport",
        ),
        (
            "",
            "",
            &["--env-file", "it.yaml"],
            "it.yaml: line 1: expected NAME=VALUE",
            "",
        ),
    ];
    for (module, spec, arguments, message, remedy) in cases {
        let folder = folder(module, spec);
        folder.add_program("bin/python", old);
        let ran = run(&folder, &[&["it.yaml", "--send", "1"], arguments].concat());
        assert_eq!(ran.code, 2, "{message}: {}", ran.stderr);
        let all = format!("{}{}", ran.output, ran.stderr);
        assert!(
            all.contains(message) && all.contains(remedy),
            "{message}: {all}"
        );
    }
    let folder = Folder::with(&[("a.yaml", &actor("it", "")), ("b.yaml", &actor("it", ""))]);
    let ran = run(&folder, &["a.yaml", "b.yaml", "--send", "1"]);
    assert!(
        ran.stderr.contains("two actors are named \"it\""),
        "{}",
        ran.stderr
    );
}

#[test]
fn state_proxies_keep_their_values_in_a_folder() {
    let spec =
        ", stateProxy: [{name: seen, mount: {path: /state/seen}, connector: {image: \"c:1\"}}]";
    let module = "from pathlib import Path\ndef handle(payload):\n    path = Path('/state/seen/all')\n    \
        before = path.read_text() if path.exists() else ''\n    path.write_text(before + payload)\n    return before";
    let folder = folder(module, spec);
    for (send, expected) in [("\"a\"", "\"\"\n"), ("\"b\"", "\"a\"\n")] {
        let arguments = [
            "it.yaml", "-o", "results", "--state", "kept", "--send", send,
        ];
        let ran = run(&folder, &arguments);
        assert_eq!(ran.output, expected, "{}", ran.stderr);
    }
    let kept = fs::read_to_string(folder.path().join("kept/it/seen/all")).unwrap();
    assert_eq!(kept, "ab");
}

#[test]
fn lines_of_standard_input_are_messages() {
    let folder = folder("def handle(payload):\n    return payload * 2", "");
    let mut command = command(&folder, &["it.yaml", "-o", "results"]);
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"1\n\n{no json\n\"x\"\n").unwrap();
    drop(input);
    let ran = Run::of(child.wait_with_output().unwrap());
    assert_eq!(ran.output, "2\n\"xx\"\n", "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("line 3 of the input: a message is JSON"),
        "{}",
        ran.stderr
    );
    assert_eq!(ran.code, 1);
}

#[test]
fn modules_are_found_in_given_folders_first() {
    let folder = folder("def handle(payload):\n    return 'beside the manifest'", "");
    folder.add(
        "src/it.py",
        "import helper\ndef handle(payload):\n    return helper.TEXT",
    );
    folder.add("lib/helper.py", "TEXT = 'src'");
    let arguments = [
        "it.yaml",
        "--send",
        "1",
        "-o",
        "results",
        "--handlers",
        "src",
        "--handlers",
        "lib",
    ];
    assert_eq!(run(&folder, &arguments).output, "\"src\"\n");
}

/// Starts a run that stays, and returns it with the id of the handler's process.
fn staying(folder: &Folder) -> (Child, String) {
    let mut child = command(folder, &["it.yaml", "-o", "results"])
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"1\n").unwrap();
    // The end of the input would be the end of the run.
    std::mem::forget(input);
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    (child, line.trim().to_owned())
}

fn until_gone(process: &str) {
    let deadline = Instant::now() + TIMEOUT;
    let path = format!("/proc/{process}/stat");
    loop {
        let stat = fs::read_to_string(&path).unwrap_or_default();
        // A zombie has ended, and waits for its parent.
        if stat.is_empty() || stat.contains(") Z") {
            return;
        }
        assert!(
            Instant::now() < deadline,
            "process {process} is left: {stat}"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn processes_end_with_the_command_however_it_ends() {
    let module = "import os, subprocess\nchild = subprocess.Popen(['sleep', '600'])\n\
        def handle(payload):\n    return os.getpid()";
    for signal in ["INT", "TERM", "KILL"] {
        let folder = folder(module, "");
        let (mut child, process) = staying(&folder);
        let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children"));
        let children = children.unwrap();
        let id = child.id().to_string();
        Command::new("kill")
            .args(["-s", signal, &id])
            .status()
            .unwrap();
        let status = child.wait().unwrap();
        assert_eq!(status.code(), (signal != "KILL").then_some(0), "{signal}");
        for process in children.split_whitespace().chain([process.as_str()]) {
            until_gone(process);
        }
    }
}

#[test]
fn a_changed_handler_is_loaded_and_gets_the_messages_again() {
    let folder = folder("def handle(payload):\n    return 'old'", "");
    let mut command = command(
        &folder,
        &["it.yaml", "--watch", "--send", "1", "-o", "results"],
    );
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "\"old\"");
    folder.add("it.py", "def handle(payload):\n    return syntax error");
    folder.add("it.py", "def handle(payload):\n    return 'changed'");
    assert_eq!(lines.next().unwrap().unwrap(), "\"changed\"");
    Command::new("kill")
        .args(["-s", "INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
