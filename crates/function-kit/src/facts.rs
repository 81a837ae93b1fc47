//! Facts that earlier steps of a reconcile hand to later ones, and to tools.

use actor::diagnostic::{Diagnostic, Location, Severity};
use actor::health::UsedEnvironmentConfig;
use merge::{FieldPath, Provenance};
use pbjson_types::Struct;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::{FACTS_KEY, value};

/// Travels in the context under [`crate::FACTS_KEY`], on Fatal answers too.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Facts {
    /// Condition types that a step of this reconcile has returned already.
    pub returned: Vec<String>,
    /// Provenance of fields that flavors set; fields that are absent are the actor's own.
    #[serde(deserialize_with = "origins")]
    pub origins: Provenance,
    /// Diagnostics of the steps; a Fatal answer has its errors too.
    pub diagnostics: Vec<Note>,
    /// EnvironmentConfigs that the actor is rendered with.
    pub environment: Vec<UsedEnvironmentConfig>,
    /// Items of flavors' lists that were removed before the merge, because the actor's own fields
    /// take their place.
    pub removed: Vec<Location>,
    /// Platform settings that the input of resolve-flavors gives.
    pub platform_input: Option<PlatformInput>,
}

/// Platform settings that the input of resolve-flavors gives. The settings in the context contain
/// them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PlatformInput {
    /// The settings in the input.
    pub settings: Map<String, Value>,
    /// True if there is no EnvironmentConfig with settings.
    pub alone: bool,
}

/// A diagnostic, and the condition that shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Note {
    /// The condition.
    pub condition: String,
    /// The reason that makes the condition False; none where the diagnostic only adds to the
    /// condition's message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The diagnostic.
    #[serde(flatten)]
    pub diagnostic: Diagnostic,
}

impl Facts {
    /// The facts in a context, as a step left them; none where it holds none or those of another form.
    pub fn from_context(context: Option<&Struct>) -> Self {
        let facts = context.and_then(|context| value::map(context, &[FACTS_KEY]));
        facts
            .and_then(|facts| serde_json::from_value(value::struct_to_json(facts)).ok())
            .unwrap_or_default()
    }

    /// The document and field that gave `path` of the resolved spec.
    pub fn locate(&self, path: &FieldPath) -> Location {
        Location::in_spec(&self.origins, path).before_removal(&self.removed)
    }

    /// Origin of the field at `path` of the resolved spec, as a message names it.
    pub fn origin(&self, path: &FieldPath) -> String {
        self.locate(path).source.to_string()
    }

    /// The errors, which only a Fatal answer has.
    pub fn errors(&self) -> impl Iterator<Item = &Note> {
        let notes = self.diagnostics.iter();
        notes.filter(|note| note.diagnostic.severity == Severity::Error)
    }

    /// The diagnostics that do not end the pipeline.
    pub fn notes(&self) -> impl Iterator<Item = &Note> {
        let notes = self.diagnostics.iter();
        notes.filter(|note| note.diagnostic.severity != Severity::Error)
    }
}

/// Reads which source set which field from the context; any other form counts as empty, and messages then
/// name the actor.
pub(crate) fn provenance(document: &Value) -> Provenance {
    Provenance::from_json(document).unwrap_or_default()
}

fn origins<'de, D: Deserializer<'de>>(d: D) -> Result<Provenance, D::Error> {
    Ok(provenance(&Value::deserialize(d)?))
}
