//! Diagnostics: what a step, or a tool that reads documents, finds wrong, and where.
//!
//! A [`Diagnostic`] names its [`Code`], the document ([`Source`]) and the field in it. Tools read
//! these; the message is for people alone and may be reworded at any time.

mod code;
mod location;

use std::fmt;

use merge::FieldPath;
use serde::{Deserialize, Serialize};

pub use code::{Code, Entry, UnknownCode};
pub use location::{Location, Source};
pub(crate) use location::{original_index, removed_from};

/// Something that is wrong, or may be, in one field of one document.
///
/// `Display` is the line that Crossplane shows: `message: help [CODE]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnostic {
    /// Rule that is broken.
    pub code: Code,
    /// Severity; not written if it is an error.
    #[serde(default, skip_serializing_if = "Severity::is_error")]
    pub severity: Severity,
    /// The document that the field is in.
    pub source: Source,
    /// The field, from the root of that document: `spec.env[0]`, `data.scaling`.
    #[serde(with = "location::field_path")]
    pub path: FieldPath,
    /// The other fields that are part of it, such as the other side of a conflict.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub related: Vec<Location>,
    /// The problem, in one line.
    pub message: String,
    /// Remedy, printed in the same line after the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

/// Severity of a diagnostic.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The actor is not rendered.
    #[default]
    Error,
    /// The actor is rendered, but probably not as its author thinks.
    Warning,
    /// Worth knowing; never a reason to fail.
    Info,
}

impl Severity {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
    fn is_error(&self) -> bool {
        *self == Self::Error
    }

    /// `error`, `warning` or `info`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Diagnostic {
    /// An error at `location`.
    pub fn error(code: Code, location: Location, message: impl Into<String>) -> Self {
        let Location { source, path } = location;
        Self {
            code,
            severity: Severity::Error,
            source,
            path,
            related: Vec::new(),
            message: message.into(),
            help: None,
        }
    }

    /// A warning at `location`.
    pub fn warning(code: Code, location: Location, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(code, location, message)
        }
    }

    /// Creates an informational diagnostic at `location`.
    pub fn info(code: Code, location: Location, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Info,
            ..Self::error(code, location, message)
        }
    }

    /// The same with what to do about it.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The same with other fields that are part of it.
    #[must_use]
    pub fn related(mut self, related: impl IntoIterator<Item = Location>) -> Self {
        self.related.extend(related);
        self
    }

    /// The field, with its document.
    pub fn location(&self) -> Location {
        Location {
            source: self.source.clone(),
            path: self.path.clone(),
        }
    }

    /// Message and help in one line, without the code.
    pub fn text(&self) -> String {
        match &self.help {
            Some(help) => format!("{}: {help}", self.message),
            None => self.message.clone(),
        }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}]", self.text(), self.code)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn default_fields_of_a_diagnostic_are_not_written() {
        let plain = Diagnostic::error(
            Code::InvalidValue,
            Location::actor(["spec", "image"]),
            "expected a string",
        );
        let document = json!({
            "code": "ASYA110", "source": "actor", "path": ["spec", "image"],
            "message": "expected a string",
        });
        assert_eq!(json!(plain), document);
        assert_eq!(
            serde_json::from_value::<Diagnostic>(document).unwrap(),
            plain
        );
        assert_eq!(plain.to_string(), "expected a string [ASYA110]");
    }

    #[test]
    fn a_diagnostic_is_equal_after_serialization() {
        let full = Diagnostic::warning(
            Code::DuplicateName,
            Location::flavor("gpu", ["data", "env"]),
            "variable \"A\" is given more than once",
        )
        .related([Location::actor(["spec", "env"])])
        .help("keep one of them");
        let document = json!({
            "code": "ASYA410", "severity": "warning", "source": {"flavor": "gpu"},
            "path": ["data", "env"],
            "related": [{"source": "actor", "path": ["spec", "env"]}],
            "message": "variable \"A\" is given more than once",
            "help": "keep one of them",
        });
        assert_eq!(json!(full), document);
        assert_eq!(
            serde_json::from_value::<Diagnostic>(document).unwrap(),
            full
        );
        assert_eq!(
            full.to_string(),
            "variable \"A\" is given more than once: keep one of them [ASYA410]"
        );
    }

    #[test]
    fn a_code_of_another_version_is_kept_as_unlisted() {
        let document =
            json!({"code": "ASYA998", "source": "platform", "path": [], "message": "new"});
        let read: Diagnostic = serde_json::from_value(document).unwrap();
        assert_eq!(read.code, Code::Unlisted);
    }
}
