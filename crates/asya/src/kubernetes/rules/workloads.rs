//! Deployments and StatefulSets.

use actor::diagnostic::Code;
use serde_json::{Map, Value};

use super::super::walk::Walk;
use super::{inner, is_set, text};

pub(super) fn deployment(walk: &mut Walk, map: &Map<String, Value>) {
    let number = |field: &str| map.get(field).and_then(Value::as_i64);
    let (deadline, ready) = (
        number("progressDeadlineSeconds"),
        number("minReadySeconds").unwrap_or_default(),
    );
    if deadline.is_some_and(|deadline| deadline <= ready) {
        let problem = "must be above minReadySeconds";
        walk.report(
            &["progressDeadlineSeconds".into()],
            Code::InvalidKubernetesValue,
            problem,
        );
    }
}

pub(super) fn deployment_strategy(walk: &mut Walk, map: &Map<String, Value>) {
    let rolling = inner(map, "rollingUpdate");
    if text(map, "type") == "Recreate" && is_set(map, "rollingUpdate") {
        let problem = "is for type RollingUpdate, not Recreate";
        walk.report(&["rollingUpdate".into()], Code::ExclusiveFields, problem);
    }
    let Some(rolling) = rolling else { return };
    let mut zeros = 0;
    for field in ["maxSurge", "maxUnavailable"] {
        let path = ["rollingUpdate".into(), field.into()];
        let (number, is_percent) = match rolling.get(field) {
            None | Some(Value::Null) => continue,
            Some(Value::String(text)) => {
                let number = text
                    .strip_suffix('%')
                    .filter(|it| it.chars().all(|c| c.is_ascii_digit()));
                let Some(number) = number.and_then(|it| it.parse().ok()) else {
                    let problem =
                        format!("{text:?} is neither a number nor a percentage such as \"25%\"");
                    walk.report(&path, Code::InvalidKubernetesValue, problem);
                    continue;
                };
                (number, true)
            }
            Some(value) => (value.as_i64().unwrap_or_default(), false),
        };
        if number < 0 {
            walk.report(
                &path,
                Code::InvalidKubernetesValue,
                format!("{number} is below 0"),
            );
        }
        if is_percent && field == "maxUnavailable" && number > 100 {
            walk.report(&path, Code::InvalidKubernetesValue, "is above 100%");
        }
        zeros += usize::from(number == 0);
    }
    if zeros == 2 {
        let path = ["rollingUpdate".into(), "maxUnavailable".into()];
        let problem = "maxUnavailable and maxSurge cannot both be 0";
        walk.report(&path, Code::ExclusiveFields, problem);
    }
}

pub(super) fn stateful_set_strategy(walk: &mut Walk, map: &Map<String, Value>) {
    if text(map, "type") == "OnDelete" && is_set(map, "rollingUpdate") {
        let problem = "is for type RollingUpdate, not OnDelete";
        walk.report(&["rollingUpdate".into()], Code::ExclusiveFields, problem);
    }
}
