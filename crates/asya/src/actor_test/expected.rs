//! Expected diagnostics of an `ActorTest`.

use std::fmt;

use actor::diagnostic::{Code, Diagnostic, Location, Source};
use serde::{Deserialize, Deserializer, de::Error};

/// An expected error or warning: a part of its message, or its code and place.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a part of the message, or a map of code, source, path and message"
)]
pub enum ExpectedDiagnostic {
    /// A part of the line that is shown, code included.
    Text(String),
    /// The given fields of the diagnostic.
    Fields(ExpectedFields),
}

/// Expected fields of a diagnostic; those that are not given may have any value.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedFields {
    /// The rule, such as `ASYA230`.
    #[serde(default, deserialize_with = "listed_code")]
    pub code: Option<Code>,
    /// The document: `actor`, `platform`, `input`, or `{flavor: NAME}`.
    #[serde(default)]
    pub source: Option<Source>,
    /// The field, from the root of the document: `data.scaling.minReplicaCount`.
    #[serde(default)]
    pub path: Option<String>,
    /// A part of the line that is shown.
    #[serde(default)]
    pub message: Option<String>,
}

fn listed_code<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Code>, D::Error> {
    let text = String::deserialize(d)?;
    text.parse().map(Some).map_err(D::Error::custom)
}

impl ExpectedDiagnostic {
    /// Returns whether it describes this diagnostic, which is shown as `line`. One side of a conflict is
    /// enough for document and path.
    pub(super) fn describes(&self, diagnostic: &Diagnostic, line: &str) -> bool {
        let fields = match self {
            Self::Text(text) => return line.contains(text.as_str()),
            Self::Fields(fields) => fields,
        };
        let own = diagnostic.location();
        let mut locations = std::iter::once(&own).chain(&diagnostic.related);
        let message = fields.message.as_deref().unwrap_or_default();
        fields.code.is_none_or(|code| code == diagnostic.code)
            && line.contains(message)
            && locations.any(|location| fields.is_at(location))
    }
}

impl ExpectedFields {
    fn is_at(&self, Location { source, path }: &Location) -> bool {
        let is_source = self.source.as_ref().is_none_or(|it| it == source);
        is_source && self.path.as_ref().is_none_or(|it| *it == path.to_string())
    }
}

impl fmt::Display for ExpectedDiagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = match self {
            Self::Text(text) => return write!(f, "{text:?}"),
            Self::Fields(fields) => fields,
        };
        let code = fields.code.map(|code| code.to_string());
        let source = fields.source.as_ref().map(|it| format!("in {it}"));
        let path = fields.path.as_ref().map(|path| format!("at {path}"));
        let message = fields.message.as_ref().map(|text| format!("with {text:?}"));
        let given = [code, source, path, message].into_iter().flatten();
        f.write_str(&given.collect::<Vec<_>>().join(" "))
    }
}

/// One item, or a list of them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a diagnostic or a list of them: each a part of the message, or a map of a listed code, source, path and message"
)]
pub enum OneOrMany<T> {
    /// One.
    One(T),
    /// Several.
    Many(Vec<T>),
}

impl<T> Default for OneOrMany<T> {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl<T> OneOrMany<T> {
    /// The items.
    pub(super) fn items(&self) -> &[T] {
        match self {
            Self::One(item) => std::slice::from_ref(item),
            Self::Many(items) => items,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn conflict() -> Diagnostic {
        Diagnostic::error(
            Code::FlavorConflict,
            Location::flavor("spot", ["data", "scaling"]),
            "two flavors conflict",
        )
        .related([Location::flavor("gpu", ["data", "scaling"])])
    }

    #[test]
    fn a_diagnostic_is_described_by_text_or_by_fields() {
        let cases = [
            (json!("flavors conflict"), true, "a part of the message"),
            (json!("ASYA230"), true, "the code as text"),
            (json!("other"), false, "no part of the message"),
            (json!({"code": "ASYA230"}), true, "the code"),
            (json!({"code": "ASYA231"}), false, "another code"),
            (json!({"path": "data.scaling"}), true, "the path"),
            (json!({"path": "data"}), false, "a path above it"),
            (json!({"source": {"flavor": "spot"}}), true, "the document"),
            (
                json!({"source": {"flavor": "gpu"}, "path": "data.scaling"}),
                true,
                "the other side of the conflict",
            ),
            (json!({"source": "actor"}), false, "another document"),
            (
                json!({"code": "ASYA230", "message": "other"}),
                false,
                "every given field must hold",
            ),
        ];
        for (expected, is_described, reason) in cases {
            let expected: ExpectedDiagnostic = serde_json::from_value(expected).unwrap();
            let diagnostic = conflict();
            let line = diagnostic.to_string();
            assert_eq!(
                expected.describes(&diagnostic, &line),
                is_described,
                "{reason}"
            );
        }
    }

    #[test]
    fn an_unknown_code_or_field_is_refused() {
        let refused = [
            json!({"code": "ASYA299"}),
            json!({"codes": "ASYA230"}),
            json!(5),
        ];
        for expected in refused {
            let read = serde_json::from_value::<ExpectedDiagnostic>(expected.clone());
            assert!(read.is_err(), "{expected}");
        }
    }

    #[test]
    fn a_failure_names_every_given_field() {
        let expected: Value = json!({"code": "ASYA230", "source": {"flavor": "gpu"}, "path": "data.a", "message": "m"});
        let expected: ExpectedDiagnostic = serde_json::from_value(expected).unwrap();
        assert_eq!(
            expected.to_string(),
            "ASYA230 in flavor \"gpu\" at data.a with \"m\""
        );
    }
}
