//! `scaling.advanced`: a formula over the triggers, and what goes with it.

use actor::spec::Scaling;
use function_kit::{Call, Code, Diagnostic};
use serde_json::Value;

use super::triggers::Trigger;
use super::{formula, locate};
use crate::queue_trigger;

const METRIC_TYPES: [&str; 2] = ["AverageValue", "Value"];

pub(super) fn check(call: &Call, scaling: &Scaling) -> Vec<Diagnostic> {
    let advanced = &scaling.advanced;
    let at = |field: &str| locate(call, ["advanced", field]);
    let set_by = |field: &str| format!("set by {}", at(field).source);
    let error = |field: &str, message: String, help: String| {
        Diagnostic::error(Code::InvalidFormula, at(field), message).help(help)
    };
    let formula = advanced.formula.as_deref().filter(|text| !text.is_empty());
    let mut errors = Vec::new();

    if let Some(name) = advanced.metric_type.as_deref()
        && !METRIC_TYPES.contains(&name)
    {
        let origin = set_by("metricType");
        errors.push(error(
            "metricType",
            format!("scaling.advanced.metricType is {name:?} ({origin})"),
            format!("set one of {}", METRIC_TYPES.join(", ")),
        ));
    }
    let numbers = [
        (
            "target",
            &advanced.target,
            "a number above 0",
            f64::MIN_POSITIVE,
        ),
        (
            "activationTarget",
            &advanced.activation_target,
            "a number",
            f64::MIN,
        ),
    ];
    for (field, value, expected, least) in numbers {
        if let Some(value) = value
            && !number(value).is_some_and(|number| number >= least)
        {
            errors.push(error(
                field,
                format!("scaling.advanced.{field} is {value} ({})", set_by(field)),
                format!("set {expected}"),
            ));
        }
    }
    if let Some(formula) = formula {
        let origin = set_by("formula");
        if advanced.target.is_none() {
            errors.push(error(
                "formula",
                format!("scaling.advanced.formula ({origin}) needs scaling.advanced.target"),
                "set the value of the formula that one replica can take".to_owned(),
            ));
        }
        let unknown = unknown_trigger(formula, scaling);
        errors.extend(unknown.map(|(name, known)| {
            error(
                "formula",
                format!(
                    "scaling.advanced.formula ({origin}) uses {name:?}, which is not a trigger that a formula can use"
                ),
                format!("there are {known}"),
            )
        }));
        return errors;
    }
    let without_formula = [
        ("formula", advanced.formula.is_some()),
        ("target", advanced.target.is_some()),
        ("activationTarget", advanced.activation_target.is_some()),
        ("metricType", advanced.metric_type.is_some()),
    ];
    if let Some((field, _)) = without_formula.into_iter().find(|(_, given)| *given) {
        errors.push(error(
            field,
            format!(
                "scaling.advanced.{field} ({}) needs a formula",
                set_by(field)
            ),
            "set scaling.advanced.formula, or leave it out".to_owned(),
        ));
    }
    errors
}

/// The first name of the formula that is not a trigger, and the known names.
fn unknown_trigger<'a>(formula: &'a str, scaling: &Scaling) -> Option<(&'a str, String)> {
    let mut known = vec![queue_trigger::NAME];
    let external = Trigger::all(scaling).filter(|trigger| !trigger.reads_pods());
    known.extend(external.filter_map(|trigger| trigger.name()));
    let names = formula::names(formula);
    let unknown = names.into_iter().find(|name| !known.contains(name))?;
    Some((unknown, known.join(", ")))
}

/// A number, or a text that holds one.
fn number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    };
    number.filter(|number| number.is_finite())
}
