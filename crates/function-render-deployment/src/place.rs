//! Place of an item of the pod in the resolved spec.

use function_kit::{Call, Location};
use merge::{FieldPath, Segment};

/// Origin of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// This step adds it by itself.
    Asya,
    /// It stands in the resolved spec.
    Spec(FieldPath),
}

impl Place {
    /// Returns whether it stands in the template of the user's own.
    pub(crate) fn is_template(&self) -> bool {
        matches!(self, Self::Spec(path) if path.segments().first() == Some(&Segment::from("workload")))
    }

    /// The document and field that give it; none for what this step adds.
    pub(crate) fn locate(&self, call: &Call) -> Option<Location> {
        match self {
            Self::Asya => None,
            Self::Spec(path) => Some(call.locate(path)),
        }
    }

    /// As a message names it: who set it, and in which field.
    pub(crate) fn describe(&self, call: &Call) -> String {
        let Self::Spec(path) = self else {
            return "Asya itself".to_owned();
        };
        let origin = call.origin(path);
        match path.segments() {
            _ if self.is_template() => format!("{origin} in workload.template"),
            [Segment::Key(field), ..] => format!("{origin} in {field}"),
            _ => origin,
        }
    }
}
