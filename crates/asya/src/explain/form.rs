//! An explanation for people, and for programs.

use std::fmt;

use serde_json::{Value, json};

use crate::diagnostics::document as diagnostic_document;
use crate::table::{columns, shown};
use crate::visible::visible_line;

use super::{Conflict, Derived, Explanation, Field, Origin, RenderedLeaf};

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flavor(name) => write!(f, "flavor {name}"),
            Self::Actor => f.write_str("actor"),
            Self::Platform(setting) => write!(f, "platform ({setting})"),
            Self::LiveQueue => f.write_str("live queue"),
            Self::Default(None) => f.write_str("default"),
            Self::Default(Some(from)) => write!(f, "default ({from})"),
        }
    }
}

/// The explanation as tables for people, cut to a width in characters if there is one. Leaves of the
/// rendered objects that no field shows are only counted unless `all` is set.
pub fn table(explanation: &Explanation, width: Option<usize>, all: bool) -> String {
    let mut text = format!(
        "{} in {}\n",
        visible_line(&explanation.actor),
        visible_line(&explanation.namespace)
    );
    let cells = |cells: [String; 3]| cells.map(|cell| visible_line(&cell).into_owned());
    if !explanation.conflicts.is_empty() {
        let sides = explanation.conflicts.iter().flat_map(|conflict| {
            let path = conflict.path.to_string();
            let sides = conflict.sides.iter();
            sides.map(move |side| [path.clone(), side.flavor.clone(), shown(&side.value)])
        });
        let sides = sides.map(cells);
        columns(["FIELD", "FLAVOR", "VALUE"], sides, width, &mut text);
    }
    if !explanation.fields.is_empty() {
        let fields = explanation.fields.iter().map(|field| {
            let path = field.path.to_string();
            let origin = if field.is_replaced {
                format!("{}, replaced by the template", field.origin)
            } else {
                field.origin.to_string()
            };
            cells([path, origin, shown(&field.value)])
        });
        columns(["FIELD", "SET BY", "VALUE"], fields, width, &mut text);
    }
    if !explanation.derived.is_empty() {
        let derived = explanation.derived.iter();
        let rows = derived.map(|it| [it.name.to_owned(), it.from.clone(), shown(&it.value)]);
        let rows = rows.map(cells);
        columns(["DERIVED", "FROM", "VALUE"], rows, width, &mut text);
    }
    match explanation.rendered.len() {
        0 => {}
        _ if all => {
            let rows = explanation.rendered.iter().map(|leaf| {
                let cells = [leaf.field.clone(), shown(&leaf.value)];
                cells.map(|cell| visible_line(&cell).into_owned())
            });
            columns(["RENDERED BY DEFAULT", "VALUE"], rows, width, &mut text);
        }
        count => text.push_str(&format!(
            "\n{count} more defaults of the rendered objects: --all shows them\n"
        )),
    }
    text
}

/// The explanation as a document for programs. With `all` it contains the leaves of the rendered objects
/// that no field shows.
pub fn document(explanation: &Explanation, all: bool) -> Value {
    let Explanation {
        actor,
        namespace,
        fields,
        rendered,
        derived,
        conflicts,
        diagnostics,
    } = explanation;
    let mut document = json!({"actor": actor, "namespace": namespace});
    let rendered = rendered.iter().filter(|_| all);
    let lists: [(&str, Vec<Value>); 6] = [
        ("fields", fields.iter().map(field).collect()),
        ("rendered", rendered.map(rendered_leaf).collect()),
        ("derived", derived.iter().map(derivation).collect()),
        ("conflicts", conflicts.iter().map(conflict).collect()),
        (
            "errors",
            explanation
                .errors()
                .map(|it| json!(it.to_string()))
                .collect(),
        ),
        (
            "diagnostics",
            diagnostics.iter().map(diagnostic_document).collect(),
        ),
    ];
    for (key, list) in lists {
        if !list.is_empty() {
            document[key] = Value::Array(list);
        }
    }
    document
}

fn field(field: &Field) -> Value {
    let mut document = json!({
        "path": field.path.to_json(),
        "field": field.path.to_string(),
        "value": field.value,
        "origin": origin(&field.origin),
    });
    if field.is_replaced {
        document["isReplaced"] = json!(true);
    }
    document
}

fn rendered_leaf(leaf: &RenderedLeaf) -> Value {
    json!({"object": leaf.object, "path": leaf.path.to_json(), "field": leaf.field, "value": leaf.value})
}

/// An origin for programs.
pub(crate) fn origin(origin: &Origin) -> Value {
    match origin {
        Origin::Flavor(name) => json!({"kind": "flavor", "name": name}),
        Origin::Actor => json!({"kind": "actor"}),
        Origin::Platform(setting) => json!({"kind": "platform", "setting": setting}),
        Origin::LiveQueue => json!({"kind": "queue"}),
        Origin::Default(None) => json!({"kind": "default"}),
        Origin::Default(Some(from)) => json!({"kind": "default", "from": from}),
    }
}

fn derivation(derived: &Derived) -> Value {
    json!({"name": derived.name, "value": derived.value, "from": derived.from})
}

/// A conflict for programs.
pub(crate) fn conflict(conflict: &Conflict) -> Value {
    let sides = conflict.sides.iter();
    let sides = sides.map(|side| json!({"flavor": side.flavor, "value": side.value}));
    json!({
        "path": conflict.path.to_json(),
        "field": conflict.path.to_string(),
        "sides": sides.collect::<Vec<_>>(),
    })
}
