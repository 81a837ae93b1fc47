//! All sides of a conflict.

use std::collections::{BTreeMap, BTreeSet};

use actor::ENVIRONMENT_CONFIG;
use actor::diagnostic::{Code, Diagnostic};
use actor::spec::as_written;
use function_kit::redacted;
use merge::FieldPath;
use pipeline::{Inputs, Object};
use serde_json::{Map, Value};

use super::{HIDDEN, at};

/// Flavors that contradict each other on one field.
#[derive(Debug, Clone, PartialEq)]
pub struct Conflict {
    /// The field.
    pub path: FieldPath,
    /// Every flavor that sets it, in the order of the actor's list.
    pub sides: Vec<Side>,
}

/// One side of a conflict.
#[derive(Debug, Clone, PartialEq)]
pub struct Side {
    /// The flavor.
    pub flavor: String,
    /// Its value; `***` where that may be secret.
    pub value: Value,
}

/// The conflicts among the diagnostics of resolve-flavors, with the value of each side.
pub(super) fn all<'a>(
    inputs: &Inputs,
    diagnostics: impl IntoIterator<Item = &'a Diagnostic>,
) -> Vec<Conflict> {
    let flavors = Flavors::of(inputs);
    let conflicts = diagnostics.into_iter().filter(|diagnostic| {
        matches!(
            diagnostic.code,
            Code::FlavorConflict | Code::FlavorTypeMismatch
        )
    });
    let paths: BTreeSet<&FieldPath> = conflicts.map(|conflict| &conflict.path).collect();
    let named = inputs.composite.object().get(&["spec", "flavors"]);
    let named = named.and_then(Value::as_array).into_iter().flatten();
    let named: Vec<&str> = named.filter_map(Value::as_str).collect();
    paths
        .into_iter()
        .map(|path| Conflict {
            path: in_spec(path),
            sides: named
                .iter()
                .filter_map(|flavor| flavors.side(flavor, path))
                .collect(),
        })
        .collect()
}

/// A path in a flavor, as one of the spec: without `data`.
fn in_spec(path: &FieldPath) -> FieldPath {
    path.segments().iter().skip(1).cloned().collect()
}

/// The EnvironmentConfigs among the inputs.
struct Flavors<'a>(BTreeMap<&'a str, &'a Object>);

impl<'a> Flavors<'a> {
    /// If two have the same name, the later one counts, as in the pipeline.
    fn of(inputs: &'a Inputs) -> Self {
        let (api_version, kind) = ENVIRONMENT_CONFIG;
        let is_config =
            |object: &&Object| (object.api_version(), object.kind()) == (api_version, kind);
        let configs = inputs.required.iter().map(AsRef::as_ref).filter(is_config);
        Self(configs.map(|object| (object.name(), object)).collect())
    }

    /// Value of that flavor at `path`, from the root.
    fn side(&self, flavor: &str, path: &FieldPath) -> Option<Side> {
        let data = self.0.get(flavor)?.get(&["data"])?.as_object()?;
        let path = as_written(data, &in_spec(path));
        at(data, &path)?;
        let shown: Map<String, Value> = redacted(data);
        Some(Side {
            flavor: flavor.to_owned(),
            value: at(&shown, &path)
                .cloned()
                .unwrap_or_else(|| Value::from(HIDDEN)),
        })
    }
}
