//! The documents that are checked.

use std::path::PathBuf;

use actor::diagnostic::{Code, Severity, Source};
use actor::names::PLATFORM;
use actor::spec::as_written;
use actor::yaml::Positions;
use actor::{ENVIRONMENT_CONFIG, GROUP, KIND, VERSION};
use merge::{FieldPath, Segment};
use serde_json::Value;

use super::finding::{Check, Finding, Place};
use pipeline::Object;

/// Kind of a legacy XR.
pub(super) const LEGACY_KIND: &str = "XAsyncActor";

/// An object and where it is written.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// The file.
    pub file: PathBuf,
    /// The object.
    pub object: Object,
    /// Positions of its fields in the file.
    pub positions: Positions,
    /// Its keys that stand unquoted and that Kubernetes' tools read as booleans.
    pub bare_keys: Vec<FieldPath>,
}

/// Role of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    /// An actor.
    Actor,
    /// A flavor: any EnvironmentConfig but the platform's.
    Flavor,
    /// The platform's settings.
    Platform,
    /// One of these, in a version that is not served.
    OtherVersion {
        /// The version that is served.
        served: String,
    },
    /// None that an API server with Asya serves, or probably a misspelt one of these.
    UnknownKind {
        /// The remedy.
        remedy: String,
    },
    /// Nothing: it is not checked.
    None,
}

impl Document {
    /// Role of the document, by its version, kind and name.
    pub fn role(&self) -> Role {
        let (config_version, config_kind) = ENVIRONMENT_CONFIG;
        let (kind, is_platform) = (self.object.kind(), self.object.name() == PLATFORM);
        let (served, role) = if [KIND, LEGACY_KIND].contains(&kind) {
            (format!("{GROUP}/{VERSION}"), Role::Actor)
        } else if kind != config_kind {
            return match super::kind::remedy(self.object.api_version(), kind) {
                Some(remedy) => Role::UnknownKind { remedy },
                None => Role::None,
            };
        } else if is_platform {
            (config_version.to_owned(), Role::Platform)
        } else {
            (config_version.to_owned(), Role::Flavor)
        };
        if self.object.api_version() == served {
            role
        } else {
            Role::OtherVersion { served }
        }
    }

    /// Returns whether it is an actor's legacy XR.
    pub(super) fn is_legacy(&self) -> bool {
        self.object.kind() == LEGACY_KIND
    }

    /// The value at a path of keys, unless it is null.
    pub(super) fn get(&self, path: &[&str]) -> Option<&Value> {
        self.object.get(path).filter(|value| !value.is_null())
    }

    /// Source of diagnostics that the document is; none for other documents.
    pub(super) fn source(&self) -> Option<Source> {
        match self.role() {
            Role::Actor => Some(Source::Actor),
            Role::Flavor => Some(Source::Flavor(self.object.name().to_owned())),
            Role::Platform => Some(Source::Platform),
            Role::OtherVersion { .. } | Role::UnknownKind { .. } | Role::None => None,
        }
    }

    /// Returns the place in the file of the field at that path, in the spelling that is used there.
    pub(super) fn place(&self, path: impl Into<FieldPath>) -> Place {
        let path = self.as_written(path.into());
        Place {
            file: self.file.clone(),
            position: self.positions.of(&path),
            path,
            source: self.source(),
        }
    }

    fn as_written(&self, path: FieldPath) -> FieldPath {
        let Some((Segment::Key(root), rest)) = path.segments().split_first() else {
            return path;
        };
        let Some(Value::Object(fields)) = self.object.get(&[root]) else {
            return path;
        };
        let written = as_written(fields, &rest.iter().cloned().collect());
        let written = written.segments().iter().cloned();
        std::iter::once(Segment::from(root.as_str()))
            .chain(written)
            .collect()
    }

    /// Creates a finding of a check of the document itself.
    pub(super) fn finding(
        &self,
        severity: Severity,
        code: Code,
        path: impl Into<FieldPath>,
        message: impl Into<String>,
    ) -> Finding {
        let is_actor = self.role() == Role::Actor;
        Finding {
            place: self.place(path),
            severity,
            code,
            related: Vec::new(),
            message: message.into(),
            help: None,
            actor: is_actor.then(|| self.object.name().to_owned()),
            check: Check::Document,
        }
    }
}
