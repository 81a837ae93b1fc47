//! Tolerations, affinities, spread constraints.

use std::collections::BTreeSet;

use actor::diagnostic::Code;
use serde_json::{Map, Value};

use super::super::values::Format;
use super::super::walk::Walk;
use super::{inner, is_set, list, text, texts};

pub(super) fn toleration(walk: &mut Walk, map: &Map<String, Value>) {
    let (key, operator, value) = (text(map, "key"), text(map, "operator"), text(map, "value"));
    if key.is_empty() && operator != "Exists" {
        let problem = "must be Exists in a toleration without key, which tolerates every taint";
        walk.report(&["operator".into()], Code::ExclusiveFields, problem);
    }
    if operator == "Exists" && !value.is_empty() {
        let problem = "operator Exists compares no value";
        walk.report(&["value".into()], Code::ExclusiveFields, problem);
    }
    if ["", "Equal"].contains(&operator)
        && let Some(problem) = Format::LabelValue.problem(value)
    {
        walk.report(
            &["value".into()],
            Code::InvalidLabel,
            format!("{value:?} {problem}"),
        );
    }
    if is_set(map, "tolerationSeconds") && text(map, "effect") != "NoExecute" {
        let problem = "needs effect NoExecute";
        walk.report(
            &["tolerationSeconds".into()],
            Code::ExclusiveFields,
            problem,
        );
    }
}

/// An expression of a selector of nodes, or of labels.
pub(super) fn requirement(walk: &mut Walk, name: &str, map: &Map<String, Value>) {
    let (key, operator, values) = (text(map, "key"), text(map, "operator"), list(map, "values"));
    let is_field = walk.keys().next_back() == Some("matchFields");
    let problem = match operator {
        "In" | "NotIn" if values.is_empty() => Some("needs values"),
        "In" | "NotIn" if is_field && values.len() != 1 => Some("needs exactly one value"),
        "Exists" | "DoesNotExist" if !values.is_empty() => Some("takes no values"),
        "Gt" | "Lt" if values.len() != 1 => Some("needs exactly one value"),
        _ => None,
    };
    if let Some(problem) = problem {
        let problem = format!("operator {operator} {problem}");
        walk.report(&["values".into()], Code::ExclusiveFields, problem);
    }
    if is_field {
        if key != "metadata.name" {
            walk.report(
                &["key".into()],
                Code::InvalidKubernetesValue,
                format!("{key:?} is not \"metadata.name\""),
            );
        }
        return;
    }
    if let Some(problem) = Format::QualifiedName
        .problem(key)
        .filter(|_| !key.is_empty())
    {
        walk.report(
            &["key".into()],
            Code::InvalidLabel,
            format!("{key:?} {problem}"),
        );
    }
    let is_preferred = walk.keys().any(|it| it == "preference");
    let is_number = ["Gt", "Lt"].contains(&operator);
    if !(is_number || is_preferred && name == "NodeSelectorRequirement") {
        for (path, value) in texts(map, "values") {
            if let Some(problem) = Format::LabelValue.problem(value) {
                walk.report(&path, Code::InvalidLabel, format!("{value:?} {problem}"));
            }
        }
    }
}

/// Keys of labels that a term takes from the pod itself, beside its selector.
pub(super) fn match_keys(walk: &mut Walk, map: &Map<String, Value>) {
    let selector = inner(map, "labelSelector");
    for field in ["matchLabelKeys", "mismatchLabelKeys"] {
        if !list(map, field).is_empty() && selector.is_none() {
            walk.report(
                &[field.into()],
                Code::ExclusiveFields,
                "needs a labelSelector",
            );
        }
    }
    let mismatched: Vec<&str> = list(map, "mismatchLabelKeys")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    for (path, key) in texts(map, "matchLabelKeys") {
        if mismatched.contains(&key) {
            let problem = format!("{key:?} is among mismatchLabelKeys too");
            walk.report(&path, Code::ExclusiveFields, problem);
        }
    }
    if is_set(map, "minDomains") && text(map, "whenUnsatisfiable") == "ScheduleAnyway" {
        let problem = "needs whenUnsatisfiable DoNotSchedule";
        walk.report(&["minDomains".into()], Code::ExclusiveFields, problem);
    }
}

/// Constraints with the same key and action.
pub(super) fn spread_constraints(walk: &mut Walk, list: &[Value]) {
    let mut known = BTreeSet::new();
    for (index, constraint) in list.iter().enumerate() {
        let pair =
            [&constraint["topologyKey"], &constraint["whenUnsatisfiable"]].map(ToString::to_string);
        if pair[0] != "null" && !known.insert(pair) {
            let path = [index.into(), "topologyKey".into()];
            let problem = "another constraint has the same topologyKey and whenUnsatisfiable";
            walk.report(&path, Code::DuplicateName, problem);
        }
    }
}
