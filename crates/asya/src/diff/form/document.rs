//! A comparison as JSON.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::super::{
    ActorChange, Change, Comparison, FieldChange, ObjectChange, Pods, Queue, Source,
};
use super::summary;
use crate::diagnostics::{self, note_document, note_line};
use crate::explain::{conflict, origin};

/// The comparison as one document.
pub fn json(comparison: &Comparison) -> Value {
    let sources = comparison.sources.iter().map(|it| {
        json!({
            "source": source(&it.source),
            "is": it.label(),
            "used": it.is_used,
            "actors": it.changes,
        })
    });
    let unknown = comparison.unknown.iter().map(|(id, errors)| {
        json!({
            "namespace": id.namespace,
            "name": id.name,
            "error": errors.first().map(ToString::to_string),
            "diagnostics": errors.iter().map(diagnostics::document).collect::<Vec<_>>(),
        })
    });
    json!({
        "summary": summary(comparison),
        "total": comparison.total,
        "sources": sources.collect::<Vec<_>>(),
        "actors": comparison.actors.iter().map(actor).collect::<Vec<_>>(),
        "unknown": unknown.collect::<Vec<_>>(),
    })
}

fn actor(actor: &ActorChange) -> Value {
    let mut document = json!({
        "namespace": actor.id.namespace,
        "name": actor.id.name,
        "is": actor.kind.label(),
        "becauseOf": sources(&actor.sources),
    });
    let (errors, warnings) = (actor.errors.iter(), actor.warnings.iter());
    let diagnostics = errors.clone().map(diagnostics::document);
    let diagnostics = diagnostics.chain(warnings.clone().map(note_document));
    let lists: [(&str, Vec<Value>); 8] = [
        ("fields", actor.fields.iter().map(field).collect()),
        ("objects", actor.objects.iter().map(object).collect()),
        ("pods", actor.pods.iter().map(pods).collect()),
        ("queue", actor.queue.iter().map(queue).collect()),
        ("errors", errors.map(|it| json!(it.to_string())).collect()),
        ("conflicts", actor.conflicts.iter().map(conflict).collect()),
        (
            "warnings",
            warnings.map(|it| json!(note_line(it))).collect(),
        ),
        ("diagnostics", diagnostics.collect()),
    ];
    for (key, list) in lists {
        if !list.is_empty() {
            document[key] = Value::Array(list);
        }
    }
    document
}

fn sources(sources: &BTreeSet<Source>) -> Value {
    sources.iter().map(source).collect()
}

fn source(source: &Source) -> Value {
    match source {
        Source::Actor => json!({"kind": "actor"}),
        Source::Flavor(name) => json!({"kind": "flavor", "name": name}),
        Source::Platform => json!({"kind": "platform"}),
        Source::Composition => json!({"kind": "composition"}),
        Source::Functions => json!({"kind": "functions"}),
    }
}

fn field(field: &FieldChange) -> Value {
    let mut document = difference(&field.change);
    let sides = [("old", &field.old_origins), ("new", &field.new_origins)];
    for (side, origins) in sides {
        if let Some(Value::Object(side)) = document.get_mut(side) {
            side.insert("origins".to_owned(), origins.iter().map(origin).collect());
        }
    }
    Value::Object(document)
}

/// A difference; a side without a value has no key.
fn difference(change: &Change) -> Map<String, Value> {
    let mut document = Map::new();
    document.insert("path".to_owned(), change.place.to_json());
    document.insert("field".to_owned(), json!(change.place.to_string()));
    for (side, value) in [("old", &change.old), ("new", &change.new)] {
        if let Some((_, value)) = value {
            document.insert(side.to_owned(), json!({"value": value}));
        }
    }
    document
}

fn object(object: &ObjectChange) -> Value {
    let is = match &object.shown {
        [Value::Null, _] => "created",
        [_, Value::Null] => "deleted",
        _ => "changed",
    };
    let changes = object.changes.iter().map(|(change, causes)| {
        let mut document = difference(change);
        document.insert("becauseOf".to_owned(), sources(causes));
        Value::Object(document)
    });
    json!({
        "resource": object.resource,
        "object": object.object,
        "is": is,
        "fields": changes.collect::<Vec<_>>(),
    })
}

fn pods(pods: &Pods) -> Value {
    let mut document = json!({"is": pods.label(), "workload": pods.workload()});
    if let Pods::Refused { field, .. } = pods {
        document["field"] = json!(field);
    }
    document
}

fn queue(queue: &Queue) -> Value {
    let mut document = json!({"is": queue.label()});
    if let Queue::Withheld {
        field,
        kept,
        wanted,
    } = queue
    {
        document["field"] = json!(field);
        document["kept"] = kept.clone();
        document["wanted"] = wanted.clone();
    }
    document
}
