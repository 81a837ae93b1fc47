//! All sides of a conflict.

use std::collections::BTreeMap;

use actor::ENVIRONMENT_CONFIG;
use actor::spec::{
    INFRASTRUCTURE, LEGACY_MACHINERY, MACHINERY, normalise_aliases, without_machinery,
};
use function_kit::redacted;
use merge::{Conflicts, FieldPath, Layer};
use serde_json::{Map, Value};

use super::{HIDDEN, at};
use crate::pipeline::{Inputs, Machinery, Object};

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

/// The conflicts behind these messages of resolve-flavors; none where it ended for
/// another reason.
pub(super) fn of(inputs: &Inputs, messages: &[String]) -> Vec<Contradiction> {
    let flavors = flavors(inputs);
    let Some(conflicts) = conflicts(inputs, &flavors) else {
        return Vec::new();
    };
    let texts: Vec<String> = conflicts.iter().map(ToString::to_string).collect();
    if texts != messages {
        return Vec::new();
    }
    let mut paths: Vec<&FieldPath> = conflicts.iter().map(|conflict| &conflict.path).collect();
    paths.dedup();
    let sides = |path: &FieldPath| {
        flavors
            .iter()
            .filter_map(|flavor| flavor.side(path))
            .collect()
    };
    paths
        .into_iter()
        .map(|path| Contradiction {
            path: path.clone(),
            sides: sides(path),
        })
        .collect()
}

struct Flavor<'a> {
    name: &'a str,
    document: Map<String, Value>,
}

impl Flavor<'_> {
    fn side(&self, path: &FieldPath) -> Option<Side> {
        at(&self.document, path)?;
        let shown = redacted(&self.document);
        Some(Side {
            flavor: self.name.to_owned(),
            value: at(&shown, path)
                .cloned()
                .unwrap_or_else(|| Value::from(HIDDEN)),
        })
    }
}

/// The flavors that the actor names and that exist, aliases normalised.
fn flavors(inputs: &Inputs) -> Vec<Flavor<'_>> {
    let (api_version, kind) = ENVIRONMENT_CONFIG;
    let is_config = |object: &&Object| (object.api_version(), object.kind()) == (api_version, kind);
    // Of two with the same name the later one counts, as in the pipeline.
    let by_name: BTreeMap<&str, &Object> = inputs
        .required
        .iter()
        .filter(is_config)
        .map(|object| (object.name(), object))
        .collect();
    let named = inputs.composite.object().get(&["spec", "flavors"]);
    let named = named.and_then(Value::as_array).into_iter().flatten();
    named
        .filter_map(|name| {
            let name = name.as_str()?;
            let mut document = by_name.get(name)?.get(&["data"])?.as_object()?.clone();
            normalise_aliases(&mut document).ok()?;
            Some(Flavor { name, document })
        })
        .collect()
}

fn conflicts(inputs: &Inputs, flavors: &[Flavor<'_>]) -> Option<Conflicts> {
    let legacy = inputs.composite.machinery() == Machinery::Legacy;
    let spec = inputs
        .composite
        .object()
        .get(&["spec"])
        .and_then(Value::as_object);
    let mut own = without_machinery(spec.cloned().unwrap_or_default(), legacy);
    normalise_aliases(&mut own).ok()?;
    let mut left_out = INFRASTRUCTURE.to_vec();
    left_out.push(MACHINERY);
    if legacy {
        left_out.extend(LEGACY_MACHINERY);
    }
    let layers: Vec<Layer<'_>> = flavors
        .iter()
        .map(|flavor| Layer {
            name: flavor.name,
            document: &flavor.document,
        })
        .collect();
    merge::documents(&layers, Some(&own), &left_out).err()
}
