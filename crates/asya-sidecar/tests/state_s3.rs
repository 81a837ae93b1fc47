//! The connector for buckets beside the real runtime, on moto.
//!
//! moto compares and writes in two steps, so conditions of two writers at once are not tested here.

mod rig;

use std::io::Write as _;

use rig::state::{Connector, Handler};
use rig::state_cases::CASES;
use serde_json::{Value, json};
use test_cluster::moto::Moto;

/// Returns credentials as environment variables, the first source that AWS SDKs use.
fn environment<'a>(endpoint: &'a str, more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let mut environment = vec![
        ("AWS_ACCESS_KEY_ID", "key"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_REGION", "eu-west-1"),
        ("AWS_ENDPOINT_URL", endpoint),
        ("STATE_BUCKET", "my-checkpoints-bucket"),
    ];
    environment.extend(more);
    environment
}

async fn start(moto: &Moto, more: &[(&str, &str)]) -> Connector {
    moto.create_bucket("my-checkpoints-bucket").await;
    Connector::start(&environment(&moto.endpoint, more)).await
}

#[tokio::test]
async fn handlers_use_files_in_a_bucket() {
    let moto = Moto::start().await;
    let connector = start(&moto, &[]).await;
    let handler = Handler::start(&connector).await;
    for mode in ["buffered", "passthrough"] {
        for (place, case) in CASES.iter().enumerate() {
            let lines = format!("state += '/{mode}-{place}'\n{}", case.lines);
            let found = handler.run(mode, &lines);
            let expected: Value = serde_json::from_str(case.result).unwrap();
            assert_eq!(found.as_ref(), Ok(&expected), "{mode}: {}", case.reason);
        }
    }
}

#[tokio::test]
async fn keys_are_below_the_prefix_and_addresses_are_attributes() {
    let moto = Moto::start().await;
    let connector = start(&moto, &[("STATE_PREFIX", "/team/a/")]).await;
    let whole = Connector::start(&environment(&moto.endpoint, &[])).await;
    assert_eq!(
        connector.ask("PUT", "/keys/dir/k", &[], b"value").status,
        204
    );
    assert_eq!(
        whole.ask("GET", "/keys/team/a/dir/k", &[], b"").text(),
        "value"
    );
    let listed = connector
        .ask("GET", "/keys/?prefix=&delimiter=/", &[], b"")
        .text();
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed, json!({"keys": [], "prefixes": ["dir/"]}));
    let attribute = |name: &str| {
        let answer = connector.ask("GET", &format!("/meta/dir/k?attr={name}"), &[], b"");
        let body: Value = serde_json::from_str(&answer.text()).unwrap();
        body["value"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(attribute("url"), "s3://my-checkpoints-bucket/team/a/dir/k");
    let presigned = attribute("presigned_url");
    let start = format!("{}/my-checkpoints-bucket/team/a/dir/k?", moto.endpoint);
    assert!(
        presigned.starts_with(&start) && presigned.contains("X-Amz-Signature="),
        "{presigned}"
    );
    let set = connector.ask(
        "PUT",
        "/meta/dir/k?attr=content_type",
        &[],
        br#"{"value": "text/csv"}"#,
    );
    assert_eq!(
        (set.status, attribute("content_type")),
        (204, "text/csv".to_owned())
    );
    let listed = connector.ask("GET", "/meta/dir/k", &[], b"").text();
    assert!(!listed.contains("asya-write"), "{listed}");
}

#[tokio::test]
async fn a_missing_bucket_is_no_missing_file() {
    let moto = Moto::start().await;
    let connector = start(&moto, &[]).await;
    moto.delete_bucket("my-checkpoints-bucket").await;
    for (method, target) in [
        ("GET", "/keys/k"),
        ("HEAD", "/keys/k"),
        ("PUT", "/keys/k"),
        ("DELETE", "/keys/k"),
        ("GET", "/keys/?prefix=&delimiter=/"),
        ("GET", "/meta/k"),
    ] {
        let answer = connector.ask(method, target, &[], b"");
        assert_eq!(answer.status, 503, "{method} {target}: {}", answer.text());
    }
}

#[tokio::test]
async fn a_large_value_needs_little_memory_and_one_that_breaks_off_is_not_stored() {
    const MEBIBYTES: usize = 100;
    let moto = Moto::start().await;
    let connector = start(&moto, &[]).await;
    let piece = vec![7; 1 << 20];
    let put = |mebibytes: usize| {
        let mut stream = connector.connect();
        let length = MEBIBYTES << 20;
        let head = format!(
            "PUT /keys/k HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        for _ in 0..mebibytes {
            stream.write_all(&piece).unwrap();
        }
        stream
    };
    drop(put(MEBIBYTES / 2));
    assert_eq!(connector.ask("GET", "/keys/k", &[], b"").status, 404);
    let written = rig::state::exchange(put(MEBIBYTES), b"").unwrap();
    assert_eq!(written.status, 204, "{}", written.text());
    let read = connector.ask("GET", "/keys/k", &[], b"");
    assert!(read.body.len() == MEBIBYTES << 20 && read.body.iter().all(|byte| *byte == 7));
    let peak = connector.peak_memory();
    assert!(peak < 64 << 20, "{peak} bytes");
}
