//! Conflicts: values that two layers cannot both set.

use std::{fmt, slice};

use thiserror::Error;

use crate::FieldPath;

/// Two layers that contradict each other on one field.
///
/// ```
/// use merge::{Conflict, ConflictKind, FieldPath};
///
/// let mut conflict = Conflict {
///     path: FieldPath::from(["tolerations"]),
///     first: "gpu-a100".to_owned(),
///     second: "spot".to_owned(),
///     kind: ConflictKind::SetTwice,
/// };
/// let text = r#"flavor merge conflict: flavors "gpu-a100" and "spot" conflict on tolerations"#;
/// assert_eq!(conflict.to_string(), text);
///
/// conflict.kind = ConflictKind::TypeMismatch { first: "list", second: "string" };
/// assert_eq!(conflict.to_string(), format!("{text}: type mismatch (list and string)"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "flavor merge conflict: flavors {first:?} and {second:?} conflict on {path}{}",
    .kind.explanation()
)]
pub struct Conflict {
    /// The field that both set.
    pub path: FieldPath,
    /// The name of the first layer that set the field itself, not merely its parent.
    pub first: String,
    /// The name of the layer that sets it again.
    pub second: String,
    /// Reason for which the two cannot be merged.
    pub kind: ConflictKind,
}

/// Reason for which two values of one field cannot be merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConflictKind {
    /// Both are scalars (string, number, boolean or null); that they may be equal is no excuse.
    SetTwice,
    /// They are not both maps, both lists or both scalars. Each type is one of `map`, `list`,
    /// `string`, `number`, `boolean` and `null`.
    TypeMismatch {
        /// The type that the first layer gave the field.
        first: &'static str,
        /// The type that the second layer gives it.
        second: &'static str,
    },
}

impl ConflictKind {
    /// Text of the message after the path.
    fn explanation(self) -> String {
        match self {
            Self::SetTwice => String::new(),
            Self::TypeMismatch { first, second } => {
                format!(": type mismatch ({first} and {second})")
            }
        }
    }
}

/// All conflicts of one merge, at least one, sorted by path and, on one path, by layer.
///
/// `Display` joins them with `; `.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct Conflicts(Vec<Conflict>);

impl Conflicts {
    /// Sorts conflicts found in the order of the layers; `None` if there are none.
    pub(crate) fn sorted(mut found: Vec<Conflict>) -> Option<Self> {
        // Stable: on one path the layers stay in order.
        found.sort_by(|a, b| a.path.cmp(&b.path));
        (!found.is_empty()).then_some(Self(found))
    }

    /// Each conflict, in order.
    pub fn iter(&self) -> slice::Iter<'_, Conflict> {
        self.0.iter()
    }
}

impl<'a> IntoIterator for &'a Conflicts {
    type Item = &'a Conflict;
    type IntoIter = slice::Iter<'a, Conflict>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Conflicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, conflict) in self.iter().enumerate() {
            if position > 0 {
                f.write_str("; ")?;
            }
            conflict.fmt(f)?;
        }
        Ok(())
    }
}
