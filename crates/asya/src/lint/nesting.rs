//! Check that functions can decode a document.
//!
//! Crossplane sends objects to functions as protobuf messages, in which a map inside a map is three
//! messages, and decoders fail at a depth of 100. So the document is encoded and decoded as on its way to
//! a function.

use actor::diagnostic::{Code, Severity};
use function_proto::v1::{Resource, Resources, RunFunctionRequest, State};
use merge::{FieldPath, Segment};
use prost::Message as _;
use serde_json::Value;

use super::document::{Document, Role};
use super::finding::Finding;

/// Most maps inside one another that functions read for certain.
const MAPS_MAX: usize = 31;
const ADVICE: &str = "functions read at most 31 maps inside one another, and fewer with lists among them, so make it flatter";

/// The document by itself.
pub(super) fn check(document: &Document, findings: &mut Vec<Finding>) {
    let object = document.object.clone().into_value();
    let mut deepest = Deepest::default();
    deepest.dive(&object, &mut Vec::new(), 0);
    if deepest.maps <= MAPS_MAX && is_readable(&request(document)) {
        return;
    }
    let path = FieldPath::from(deepest.path);
    findings.push(too_deep(document, path, "nested too deep"));
}

/// Checks the rendered objects: fields of a pod are nested deeper in a workload.
pub(super) fn check_rendered(actor: &Document, rendered: &State, findings: &mut Vec<Finding>) {
    let request = RunFunctionRequest {
        desired: Some(rendered.clone()),
        ..RunFunctionRequest::default()
    };
    if !is_readable(&request) {
        let message = "what is rendered is nested too deep";
        findings.push(too_deep(actor, FieldPath::default(), message));
    }
}

fn too_deep(document: &Document, path: FieldPath, message: &str) -> Finding {
    Finding {
        help: Some(ADVICE.to_owned()),
        ..document.finding(Severity::Error, Code::NestedTooDeep, path, message)
    }
}

fn is_readable(request: &RunFunctionRequest) -> bool {
    RunFunctionRequest::decode(request.encode_to_vec().as_slice()).is_ok()
}

/// The first request in which the document travels.
fn request(document: &Document) -> RunFunctionRequest {
    let resource = Resource {
        resource: Some(document.object.to_struct()),
        ..Resource::default()
    };
    let mut request = RunFunctionRequest::default();
    if document.role() == Role::Actor {
        request.observed = Some(State {
            composite: Some(resource),
            ..State::default()
        });
    } else {
        let items = vec![resource];
        let name = document.object.name().to_owned();
        request.required_resources.insert(name, Resources { items });
    }
    request
}

/// The first of the longest paths, and the maps on the way that has most.
#[derive(Default)]
struct Deepest {
    path: Vec<Segment>,
    maps: usize,
}

impl Deepest {
    fn dive(&mut self, value: &Value, path: &mut Vec<Segment>, maps: usize) {
        if path.len() > self.path.len() {
            self.path.clone_from(path);
        }
        self.maps = self.maps.max(maps);
        let mut dive = |segment: Segment, value: &Value, maps: usize| {
            path.push(segment);
            self.dive(value, path, maps);
            path.pop();
        };
        match value {
            Value::Object(fields) => {
                for (key, value) in fields {
                    dive(key.as_str().into(), value, maps + 1);
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    dive(index.into(), item, maps);
                }
            }
            _ => {}
        }
    }
}
