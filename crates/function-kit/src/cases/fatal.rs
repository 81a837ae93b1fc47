//! Checks of every Fatal answer, stated once.
//!
//! The response file of such an answer has, in place of results and conditions:
//! ```yaml
//! fatal:
//!   reason: ConfigError                                    # of ActorReady and of each result
//!   condition: {type: WorkloadReady, reason: ConfigError}  # where one is False beside ActorReady
//!   diagnostics:
//!   - {code: ASYA124, source: actor, path: [spec, image], message: …, help: …}
//! ```
//! Beside it stands what is particular: other conditions that the step returned before, and
//! desired state and context where they differ from the request's.

use actor::diagnostic::{Diagnostic, Severity};
use actor::status::ConditionType;
use serde_json::{Map, Value, json};

use crate::{FACTS_KEY, Note};

/// Conditions that are returned only where the actor has them already.
const OPTIONAL: [ConditionType; 2] = [ConditionType::ScalingReady, ConditionType::TargetResolved];

/// The request, as far as a Fatal answer repeats it.
pub(super) struct Given {
    /// Its desired state, in the form of a response.
    pub(super) desired: Value,
    /// Its context.
    pub(super) context: Value,
    /// Types of the conditions that the observed XR has.
    pub(super) observed_conditions: Vec<String>,
}

/// Checks what every Fatal answer contains, and puts `fatal` in its place; any other answer stays
/// as it is.
///
/// # Errors
/// Missing or different parts.
pub(super) fn condense(response: &mut Value, given: &Given) -> Result<(), String> {
    let Some(results) = response.get("results").and_then(Value::as_array).cloned() else {
        return Ok(());
    };
    let facts: Value = response["context"][FACTS_KEY].clone();
    let notes: Vec<Note> = match facts.get("diagnostics") {
        Some(list) => serde_json::from_value(list.clone()).map_err(|error| error.to_string())?,
        None => Vec::new(),
    };
    let (errors, others): (Vec<Note>, Vec<Note>) = notes
        .into_iter()
        .partition(|note| note.diagnostic.severity == Severity::Error);
    let Some(first) = errors.first() else {
        return Err("the facts of a Fatal answer have no errors".to_owned());
    };
    let reason = results[0]["reason"].clone();
    check_results(&results, &reason, &errors)?;
    let condition = (first.condition != ConditionType::ActorReady.as_str())
        .then(|| json!({"type": first.condition, "reason": first.reason}));
    let text = join(errors.iter().map(|error| &error.diagnostic));
    let left = check_conditions(response, given, &reason, condition.as_ref(), &text)?;
    check_returned(response, &facts, given)?;

    let diagnostics: Vec<&Diagnostic> = errors.iter().map(|error| &error.diagnostic).collect();
    let mut fatal = json!({"reason": reason, "diagnostics": diagnostics});
    if let Some(condition) = condition {
        fatal["condition"] = condition;
    }
    let mut document = response.as_object().cloned().unwrap_or_default();
    document.remove("results");
    put(&mut document, "conditions", Value::Array(left));
    let desired = document.remove("desired").unwrap_or_default();
    if desired != given.desired {
        document.insert("desired".to_owned(), desired);
    }
    let context = context(response, given, &others);
    put(&mut document, "context", Value::Object(context));
    document.insert("fatal".to_owned(), fatal);
    *response = Value::Object(document);
    Ok(())
}

/// One Fatal result for each error.
fn check_results(results: &[Value], reason: &Value, errors: &[Note]) -> Result<(), String> {
    let expected: Vec<Value> = errors
        .iter()
        .map(|error| {
            json!({
                "severity": "FATAL", "reason": reason, "message": error.diagnostic.to_string(),
            })
        })
        .collect();
    if results == expected {
        Ok(())
    } else {
        Err(format!(
            "the results are not those of the errors in the facts: {}",
            super::differences(&json!(expected), &json!(results)).join("; ")
        ))
    }
}

/// `ActorReady` and the condition of the error are False with all errors, and every other one that
/// was not returned before is Unknown. Answers what is left: conditions returned before.
fn check_conditions(
    response: &Value,
    given: &Given,
    reason: &Value,
    condition: Option<&Value>,
    text: &str,
) -> Result<Vec<Value>, String> {
    let list = response["conditions"].as_array();
    let mut left = list.cloned().unwrap_or_default();
    let returned = |name: &str| {
        let returned = given.context[FACTS_KEY]["returned"].as_array();
        returned.is_some_and(|returned| returned.iter().any(|it| it == name))
    };
    for r#type in ConditionType::ALL {
        let name = r#type.as_str();
        let expected = if r#type == ConditionType::ActorReady {
            json!({"type": name, "status": "False", "reason": reason, "message": text})
        } else if let Some(condition) = condition.filter(|condition| condition["type"] == name) {
            json!({"type": name, "status": "False", "reason": condition["reason"], "message": text})
        } else {
            json!({
                "type": name, "status": "Unknown", "reason": "NotChecked",
                "message": "not checked: the pipeline ended before, see ActorReady",
            })
        };
        match left.iter().position(|held| held["type"] == name) {
            Some(index) if left[index] == expected => drop(left.remove(index)),
            // The step returned it before it failed.
            Some(_) if r#type != ConditionType::ActorReady => {}
            Some(index) => {
                return Err(format!("condition {}, expected {expected}", left[index]));
            }
            None if returned(name) && r#type == ConditionType::FlavorsResolved => {}
            None if OPTIONAL.contains(&r#type)
                && !given.observed_conditions.iter().any(|it| it == name) => {}
            None => return Err(format!("condition {name} is not returned")),
        }
    }
    Ok(left)
}

/// The facts list all conditions that were returned.
fn check_returned(response: &Value, facts: &Value, given: &Given) -> Result<(), String> {
    let types = |list: &Value, key: &str| -> Vec<String> {
        let items = list.as_array().into_iter().flatten();
        items
            .filter_map(|item| item.get(key).unwrap_or(item).as_str().map(str::to_owned))
            .collect()
    };
    let listed = types(&facts["returned"], "type");
    let returned = types(&response["conditions"], "type");
    let before = types(&given.context[FACTS_KEY]["returned"], "type");
    let is_first = !response["context"][FACTS_KEY].is_object();
    match returned.iter().find(|name| !listed.contains(name)) {
        Some(missing) if !is_first => Err(format!("the facts do not list {missing} as returned")),
        _ if listed
            .iter()
            .all(|name| returned.contains(name) || before.contains(name)) =>
        {
            Ok(())
        }
        _ => Err(format!(
            "the facts list conditions that were not returned: {listed:?}"
        )),
    }
}

/// Part of the context that is particular to the case.
fn context(response: &Value, given: &Given, others: &[Note]) -> Map<String, Value> {
    let mut context = response["context"].as_object().cloned().unwrap_or_default();
    if let Some(Value::Object(facts)) = context.get_mut(FACTS_KEY) {
        facts.remove("returned");
        facts.remove("diagnostics");
        if !others.is_empty() {
            facts.insert("diagnostics".to_owned(), json!(others));
        }
        let origins = &given.context[FACTS_KEY]["origins"];
        if facts.get("origins") == Some(origins) {
            facts.remove("origins");
        }
        if facts.is_empty() {
            context.remove(FACTS_KEY);
        }
    }
    context.retain(|key, value| key == FACTS_KEY || given.context.get(key) != Some(value));
    context
}

fn put(document: &mut Map<String, Value>, key: &str, value: Value) {
    let is_empty =
        value.as_array().is_some_and(Vec::is_empty) || value.as_object().is_some_and(Map::is_empty);
    document.remove(key);
    if !is_empty {
        document.insert(key.to_owned(), value);
    }
}

fn join<'a>(diagnostics: impl Iterator<Item = &'a Diagnostic>) -> String {
    let texts: Vec<String> = diagnostics.map(ToString::to_string).collect();
    texts.join("; ")
}
