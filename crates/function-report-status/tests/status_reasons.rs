//! Every row of `tests/status_reasons.yaml`: a change to a working actor, and the status and
//! message that follow from it.

use function_kit::cases::form;
use serde_json::{Value, json};

#[test]
fn every_row_gives_its_status() {
    let table = actor::yaml::document(include_str!("status_reasons.yaml")).unwrap();
    let rows = table["rows"].as_array().unwrap();
    let wrong: Vec<String> = rows
        .iter()
        .filter_map(|row| check(&table["at work"], row).err())
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn check(at_work: &Value, row: &Value) -> Result<(), String> {
    let mut request = at_work.clone();
    patch(&mut request, &row["change"]);
    let response = function_report_status::run(form::request(&request)?);
    let response = form::response(&response);
    let condition = |of: &str| {
        let conditions = response["conditions"].as_array();
        let mut conditions = conditions.into_iter().flatten();
        let found = conditions.find(|condition| condition["type"] == of);
        found.ok_or_else(|| format!("{}: no {of} in {response}", row["reason"]))
    };
    let actor_ready = condition("ActorReady")?;
    if let Some(expected) = row.get("workloadReady") {
        let found = condition("WorkloadReady")?;
        let actual = json!({"status": found["status"], "reason": found["reason"], "message": found["message"]});
        if actual != *expected {
            return Err(format!(
                "{}: expected WorkloadReady {expected}, got {actual}",
                row["reason"]
            ));
        }
    }
    let status = &response["desired"]["composite"]["status"];
    let message = row.get("message").cloned().unwrap_or_else(|| json!(""));
    let expected =
        json!({"status": row["status"], "message": message, "actorReady": row["actorReady"]});
    let actual = json!({
        "status": status["status"], "message": status["message"], "actorReady": actor_ready["status"],
    });
    if actor_ready["reason"] != status["status"] {
        return Err(format!("{}: reason and status differ", row["reason"]));
    }
    if actual == expected {
        Ok(())
    } else {
        Err(format!(
            "{}: expected {expected}, got {actual}",
            row["reason"]
        ))
    }
}

/// Applies `change` to `document` as a JSON merge patch (RFC 7396).
fn patch(document: &mut Value, change: &Value) {
    let Value::Object(change) = change else {
        document.clone_from(change);
        return;
    };
    if !document.is_object() {
        *document = json!({});
    }
    for (key, value) in change {
        if value.is_null() {
            document.as_object_mut().map(|map| map.remove(key));
        } else {
            patch(&mut document[key], value);
        }
    }
}
