//! What is found, and where.

use std::cmp::Ordering;
use std::fmt;
use std::path::PathBuf;

use actor::yaml::Position;
use merge::FieldPath;

/// Something in a file that is wrong, or may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The file.
    pub file: PathBuf,
    /// Where in the file.
    pub position: Position,
    /// How bad it is.
    pub severity: Severity,
    /// The rule that it breaks.
    pub rule: Rule,
    /// The field, from the root of its document; empty for the document itself.
    pub path: FieldPath,
    /// What is wrong, in one line.
    pub message: String,
    /// The actor that it was found with.
    pub actor: Option<String>,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The actor would not run as it is written, or not at all.
    Error,
    /// It would run, but probably not as its author thinks.
    Warning,
    /// Worth knowing; never a reason to fail.
    Note,
}

/// What a finding breaks.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// The file is YAML with Kubernetes objects.
    Yaml,
    /// The object is of a version that is served.
    ApiVersion,
    /// No key is one that Kubernetes' tools read as a boolean.
    BareKey,
    /// Functions can read the document.
    Nesting,
    /// Every field is one that the API knows.
    UnknownField,
    /// Every value has the type of its field.
    InvalidValue,
    /// A flavor sets nothing that is not its own to set.
    IgnoredKey,
    /// A flavor's label is its name.
    FlavorLabel,
    /// An actor's flavors are among the files.
    MissingFlavor,
    /// Flavors that an actor combines do not contradict each other.
    FlavorConflict,
    /// The platform's transports are complete.
    Platform,
    /// The runtime container says what it needs.
    Requests,
    /// The step of that name comes to its end.
    Step(String),
    /// A step has nothing to tell in the condition of that type.
    Condition(String),
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Yaml => "yaml",
            Self::ApiVersion => "api-version",
            Self::BareKey => "bare-key",
            Self::Nesting => "nesting",
            Self::UnknownField => "unknown-field",
            Self::InvalidValue => "invalid-value",
            Self::IgnoredKey => "ignored-key",
            Self::FlavorLabel => "flavor-label",
            Self::MissingFlavor => "missing-flavor",
            Self::FlavorConflict => "flavor-conflict",
            Self::Platform => "platform",
            Self::Requests => "requests",
            Self::Step(name) | Self::Condition(name) => name,
        })
    }
}

impl Ord for Finding {
    /// By place; at one place what is found without an actor goes first.
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |finding: &Self| {
            (
                finding.file.clone(),
                finding.position,
                finding.severity,
                finding.message.clone(),
                finding.actor.clone(),
                finding.rule.clone(),
                finding.path.clone(),
            )
        };
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Finding {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
