//! `spec.flavors`: which flavors an actor names.

use std::collections::BTreeMap;

use actor::names::{FLAVORS_MAX, FlavorName};
use actor::status::{ConditionType, StatusReason};
use function_kit::{Code, Diagnostic, Location, StepError};
use merge::{FieldPath, Segment};
use serde_json::{Map, Value};

use crate::kind_of;

/// The flavors that `own` names, in the order in which they apply. `platform` is
/// the EnvironmentConfig of the platform's settings, which is not a flavor.
///
/// # Errors
/// Every error of the list, in its order.
pub(crate) fn read(own: &Map<String, Value>, platform: &str) -> Result<Vec<FlavorName>, StepError> {
    let items = match own.get("flavors") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(items)) => items,
        Some(other) => {
            let found = kind_of(other);
            let message = format!("spec.flavors must be a list of flavor names, found {found}");
            return Err(invalid(vec![Diagnostic::error(
                Code::InvalidFlavorList,
                list(),
                message,
            )]));
        }
    };
    let mut errors = Vec::new();
    if items.len() > FLAVORS_MAX {
        let message = format!(
            "spec.flavors names {} flavors, at most {FLAVORS_MAX} are allowed",
            items.len()
        );
        let error = Diagnostic::error(Code::TooManyFlavors, list(), message);
        errors.push(error.help("combine some of them into one"));
    }
    let mut names = Vec::new();
    let mut listed: BTreeMap<&str, Listed> = BTreeMap::new();
    for (index, item) in items.iter().enumerate() {
        let error = |code, text: String| {
            let message = format!("spec.flavors[{index}]: {text}");
            Diagnostic::error(code, location(index), message)
        };
        let Some(name) = item.as_str() else {
            let text = format!("expected the name of a flavor, found {}", kind_of(item));
            errors.push(error(Code::InvalidFlavorList, text));
            continue;
        };
        let earlier = listed.entry(name).or_insert(Listed { index, times: 0 });
        earlier.times += 1;
        match (earlier.times, name.parse::<FlavorName>()) {
            (1, _) if name == platform => {
                let text = format!("{name:?} holds the platform's settings and is not a flavor");
                errors.push(error(Code::PlatformAsFlavor, text).help("remove it"));
            }
            (1, Ok(name)) => names.push(name),
            (1, Err(invalid)) => {
                errors.push(error(Code::InvalidFlavorName, invalid.to_string()));
            }
            (2, _) => {
                let text = format!("{name:?} is listed already");
                let error = error(Code::FlavorListedTwice, text).help("name each flavor once");
                errors.push(error.related([location(earlier.index)]));
            }
            _ => {}
        }
    }
    if errors.is_empty() {
        Ok(names)
    } else {
        Err(invalid(errors))
    }
}

/// A name of the list: its first index, and how often it stood there so far.
struct Listed {
    index: usize,
    times: usize,
}

fn list() -> Location {
    Location::actor(["spec", "flavors"])
}

/// The item of the list at `index`.
pub(crate) fn location(index: usize) -> Location {
    let path: [Segment; 3] = ["spec".into(), "flavors".into(), index.into()];
    Location::actor(FieldPath::from(path))
}

/// The list or a flavor is invalid.
pub(crate) fn invalid(errors: Vec<Diagnostic>) -> StepError {
    StepError::all(StatusReason::ConfigError, errors)
        .on(ConditionType::FlavorsResolved, "InvalidFlavors")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The names, or the errors.
    fn check(flavors: Value) -> Result<Vec<String>, String> {
        let own = Map::from_iter([("flavors".to_owned(), flavors)]);
        match read(&own, "asya-platform") {
            Ok(names) => Ok(names.into_iter().map(String::from).collect()),
            Err(error) => {
                let texts = error.diagnostics().iter().map(Diagnostic::text);
                Err(texts.collect::<Vec<_>>().join("; "))
            }
        }
    }

    #[test]
    fn a_valid_list_keeps_its_order() {
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
    fn all_errors_are_reported_in_the_order_of_the_list() {
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
                "spec.flavors[0]: \"asya-platform\" holds the platform's settings and is not a flavor: remove it",
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
