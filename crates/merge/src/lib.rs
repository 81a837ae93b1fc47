//! Given documents with names: what is the merged document, where did each of its leaves come
//! from, and what conflicts?
//!
//! [`documents`] folds named layers (an actor's flavors) from left to right into an empty
//! document and lays one overriding document (the actor's own spec) on top. Layers are equals:
//! none of them ever wins over another, so what two of them set is a conflict. Only the
//! overriding document wins. The rules are stated once, with examples that run, in [`rules`].
//!
//! ```
//! use merge::{FieldPath, Layer, Origin};
//! use serde_json::{Map, Value, json};
//!
//! let gpu: Map<String, Value> = serde_json::from_str(
//!     r#"{"scaling": {"maxReplicaCount": 4}, "tolerations": [{"key": "nvidia.com/gpu"}]}"#,
//! )?;
//! let spot = serde_json::from_str(
//!     r#"{"scaling": {"queueLength": 1}, "tolerations": [{"key": "gke-spot"}]}"#,
//! )?;
//! let actor = serde_json::from_str(r#"{"image": "my-org/embedding:latest"}"#)?;
//!
//! let merged = merge::documents(
//!     &[
//!         Layer { name: "gpu", document: &gpu },
//!         Layer { name: "spot", document: &spot },
//!     ],
//!     Some(&actor),
//!     &["actor", "transport", "flavors"],
//! )?;
//!
//! assert_eq!(
//!     Value::Object(merged.document),
//!     json!({
//!         "image": "my-org/embedding:latest",
//!         "scaling": {"maxReplicaCount": 4, "queueLength": 1},
//!         "tolerations": [{"key": "nvidia.com/gpu"}, {"key": "gke-spot"}],
//!     })
//! );
//! assert_eq!(
//!     merged.provenance.of(&FieldPath::from(["scaling", "queueLength"])),
//!     Some(&Origin::Layer("spot".to_owned()))
//! );
//! assert_eq!(merged.provenance.of(&FieldPath::from(["image"])), Some(&Origin::Top));
//!
//! // A second layer that sets the same leaf is an error that names both.
//! let greedy = serde_json::from_str(r#"{"scaling": {"maxReplicaCount": 50}}"#)?;
//! let conflicts = merge::documents(
//!     &[
//!         Layer { name: "gpu", document: &gpu },
//!         Layer { name: "greedy", document: &greedy },
//!     ],
//!     Some(&actor),
//!     &[],
//! )
//! .unwrap_err();
//! assert_eq!(
//!     conflicts.to_string(),
//!     r#"flavor merge conflict: flavors "gpu" and "greedy" conflict on scaling.maxReplicaCount"#
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A [`Layer`] is a name and a document. The result is [`Merged`]: a document and its
//! [`Provenance`], which answers for a [`FieldPath`] with an [`Origin`]. A failure is
//! [`Conflicts`]: every [`Conflict`] of the merge, each with the path and the two layers.
//!
//! # Guarantees
//!
//! Each is a property test in `tests/laws`.
//!
//! - **Identity**: one layer alone, or a top alone, is itself with its numbers normalised
//!   (less a top's own `null` fields); an empty layer changes nothing.
//! - **Grouping**: merging layers in two goes gives the document of merging them in one.
//! - **Disjointness**: documents with no field in common never conflict, in any order.
//! - **Completeness**: without conflicts no value of a layer is lost, unless the top
//!   replaced it; with conflicts all are reported, so that taking the second side of each away
//!   leaves a merge that succeeds.
//! - **Provenance**: every leaf has exactly one origin, and that origin really has the leaf.
//! - **Determinism**: the same arguments give the same bytes; arguments are never changed.
//!
//! # Caveats
//!
//! Time and memory are linear in the size of the documents, times the logarithm of the number of
//! keys in a map. Every level of nesting takes stack: 500 levels are tested unoptimised on a
//! thread of 2 MiB. Real documents have a few dozen, and `serde_json` reads no more than 127.
//!
//! This crate has no clock, no environment, no files and no log, and its errors are the only
//! place where a layer is called a flavor.

mod conflict;
mod fold;
mod number;
mod path;
mod provenance;

#[doc = include_str!("../docs/merge.md")]
pub mod rules {}

pub use conflict::{Conflict, ConflictKind, Conflicts};
pub use path::{FieldPath, Segment};
pub use provenance::{Origin, Provenance};

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// One named document, such as the flavor `gpu-standard`.
///
/// Two layers may have the same name: they are still two layers and conflict like any others.
#[derive(Clone, Copy, Debug)]
pub struct Layer<'a> {
    /// The name that conflicts and provenance use.
    pub name: &'a str,
    /// Document of the layer.
    pub document: &'a Map<String, Value>,
}

/// A merged document, and where each of its leaves came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// The merged document, its numbers normalised.
    pub document: Map<String, Value>,
    /// The origin of each leaf of `document`.
    pub provenance: Provenance,
}

/// Merges `layers` in order and lays `top` over the result, by the rules of [`rules`].
///
/// `ignored_keys` are top-level keys of the layers that are ignored before anything is compared.
/// They do not concern `top`, nor keys of the same name further down.
///
/// # Errors
///
/// All conflicts between layers, except those inside a field that `top` replaces.
pub fn documents(
    layers: &[Layer<'_>],
    top: Option<&Map<String, Value>>,
    ignored_keys: &[&str],
) -> Result<Merged, Conflicts> {
    let overriding = || {
        top.into_iter()
            .flatten()
            .filter(|(_, value)| !value.is_null())
    };
    let not_compared: BTreeSet<&str> = ignored_keys
        .iter()
        .copied()
        .chain(overriding().map(|(key, _)| key.as_str()))
        .collect();

    let mut merged = fold::layers(layers, &not_compared)?;
    for (key, value) in overriding() {
        merged
            .document
            .insert(key.clone(), number::normalised(value));
    }
    Ok(merged)
}
