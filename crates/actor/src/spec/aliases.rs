//! The shorter spellings of the bounds of scaling, `minReplicas` and `maxReplicas`.
//!
//! They are normalised in each document before the merge, so that a flavor's
//! `minReplicas` and another's `minReplicaCount` are the same field.

use merge::{FieldPath, Segment};
use serde_json::{Map, Value};

/// Each alias and the field that it means.
pub const ALIASES: [(&str, &str); 2] = [
    ("minReplicas", "minReplicaCount"),
    ("maxReplicas", "maxReplicaCount"),
];

/// One document spells the same field twice.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("scaling.{alias} and scaling.{field} are the same field")]
pub struct AliasError {
    /// The alias.
    pub alias: &'static str,
    /// The field's own name.
    pub field: &'static str,
}

impl AliasError {
    /// Remedy.
    pub const HELP: &str = "keep one of them";
}

/// The path as `document` writes it: with an alias where the document uses that spelling.
pub fn as_written(document: &Map<String, Value>, path: &FieldPath) -> FieldPath {
    let scaling = document.get("scaling").and_then(Value::as_object);
    let alias_of = |field: &str| {
        let scaling = scaling?;
        let (alias, _) = ALIASES.into_iter().find(|(_, name)| *name == field)?;
        (!scaling.contains_key(field) && scaling.contains_key(alias)).then_some(alias)
    };
    match path.segments() {
        [Segment::Key(first), Segment::Key(field), rest @ ..] if first == "scaling" => {
            let field = alias_of(field).unwrap_or(field);
            let head = [Segment::from("scaling"), Segment::from(field)];
            head.into_iter().chain(rest.iter().cloned()).collect()
        }
        _ => path.clone(),
    }
}

/// Renames the aliases in `spec.scaling`.
///
/// # Errors
/// When alias and field are both set. Null counts as not set.
pub fn normalise_aliases(spec: &mut Map<String, Value>) -> Result<(), AliasError> {
    let Some(scaling) = spec.get_mut("scaling").and_then(Value::as_object_mut) else {
        return Ok(());
    };
    for (alias, field) in ALIASES {
        let Some(value) = scaling.remove(alias) else {
            continue;
        };
        match scaling.get(field) {
            Some(set) if !set.is_null() && !value.is_null() => {
                return Err(AliasError { alias, field });
            }
            Some(set) if !set.is_null() => {}
            _ => drop(scaling.insert(field.to_owned(), value)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_path_is_spelt_as_the_document_spells_it() {
        let document = json!({"scaling": {"minReplicas": 1, "maxReplicaCount": 2}});
        for (field, written) in [
            ("minReplicaCount", "minReplicas"),
            ("maxReplicaCount", "maxReplicaCount"),
            ("queueLength", "queueLength"),
        ] {
            let path = as_written(document.as_object().unwrap(), &["scaling", field].into());
            assert_eq!(path, ["scaling", written].into());
        }
        let other = ["image"].into();
        assert_eq!(as_written(document.as_object().unwrap(), &other), other);
    }

    #[test]
    fn aliases_become_fields() {
        let cases = [
            (
                json!({"minReplicas": 0, "maxReplicas": 100}),
                Some(json!({"minReplicaCount": 0, "maxReplicaCount": 100})),
                "both aliases",
            ),
            (
                json!({"minReplicaCount": 1}),
                Some(json!({"minReplicaCount": 1})),
                "no alias",
            ),
            (
                json!({"minReplicas": null}),
                Some(json!({"minReplicaCount": null})),
                "null is kept",
            ),
            (
                json!({"minReplicas": null, "minReplicaCount": 1}),
                Some(json!({"minReplicaCount": 1})),
                "null does not count as set",
            ),
            (
                json!({"minReplicas": 1, "minReplicaCount": 1}),
                None,
                "twice, even if equal",
            ),
        ];
        for (scaling, expected, reason) in cases {
            let mut spec = Map::from_iter([("scaling".to_owned(), scaling)]);
            let normalised = normalise_aliases(&mut spec).map(|()| spec["scaling"].clone());
            assert_eq!(normalised.ok(), expected, "{reason}");
        }
    }
}
