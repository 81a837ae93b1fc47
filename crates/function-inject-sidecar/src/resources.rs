//! Resources of injected containers.
//!
//! They always request cpu and memory: one container of a pod without a request
//! breaks every autoscaler that counts in percent of requests.

use actor::quantity;
use merge::FieldPath;
use serde_json::{Map, Value};

/// Default requests: what an idle sidecar needs.
const LEAST: [(&str, &str); 2] = [("cpu", "10m"), ("memory", "32Mi")];

/// `given` with its quantities as texts, and with requests of cpu and memory: what is
/// missing is taken from its own limits, for a request must not exceed them, else from
/// the requests of `others`, else it is what a waiting sidecar needs. `report` takes what is no
/// quantity: the field in `given`, and what is wrong with it.
pub(crate) fn with_requests(
    given: Option<&Map<String, Value>>,
    others: Option<&Map<String, Value>>,
    mut report: impl FnMut(&FieldPath, &str),
) -> Value {
    let mut resources = given.cloned().unwrap_or_default();
    quantity::normalise(&mut resources, |path, problem| report(&path, &problem));
    quantity::complete_requests(&mut resources, others, LEAST);
    Value::Object(resources)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn cpu_and_memory_are_always_requested() {
        let cases = [
            (
                json!({}),
                json!({}),
                json!({"requests": {"cpu": "10m", "memory": "32Mi"}}),
                "no requests are set",
            ),
            (
                json!({"requests": {"cpu": 1}}),
                json!({}),
                json!({"requests": {"cpu": "1", "memory": "32Mi"}}),
                "half of it",
            ),
            (
                json!({"limits": {"cpu": "5m", "memory": 1000}}),
                json!({"requests": {"cpu": "20m"}}),
                json!({"limits": {"cpu": "5m", "memory": "1000"}, "requests": {"cpu": "5m", "memory": "1000"}}),
                "a request must not exceed the limit",
            ),
            (
                json!({"limits": {"example.org/x": 1}}),
                json!({"requests": {"cpu": 0.5}}),
                json!({"limits": {"example.org/x": "1"}, "requests": {"cpu": "0.5", "memory": "32Mi"}}),
                "the platform's request",
            ),
        ];
        for (given, others, expected, reason) in cases {
            let resources =
                with_requests(given.as_object(), others.as_object(), |path, problem| {
                    panic!("{reason}: {path}: {problem}")
                });
            assert_eq!(resources, expected, "{reason}");
        }
    }

    #[test]
    fn invalid_quantities_are_reported_with_their_path() {
        let given = json!({"limits": {"cpu": "lots"}, "requests": [1]});
        let mut problems = Vec::new();
        with_requests(given.as_object(), None, |path, problem| {
            problems.push(format!("{path}: {problem}"));
        });
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(
            problems[0].starts_with("limits.cpu: \"lots\""),
            "{problems:?}"
        );
        assert!(
            problems[1].starts_with("requests: expected a map"),
            "{problems:?}"
        );
    }
}
