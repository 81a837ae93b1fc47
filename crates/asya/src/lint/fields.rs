//! Fields and values against the API's schemas: what the API server, which prunes or
//! refuses, sees of an actor, and nobody sees of a flavor.

use actor::diagnostic::{Code, Severity};
use merge::{FieldPath, Segment};
use serde_json::{Map, Value, json};

use super::document::{Document, Role};
use super::finding::{Check, Finding};
use crate::kubernetes::{self, Depth, Type, kind_of, root_at};
use crate::nearest::nearest;

/// Kubernetes' keyword for a map that may hold anything.
const KEEPS_UNKNOWN: &str = "x-kubernetes-preserve-unknown-fields";
const INT_OR_STRING: &str = "x-kubernetes-int-or-string";

/// The schema of an object of which `field` has `schema`.
pub(super) fn object(field: &str, schema: Value) -> Value {
    let texts = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let anything = json!({"type": "object", KEEPS_UNKNOWN: true});
    let mut object = json!({"type": "object", "properties": {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object", KEEPS_UNKNOWN: true, "properties": {
            "name": {"type": "string"},
            "namespace": {"type": "string"},
            "labels": texts,
            "annotations": texts,
        }},
        "status": anything,
    }});
    object["properties"][field] = schema;
    object
}

/// Reports everything that does not match `schema`, at any depth. An unknown field has the severity
/// `unknown`.
pub(super) fn check(
    document: &Document,
    schema: &Value,
    unknown: Severity,
    findings: &mut Vec<Finding>,
) {
    let mut walk = Walk {
        document,
        unknown,
        path: Vec::new(),
        findings,
    };
    walk.fields(schema, document.object.as_map());
}

/// Returns the type that Kubernetes defines for the field at a path of the document.
fn kubernetes_type(document: &Document, path: &[Segment]) -> Option<(Type, Depth)> {
    let [Segment::Key(root), inside @ ..] = path else {
        return None;
    };
    if root == "metadata" && inside.is_empty() {
        return Some((Type::of("ObjectMeta"), Depth::Partial));
    }
    let role = document.role();
    let kind = document.get(&[root, "workload", "kind"]);
    let is_stateful = kind.is_some_and(|kind| kind == "StatefulSet");
    let r#type = root_at(inside, role == Role::Platform, is_stateful)?;
    // Flavors and templates are completed by others.
    let is_template = inside.last() == Some(&Segment::from("template"));
    let depth = match role {
        Role::Actor if !is_template => Depth::Field,
        _ => Depth::Partial,
    };
    Some((r#type, depth))
}

struct Walk<'a> {
    document: &'a Document,
    unknown: Severity,
    path: Vec<Segment>,
    findings: &'a mut Vec<Finding>,
}

impl Walk<'_> {
    fn below(&mut self, segment: impl Into<Segment>, schema: &Value, value: &Value) {
        self.path.push(segment.into());
        self.value(schema, value);
        self.path.pop();
    }

    fn value(&mut self, schema: &Value, value: &Value) {
        if value.is_null() {
            return;
        }
        if let Some((r#type, depth)) = kubernetes_type(self.document, &self.path) {
            return self.kubernetes(&r#type, value, depth);
        }
        if let Some(expected) = mismatch(schema, value) {
            let problem = format!("expected {expected}, found {}", kind_of(value));
            let quotes = expected == "a text" && !value.is_object() && !value.is_array();
            return self.invalid(&problem, quotes.then_some("put it in quotes"));
        }
        match value {
            Value::Object(fields) => self.fields(schema, fields),
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.below(index, &schema["items"], item);
                }
            }
            _ => self.scalar(schema, value),
        }
    }

    fn kubernetes(&mut self, r#type: &Type, value: &Value, depth: Depth) {
        for problem in kubernetes::check(r#type, value, &self.path, depth) {
            let message = problem.message(&problem.path);
            let finding =
                self.document
                    .finding(Severity::Error, problem.code, problem.path, message);
            self.findings.push(Finding {
                help: problem.help,
                check: Check::Schema,
                ..finding
            });
        }
    }

    fn fields(&mut self, schema: &Value, fields: &Map<String, Value>) {
        let known = schema["properties"].as_object();
        let keeps_unknown = schema[KEEPS_UNKNOWN] == true || schema["type"].is_null();
        for (key, value) in fields {
            if let Some(schema) = known.and_then(|known| known.get(key)) {
                self.below(key.as_str(), schema, value);
            } else if schema["additionalProperties"].is_object() {
                self.below(key.as_str(), &schema["additionalProperties"], value);
            } else if !keeps_unknown {
                self.unknown_field(key, known);
            }
        }
    }

    fn unknown_field(&mut self, key: &str, known: Option<&Map<String, Value>>) {
        let parent: FieldPath = self.path.iter().cloned().collect();
        let place = match self.path[..] {
            [] => String::new(),
            _ => format!(" in {parent}"),
        };
        let nearest = known.and_then(|known| nearest(key, known.keys().map(String::as_str)));
        let message = format!("unknown field {key:?}{place}");
        let path: FieldPath = self.path.iter().cloned().chain([key.into()]).collect();
        let help = nearest.map(|nearest| format!("did you mean {nearest:?}?"));
        self.findings.push(Finding {
            help,
            check: Check::Schema,
            ..self
                .document
                .finding(self.unknown, Code::UnknownField, path, message)
        });
    }

    fn scalar(&mut self, schema: &Value, value: &Value) {
        if let Some(allowed) = schema["enum"].as_array()
            && !allowed.contains(value)
        {
            let allowed: Vec<&str> = allowed.iter().filter_map(Value::as_str).collect();
            return self.invalid(&format!("{value} is none of {}", allowed.join(", ")), None);
        }
        for (limit, side) in [("minimum", "below"), ("maximum", "above")] {
            let (Some(number), Some(bound)) = (value.as_f64(), schema[limit].as_f64()) else {
                continue;
            };
            if (limit == "minimum" && number < bound) || (limit == "maximum" && number > bound) {
                self.invalid(&format!("{value} is {side} {}", schema[limit]), None);
            }
        }
    }

    fn invalid(&mut self, problem: &str, help: Option<&str>) {
        let path: FieldPath = self.path.iter().cloned().collect();
        let message = format!("{path}: {problem}");
        let (severity, code) = (Severity::Error, Code::InvalidValue);
        self.findings.push(Finding {
            help: help.map(str::to_owned),
            check: Check::Schema,
            ..self.document.finding(severity, code, path, message)
        });
    }
}

/// Expected type, if the value has another.
fn mismatch(schema: &Value, value: &Value) -> Option<&'static str> {
    if schema[INT_OR_STRING] == true {
        return (!value.is_number() && !value.is_string()).then_some("a number or a text");
    }
    let (fits, expected) = match schema["type"].as_str()? {
        "object" => (value.is_object(), "a map"),
        "array" => (value.is_array(), "a list"),
        "string" => (value.is_string(), "a text"),
        "integer" => (value.is_i64() || value.is_u64(), "a whole number"),
        "number" => (value.is_number(), "a number"),
        "boolean" => (value.is_boolean(), "true or false"),
        _ => return None,
    };
    (!fits).then_some(expected)
}
