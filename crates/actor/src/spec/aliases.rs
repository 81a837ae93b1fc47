//! The shorter spellings of the bounds of scaling, `minReplicas` and `maxReplicas`.
//!
//! They are normalised in each document before the merge, so that a flavor's
//! `minReplicas` and another's `minReplicaCount` are the same field.

use serde_json::{Map, Value};

/// Each alias and the field that it means.
pub const ALIASES: [(&str, &str); 2] = [
    ("minReplicas", "minReplicaCount"),
    ("maxReplicas", "maxReplicaCount"),
];

/// One document spells the same field twice.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("scaling.{alias} and scaling.{field} are the same field: keep one of them")]
pub struct AliasError {
    /// The alias.
    pub alias: &'static str,
    /// The field's own name.
    pub field: &'static str,
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
