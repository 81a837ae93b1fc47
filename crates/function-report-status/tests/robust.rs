//! No request makes the step panic: it returns a response, or ends fatally.

use function_kit::cases::form;
use function_report_status::run;
use serde_json::{Value, json};

#[test]
fn a_value_of_any_type_anywhere_is_answered() {
    let text = include_str!("cases/a-name-that-another-actor-has-is-a-config-error/request.yaml");
    let refused = actor::yaml::document(text).unwrap();
    let text = include_str!("cases/an-actor-at-work-is-running/request.yaml");
    let at_work = actor::yaml::document(text).unwrap();
    for request in [refused, at_work] {
        let mut paths = Vec::new();
        collect_paths(&request, String::new(), &mut paths);
        for path in &paths {
            for junk in [
                json!(null),
                json!(-1.5),
                json!(1e300),
                json!("ä\n"),
                json!([[]]),
                json!({}),
            ] {
                let mut request = request.clone();
                *request.pointer_mut(path).unwrap() = junk;
                if let Ok(request) = form::request(&request) {
                    let response = run(request);
                    assert!(!response.conditions.is_empty(), "{path}");
                }
            }
        }
    }
}

/// The JSON pointers of everything below the request's top level.
fn collect_paths(value: &Value, path: String, paths: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| (key.replace('~', "~0").replace('/', "~1"), value))
            .collect(),
        Value::Array(list) => list
            .iter()
            .enumerate()
            .map(|(index, value)| (index.to_string(), value))
            .collect(),
        _ => Vec::new(),
    };
    for (key, child) in children {
        collect_paths(child, format!("{path}/{key}"), paths);
    }
    paths.push(path);
}
