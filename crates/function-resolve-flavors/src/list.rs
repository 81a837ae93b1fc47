//! `spec.flavors`: which flavors an actor names.

use std::collections::BTreeMap;

use actor::names::{FLAVORS_MAX, FlavorName};
use actor::status::{ConditionType, StatusReason};
use function_kit::Fault;
use serde_json::{Map, Value};

use crate::kind_of;

/// The flavors that `own` names, in the order in which they apply. `platform` is
/// the EnvironmentConfig of the platform's settings, which is no flavor.
///
/// # Errors
/// Every fault of the list, in its order.
pub(crate) fn read(own: &Map<String, Value>, platform: &str) -> Result<Vec<FlavorName>, Fault> {
    let items = match own.get("flavors") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(items)) => items,
        Some(other) => {
            let found = kind_of(other);
            return Err(invalid(vec![format!(
                "spec.flavors must be a list of flavor names, found {found}"
            )]));
        }
    };
    let mut faults = Vec::new();
    if items.len() > FLAVORS_MAX {
        faults.push(format!(
            "spec.flavors names {} flavors, at most {FLAVORS_MAX} are allowed: combine some of them into one",
            items.len()
        ));
    }
    let mut names = Vec::new();
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, item) in items.iter().enumerate() {
        let mut fault = |text: String| faults.push(format!("spec.flavors[{index}]: {text}"));
        let Some(name) = item.as_str() else {
            fault(format!(
                "expected the name of a flavor, found {}",
                kind_of(item)
            ));
            continue;
        };
        let times = times.entry(name).or_default();
        *times += 1;
        match (*times, name.parse::<FlavorName>()) {
            (1, _) if name == platform => fault(format!(
                "{name:?} holds the platform's settings and is no flavor: remove it"
            )),
            (1, Ok(name)) => names.push(name),
            (1, Err(error)) => fault(error.to_string()),
            (2, _) => fault(format!("{name:?} is listed already: name each flavor once")),
            _ => {}
        }
    }
    if faults.is_empty() {
        Ok(names)
    } else {
        Err(invalid(faults))
    }
}

/// The list or a flavor is invalid.
pub(crate) fn invalid(faults: Vec<String>) -> Fault {
    Fault::all(StatusReason::ConfigError, faults)
        .on(ConditionType::FlavorsResolved, "InvalidFlavors")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The names, or the faults.
    fn check(flavors: Value) -> Result<Vec<String>, String> {
        let own = Map::from_iter([("flavors".to_owned(), flavors)]);
        match read(&own, "asya-platform") {
            Ok(names) => Ok(names.into_iter().map(String::from).collect()),
            Err(fault) => Err(fault.text()),
        }
    }

    #[test]
    fn a_list_without_faults_keeps_its_order() {
        let eight: Vec<String> = (1..=8).map(|n| format!("flavor-{n}")).collect();
        let cases = [
            (json!(null), vec![], "null is not set"),
            (json!([]), vec![], "an empty list"),
            (json!(["spot", "gpu"]), vec!["spot", "gpu"], "not sorted"),
            (
                json!(["gpu.v2"]),
                vec!["gpu.v2"],
                "object names may have dots",
            ),
            (
                json!(eight),
                eight.iter().map(String::as_str).collect(),
                "as many as are allowed",
            ),
        ];
        for (flavors, expected, reason) in cases {
            assert_eq!(check(flavors).unwrap(), expected, "{reason}");
        }
    }

    #[test]
    fn faults_are_all_told_in_the_order_of_the_list() {
        let nine: Vec<String> = (1..=9).map(|n| format!("flavor-{n}")).collect();
        let cases = [
            (
                json!("gpu"),
                "spec.flavors must be a list of flavor names, found a string",
            ),
            (
                json!({"gpu": true}),
                "spec.flavors must be a list of flavor names, found a map",
            ),
            (
                json!(nine),
                "spec.flavors names 9 flavors, at most 8 are allowed: combine some of them into one",
            ),
            (
                json!(["gpu", 1]),
                "spec.flavors[1]: expected the name of a flavor, found a number",
            ),
            (
                json!([null]),
                "spec.flavors[0]: expected the name of a flavor, found null",
            ),
            (
                json!(["gp"]),
                "spec.flavors[0]: flavor name \"gp\" is too short: use at least 3 characters",
            ),
            (
                json!(["asya-platform"]),
                "spec.flavors[0]: \"asya-platform\" holds the platform's settings and is no flavor: remove it",
            ),
            (
                json!(["gpu", "gpu", "gpu"]),
                "spec.flavors[1]: \"gpu\" is listed already: name each flavor once",
            ),
            (
                json!(["gp", "spot", "gp", "spot"]),
                "spec.flavors[0]: flavor name \"gp\" is too short: use at least 3 characters; \
                 spec.flavors[2]: \"gp\" is listed already: name each flavor once; \
                 spec.flavors[3]: \"spot\" is listed already: name each flavor once",
            ),
        ];
        for (flavors, expected) in cases {
            assert_eq!(check(flavors.clone()).unwrap_err(), expected, "{flavors}");
        }
    }
}
