//! Fields that every object of the provider has in common with every other managed
//! resource of Crossplane's.

use serde::{Deserialize, Serialize};

/// Finalizer of a managed resource.
pub const FINALIZER: &str = "finalizer.managedresource.crossplane.io";
/// Finalizer of a ProviderConfig that is in use.
pub const IN_USE_FINALIZER: &str = "in-use.crossplane.io";

/// Condition: the object can be used.
pub const READY: &str = "Ready";
/// Condition: the last reconcile succeeded.
pub const SYNCED: &str = "Synced";

/// The values that `managementPolicies` may have.
pub const MANAGEMENT_POLICIES: [&str; 6] = [
    "*",
    "Observe",
    "Create",
    "Update",
    "Delete",
    "LateInitialize",
];

/// A condition in an object's status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Type of the condition.
    #[serde(rename = "type")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Reason of the status, in CamelCase.
    pub reason: String,
    /// Details for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Time of the last change of this condition, RFC 3339.
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub last_transition_time: String,
    /// Generation of the object that this condition describes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// A Secret in the object's own namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LocalSecretReference {
    /// Name of the Secret.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 253)))]
    pub name: String,
}
