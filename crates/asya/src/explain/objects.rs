//! Leaves of the rendered objects besides the pod: of the queue, of KEDA's objects, and of what the
//! workload needs.

use std::collections::BTreeMap;

use function_kit::redacted;
use merge::{FieldPath, Segment};
use pipeline::Object;
use serde_json::{Map, Value};

use super::leaves::{RenderedLeaf, is_rendered_as, leaves};
use super::{Explanation, HIDDEN};

/// Fields of an object that hold what was rendered.
const PARTS: [&str; 3] = ["spec", "data", "annotations"];

/// Adds the leaves of these objects that no field shows.
pub(super) fn add(explanation: &mut Explanation, composed: &BTreeMap<String, Object>) {
    let fields = explanation.fields.iter();
    let fields: BTreeMap<&FieldPath, &Value> =
        fields.map(|field| (&field.path, &field.plain)).collect();
    let mut added = Vec::new();
    for object in composed.values() {
        let plain = rendered_part(object);
        let shown = Value::Object(shown(object.kind(), &plain));
        let plain = Value::Object(plain);
        for leaf in leaves(&[], &plain, &shown) {
            let field = field_shown(object.kind(), &leaf.path);
            let is_shown = field
                .and_then(|path| fields.get(&path))
                .is_some_and(|field| is_rendered_as(field, leaf.plain));
            if !is_shown {
                let path = FieldPath::from(leaf.path);
                added.push(RenderedLeaf {
                    object: object.kind().to_owned(),
                    field: format!("{}: {path}", object.kind()),
                    value: leaf.shown.clone(),
                    path,
                });
            }
        }
    }
    explanation.rendered.extend(added);
}

/// What was rendered of an object: not its identity, and not the pod, which is shown by itself.
fn rendered_part(object: &Object) -> Map<String, Value> {
    let mut part = Map::new();
    for name in PARTS {
        let at: &[&str] = match name {
            "annotations" => &["metadata", "annotations"],
            other => &[other],
        };
        if let Some(value) = object.get(at) {
            part.insert(name.to_owned(), value.clone());
        }
    }
    for path in [&["spec"][..], &["spec", "forProvider"]] {
        let mut place = Some(&mut part);
        for key in path {
            place = place.and_then(|place| place.get_mut(*key)?.as_object_mut());
        }
        if let Some(place) = place {
            place.remove("template");
        }
    }
    part
}

/// The part as it may be shown. Scripts of a ConfigMap are not shown: they are files of a release.
fn shown(kind: &str, part: &Map<String, Value>) -> Map<String, Value> {
    let mut shown = redacted(part);
    match kind {
        // Roles of clouds, which are no secrets.
        "ServiceAccount" => {
            if let Some(annotations) = part.get("annotations") {
                shown.insert("annotations".to_owned(), annotations.clone());
            }
        }
        "ConfigMap" => {
            let data = shown.get_mut("data").and_then(Value::as_object_mut);
            for text in data.into_iter().flat_map(Map::values_mut) {
                *text = HIDDEN.into();
            }
        }
        _ => {}
    }
    shown
}

/// The actor's field that shows a leaf of this kind of object.
fn field_shown(kind: &str, path: &[Segment]) -> Option<FieldPath> {
    let [Segment::Key(part), rest @ ..] = path else {
        return None;
    };
    let base = match (kind, part.as_str()) {
        ("ScaledObject", "spec") => "scaling",
        ("Deployment" | "StatefulSet", "spec") => return Some(FieldPath::from(rest.to_vec())),
        _ => return None,
    };
    Some(FieldPath::from([&[base.into()], rest].concat()))
}
