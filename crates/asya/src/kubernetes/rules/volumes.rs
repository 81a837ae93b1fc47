//! Volumes and their mounts.

use actor::diagnostic::Code;
use serde_json::{Map, Value};

use super::super::quantity::billionths;
use super::super::walk::Walk;
use super::{inner, is_set, is_true, list, text};

pub(super) fn volume(walk: &mut Walk, map: &Map<String, Value>) {
    let sources: Vec<&str> = super::super::schema::fields_of("Volume")
        .into_iter()
        .flat_map(|fields| fields.keys().copied())
        .filter(|field| *field != "name" && is_set(map, field))
        .collect();
    if let [_, second, ..] = sources.as_slice() {
        let problem = format!("{} exclude each other", sources.join(" and "));
        walk.report(&[(*second).into()], Code::ExclusiveFields, problem);
    }
    if sources == ["hostPath"] {
        let path = map["hostPath"]["path"].as_str().unwrap_or_default();
        if path.split('/').any(|part| part == "..") {
            let at = ["hostPath".into(), "path".into()];
            walk.report(
                &at,
                Code::InvalidKubernetesValue,
                format!("{path:?} must not contain '..'"),
            );
        }
    }
}

pub(super) fn mount(walk: &mut Walk, map: &Map<String, Value>) {
    let is_recursive = ["Enabled", "IfPossible"].contains(&text(map, "recursiveReadOnly"));
    if is_recursive && !is_true(map, "readOnly") {
        let problem = "needs readOnly: true";
        walk.report(
            &["recursiveReadOnly".into()],
            Code::ExclusiveFields,
            problem,
        );
    }
    if is_recursive && !["", "None"].contains(&text(map, "mountPropagation")) {
        let problem = "excludes mountPropagation";
        walk.report(
            &["recursiveReadOnly".into()],
            Code::ExclusiveFields,
            problem,
        );
    }
}

pub(super) fn empty_dir(walk: &mut Walk, map: &Map<String, Value>) {
    let size = map.get("sizeLimit").and_then(billionths);
    if size.is_some_and(|size| size < 0) {
        walk.report(&["sizeLimit".into()], Code::InvalidQuantity, "is below 0");
    }
}

/// The spec of a claim. The API server checks that of an ephemeral volume at once, that of a
/// StatefulSet when the controller creates the claim.
pub(super) fn claim(walk: &mut Walk, map: &Map<String, Value>) {
    let modes = list(map, "accessModes");
    if modes.len() > 1 && modes.iter().any(|mode| mode == "ReadWriteOncePod") {
        let problem = "ReadWriteOncePod excludes other modes";
        walk.report(&["accessModes".into()], Code::ExclusiveFields, problem);
    }
    let storage = inner(map, "resources").and_then(|it| inner(it, "requests")?.get("storage"));
    let path = ["resources".into(), "requests".into(), "storage".into()];
    match storage.map(|it| (it, billionths(it))) {
        None if walk.is_whole() => {
            let problem = "has no \"resources.requests.storage\", which Kubernetes requires";
            walk.report(&[], Code::RequiredFieldMissing, problem);
        }
        Some((_, Some(amount))) if amount <= 0 => {
            walk.report(&path, Code::InvalidQuantity, "must be above 0");
        }
        _ => {}
    }
}
