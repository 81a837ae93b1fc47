//! Checks of the API server beyond types: [`tables`], and rules between fields.

mod containers;
mod metadata;
mod pods;
mod resources;
mod scheduling;
mod security;
mod tables;
mod volumes;
mod workloads;

use actor::diagnostic::Code;
use merge::Segment;
use serde_json::{Map, Value};

use super::schema::Type;
use super::values::Format;
use super::walk::Walk;
use crate::nearest::nearest;
use tables::{EXCLUSIVE, FORMATS, NOT_EMPTY, NOT_REQUIRED, RANGES, VALUES};

/// Returns whether a required field may be missing all the same.
pub(super) fn is_given_by_default(r#type: &str, field: &str) -> bool {
    NOT_REQUIRED.contains(&(r#type, field))
}

/// The texts that a field allows; empty if it allows any. Those of a list are of its items.
pub(crate) fn values_of(r#type: &str, field: &str) -> &'static [&'static str] {
    let mut of_type = VALUES.iter();
    let found = of_type.find(|(of, name, _)| (*of, *name) == (r#type, field));
    found.map_or(&[], |(_, _, values)| values)
}

/// The least and the largest number that a field allows.
pub(crate) fn range_of(r#type: &str, field: &str) -> Option<(i64, i64)> {
    let mut of_type = RANGES.iter();
    let found = of_type.find(|(of, name, _, _)| (*of, *name) == (r#type, field));
    found.map(|(_, _, least, most)| (*least, *most))
}

/// Fields of a type of which at most one may be set, and whether one must be.
pub(crate) fn exclusive_fields_of(r#type: &str) -> Option<(&'static [&'static str], bool)> {
    let found = EXCLUSIVE.iter().find(|(of, _, _)| *of == r#type);
    found.map(|(_, fields, is_required)| (*fields, *is_required))
}

/// Returns whether a field must be set.
pub(crate) fn is_required(r#type: &str, name: &str, field: &super::schema::Field) -> bool {
    let is_named = NOT_EMPTY.contains(&(r#type, name));
    is_named || (field.is_required && !is_given_by_default(r#type, name))
}

/// Rules about the value of a field that is no object of a type.
pub(super) fn of_value(walk: &mut Walk, r#type: &Type, value: &Value) {
    if let (Type::Map(_), Value::Object(map)) = (r#type, value) {
        let field = walk.keys().next_back().unwrap_or_default().to_owned();
        match field.as_str() {
            "podLabels" | "nodeSelector" | "labels" | "matchLabels" => metadata::labels(walk, map),
            "podAnnotations" | "annotations" => metadata::annotations(walk, map),
            _ => {}
        }
    }
    if let (Type::List(_), Value::Array(list)) = (r#type, value)
        && walk.keys().next_back() == Some("topologySpreadConstraints")
    {
        scheduling::spread_constraints(walk, list);
    }
}

/// Rules about an object of the type of that name.
pub(super) fn of_object(walk: &mut Walk, name: &str, map: &Map<String, Value>) {
    let name = match name {
        "EphemeralContainer" => "Container",
        name => name,
    };
    values(walk, name, map);
    ranges(walk, name, map);
    formats(walk, name, map);
    exclusive(walk, name, map);
    not_empty(walk, name, map);
    match name {
        "Container" => containers::container(walk, map),
        "DeploymentSpec" => workloads::deployment(walk, map),
        "DeploymentStrategy" => workloads::deployment_strategy(walk, map),
        "EnvVar" => containers::variable(walk, map),
        "ObjectFieldSelector" => containers::field_selector(walk, map),
        "ResourceFieldSelector" => containers::resource_selector(walk, map),
        "Lifecycle" => containers::lifecycle(walk, map),
        "Probe" => containers::probe(walk, map),
        "NodeSelectorRequirement" | "LabelSelectorRequirement" => {
            scheduling::requirement(walk, name, map);
        }
        "PodAffinityTerm" | "TopologySpreadConstraint" => scheduling::match_keys(walk, map),
        "PodSecurityContext" => security::pod(walk, map),
        "PodSpec" => pods::pod(walk, map),
        "ResourceRequirements" => resources::requirements(walk, map),
        "AppArmorProfile" | "SeccompProfile" => security::profile(walk, map),
        "SecurityContext" => security::container(walk, map),
        "StatefulSetUpdateStrategy" => workloads::stateful_set_strategy(walk, map),
        "Toleration" => scheduling::toleration(walk, map),
        "Volume" => volumes::volume(walk, map),
        "VolumeMount" => volumes::mount(walk, map),
        "EmptyDirVolumeSource" => volumes::empty_dir(walk, map),
        "PersistentVolumeClaimSpec" => volumes::claim(walk, map),
        _ => {}
    }
}

/// The text of a field; empty if it is missing.
fn text<'a>(map: &'a Map<String, Value>, field: &str) -> &'a str {
    map.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// The list of a field; empty if it is missing.
fn list<'a>(map: &'a Map<String, Value>, field: &str) -> &'a [Value] {
    map.get(field)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// The map of a field.
fn inner<'a>(map: &'a Map<String, Value>, field: &str) -> Option<&'a Map<String, Value>> {
    map.get(field).and_then(Value::as_object)
}

/// Returns whether a field is set to something.
fn is_set(map: &Map<String, Value>, field: &str) -> bool {
    map.get(field).is_some_and(|value| !value.is_null())
}

/// Returns whether a field is true.
fn is_true(map: &Map<String, Value>, field: &str) -> bool {
    map.get(field) == Some(&Value::Bool(true))
}

/// The texts of a field: its own, or those of its list, each with its path.
fn texts<'a>(map: &'a Map<String, Value>, field: &'static str) -> Vec<(Vec<Segment>, &'a str)> {
    match map.get(field) {
        Some(Value::String(text)) => vec![(vec![field.into()], text)],
        Some(Value::Array(list)) => {
            let texts = list.iter().enumerate();
            let texts = texts.filter_map(|(index, it)| Some((index, it.as_str()?)));
            texts
                .map(|(index, text)| (vec![field.into(), index.into()], text))
                .collect()
        }
        _ => Vec::new(),
    }
}

fn values(walk: &mut Walk, name: &str, map: &Map<String, Value>) {
    for (_, field, allowed) in VALUES.iter().filter(|(of, _, _)| *of == name) {
        for (path, text) in texts(map, field) {
            if allowed.contains(&text) || text.is_empty() {
                continue;
            }
            let named: Vec<&str> = allowed
                .iter()
                .copied()
                .filter(|it| !it.is_empty())
                .collect();
            let problem = format!("{text:?} is none of {}", named.join(", "));
            match nearest(text, named.iter().copied()) {
                Some(meant) => {
                    let help = format!("did you mean {meant:?}?");
                    walk.report_with(&path, Code::InvalidKubernetesValue, problem, help);
                }
                None => walk.report(&path, Code::InvalidKubernetesValue, problem),
            }
        }
    }
}

fn ranges(walk: &mut Walk, name: &str, map: &Map<String, Value>) {
    for (_, field, least, most) in RANGES.iter().filter(|(of, _, _, _)| *of == name) {
        let numbers: Vec<(Vec<Segment>, i64)> = match map.get(*field) {
            Some(Value::Array(list)) => {
                let numbers = list.iter().enumerate();
                let numbers = numbers.filter_map(|(index, it)| Some((index, it.as_i64()?)));
                numbers
                    .map(|(index, it)| (vec![(*field).into(), index.into()], it))
                    .collect()
            }
            Some(value) => value
                .as_i64()
                .map(|it| (vec![(*field).into()], it))
                .into_iter()
                .collect(),
            None => Vec::new(),
        };
        for (path, number) in numbers {
            let problem = match () {
                () if number < *least => format!("{number} is below {least}"),
                () if number > *most => format!("{number} is above {most}"),
                () => continue,
            };
            walk.report(&path, Code::InvalidKubernetesValue, problem);
        }
    }
}

fn formats(walk: &mut Walk, name: &str, map: &Map<String, Value>) {
    for (_, field, format) in FORMATS.iter().filter(|(of, _, _)| *of == name) {
        for (path, text) in texts(map, field) {
            if text.is_empty() {
                continue;
            }
            if let Some(problem) = format.problem(text) {
                walk.report(&path, code_of(*format), format!("{text:?} {problem}"));
            }
        }
    }
}

/// The code of a text that does not have its form.
fn code_of(format: Format) -> Code {
    match format {
        Format::QualifiedName | Format::LabelValue => Code::InvalidLabel,
        _ => Code::InvalidKubernetesValue,
    }
}

fn exclusive(walk: &mut Walk, name: &str, map: &Map<String, Value>) {
    for (_, fields, is_required) in EXCLUSIVE.iter().filter(|(of, _, _)| *of == name) {
        let set: Vec<&str> = fields
            .iter()
            .copied()
            .filter(|field| is_set(map, field))
            .collect();
        match set.as_slice() {
            [] if *is_required && walk.is_whole() => {
                let text = format!("must have one of {}", fields.join(", "));
                walk.report(&[], Code::ExclusiveFields, text);
            }
            [_, second, ..] => {
                let text = format!("{} exclude each other", set.join(" and "));
                walk.report(&[(*second).into()], Code::ExclusiveFields, text);
            }
            _ => {}
        }
    }
}

fn not_empty(walk: &mut Walk, name: &str, map: &Map<String, Value>) {
    for (_, field) in NOT_EMPTY.iter().filter(|(of, _)| *of == name) {
        let is_empty = match map.get(*field) {
            None | Some(Value::Null) => {
                if walk.is_whole() {
                    let text = format!("has no {field:?}, which Kubernetes requires");
                    walk.report(&[], Code::RequiredFieldMissing, text);
                }
                continue;
            }
            Some(Value::String(text)) => text.is_empty(),
            Some(Value::Array(list)) => list.is_empty(),
            Some(_) => false,
        };
        if is_empty {
            walk.report(&[(*field).into()], Code::RequiredFieldMissing, "is empty");
        }
    }
    let Some(fields) = super::schema::fields_of(name) else {
        return;
    };
    for (field, it) in fields {
        let is_empty = map.get(*field).is_some_and(|value| value == "");
        let is_required = it.is_required && !is_given_by_default(name, field);
        // A port may be a text, and its form is checked elsewhere.
        if is_empty && is_required && it.r#type == Type::Text {
            walk.report(&[(*field).into()], Code::RequiredFieldMissing, "is empty");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::schema::fields_of;
    use super::*;

    #[test]
    fn tables_name_fields_that_exist() {
        let mut named: Vec<(&str, &str)> = Vec::new();
        named.extend(VALUES.iter().map(|(of, field, _)| (*of, *field)));
        named.extend(RANGES.iter().map(|(of, field, _, _)| (*of, *field)));
        named.extend(FORMATS.iter().map(|(of, field, _)| (*of, *field)));
        named.extend(
            EXCLUSIVE
                .iter()
                .flat_map(|(of, fields, _)| fields.iter().map(|it| (*of, *it))),
        );
        named.extend(NOT_EMPTY.iter().chain(NOT_REQUIRED));
        for (of, field) in named {
            let fields = fields_of(of).unwrap_or_else(|| panic!("{of}"));
            assert!(fields.contains_key(field), "{of}.{field}");
        }
    }
}
