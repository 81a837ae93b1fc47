//! Spans, as a collector gets them by both protocols of OTLP.

mod rig;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use rig::rabbit::Rabbit;
use rig::receiver::Receiver;
use rig::{Pod, envelope, until};
use serde_json::{Value, json};
use test_cluster::ports;
use tonic::{Request, Response, Status};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

/// A collector that is spoken to by gRPC.
#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Vec<ExportTraceServiceRequest>>>);

#[tonic::async_trait]
impl TraceService for Collector {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let mut all = self.0.lock().expect("no panic");
        all.push(request.into_inner());
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

#[tokio::test]
async fn spans_are_exported_over_http_and_the_next_actor_continues_them() {
    let rabbit = Rabbit::start().await;
    let collector = Receiver::start(|path| path == "/v1/traces").await;
    let environment = with_endpoint(&rabbit, &collector.url, "http/protobuf");
    let (pod, next, failed) = process(&rabbit, &environment).await;
    let requests = move || {
        let posted = collector.posted().into_iter();
        posted
            .map(|(_, body)| ExportTraceServiceRequest::decode(body).expect("a request"))
            .collect()
    };
    check(pod, &next, &failed, requests).await;
}

#[tokio::test]
async fn spans_are_exported_over_grpc() {
    let rabbit = Rabbit::start().await;
    let [port] = ports::reserve();
    let collector = Collector::default();
    let service = TraceServiceServer::new(collector.clone());
    let server = tonic::transport::Server::builder().add_service(service);
    let serving = tokio::spawn(server.serve(([127, 0, 0, 1], port).into()));
    let environment = with_endpoint(&rabbit, &format!("http://127.0.0.1:{port}"), "grpc");
    let (pod, next, failed) = process(&rabbit, &environment).await;
    let requests = || collector.0.lock().expect("no panic").clone();
    check(pod, &next, &failed, requests).await;
    serving.abort();
}

#[tokio::test]
async fn a_collector_that_is_down_delays_neither_messages_nor_the_end() {
    let rabbit = Rabbit::start().await;
    let environment = with_endpoint(&rabbit, "http://127.0.0.1:1", "http/protobuf");
    let (mut pod, ..) = process(&rabbit, &environment).await;
    assert!(pod.terminate().await.success());
}

#[tokio::test]
async fn without_an_endpoint_the_headers_of_a_trace_are_kept_as_they_came() {
    let rabbit = Rabbit::start().await;
    let environment = rabbit.environment("a");
    let (_pod, next, failed) = process(&rabbit, &environment).await;
    for envelope in [next, failed] {
        assert_eq!(envelope["headers"], headers(), "{envelope}");
    }
}

fn headers() -> Value {
    json!({"traceparent": format!("00-{TRACE}-{PARENT}-01"), "tracestate": "own=1"})
}

fn with_endpoint(rabbit: &Rabbit, url: &str, protocol: &str) -> BTreeMap<String, String> {
    let mut environment = rabbit.environment("a");
    for (name, value) in [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", url),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", protocol),
        ("OTEL_BSP_SCHEDULE_DELAY", "100"),
    ] {
        environment.insert(name.to_owned(), value.to_owned());
    }
    environment
}

/// Has a message processed, and one on which the handler fails. What follows from them.
async fn process(rabbit: &Rabbit, environment: &BTreeMap<String, String>) -> (Pod, Value, Value) {
    rabbit.queue("a").await;
    rabbit.queue("b").await;
    let pod = Pod::start(environment);
    pod.ready().await;
    for (id, payload) in [("m", json!({})), ("f", json!({"do": "raise"}))] {
        let mut sent = envelope(id, "a", &["b"], &payload);
        sent["headers"] = headers();
        rabbit.send("a", &sent).await;
    }
    let next = rabbit.take_when("b", 1).await.remove(0);
    let failed = rabbit.take_when("x-sump", 1).await.remove(0);
    (pod, next, failed)
}

async fn check(
    mut pod: Pod,
    next: &Value,
    failed: &Value,
    requests: impl Fn() -> Vec<ExportTraceServiceRequest>,
) {
    // What is not exported yet is exported at the end.
    assert!(pod.terminate().await.success());
    let spans = until("both messages have spans", || async {
        let spans = spans(&requests());
        let ends = spans.iter().filter(|span| span.name == "process a");
        (ends.count() == 2).then_some(spans)
    })
    .await;
    let service = service(&requests());
    assert_eq!(service.as_deref(), Some("a"), "the actor's name");
    for (envelope, outcome) in [(next, "succeeded"), (failed, "failed")] {
        let context = envelope["headers"]["traceparent"].as_str().expect("a text");
        let parts: Vec<&str> = context.split('-').collect();
        assert_eq!(parts[1], TRACE);
        assert_eq!(envelope["headers"]["tracestate"], "own=1");
        let process = spans.iter().find(|span| hex(&span.span_id) == parts[2]);
        let process = process.expect("the span that the headers name");
        assert_eq!(
            (process.name.as_str(), hex(&process.parent_span_id).as_str()),
            ("process a", PARENT)
        );
        assert_eq!(text(process, "asya.outcome"), Some(outcome));
        assert_eq!(text(process, "messaging.system"), Some("rabbitmq"));
        let is_error = process
            .status
            .as_ref()
            .is_some_and(|status| status.code == 2);
        assert_eq!(is_error, outcome == "failed");
        let parts: Vec<&str> = spans
            .iter()
            .filter(|span| span.parent_span_id == process.span_id)
            .map(|span| span.name.as_str())
            .collect();
        let sent = if outcome == "failed" {
            "send x-sump"
        } else {
            "send b"
        };
        assert_eq!(parts, ["call handler", sent]);
    }
}

fn spans(requests: &[ExportTraceServiceRequest]) -> Vec<Span> {
    let resources = requests.iter().flat_map(|request| &request.resource_spans);
    let scopes = resources.flat_map(|resource| &resource.scope_spans);
    let mut spans: Vec<Span> = scopes.flat_map(|scope| scope.spans.clone()).collect();
    spans.sort_by_key(|span| span.start_time_unix_nano);
    spans
}

/// The name of the service that the spans are from.
fn service(requests: &[ExportTraceServiceRequest]) -> Option<String> {
    let resource = requests
        .first()?
        .resource_spans
        .first()?
        .resource
        .as_ref()?;
    let mut attributes = resource.attributes.iter();
    let name = attributes.find(|attribute| attribute.key == "service.name")?;
    match name.value.as_ref()?.value.as_ref()? {
        Any::StringValue(name) => Some(name.clone()),
        _ => None,
    }
}

fn text<'a>(span: &'a Span, key: &str) -> Option<&'a str> {
    let found = span
        .attributes
        .iter()
        .find(|attribute| attribute.key == key);
    match found?.value.as_ref()?.value.as_ref()? {
        Any::StringValue(text) => Some(text),
        _ => None,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
