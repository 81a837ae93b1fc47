//! A reconcile that observes nothing new changes nothing.
//!
//! Crossplane stores what a reconcile says and makes another one of it. If that one said
//! anything else, each would lead to the next.

use std::fs;
use std::path::Path;

use function_kit::cases::form;
use function_report_status::run;
use serde_json::{Value, json};

#[test]
fn a_stored_status_does_not_change_the_next_status() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases"));
    for case in fs::read_dir(folder).unwrap() {
        let case = case.unwrap().path();
        let text = fs::read_to_string(case.join("request.yaml")).unwrap();
        let mut request = actor::yaml::document(&text).unwrap();
        let first = answer(&request).unwrap();
        if first.get("results").is_some() {
            continue; // a fatal answer: its status is not stored
        }
        store(&first, &mut request);
        assert_eq!(answer(&request).unwrap(), first, "{}", case.display());
    }
}

fn answer(request: &Value) -> Result<Value, String> {
    Ok(form::response(&run(form::request(request)?)))
}

/// Writes the answer's status and conditions into the observed XR, as Crossplane does.
fn store(answer: &Value, request: &mut Value) {
    let xr = &mut request["observed"]["composite"];
    let list = |conditions: &Value| conditions.as_array().cloned().unwrap_or_default();
    let ours = list(&answer["conditions"]);
    let mut conditions = list(&xr["status"]["conditions"]);
    conditions.retain(|old| ours.iter().all(|new| new["type"] != old["type"]));
    conditions.extend(ours);
    xr["status"] = answer["desired"]["composite"]["status"].clone();
    xr["status"]["conditions"] = json!(conditions);
}
