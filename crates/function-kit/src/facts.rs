//! What earlier steps tell later ones of the same pass.

use merge::{FieldPath, Origin, Provenance};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// Travels in the context under [`crate::FACTS_KEY`].
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Facts {
    /// Condition types that a step of this pass has returned already.
    pub returned: Vec<String>,
    /// Which flavor set which field; what is absent is the actor's own.
    #[serde(deserialize_with = "origins")]
    pub origins: Provenance,
    /// What a step has noticed for a condition that report-status owns.
    pub notes: Vec<Note>,
}

/// Something a step has noticed that does not end the pipeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Note {
    /// The condition it belongs to.
    pub condition: String,
    /// Reason, where it makes the condition False; none where it only adds to
    /// the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What was noticed.
    pub message: String,
}

impl Facts {
    /// Who set the field at `path`, as a message names them.
    pub fn origin(&self, path: &FieldPath) -> String {
        teller(&self.origins, path)
    }
}

/// Who set the field at `path`, as a message names them.
pub(crate) fn teller(origins: &Provenance, path: &FieldPath) -> String {
    match origins.of(path).and_then(Origin::layer) {
        Some(flavor) => format!("flavor {flavor:?}"),
        None => "the actor".to_owned(),
    }
}

/// Who set which field, as the context has it. What is not a provenance tells nothing; messages
/// then name the actor.
pub(crate) fn provenance(told: &Value) -> Provenance {
    Provenance::from_json(told).unwrap_or_default()
}

fn origins<'de, D: Deserializer<'de>>(d: D) -> Result<Provenance, D::Error> {
    Ok(provenance(&Value::deserialize(d)?))
}
