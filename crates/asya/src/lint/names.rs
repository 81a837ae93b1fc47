//! Names and namespaces of objects, as the API server checks them.

use actor::diagnostic::{Code, Severity};
use actor::names::{FlavorName, LABEL_MAX, is_label, is_subdomain};
use serde_json::Value;

use super::document::{Document, Role};
use super::finding::Finding;

/// Checks `metadata.name` and `metadata.namespace`. Missing names are reported elsewhere.
pub(super) fn check(document: &Document, findings: &mut Vec<Finding>) {
    let role = document.role();
    let text = |field| document.get(&["metadata", field]).and_then(Value::as_str);
    let mut error = |code, field, message: String| {
        let path = ["metadata", field];
        findings.push(document.finding(Severity::Error, code, path, message));
    };
    if let Some(name) = text("name").filter(|name| !name.is_empty()) {
        match role {
            Role::Actor if !is_name_of_composite(name) => error(
                Code::InvalidActorName,
                "name",
                format!(
                    "metadata.name: {name:?} is refused by the API server: use at most {LABEL_MAX} lower-case letters, digits, '-' and '.', starting and ending with a letter or digit"
                ),
            ),
            Role::Flavor => {
                if let Err(problem) = name.parse::<FlavorName>() {
                    let message = format!("metadata.name: {problem}");
                    error(Code::InvalidFlavorName, "name", message);
                }
            }
            _ => {}
        }
    }
    // The API server ignores the namespace of a cluster-scoped object.
    let namespace = text("namespace").filter(|namespace| !namespace.is_empty());
    if let Some(namespace) = namespace
        && role == Role::Actor
        && !document.is_legacy()
        && !is_label(namespace)
    {
        let message = format!(
            "metadata.namespace: {namespace:?} is no name of a namespace: use at most {LABEL_MAX} lower-case letters, digits and '-', starting and ending with a letter or digit"
        );
        error(Code::InvalidValue, "namespace", message);
    }
}

/// Returns whether a composite resource can have the name: Crossplane writes it into a label, and limits its
/// length in the CRDs of composite resources. Source: Crossplane, `internal/xcrd`.
fn is_name_of_composite(name: &str) -> bool {
    is_subdomain(name) && name.len() <= LABEL_MAX
}
