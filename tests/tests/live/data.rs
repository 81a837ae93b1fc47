//! The cases, which are files.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tests::examples::documents;

/// Returns the folder of the cases.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("live")
}

/// The cases of a file, which is one list.
pub(crate) fn cases(file: &str) -> Vec<Value> {
    let mut documents = documents(&folder().join(file));
    assert_eq!(documents.len(), 1, "{file}");
    let Value::Array(cases) = documents.remove(0) else {
        panic!("{file} is not a list");
    };
    cases
}

/// Reason of a case.
pub(crate) fn reason(case: &Value) -> &str {
    case["reason"].as_str().expect("a case has a reason")
}

/// The status that a case expects.
pub(crate) fn status(case: &Value) -> &str {
    case["status"].as_str().expect("a case has a status")
}

/// A status whose conditions have the time that schemas ask for.
pub(crate) fn with_times(status: &Value) -> Value {
    let mut status = status.clone();
    if let Some(conditions) = status["conditions"].as_array_mut() {
        for condition in conditions {
            condition["lastTransitionTime"] = json!("2026-01-01T00:00:00Z");
        }
    }
    status
}
