//! What earlier steps tell later ones of the same pass.

use merge::{FieldPath, Origin, Provenance};
use serde::{Deserialize, Serialize};

/// Travels in the context under [`crate::FACTS_KEY`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Facts {
    /// Condition types that a step of this pass has returned already.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub returned: Vec<String>,
    /// Which flavor set which field; what is absent is the actor's own.
    #[serde(with = "origins", skip_serializing_if = "is_default")]
    pub origins: Provenance,
    /// What a step has noticed for a condition that report-status owns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
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

fn is_default(origins: &Provenance) -> bool {
    *origins == Provenance::default()
}

/// [`Provenance`] in its compact form.
mod origins {
    use merge::Provenance;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::Value;

    pub(super) fn serialize<S: Serializer>(origins: &Provenance, s: S) -> Result<S::Ok, S::Error> {
        origins.to_json().serialize(s)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Provenance, D::Error> {
        // What is not a provenance tells nothing; messages then name the actor.
        Ok(Provenance::from_json(&Value::deserialize(d)?).unwrap_or_default())
    }
}
