//! The documents that are checked.

use std::path::PathBuf;

use actor::names::PLATFORM;
use actor::yaml::Positions;
use actor::{ENVIRONMENT_CONFIG, GROUP, KIND, VERSION};
use merge::FieldPath;
use serde_json::Value;

use super::finding::{Finding, Rule, Severity};
use crate::pipeline::Object;

/// Kind of a legacy XR.
const LEGACY_KIND: &str = "XAsyncActor";

/// An object and where it is written.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// The file.
    pub file: PathBuf,
    /// The object.
    pub object: Object,
    /// Where its fields stand in the file.
    pub positions: Positions,
    /// Its keys that stand unquoted and that Kubernetes' tools read as booleans.
    pub bare_keys: Vec<FieldPath>,
}

/// What a document is to an actor.
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
    /// Nothing: it is not checked.
    None,
}

impl Document {
    /// What the document is, by its version, kind and name.
    pub fn role(&self) -> Role {
        let (config_version, config_kind) = ENVIRONMENT_CONFIG;
        let (kind, is_platform) = (self.object.kind(), self.object.name() == PLATFORM);
        let (served, role) = if [KIND, LEGACY_KIND].contains(&kind) {
            (format!("{GROUP}/{VERSION}"), Role::Actor)
        } else if kind != config_kind {
            return Role::None;
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

    /// Whether it is an actor's legacy XR.
    pub(super) fn is_legacy(&self) -> bool {
        self.object.kind() == LEGACY_KIND
    }

    /// The value at a path of keys, unless it is null.
    pub(super) fn get(&self, path: &[&str]) -> Option<&Value> {
        self.object.get(path).filter(|value| !value.is_null())
    }

    /// Something found at that path.
    pub(super) fn finding(
        &self,
        severity: Severity,
        rule: Rule,
        path: impl Into<FieldPath>,
        message: impl Into<String>,
    ) -> Finding {
        let path = path.into();
        let actor = self.role() == Role::Actor;
        Finding {
            file: self.file.clone(),
            position: self.positions.of(&path),
            severity,
            rule,
            path,
            message: message.into(),
            actor: actor.then(|| self.object.name().to_owned()),
        }
    }
}
