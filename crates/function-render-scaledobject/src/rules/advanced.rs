//! `scaling.advanced`: a formula over the triggers, and what goes with it.

use actor::spec::Scaling;
use function_kit::Call;
use serde_json::Value;

use super::triggers::Trigger;
use super::{formula, set_by};
use crate::queue_trigger;

const METRIC_TYPES: [&str; 2] = ["AverageValue", "Value"];

pub(super) fn faults(call: &Call, scaling: &Scaling) -> Vec<String> {
    let advanced = &scaling.advanced;
    let origin = |field: &str| set_by(call, ["advanced", field]);
    let formula = advanced.formula.as_deref().filter(|text| !text.is_empty());
    let mut faults = Vec::new();

    if let Some(name) = advanced.metric_type.as_deref()
        && !METRIC_TYPES.contains(&name)
    {
        let (origin, known) = (origin("metricType"), METRIC_TYPES.join(", "));
        faults.push(format!(
            "scaling.advanced.metricType is {name:?} ({origin}): set one of {known}"
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
    for (field, value, wanted, least) in numbers {
        if let Some(value) = value
            && !number(value).is_some_and(|number| number >= least)
        {
            let origin = origin(field);
            faults.push(format!(
                "scaling.advanced.{field} is {value} ({origin}): set {wanted}"
            ));
        }
    }
    if let Some(formula) = formula {
        let origin = origin("formula");
        if advanced.target.is_none() {
            faults.push(format!(
                "scaling.advanced.formula ({origin}) needs scaling.advanced.target: set how much of the formula's value one replica shall bear"
            ));
        }
        faults.extend(unknown_trigger(formula, scaling, &origin));
        return faults;
    }
    let without_formula = [
        ("formula", advanced.formula.is_some()),
        ("target", advanced.target.is_some()),
        ("activationTarget", advanced.activation_target.is_some()),
        ("metricType", advanced.metric_type.is_some()),
    ];
    if let Some((field, _)) = without_formula.into_iter().find(|(_, given)| *given) {
        let origin = origin(field);
        faults.push(format!(
            "scaling.advanced.{field} ({origin}) needs a formula: set scaling.advanced.formula, or leave it out"
        ));
    }
    faults
}

fn unknown_trigger(formula: &str, scaling: &Scaling, origin: &str) -> Option<String> {
    let mut known = vec![queue_trigger::NAME];
    let external = Trigger::all(scaling).filter(|trigger| !trigger.reads_pods());
    known.extend(external.filter_map(|trigger| trigger.name()));
    let names = formula::names(formula);
    let unknown = names.into_iter().find(|name| !known.contains(name))?;
    Some(format!(
        "scaling.advanced.formula ({origin}) uses {unknown:?}, which is no trigger that a formula can use: there are {}",
        known.join(", ")
    ))
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
