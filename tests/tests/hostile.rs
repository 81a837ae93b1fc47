//! Behaviour of a function's server with broken, slow, many or hostile clients: whatever
//! they do, it continues to serve the others, and its memory stays bounded.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use function_sdk_rust::proto::v1::{Resource, RunFunctionRequest, State};
use function_sdk_rust::resource::json_to_struct;
use serde_json::{Value, json};
use tests::function::{Function, PROGRAMS, until};
use tests::wire;

/// Maps that may lie in one another in an observed spec: the limit of the SDK's decoder.
const DEEPEST: usize = 31;

/// Items of an unrealistically long list: quadratic work would take minutes.
const MANY: usize = 20_000;

/// Bytes of memory that a function may hold while it answers a request with so many.
const MOST_MEMORY: u64 = 512 << 20;

/// Memory limit of the functions' containers: `install/functions/runtime-config.yaml`.
const MEMORY_LIMIT: u64 = 128 << 20;

fn request(spec: &Value) -> RunFunctionRequest {
    let xr = json!({
        "apiVersion": "asya.sh/v1alpha1", "kind": "AsyncActor",
        "metadata": {"name": "a", "namespace": "b"},
        "spec": spec,
    });
    RunFunctionRequest {
        observed: Some(State {
            composite: Some(Resource {
                resource: xr.as_object().map(json_to_struct),
                ..Resource::default()
            }),
            resources: HashMap::new(),
        }),
        ..RunFunctionRequest::default()
    }
}

/// Fails unless the function answers somebody who does no harm.
async fn assert_serves(function: &Function, after: &str) {
    let request = request(&json!({"image": "i", "handler": "m.f"}));
    let answer = function.client().await.run_function(request).await;
    assert!(answer.is_ok(), "after {after}: {answer:?}");
}

/// A value in so many maps.
fn nested(depth: usize) -> Value {
    (0..depth).fold(json!("x"), |value, _| json!({"a": value}))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_spec_that_is_nested_too_deep_is_refused_and_others_are_served() {
    for name in PROGRAMS {
        let function = Function::start(name);
        let mut client = function.client().await;
        // The spec itself is the first map.
        let deepest = request(&nested(DEEPEST));
        assert!(client.run_function(deepest).await.is_ok(), "{name}");
        for depth in [DEEPEST + 1, 1_000] {
            let refused = client.run_function(request(&nested(depth))).await;
            let code = refused.expect_err("too deep").code();
            assert_eq!(code, tonic::Code::Internal, "{name}: {depth} maps");
        }
        assert_serves(&function, "nesting").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn huge_lists_maps_and_texts_cost_time_and_memory_in_proportion() {
    let variable = |index| json!({"name": format!("V{index}"), "value": "some value"});
    let list: Value = (0..MANY).map(variable).collect();
    let map: serde_json::Map<String, Value> = (0..MANY)
        .map(|index| (format!("example.com/label-{index}"), json!("value")))
        .collect();
    let specs = [
        ("many variables", json!({"env": list})),
        ("many labels", json!({"podLabels": map})),
        ("a text of 10 MB", json!({"handler": "m.".repeat(5 << 20)})),
        ("many flavors", json!({"flavors": vec!["gpu"; MANY]})),
        (
            "many unknown fields of a wrong type",
            json!({"env": map, "scaling": map}),
        ),
    ];
    for name in PROGRAMS {
        let function = Function::start(name);
        let mut client = function.client().await;
        for (what, spec) in &specs {
            let mut request = request(spec);
            // Every step has the same to read.
            request.desired = request.observed.clone();
            let answer = client.run_function(request).await;
            // Larger than the server takes is refused, all else is answered.
            if let Err(status) = answer {
                assert_eq!(
                    status.code(),
                    tonic::Code::OutOfRange,
                    "{name}, {what}: {status}"
                );
            }
            assert!(function.peak_memory() < MOST_MEMORY, "{name}, {what}");
        }
        assert_serves(&function, "huge documents").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_without_grpc_are_refused_and_others_are_served() {
    let function = Function::start(PROGRAMS[0]);
    let whole = wire::call(5, &[0; 5]);
    let cases: [(&str, Vec<u8>); 9] = [
        ("nothing", Vec::new()),
        (
            "another protocol",
            b"GET / HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(),
        ),
        (
            "TLS",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(),
        ),
        (
            "noise",
            (0..4096_u32)
                .map(|index| (index * 7919 % 251) as u8)
                .collect(),
        ),
        ("half a greeting", wire::PREFACE[..10].to_vec()),
        ("a message cut in its middle", wire::call(1_000, &[0; 10])),
        (
            "a message that announces 4 GB",
            wire::call(u32::MAX, &[0; 10]),
        ),
        ("a message that is no protobuf", wire::call(4, &[0xff; 4])),
        (
            "frames cut in their middle",
            whole[..whole.len() - 3].to_vec(),
        ),
    ];
    for (what, bytes) in cases {
        let mut connection = TcpStream::connect(function.address).unwrap();
        connection
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        // The server may have hung up before all is sent, which is its right.
        drop(connection.write_all(&bytes));
        drop(connection.shutdown(Shutdown::Write));
        drop(connection.read_to_end(&mut Vec::new()));
        assert_serves(&function, what).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_clients_do_not_delay_others() {
    let function = Function::start(PROGRAMS[0]);
    let unfinished = wire::call(1_000, &[0; 10]);
    // Each has begun a message and holds its connection.
    let begun = &unfinished[..unfinished.len() - 5];
    let slow: Vec<TcpStream> = (0..500)
        .map(|_| {
            let mut connection = TcpStream::connect(function.address).unwrap();
            connection.write_all(begun).unwrap();
            connection
        })
        .collect();
    assert_serves(&function, "500 slow clients").await;
    drop(slow);
    assert_serves(&function, "their end").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_largest_request_and_3000_connections_fit_into_the_memory_limit() {
    let largest =
        request(&json!({"handler": "m.f", "env": [{"name": "A", "value": "x".repeat(15 << 20)}]}));
    for name in PROGRAMS {
        let Some(function) = Function::start_in_memory(name, MEMORY_LIMIT) else {
            return;
        };
        let idle: Vec<TcpStream> = (0..3_000)
            .map(|_| TcpStream::connect(function.address).unwrap())
            .collect();
        let mut client = function.client().await;
        for _ in 0..3 {
            let answer = client.run_function(largest.clone()).await;
            assert!(answer.is_ok(), "{name}: {answer:?}");
        }
        assert_serves(&function, "3,000 connections").await;
        println!("{name}: {} MiB", function.peak_memory() >> 20);
        drop(idle);
        assert_serves(&function, "their end").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_function_serves_again_once_a_descriptor_is_free() {
    let function = Function::start_limited(PROGRAMS[0], "--nofile=64");
    // More than it can have. The kernel holds the others until it takes them, and no more than 128.
    let many: Vec<TcpStream> = (0..120)
        .map(|_| TcpStream::connect(function.address).unwrap())
        .collect();
    until("all its descriptors are taken", || {
        function.descriptors() >= 64
    });
    drop(many);
    until("they are free again", || function.descriptors() < 32);
    assert_serves(&function, "it had no descriptor").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_are_cancelled_leave_nothing_behind() {
    let mut function = Function::start(PROGRAMS[0]);
    let large = request(&json!({"handler": "m.".repeat(2 << 20)}));
    for microseconds in (0..50).map(|step| step * step * 20) {
        let mut client = function.client().await;
        let request = large.clone();
        // Dropping the call resets its stream, wherever it is just then.
        let call = tokio::time::timeout(
            Duration::from_micros(microseconds),
            client.run_function(request),
        );
        drop(call.await);
    }
    assert_serves(&function, "cancelled calls").await;
    // A call that were still counted as running would keep it.
    function.terminate();
    assert!(function.wait().success());
}
