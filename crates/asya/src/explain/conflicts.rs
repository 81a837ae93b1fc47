//! All sides of a conflict.

use std::collections::BTreeMap;

use actor::ENVIRONMENT_CONFIG;
use actor::diagnostic::{Code, Diagnostic, Location, Source};
use actor::spec::as_written;
use function_kit::redacted;
use merge::FieldPath;
use pipeline::{Inputs, Object};
use serde_json::{Map, Value};

use super::{HIDDEN, at};

/// Flavors that contradict each other on one field.
#[derive(Debug, Clone, PartialEq)]
pub struct Contradiction {
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
    /// What it sets; `***` where that may be secret.
    pub value: Value,
}

/// The conflicts among the diagnostics of resolve-flavors, with the value of each side.
pub(super) fn all<'a>(
    inputs: &Inputs,
    diagnostics: impl IntoIterator<Item = &'a Diagnostic>,
) -> Vec<Contradiction> {
    let flavors = Flavors::of(inputs);
    let mut sides: BTreeMap<FieldPath, Vec<Location>> = BTreeMap::new();
    for diagnostic in diagnostics {
        if !matches!(
            diagnostic.code,
            Code::FlavorConflict | Code::FlavorTypeMismatch
        ) {
            continue;
        }
        let found = sides.entry(in_spec(&diagnostic.path)).or_default();
        let locations = diagnostic.related.iter().cloned();
        for location in locations.chain([diagnostic.location()]) {
            if !found.contains(&location) {
                found.push(location);
            }
        }
    }
    sides
        .into_iter()
        .map(|(path, locations)| Contradiction {
            sides: locations
                .iter()
                .filter_map(|location| flavors.side(location))
                .collect(),
            path,
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
    /// Of two with the same name the later one counts, as in the pipeline.
    fn of(inputs: &'a Inputs) -> Self {
        let (api_version, kind) = ENVIRONMENT_CONFIG;
        let is_config =
            |object: &&Object| (object.api_version(), object.kind()) == (api_version, kind);
        let configs = inputs.required.iter().filter(is_config);
        Self(configs.map(|object| (object.name(), object)).collect())
    }

    /// What stands at that location of a flavor.
    fn side(&self, location: &Location) -> Option<Side> {
        let Source::Flavor(name) = &location.source else {
            return None;
        };
        let data = self.0.get(name.as_str())?.get(&["data"])?.as_object()?;
        let path = as_written(data, &in_spec(&location.path));
        at(data, &path)?;
        let shown: Map<String, Value> = redacted(data);
        Some(Side {
            flavor: name.clone(),
            value: at(&shown, &path)
                .cloned()
                .unwrap_or_else(|| Value::from(HIDDEN)),
        })
    }
}
