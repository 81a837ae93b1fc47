//! Containers: variables, probes, hooks.

use actor::diagnostic::Code;
use serde_json::{Map, Value};

use super::super::values::Format;
use super::super::walk::{Depth, Walk};
use super::{inner, is_set, list, text};

/// Fields of a pod that a variable can have.
const FIELDS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
/// Fields of a pod that a file of a volume can have.
const FIELDS_OF_FILES: [&str; 5] = [
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
];
/// Resources of a container that variables and files can have, after `limits.` or `requests.`.
const RESOURCES: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];
/// Units in which a variable or file can have a resource other than cpu.
const DIVISORS: [&str; 13] = [
    "1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei",
];

pub(super) fn container(walk: &mut Walk, map: &Map<String, Value>) {
    if walk.depth == Depth::Workload && text(map, "image").is_empty() {
        walk.report(
            &[],
            Code::RequiredFieldMissing,
            "has no \"image\", which Kubernetes requires",
        );
    }
    let mut names = std::collections::BTreeSet::new();
    for (index, port) in list(map, "ports").iter().enumerate() {
        let name = port["name"].as_str().unwrap_or_default();
        if !name.is_empty() && !names.insert(name) {
            let path = ["ports".into(), index.into(), "name".into()];
            walk.report(
                &path,
                Code::DuplicateName,
                format!("{name:?} is given more than once"),
            );
        }
    }
    let is_init = walk.keys().next_back() == Some("initContainers");
    if is_init && text(map, "restartPolicy") != "Always" {
        for field in [
            "lifecycle",
            "livenessProbe",
            "readinessProbe",
            "startupProbe",
        ] {
            if is_set(map, field) {
                let problem = "an init container cannot have it unless its restartPolicy is Always";
                walk.report(&[field.into()], Code::ExclusiveFields, problem);
            }
        }
    }
    if !list(map, "restartPolicyRules").is_empty() && text(map, "restartPolicy").is_empty() {
        let problem = "needs restartPolicy as well";
        walk.report(
            &["restartPolicyRules".into()],
            Code::ExclusiveFields,
            problem,
        );
    }
    let is_privileged =
        inner(map, "securityContext").is_some_and(|it| super::is_true(it, "privileged"));
    for (index, mount) in list(map, "volumeMounts").iter().enumerate() {
        if mount["mountPropagation"] == "Bidirectional" && !is_privileged {
            let path = [
                "volumeMounts".into(),
                index.into(),
                "mountPropagation".into(),
            ];
            let problem = "Bidirectional is for privileged containers only";
            walk.report(&path, Code::ExclusiveFields, problem);
        }
    }
}

pub(super) fn variable(walk: &mut Walk, map: &Map<String, Value>) {
    if !text(map, "value").is_empty() && is_set(map, "valueFrom") {
        let problem = "value and valueFrom exclude each other";
        walk.report(&["valueFrom".into()], Code::ExclusiveFields, problem);
    }
}

pub(super) fn field_selector(walk: &mut Walk, map: &Map<String, Value>) {
    let path = text(map, "fieldPath");
    let is_of_variable = walk.keys().any(|key| key == "valueFrom");
    let known = if is_of_variable {
        &FIELDS[..]
    } else {
        &FIELDS_OF_FILES[..]
    };
    let subscript = path.strip_suffix("']").and_then(|it| it.split_once("['"));
    let problem = match subscript {
        Some(("metadata.labels" | "metadata.annotations", key)) => {
            let problem = Format::QualifiedName.problem(&key.to_lowercase());
            problem.map(|problem| format!("{key:?} {problem}"))
        }
        Some((field, _)) => Some(format!("{field:?} has no keys")),
        None if path.is_empty() || known.contains(&path) => None,
        None => Some(format!("{path:?} is none of {}", known.join(", "))),
    };
    if let Some(problem) = problem {
        let at = ["fieldPath".into()];
        match crate::nearest::nearest(path, known.iter().copied()) {
            Some(meant) => walk.report_with(
                &at,
                Code::InvalidKubernetesValue,
                problem,
                format!("did you mean {meant:?}?"),
            ),
            None => walk.report(&at, Code::InvalidKubernetesValue, problem),
        }
    }
    let version = text(map, "apiVersion");
    if !["", "v1"].contains(&version) {
        walk.report(
            &["apiVersion".into()],
            Code::InvalidKubernetesValue,
            format!("{version:?} is not \"v1\""),
        );
    }
}

pub(super) fn resource_selector(walk: &mut Walk, map: &Map<String, Value>) {
    let resource = text(map, "resource");
    let name = resource
        .strip_prefix("limits.")
        .or_else(|| resource.strip_prefix("requests."));
    let is_known = name.is_some_and(|it| RESOURCES.contains(&it) || it.starts_with("hugepages-"));
    if !is_known && !resource.is_empty() {
        let problem = format!(
            "{resource:?} is not limits or requests of {}",
            RESOURCES.join(", ")
        );
        walk.report(&["resource".into()], Code::InvalidKubernetesValue, problem);
    }
    let is_of_variable = walk.keys().any(|key| key == "valueFrom");
    if !is_of_variable && text(map, "containerName").is_empty() {
        walk.report(
            &[],
            Code::RequiredFieldMissing,
            "has no \"containerName\", which Kubernetes requires",
        );
    }
    let divisor = match map.get("divisor") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => return,
    };
    let allowed = if name == Some("cpu") {
        &["1m", "1"][..]
    } else {
        &DIVISORS[..]
    };
    if !allowed.contains(&divisor.as_str()) && divisor != "0" {
        let problem = format!("{divisor:?} is none of {}", allowed.join(", "));
        walk.report(&["divisor".into()], Code::InvalidKubernetesValue, problem);
    }
}

pub(super) fn lifecycle(walk: &mut Walk, map: &Map<String, Value>) {
    if is_set(map, "stopSignal") && walk.depth == Depth::Workload {
        // Only a pod whose spec names its operating system may set it; then it is not checked here.
        let problem = "needs os.name in the pod's spec";
        walk.report(&["stopSignal".into()], Code::ExclusiveFields, problem);
    }
}

pub(super) fn probe(walk: &mut Walk, map: &Map<String, Value>) {
    let role = walk.keys().next_back().unwrap_or_default().to_owned();
    let successes = map.get("successThreshold").and_then(Value::as_i64);
    if ["livenessProbe", "startupProbe"].contains(&role.as_str())
        && successes.is_some_and(|it| it > 1)
    {
        let problem = format!("must be 1 in a {role}");
        walk.report(
            &["successThreshold".into()],
            Code::InvalidKubernetesValue,
            problem,
        );
    }
    if role == "readinessProbe" && is_set(map, "terminationGracePeriodSeconds") {
        let problem = "a readinessProbe cannot have it";
        walk.report(
            &["terminationGracePeriodSeconds".into()],
            Code::ExclusiveFields,
            problem,
        );
    }
}
