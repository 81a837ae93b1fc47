//! Every function's own binary on a real port: what Crossplane's specification of
//! functions and a cluster ask of it.

use std::collections::{BTreeSet, HashMap};
use std::net::SocketAddr;

use function_sdk_rust::proto::v1::{RequestMeta, Resource, RunFunctionRequest, State};
use function_sdk_rust::resource::json_to_struct;
use serde_json::{Value, json};
use test_cluster::until;
use tests::function::{Function, PROGRAMS, reserve_addresses};
use tonic::transport::Endpoint;
use tonic_health::pb::health_client::HealthClient;
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus};
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::{
    ServerReflectionRequest, server_reflection_request::MessageRequest,
    server_reflection_response::MessageResponse,
};

/// A request with a tag, a desired object of another function and `padding` bytes.
fn request(padding: usize) -> RunFunctionRequest {
    let resource = |value: Value| Resource {
        resource: value.as_object().map(json_to_struct),
        ..Resource::default()
    };
    RunFunctionRequest {
        meta: Some(RequestMeta {
            tag: "the-tag".to_owned(),
            ..RequestMeta::default()
        }),
        observed: Some(State {
            composite: Some(resource(json!({
                "apiVersion": "asya.sh/v1alpha1", "kind": "AsyncActor",
                "metadata": {"name": "a", "namespace": "b"},
                "spec": {"image": "i", "handler": "m.f", "padding": "x".repeat(padding)},
            }))),
            resources: HashMap::new(),
        }),
        desired: Some(State {
            composite: None,
            resources: HashMap::from([(
                "of-another-function".to_owned(),
                resource(json!({"apiVersion": "v1", "kind": "ConfigMap"})),
            )]),
        }),
        ..RunFunctionRequest::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_function_echoes_the_tag_and_keeps_what_others_desire() {
    for name in PROGRAMS {
        let function = Function::start(name);
        let request = request(0);
        let desired = request.desired.clone().unwrap().resources;
        let mut client = function.client().await;
        let response = client.run_function(request).await.unwrap().into_inner();
        assert_eq!(response.meta.unwrap().tag, "the-tag", "{name}");
        let kept = response.desired.unwrap().resources;
        let of_others = "of-another-function";
        assert_eq!(kept.get(of_others), desired.get(of_others), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_function_reports_health_its_services_and_metrics() {
    for name in PROGRAMS {
        let function = Function::start(name);
        function
            .client()
            .await
            .run_function(request(0))
            .await
            .unwrap();

        let check = HealthCheckRequest::default();
        let health = HealthClient::new(function.channel().await)
            .check(check)
            .await
            .unwrap();
        assert_eq!(
            health.into_inner().status(),
            ServingStatus::Serving,
            "{name}"
        );

        let services = services(&function).await;
        let runner = "apiextensions.fn.proto.v1.FunctionRunnerService";
        assert!(
            services.iter().any(|service| service == runner),
            "{name}: {services:?}"
        );

        let metrics = function.scrape();
        assert_eq!(described(&metrics), described(METRICS), "{name}: {metrics}");
    }
}

/// Source of the reference of metrics.
const METRICS: &str = include_str!("../../crates/function-kit/src/metrics.txt");

#[tokio::test(flavor = "multi_thread")]
async fn metrics_of_functions_contain_nothing_of_requests() {
    const SECRET: &str = "hunter2-correct-horse";
    let variable = json!([{"name": SECRET, "value": SECRET}]);
    // A valid spec, one that ends fatally, and one that is no spec.
    let specs = [
        json!({"image": SECRET, "handler": SECRET, "env": variable}),
        json!({"image": "i", "handler": "m.f", "env": SECRET, "transport": SECRET, "flavors": [SECRET]}),
        json!(SECRET),
    ];
    for name in PROGRAMS {
        let function = Function::start(name);
        for spec in &specs {
            let mut request = request(0);
            request.meta = Some(RequestMeta {
                tag: SECRET.to_owned(),
                ..RequestMeta::default()
            });
            let xr = json!({
                "apiVersion": SECRET, "kind": SECRET, "spec": spec,
                "metadata": {"name": SECRET, "namespace": SECRET, "labels": {SECRET: SECRET}},
            });
            let observed = request.observed.as_mut().unwrap();
            let composite = observed.composite.as_mut().unwrap();
            composite.resource = xr.as_object().map(json_to_struct);
            let mut client = function.client().await;
            let mut call = tonic::Request::new(request);
            let metadata = call.metadata_mut();
            metadata.insert("authorization", SECRET.parse().unwrap());
            client.run_function(call).await.unwrap();
        }
        let metrics = function.scrape();
        let is_counted = metrics.contains("grpc_method=\"RunFunction\"");
        assert!(is_counted, "{name}: {metrics}");
        assert!(!metrics.contains(SECRET), "{name}: {metrics}");
    }
}

/// The lines that name the families, and the labels of their samples.
fn described(metrics: &str) -> BTreeSet<String> {
    let lines = metrics.lines().filter_map(|line| {
        let is_comment = line.starts_with("# HELP") || line.starts_with("# TYPE");
        let labels = || line.split(['{', ',']).map(|part| part.split('=').next());
        let is_call = line.contains("grpc_method=\"RunFunction\"");
        match (is_comment, is_call) {
            (true, _) => Some(line.to_owned()),
            (false, true) => Some(labels().flatten().collect::<Vec<_>>().join(" ")),
            (false, false) => None,
        }
    });
    lines.collect()
}

/// The services that the function lists by reflection.
async fn services(function: &Function) -> Vec<String> {
    let list = ServerReflectionRequest {
        message_request: Some(MessageRequest::ListServices(String::new())),
        ..ServerReflectionRequest::default()
    };
    let mut reflection = ServerReflectionClient::new(function.channel().await);
    let stream = reflection
        .server_reflection_info(tokio_stream::once(list))
        .await
        .unwrap();
    let answer = stream.into_inner().message().await.unwrap().unwrap();
    match answer.message_response {
        Some(MessageResponse::ListServicesResponse(list)) => list
            .service
            .into_iter()
            .map(|service| service.name)
            .collect(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_function_takes_requests_far_over_grpcs_four_megabytes() {
    for name in PROGRAMS {
        let function = Function::start(name);
        let mut client = function.client().await;
        let taken = client.run_function(request(12 << 20)).await;
        assert!(taken.is_ok(), "{name}: {taken:?}");
        let refused = client.run_function(request(17 << 20)).await.unwrap_err();
        assert_eq!(refused.code(), tonic::Code::OutOfRange, "{name}: {refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_receive_limit_is_given_in_megabytes() {
    let function =
        Function::start_with(PROGRAMS[0], &["--insecure", "--max-recv-message-size", "1"]);
    let mut client = function.client().await;
    assert!(client.run_function(request(1 << 19)).await.is_ok());
    assert!(client.run_function(request(2 << 20)).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn every_function_ends_on_sigterm_also_with_a_client_that_stays() {
    for name in PROGRAMS {
        let mut function = Function::start(name);
        let mut client = function.client().await;
        client.run_function(request(0)).await.unwrap();
        // A watch of the health service would keep a graceful server for ever.
        let mut health = HealthClient::new(function.channel().await);
        let _watch = health.watch(HealthCheckRequest::default()).await.unwrap();
        function.terminate();
        assert!(function.wait().success(), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_function_is_not_ready_and_answers_until_it_has_drained() {
    let [health] = reserve_addresses();
    let address = health.to_string();
    let flags = ["--insecure", "--drain-seconds", "600"];
    let flags = [&flags[..], &["--health-address", &address]].concat();
    let mut function = Function::start_with(PROGRAMS[0], &flags);
    let mut client = function.client().await;
    let runner = "apiextensions.fn.proto.v1.FunctionRunnerService";
    until_status(health, runner, ServingStatus::Serving).await;
    function.stop();
    until_status(health, runner, ServingStatus::NotServing).await;
    until_status(health, "", ServingStatus::Serving).await;
    client.run_function(request(0)).await.unwrap();
    // Core may have resolved the name just before the pod left DNS.
    let mut late = function.client().await;
    late.run_function(request(0)).await.unwrap();
    function.terminate();
    assert!(function.wait().success(), "SIGTERM ends it before");
    let flags = ["--insecure", "--drain-seconds", "0"];
    let mut function = Function::start_with(PROGRAMS[0], &flags);
    function.stop();
    assert!(function.wait().success(), "its time is over");
}

/// Waits until a service of the health port has this status.
async fn until_status(health: SocketAddr, service: &str, expected: ServingStatus) {
    let check = HealthCheckRequest {
        service: service.to_owned(),
    };
    until(&format!("{service:?} is {expected:?}"), || async {
        let channel = Endpoint::from_shared(format!("http://{health}")).unwrap();
        let mut client = HealthClient::new(channel.connect().await.ok()?);
        let status = client
            .check(check.clone())
            .await
            .ok()?
            .into_inner()
            .status();
        (status == expected).then_some(())
    })
    .await;
}
