//! Volumes that a pod mounts, and their problems.

use std::fmt;

use serde::Deserialize;

/// An object that a pod mounts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub struct Mounted {
    /// Its kind.
    pub kind: MountedKind,
    /// Its name.
    pub name: String,
}

/// The kinds of object that a pod can mount and may find missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub enum MountedKind {
    /// A claim to storage.
    PersistentVolumeClaim,
    /// A ConfigMap.
    ConfigMap,
    /// A Secret.
    Secret,
}

/// Reason for which such an object cannot be mounted.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum MountProblem {
    /// It does not exist.
    Missing,
    /// It is a claim without storage.
    #[serde(rename_all = "camelCase")]
    Unbound {
        /// Its phase.
        phase: String,
        /// Its storage class, where it names one.
        storage_class: Option<String>,
    },
}

impl fmt::Display for Mounted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            MountedKind::PersistentVolumeClaim => "PersistentVolumeClaim",
            MountedKind::ConfigMap => "ConfigMap",
            MountedKind::Secret => "Secret",
        };
        write!(f, "{kind} {:?}", self.name)
    }
}

impl fmt::Display for MountProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("is not there"),
            Self::Unbound {
                phase,
                storage_class: None,
            } => write!(f, "is {phase}, and names no storage class"),
            Self::Unbound {
                phase,
                storage_class: Some(class),
            } => write!(f, "is {phase} (storage class {class:?})"),
        }
    }
}
