//! Values that fields may have, with their meaning.

use actor::status::reasons::{ANYWHERE, REASONS, Reason};
use actor::status::{ConditionType, StatusReason};
use serde_json::Value;

use super::ValueDocs;

/// The values of the field at a path: those of its schema, or those of a status, which the schema leaves
/// open for later versions.
pub(super) fn of(path: &str, field: &Value) -> Vec<ValueDocs> {
    match path {
        "status.status" => StatusReason::ALL
            .into_iter()
            .map(|it| value(&it, it.means()))
            .collect(),
        "status.conditions.type" => ConditionType::ALL
            .into_iter()
            .map(|it| value(&it, it.means()))
            .collect(),
        "status.conditions.reason" => reasons(),
        _ => {
            let values = field.get("enum").and_then(Value::as_array);
            let text = |it: &Value| it.as_str().map_or_else(|| it.to_string(), str::to_owned);
            let values = values.into_iter().flatten();
            values.map(|it| value(&text(it), "")).collect()
        }
    }
}

fn value(value: &impl ToString, meaning: &str) -> ValueDocs {
    ValueDocs {
        value: value.to_string(),
        meaning: meaning.to_owned(),
    }
}

/// The reasons of each condition, with its status, then those of any condition.
fn reasons() -> Vec<ValueDocs> {
    let of_condition = REASONS
        .iter()
        .flat_map(|(condition, reasons)| reasons.iter().map(|it| reason(condition.as_str(), it)));
    let of_any = ANYWHERE.iter().map(|it| reason("any condition", it));
    of_condition.chain(of_any).collect()
}

fn reason(condition: &str, reason: &Reason) -> ValueDocs {
    let meaning = match reason.cure {
        "" => reason.means.to_owned(),
        cure => format!("{}: {cure}", reason.means),
    };
    value(
        &format!("{} ({condition} is {})", reason.name, reason.status),
        &meaning,
    )
}
