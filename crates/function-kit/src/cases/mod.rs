//! The golden-case runner: whole request in, whole response out.
//!
//! A case is a folder with `request.yaml` and `response.yaml`, in the form of
//! [`form`], the first beginning with the case's `reason`. Values are compared,
//! not texts. What every Fatal answer contains is checked by the runner and stands in no file.
//! `UPDATE_CASES=1` writes what a step answers now; read the
//! difference as you would read code.
//!
//! Every case also proves what no step may do: answer the same request twice in
//! different ways, set status on a composed object, drop an object that an earlier
//! step desired, or send a Normal or Warning result.

pub mod any;
mod fatal;
pub mod form;
pub mod log;

use std::fs;
use std::path::{Path, PathBuf};

use function_proto::v1::{RunFunctionRequest, RunFunctionResponse, Severity};
use serde_json::Value;

/// Runs every case below `folder` through `run` and reports all that differ.
///
/// # Panics
/// When a case fails, cannot be read, or there is none.
pub fn check(folder: impl AsRef<Path>, run: impl Fn(RunFunctionRequest) -> RunFunctionResponse) {
    let folder = folder.as_ref();
    let cases = folders(folder);
    assert!(!cases.is_empty(), "no cases in {}", folder.display());
    let failures: Vec<String> = cases
        .iter()
        .filter_map(|case| check_one(case, &run).err())
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

fn check_one(
    case: &Path,
    run: &impl Fn(RunFunctionRequest) -> RunFunctionResponse,
) -> Result<(), String> {
    let failed = |what: String| format!("case {}: {what}", case.display());
    let document = read(&case.join("request.yaml")).map_err(&failed)?;
    if document["reason"].as_str().is_none_or(str::is_empty) {
        return Err(failed("request.yaml gives no reason".to_owned()));
    }
    let request = form::request(&document).map_err(&failed)?;
    let desired_before = desired_names(request.desired.as_ref());
    let response = run(request.clone());
    let given = fatal::Given {
        desired: request.desired.as_ref().map_or(Value::Null, form::desired),
        context: document.get("context").cloned().unwrap_or_default(),
        observed_conditions: observed_conditions(&document),
    };
    let mut actual = form::response(&response);
    let again = form::response(&run(request));
    if actual != again {
        return Err(failed("the same request got two answers".to_owned()));
    }
    invariants(&response, &desired_before).map_err(&failed)?;
    fatal::condense(&mut actual, &given).map_err(&failed)?;
    let file = case.join("response.yaml");
    if std::env::var_os("UPDATE_CASES").is_some() {
        let text = actor::yaml::write(&actual).map_err(|error| failed(error.to_string()))?;
        return fs::write(&file, text).map_err(|error| failed(error.to_string()));
    }
    let expected = read(&file).map_err(&failed)?;
    if actual == expected {
        return Ok(());
    }
    let differences = differences(&expected, &actual);
    Err(failed(format!(
        "({})\n  {}",
        document["reason"],
        differences.join("\n  ")
    )))
}

fn invariants(response: &RunFunctionResponse, desired_before: &[String]) -> Result<(), String> {
    for result in &response.results {
        if result.severity != Severity::Fatal as i32 {
            return Err(format!(
                "result {:?} would become an event on every reconcile",
                result.message
            ));
        }
        if result.message.contains('\n') {
            return Err(format!("result {:?} is more than one line", result.message));
        }
    }
    let desired = response.desired.clone().unwrap_or_default();
    let names = desired_names(Some(&desired));
    if let Some(lost) = desired_before.iter().find(|name| !names.contains(name)) {
        return Err(format!(
            "{lost:?} is no longer desired: Crossplane would delete it"
        ));
    }
    let mut resources = desired.resources.iter();
    let with_status = resources.find(|(_, composed)| {
        composed
            .resource
            .as_ref()
            .is_some_and(|object| object.fields.contains_key("status"))
    });
    match with_status {
        Some((name, _)) => Err(format!("composed object {name:?} has a status")),
        None => Ok(()),
    }
}

/// Types of the conditions that the observed XR of a request has.
fn observed_conditions(request: &Value) -> Vec<String> {
    let conditions = &request["observed"]["composite"]["status"]["conditions"];
    let conditions = conditions.as_array().into_iter().flatten();
    conditions
        .filter_map(|condition| Some(condition["type"].as_str()?.to_owned()))
        .collect()
}

fn desired_names(state: Option<&function_proto::v1::State>) -> Vec<String> {
    state
        .map(|state| state.resources.keys().cloned().collect())
        .unwrap_or_default()
}

/// Every place where two values differ, as `path: expected …, got …`.
pub fn differences(expected: &Value, actual: &Value) -> Vec<String> {
    let mut differences = Vec::new();
    differ("", expected, actual, &mut differences);
    differences
}

fn differ(path: &str, expected: &Value, actual: &Value, differences: &mut Vec<String>) {
    match (expected, actual) {
        (Value::Object(expected), Value::Object(actual)) => {
            for (key, value) in expected {
                differ(
                    &format!("{path}.{key}"),
                    value,
                    actual.get(key).unwrap_or(&Value::Null),
                    differences,
                );
            }
            for (key, value) in actual
                .iter()
                .filter(|(key, _)| !expected.contains_key(*key))
            {
                differences.push(format!("{path}.{key}: expected nothing, got {value}"));
            }
        }
        (Value::Array(expected), Value::Array(actual)) if expected.len() == actual.len() => {
            for (index, (expected, actual)) in expected.iter().zip(actual).enumerate() {
                differ(&format!("{path}[{index}]"), expected, actual, differences);
            }
        }
        _ if expected != actual => {
            differences.push(format!("{path}: expected {expected}, got {actual}"));
        }
        _ => {}
    }
}

fn read(file: &Path) -> Result<Value, String> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    actor::yaml::document(&text).map_err(|error| format!("{}: {error}", file.display()))
}

/// The folders below `folder` that hold a request, sorted.
fn folders(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.join("request.yaml").is_file())
        .collect();
    found.sort();
    found
}
