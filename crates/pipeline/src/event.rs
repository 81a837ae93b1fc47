//! Events that Crossplane would emit.

use serde_json::{Value, json};

/// One event of a reconciliation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    severity: &'static str,
    reason: String,
    message: String,
}

impl Event {
    /// The reason of events on composing, also where a function gives none.
    pub(crate) const COMPOSE: &'static str = "ComposeResources";

    /// An event that is no cause for worry.
    pub(crate) fn normal(reason: &str, message: String) -> Self {
        Self::new("Normal", reason, message)
    }

    /// An event that is.
    pub(crate) fn warning(reason: &str, message: String) -> Self {
        Self::new("Warning", reason, message)
    }

    fn new(severity: &'static str, reason: &str, message: String) -> Self {
        let reason = reason.to_owned();
        Self {
            severity,
            reason,
            message,
        }
    }

    /// The event as `crossplane composition render` writes it.
    pub fn document(&self) -> Value {
        json!({
            "apiVersion": "render.crossplane.io/v1beta1",
            "kind": "Result",
            "severity": self.severity,
            "reason": self.reason,
            "message": self.message,
        })
    }
}
