//! The flavors of an actor: fetched, and fit to be merged.

use actor::labels;
use actor::names::FlavorName;
use actor::spec::normalise_aliases;
use actor::status::{ConditionType, StatusReason};
use function_kit::{Fault, Subject};
use serde_json::{Map, Value};

use crate::fetch::EnvironmentConfig;
use crate::list::invalid;

/// One flavor: a partial spec with a name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Flavor<'a> {
    /// The flavor's name.
    pub(crate) name: &'a FlavorName,
    /// What it sets, aliases normalised.
    pub(crate) document: Map<String, Value>,
}

/// Pairs names with what was fetched for them. With `label_required` an
/// EnvironmentConfig without the label of its flavor counts as missing.
///
/// # Errors
/// When flavors are missing; the log tells, too.
pub(crate) fn present<'a>(
    names: &'a [FlavorName],
    fetched: Vec<Option<EnvironmentConfig>>,
    label_required: bool,
    actor: &Subject,
) -> Result<Vec<(&'a FlavorName, EnvironmentConfig)>, Fault> {
    let mut present = Vec::new();
    let mut missing = Vec::new();
    let mut unlabelled = Vec::new();
    for (name, found) in names.iter().zip(fetched) {
        match found {
            Some(found)
                if label_required && found.flavor_label.as_deref() != Some(name.as_str()) =>
            {
                unlabelled.push(format!("{name} lacks the label {}={name}", labels::FLAVOR));
                missing.push(name.to_string());
            }
            Some(found) => present.push((name, found)),
            None => missing.push(name.to_string()),
        }
    }
    if missing.is_empty() {
        return Ok(present);
    }
    let names = missing.join(", ");
    tracing::info!(
        actor = %actor.actor,
        namespace = %actor.namespace,
        names,
        "Waiting for flavor EnvironmentConfigs"
    );
    let mut text = format!(
        "Waiting for {} flavor EnvironmentConfigs: {names}",
        missing.len()
    );
    if !unlabelled.is_empty() {
        text = format!("{text} ({})", unlabelled.join(", "));
    }
    Err(Fault::new(StatusReason::Waiting, text)
        .on(ConditionType::FlavorsResolved, "WaitingForFlavors"))
}

/// Reads the flavors.
///
/// # Errors
/// Every fault of every flavor.
pub(crate) fn read(
    present: Vec<(&FlavorName, EnvironmentConfig)>,
) -> Result<Vec<Flavor<'_>>, Fault> {
    let mut flavors = Vec::new();
    let mut faults = Vec::new();
    for (name, found) in present {
        match document(found) {
            Ok(document) => flavors.push(Flavor { name, document }),
            Err(found) => {
                let named = |fault: String| format!("flavor {:?}: {fault}", name.as_str());
                faults.extend(found.into_iter().map(named));
            }
        }
    }
    if faults.is_empty() {
        Ok(flavors)
    } else {
        Err(invalid(faults))
    }
}

fn document(found: EnvironmentConfig) -> Result<Map<String, Value>, Vec<String>> {
    let mut document = found
        .into_document()
        .map_err(|kind| vec![format!("data must be a map of spec fields, found {kind}")])?;
    let aliases = normalise_aliases(&mut document).err();
    let faults: Vec<String> = aliases
        .map(|error| error.to_string())
        .into_iter()
        .chain(queue_faults(&document))
        .collect();
    if faults.is_empty() {
        Ok(document)
    } else {
        Err(faults)
    }
}

/// Whose queue may be taken over and what becomes of its messages is each actor's
/// own decision; a flavor would make it for all.
fn queue_faults(document: &Map<String, Value>) -> impl Iterator<Item = String> {
    let queue = document.get("queue").and_then(Value::as_object);
    queue
        .into_iter()
        .flatten()
        .filter(|(key, value)| *key != "deadLetter" && !value.is_null())
        .map(|(key, _)| {
            format!(
                "queue.{key} cannot come from a flavor, which may give queue.deadLetter only: set it in the actor"
            )
        })
}
