//! The flavors of an actor: fetched, and fit to be merged.

use actor::labels;
use actor::names::FlavorName;
use actor::spec::{AliasError, normalise_aliases};
use actor::status::{ConditionType, StatusReason};
use function_kit::{Code, Diagnostic, Location, StepError, Subject};
use merge::FieldPath;
use serde_json::{Map, Value};

use crate::fetch::EnvironmentConfig;
use crate::list::{self, invalid};

/// One flavor: a partial spec with a name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Flavor<'a> {
    /// The flavor's name.
    pub(crate) name: &'a FlavorName,
    /// Its fields, aliases normalised.
    pub(crate) document: Map<String, Value>,
}

/// Pairs names with what was fetched for them. With `label_required` an
/// EnvironmentConfig without the label of its flavor counts as missing.
///
/// # Errors
/// When flavors are missing; that is logged as well.
pub(crate) fn present<'a>(
    names: &'a [FlavorName],
    fetched: Vec<Option<EnvironmentConfig>>,
    label_required: bool,
    actor: &Subject,
) -> Result<Vec<(&'a FlavorName, EnvironmentConfig)>, StepError> {
    let mut present = Vec::new();
    let mut missing = Vec::new();
    let mut unlabelled = Vec::new();
    for (index, (name, found)) in names.iter().zip(fetched).enumerate() {
        match found {
            Some(found)
                if label_required && found.flavor_label.as_deref() != Some(name.as_str()) =>
            {
                unlabelled.push(format!("{name} lacks the label {}={name}", labels::FLAVOR));
                missing.push((index, name));
            }
            Some(found) => present.push((name, found)),
            None => missing.push((index, name)),
        }
    }
    let Some((first, _)) = missing.first() else {
        return Ok(present);
    };
    let names: Vec<&str> = missing.iter().map(|(_, name)| name.as_str()).collect();
    let names = names.join(", ");
    tracing::info!(
        actor = %actor.actor,
        namespace = %actor.namespace,
        names,
        "Waiting for flavor EnvironmentConfigs"
    );
    let mut message = format!(
        "Waiting for {} flavor EnvironmentConfigs: {names}",
        missing.len()
    );
    if !unlabelled.is_empty() {
        message = format!("{message} ({})", unlabelled.join(", "));
    }
    let others = missing.iter().skip(1);
    let diagnostic = Diagnostic::error(Code::FlavorMissing, list::location(*first), message)
        .related(others.map(|(index, _)| list::location(*index)));
    Err(StepError::new(StatusReason::Waiting, diagnostic)
        .on(ConditionType::FlavorsResolved, "WaitingForFlavors"))
}

/// Reads the flavors.
///
/// # Errors
/// Every error of every flavor.
pub(crate) fn read(
    present: Vec<(&FlavorName, EnvironmentConfig)>,
) -> Result<Vec<Flavor<'_>>, StepError> {
    let mut flavors = Vec::new();
    let mut errors = Vec::new();
    for (name, found) in present {
        match document(name.as_str(), found) {
            Ok(document) => flavors.push(Flavor { name, document }),
            Err(found) => errors.extend(found),
        }
    }
    if errors.is_empty() {
        Ok(flavors)
    } else {
        Err(invalid(errors))
    }
}

fn document(name: &str, found: EnvironmentConfig) -> Result<Map<String, Value>, Vec<Diagnostic>> {
    let error = |code, path: &[&str], text: String| {
        let path = std::iter::once("data").chain(path.iter().copied());
        let location = Location::flavor(name, path.collect::<FieldPath>());
        Diagnostic::error(code, location, format!("flavor {name:?}: {text}"))
    };
    let mut document = found.into_document().map_err(|kind| {
        let text = format!("data must be a map of spec fields, found {kind}");
        vec![error(Code::InvalidFlavorData, &[], text)]
    })?;
    let mut errors = Vec::new();
    if let Err(alias) = normalise_aliases(&mut document) {
        let field = Location::flavor(name, ["data", "scaling", alias.field]);
        let path = ["scaling", alias.alias];
        let error = error(Code::FieldSetTwice, &path, alias.to_string());
        errors.push(error.related([field]).help(AliasError::HELP));
    }
    errors.extend(queue_options(&document).map(|option| {
        let text = format!(
            "queue.{option} cannot come from a flavor, which may give queue.deadLetter only"
        );
        error(Code::QueueOptionInFlavor, &["queue", option], text).help("set it in the actor")
    }));
    if errors.is_empty() {
        Ok(document)
    } else {
        Err(errors)
    }
}

/// The options of the queue that a flavor cannot give. Whose queue may be taken over and what
/// becomes of its messages is each actor's own decision; a flavor would make it for all.
fn queue_options(document: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let queue = document.get("queue").and_then(Value::as_object);
    let options = queue.into_iter().flatten();
    options
        .filter(|(key, value)| *key != "deadLetter" && !value.is_null())
        .map(|(key, _)| key.as_str())
}
