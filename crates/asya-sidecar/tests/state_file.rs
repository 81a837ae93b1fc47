//! The connector for directories, beside the real runtime.

mod rig;

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Command;
use std::thread;

use rig::state::{Connector, Handler, exchange, result};
use rig::state_cases::CASES;
use rig::{text, until};
use serde_json::{Value, json};
use tempfile::TempDir;

async fn start(directory: &TempDir) -> Connector {
    Connector::start(&[("STATE_DIRECTORY", &text(directory.path()))]).await
}

#[tokio::test]
async fn handlers_use_files_in_a_directory() {
    let directory = tempfile::tempdir().unwrap();
    let connector = start(&directory).await;
    let handler = Handler::start(&connector).await;
    for mode in ["buffered", "passthrough"] {
        for (place, case) in CASES.iter().enumerate() {
            let lines = format!("state += '/{mode}-{place}'\n{}", case.lines);
            let found = handler.run(mode, &lines);
            let expected: Value = serde_json::from_str(case.result).unwrap();
            assert_eq!(found.as_ref(), Ok(&expected), "{mode}: {}", case.reason);
        }
    }
    let left = fs::read_dir(directory.path().join(".asya-state/tmp")).unwrap();
    assert_eq!(left.count(), 0, "temporary files");
}

#[tokio::test]
async fn appends_of_several_threads_are_all_kept() {
    let directory = tempfile::tempdir().unwrap();
    let connector = start(&directory).await;
    let handler = Handler::start(&connector).await;
    let lines = "
def append(number):
    for turn in range(5):
        with open(state + '/log', 'a') as file: file.write(f'{number}.{turn}\\n')
threads = [threading.Thread(target=append, args=(number,)) for number in range(3)]
[thread.start() for thread in threads]; [thread.join() for thread in threads]
result = sorted(open(state + '/log').read().split())";
    let expected: Vec<String> = (0..3)
        .flat_map(|number| (0..5).map(move |turn| format!("{number}.{turn}")))
        .collect();
    assert_eq!(handler.run("buffered", lines), Ok(json!(expected)));
}

#[tokio::test]
async fn conditions_hold_between_the_connectors_of_several_pods() {
    const ROUNDS: usize = 40;
    let directory = tempfile::tempdir().unwrap();
    let connectors = [start(&directory).await, start(&directory).await];
    connectors[0].ask("PUT", "/keys/count", &[], b"0");
    thread::scope(|scope| {
        for connector in &connectors {
            scope.spawn(|| {
                let mut done = 0;
                while done < ROUNDS {
                    let current = connector.ask("GET", "/keys/count", &[], b"");
                    let count: usize = current.text().parse().unwrap();
                    let next = (count + 1).to_string();
                    let condition = [("If-Match", current.etag())];
                    let written = connector.ask("PUT", "/keys/count", &condition, next.as_bytes());
                    match written.status {
                        204 => done += 1,
                        status => assert_eq!(status, 412, "{}", written.text()),
                    }
                }
            });
        }
    });
    let count = connectors[1].ask("GET", "/keys/count", &[], b"").text();
    assert_eq!(count, (2 * ROUNDS).to_string());
}

/// Method, target, and status: nothing of it may leave the store or be in its private directory.
const REFUSED: &[(&str, &str, u16)] = &[
    ("GET", "/keys/../secret", 400),
    ("GET", "/keys/..%2Fsecret", 400),
    ("GET", "/keys/%2e%2e/secret", 400),
    ("PUT", "/keys/a/..%2F..%2Fsecret", 400),
    ("DELETE", "/keys/%2Fetc/passwd", 400),
    ("GET", "/keys//etc/passwd", 400),
    ("GET", "/keys/a%00b", 400),
    ("GET", "/meta/..%2Fsecret", 400),
    ("GET", "/keys/?prefix=../&delimiter=/", 400),
    ("GET", "/keys/?prefix=%2Fetc/&delimiter=/", 400),
    ("GET", "/keys/?prefix=a/&delimiter=x", 400),
    ("PUT", "/keys/.asya-state/tmp/x", 400),
    ("GET", "/keys/outside/secret", 403),
    ("HEAD", "/keys/outside/secret", 403),
    ("PUT", "/keys/outside/new", 403),
    ("DELETE", "/keys/outside/secret", 403),
    ("GET", "/keys/?prefix=outside/&delimiter=/", 403),
    ("GET", "/meta/outside/secret", 403),
    ("PUT", "/keys/directory", 409),
    ("DELETE", "/keys/directory", 403),
    ("PUT", "/keys/file/below", 409),
    ("POST", "/keys/file", 400),
    ("GET", "/other", 400),
];

#[tokio::test]
async fn no_request_leaves_the_store() {
    let parent = tempfile::tempdir().unwrap();
    fs::create_dir(parent.path().join("outside")).unwrap();
    fs::write(parent.path().join("outside/secret"), "secret").unwrap();
    fs::write(parent.path().join("secret"), "secret").unwrap();
    let directory = TempDir::new_in(parent.path()).unwrap();
    symlink("../outside", directory.path().join("outside")).unwrap();
    let connector = start(&directory).await;
    connector.ask("PUT", "/keys/directory/file", &[], b"x");
    connector.ask("PUT", "/keys/file", &[], b"x");
    for (method, target, status) in REFUSED {
        let answer = connector.ask(method, target, &[], b"");
        assert_eq!(
            answer.status,
            *status,
            "{method} {target}: {}",
            answer.text()
        );
        if *method != "HEAD" {
            let body: Value = serde_json::from_str(&answer.text()).unwrap();
            assert!(
                body["error"].is_string() && body["message"].is_string(),
                "{body}"
            );
        }
    }
    assert_eq!(
        fs::read_to_string(parent.path().join("outside/secret")).unwrap(),
        "secret"
    );
    assert!(!parent.path().join("outside/new").exists());
    let listed = connector
        .ask("GET", "/keys/?prefix=&delimiter=", &[], b"")
        .text();
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(
        listed,
        json!({"keys": ["directory/file", "file"], "prefixes": []})
    );
}

#[tokio::test]
async fn a_write_that_breaks_off_stores_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let connector = start(&directory).await;
    for head in [
        "Content-Length: 100\r\n\r\nabc",
        "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
    ] {
        let mut stream = connector.connect();
        let request = format!("PUT /keys/k HTTP/1.1\r\nHost: x\r\n{head}");
        stream.write_all(request.as_bytes()).unwrap();
        drop(stream);
    }
    until("both are forgotten", || async {
        let left = fs::read_dir(directory.path().join(".asya-state/tmp")).unwrap();
        (left.count() == 0).then_some(())
    })
    .await;
    assert_eq!(connector.ask("GET", "/keys/k", &[], b"").status, 404);
}

#[tokio::test]
async fn a_write_replaces_the_file_and_no_reader_sees_a_part() {
    let directory = tempfile::tempdir().unwrap();
    let connector = start(&directory).await;
    connector.ask("PUT", "/keys/k", &[], b"old");
    let mut write = connector.connect();
    write
        .write_all(b"PUT /keys/k HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nnew\r\n")
        .unwrap();
    assert_eq!(connector.ask("GET", "/keys/k", &[], b"").text(), "old");
    assert_eq!(exchange(write, b"0\r\n\r\n").unwrap().status, 204);
    assert_eq!(connector.ask("GET", "/keys/k", &[], b"").text(), "new");
    let mode = fs::metadata(directory.path().join("k"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o444, 0o444, "pods with other users read it");
    let mode = fs::metadata(&connector.socket)
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o666, "other users of the pod connect");
}

#[tokio::test]
async fn a_connector_that_is_asked_to_end_serves_until_the_runtime_has_ended() {
    let directory = tempfile::tempdir().unwrap();
    let mut connector = start(&directory).await;
    let mut handler = Handler::start(&connector).await;
    let call = handler.begin(
        "buffered",
        "\
open(state + '/begun', 'w').close()
while not os.path.exists(state + '/go-on'): time.sleep(0.01)
open(state + '/last', 'w').write('kept'); result = True",
    );
    until("the call has begun", || async {
        directory.path().join("begun").exists().then_some(())
    })
    .await;
    // As the kubelet does: all containers at the same time.
    connector.program.signal("TERM");
    handler.program.signal("TERM");
    until("the connector has noticed", || async {
        connector
            .program
            .log()
            .contains("asked to end")
            .then_some(())
    })
    .await;
    assert!(connector.program.exit_status().is_none());
    fs::write(directory.path().join("go-on"), "").unwrap();
    assert_eq!(result(call), Ok(json!(true)));
    assert!(handler.program.ended().await.success());
    assert!(connector.program.ended().await.success());
    assert_eq!(
        fs::read_to_string(directory.path().join("last")).unwrap(),
        "kept"
    );
    assert!(!connector.socket.exists());
}

#[tokio::test]
async fn a_connector_that_nobody_uses_ends_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let mut connector = start(&directory).await;
    connector.program.signal("TERM");
    assert!(connector.program.ended().await.success());
}

#[tokio::test]
async fn handlers_go_on_after_a_connector_was_killed_and_restarted() {
    let directory = tempfile::tempdir().unwrap();
    let mut connector = start(&directory).await;
    let handler = Handler::start(&connector).await;
    assert_eq!(
        handler.run("buffered", "open(state + '/k', 'w').write('a')"),
        Ok(Value::Null)
    );
    connector.program.signal("KILL");
    connector.program.ended().await;
    let call = handler.begin("buffered", "result = open(state + '/k').read()");
    connector.restart().await;
    assert_eq!(result(call), Ok(json!("a")));
}

/// Variables, what the line on standard error begins with, and why.
const INVALID: &[(&[(&str, &str)], &str)] = &[
    (
        &[],
        "CONNECTOR_SOCKET is not set: expected an absolute path",
    ),
    (
        &[("CONNECTOR_SOCKET", "state.sock")],
        "CONNECTOR_SOCKET is \"state.sock\": expected an absolute path",
    ),
    (
        &[("CONNECTOR_SOCKET", "/tmp/x.sock")],
        "STATE_BUCKET is not set: expected the bucket's name",
    ),
    (
        &[
            ("CONNECTOR_SOCKET", "/tmp/x.sock"),
            ("STATE_DIRECTORY", "/none"),
        ],
        "STATE_DIRECTORY is \"/none\": expected the absolute path of a directory",
    ),
    (
        &[
            ("CONNECTOR_SOCKET", "/tmp/x.sock"),
            ("STATE_BUCKET", "b"),
            ("STATE_PREFIX", "a/../b"),
        ],
        "STATE_PREFIX is \"a/../b\": expected a path",
    ),
    (
        &[
            ("CONNECTOR_SOCKET", "/tmp/x.sock"),
            ("STATE_BUCKET", "b"),
            ("AWS_ENDPOINT_URL", "minio"),
        ],
        "AWS_ENDPOINT_URL is \"minio\": expected a URL",
    ),
    (
        &[
            ("CONNECTOR_SOCKET", "/tmp/x.sock"),
            ("STATE_BUCKET", "b"),
            ("STATE_PATH_STYLE", "yes"),
        ],
        "STATE_PATH_STYLE is \"yes\": expected one of ",
    ),
    (
        &[
            ("CONNECTOR_SOCKET", "/tmp/x.sock"),
            ("STATE_BUCKET", "b"),
            ("ASYA_LOG_LEVEL", "loud"),
        ],
        "ASYA_LOG_LEVEL is \"loud\": expected one of ",
    ),
];

#[test]
fn an_invalid_environment_ends_the_connector_with_exit_code_2() {
    for (environment, expected) in INVALID {
        let mut command = Command::new(env!("CARGO_BIN_EXE_asya-sidecar"));
        command
            .env_clear()
            .envs(environment.iter().copied())
            .arg("state");
        let ended = command.output().unwrap();
        let errors = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(2), "{environment:?}: {errors}");
        assert!(
            errors.lines().any(|line| line.starts_with(expected)),
            "{environment:?}: {errors}"
        );
    }
}
