//! The loop and the composing after it, with functions of a few lines.
//!
//! Expected values were observed on Crossplane 2.3.4 with the same input.

#![expect(
    clippy::needless_pass_by_value,
    reason = "documents are written where they are used"
)]

mod composing;
mod looping;

use std::sync::{Arc, Mutex};

use function_kit::value::struct_to_json;
use function_proto::v1::{RunFunctionRequest, RunFunctionResponse};
use function_sdk_rust::proto::v1 as sdk;
use prost::Message as _;
use serde_json::{Value, json};

use super::*;

/// An object from a document.
fn object(document: Value) -> Object {
    match document {
        Value::Object(map) => Object::from(map),
        other => panic!("no object: {other}"),
    }
}

/// The XR of most tests.
fn actor() -> Value {
    json!({
        "apiVersion": "asya.sh/v1alpha1", "kind": "AsyncActor",
        "metadata": {"name": "text-processor", "namespace": "prod"},
    })
}

/// A Composition of these steps.
fn composition(kind: &str, steps: Value) -> Composition {
    let document = json!({
        "apiVersion": COMPOSITION.0, "kind": COMPOSITION.1, "metadata": {"name": "actors"},
        "spec": {
            "compositeTypeRef": {"apiVersion": "asya.sh/v1alpha1", "kind": kind},
            "mode": "Pipeline",
            "pipeline": steps,
        },
    });
    Composition::read(&object(document)).unwrap()
}

/// Inputs with one step `one` that runs function `fake`.
fn inputs(xr: Value) -> Inputs {
    let machinery = if xr["kind"] == "XAsyncActor" {
        Machinery::Legacy
    } else {
        Machinery::Modern
    };
    let kind = xr["kind"].as_str().unwrap().to_owned();
    Inputs {
        composite: Composite::new(object(xr), machinery).unwrap(),
        composition: composition(
            &kind,
            json!([{"step": "one", "functionRef": {"name": "fake"}}]),
        ),
        observed: Vec::new(),
        required: Vec::new(),
        schemas: Schemas::default(),
        context: Map::new(),
    }
}

/// A response from its protobuf JSON, which the SDK's messages have and ours have not.
fn response(document: Value) -> RunFunctionResponse {
    let response: sdk::RunFunctionResponse = serde_json::from_value(document).unwrap();
    RunFunctionResponse::decode(response.encode_to_vec().as_slice()).unwrap()
}

/// The protobuf JSON of a request.
fn request_json(request: &RunFunctionRequest) -> Value {
    let request = sdk::RunFunctionRequest::decode(request.encode_to_vec().as_slice()).unwrap();
    serde_json::to_value(request).unwrap()
}

/// Function `fake`, which returns one answer after the other and then the last one again; and the
/// requests that it got, as JSON.
fn answering(answers: Vec<Value>) -> (Functions, Arc<Mutex<Vec<Value>>>) {
    let requests = Arc::new(Mutex::new(Vec::new()));
    let got = Arc::clone(&requests);
    let functions = Functions::none().with("fake", move |request: RunFunctionRequest| {
        let mut got = got.lock().unwrap();
        let answer = &answers[got.len().min(answers.len() - 1)];
        got.push(request_json(&request));
        response(answer.clone())
    });
    (functions, requests)
}

/// Renders with one function that always gives the same answer.
fn rendered(inputs: &Inputs, answer: Value) -> Result<Rendered, RenderError> {
    render(inputs, &answering(vec![answer]).0)
}

/// The documents that are shown when everything is.
fn everything(inputs: &Inputs, answer: Value) -> Vec<Value> {
    let include = Include {
        full_composite: false,
        events: true,
        context: true,
    };
    rendered(inputs, answer)
        .unwrap()
        .documents(&inputs.composite, include)
}
