//! Keys of AWS, a session token, passwords and tokens in the environment: they appear in no line of the log, no
//! metric, no span, no message and no output of a command, also where calls with them fail.

mod rig;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::process::Command;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rig::rabbit::Rabbit;
use rig::receiver::Receiver;
use rig::sqs::Sqs;
use rig::state::Connector;
use rig::{Pod, envelope, environment, until};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// Planted in variables. Each begins so, for values that appear in another encoding.
const PLANTED: [&str; 6] = [
    "AKIAPLANTED",
    "plantedSecretKey",
    "plantedSessionToken",
    "plantedPassword",
    "plantedGateway",
    "plantedCollector",
];

fn plant(environment: &mut BTreeMap<String, String>) {
    for (name, value) in [
        ("AWS_ACCESS_KEY_ID", "AKIAPLANTED"),
        ("AWS_SECRET_ACCESS_KEY", "plantedSecretKey"),
        ("AWS_SESSION_TOKEN", "plantedSessionToken"),
        ("AWS_REGION", "us-east-1"),
        ("ASYA_GATEWAY_URL", "http://u:plantedGateway@127.0.0.1:1"),
        (
            "OTEL_EXPORTER_OTLP_HEADERS",
            "authorization=plantedCollector",
        ),
    ] {
        environment.insert(name.to_owned(), value.to_owned());
    }
}

fn check(what: &str, text: &str) {
    for planted in PLANTED {
        assert!(!text.contains(planted), "{what} has {planted}: {text}");
    }
}

/// A service that denies every request and repeats it, as AWS does if a signature does not match.
struct Denying {
    url: String,
    serving: JoinHandle<()>,
}

impl Denying {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let service = service_fn(async |request: Request<Incoming>| {
                    Ok::<_, Infallible>(denied(&request))
                });
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        Self { url, serving }
    }
}

impl Drop for Denying {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

fn denied(request: &Request<Incoming>) -> Response<Full<Bytes>> {
    let headers: Vec<String> = request
        .headers()
        .iter()
        .map(|(name, value)| format!("{name}:{}", String::from_utf8_lossy(value.as_bytes())))
        .collect();
    let repeated = headers.join("\n");
    let message = format!(
        "The request signature we calculated does not match the signature you provided.\n\n\
         The Canonical String for this request should have been\n'{}\n{repeated}'",
        request.method()
    );
    let code = "SignatureDoesNotMatch";
    let body = if request.headers().contains_key("x-amz-target") {
        json!({"__type": format!("com.amazonaws.sqs#{code}"), "message": message}).to_string()
    } else {
        format!("<Error><Code>{code}</Code><Message>{message}</Message></Error>")
    };
    let answer = Response::builder().status(403);
    answer
        .body(Full::new(Bytes::from(body)))
        .expect("an answer")
}

fn run(environment: &BTreeMap<String, String>, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_asya-sidecar"));
    let output = command
        .env_clear()
        .envs(environment)
        .args(arguments)
        .output();
    let output = output.expect("the program starts");
    assert!(!output.status.success(), "{arguments:?}: {output:?}");
    format!("{output:?}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn denied_requests_to_sqs_show_no_key() {
    let service = Denying::start().await;
    let mut environment = environment("a");
    for (name, value) in [
        ("ASYA_TRANSPORT", "sqs"),
        ("ASYA_AWS_REGION", "us-east-1"),
        ("ASYA_SQS_ENDPOINT", &service.url),
        ("ASYA_SQS_WAIT_TIME_SECONDS", "1"),
    ] {
        environment.insert(name.to_owned(), value.to_owned());
    }
    plant(&mut environment);
    let mut pod = Pod::start(&environment);
    until("a request was denied", || async {
        pod.log().contains("cannot receive messages").then_some(())
    })
    .await;
    assert!(
        pod.log().contains("does not match"),
        "the reason is there: {}",
        pod.log()
    );
    check("metrics", &pod.ask("/metrics").await.unwrap().1);
    assert!(pod.terminate().await.success());
    check("the log", &pod.log());
    for arguments in [
        &["send", "a", "{}"] as &[&str],
        &["peek"],
        &["requeue", "--all"],
    ] {
        check(&format!("{arguments:?}"), &run(&environment, arguments));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_spans_and_logs_of_processing_show_no_key() {
    let sqs = Sqs::start().await;
    sqs.queue("a").await;
    let collector = Receiver::start(|path| path == "/v1/traces").await;
    let mut environment = sqs.environment("a");
    plant(&mut environment);
    environment.insert(
        "OTEL_EXPORTER_OTLP_ENDPOINT".to_owned(),
        collector.url.clone(),
    );
    environment.insert("OTEL_BSP_SCHEDULE_DELAY".to_owned(), "100".to_owned());
    let mut pod = Pod::start(&environment);
    pod.ready().await;
    for (id, what) in [("m", "nothing"), ("f", "raise"), ("y", "fly")] {
        sqs.send("a", &envelope(id, "a", &[], &json!({"do": what})))
            .await;
    }
    check(
        "a result",
        &json!(sqs.take_when("x-sink", 2).await).to_string(),
    );
    check(
        "a failure",
        &json!(sqs.take_when("x-sump", 1).await).to_string(),
    );
    check("metrics", &pod.ask("/metrics").await.unwrap().1);
    assert!(pod.terminate().await.success());
    check("the log", &pod.log());
    let spans = collector.posted();
    assert!(!spans.is_empty(), "spans were exported");
    for (_, body) in spans {
        check("a span", &String::from_utf8_lossy(&body));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_login_at_rabbitmq_shows_no_password() {
    let rabbit = Rabbit::start().await;
    let mut environment = rabbit.environment("a");
    plant(&mut environment);
    let url = environment["ASYA_RABBITMQ_URL"].clone();
    let refused = url.replace("guest:guest@", "guest:plantedPassword@");
    assert_ne!(refused, url);
    let nobody = "amqp://guest:plantedPassword@127.0.0.1:1/%2F".to_owned();
    let malformed = "amqp://guest:plantedPassword@127.0.0.1:port".to_owned();
    for url in [refused, nobody] {
        environment.insert("ASYA_RABBITMQ_URL".to_owned(), url);
        let mut pod = Pod::start(&environment);
        until("the broker was asked", || async {
            pod.log().contains("\"WARN\"").then_some(())
        })
        .await;
        check("metrics", &pod.ask("/metrics").await.unwrap().1);
        assert!(pod.terminate().await.success());
        check("the log", &pod.log());
        check("send", &run(&environment, &["send", "a", "{}"]));
    }
    environment.insert("ASYA_RABBITMQ_URL".to_owned(), malformed);
    check("a wrong variable", &run(&environment, &[]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn denied_requests_to_a_bucket_show_no_key() {
    let service = Denying::start().await;
    let mut environment = BTreeMap::new();
    plant(&mut environment);
    environment.insert("AWS_ENDPOINT_URL".to_owned(), service.url.clone());
    environment.insert("STATE_BUCKET".to_owned(), "checkpoints".to_owned());
    let variables: Vec<(&str, &str)> = environment
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let connector = Connector::start(&variables).await;
    for (method, target) in [
        ("GET", "/keys/k"),
        ("PUT", "/keys/k"),
        ("DELETE", "/keys/k"),
        ("GET", "/keys/?prefix="),
    ] {
        let answer = connector.ask(method, target, &[], b"");
        assert!(answer.status >= 400, "{method} {target}: {answer:?}");
        check(
            &format!("{method} {target}"),
            &format!("{answer:?} {}", answer.text()),
        );
    }
    check("the log", &connector.program.log());
}
