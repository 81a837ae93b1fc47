//! Who gave something that the pod already has, as a message names them.

use function_kit::Call;
use merge::{FieldPath, Segment};
use serde_json::Value;

use crate::Actor;

/// What this step adds.
pub(crate) const OURS: &str = "Asya itself";

/// Who set an item of a list in the spec, and in which field.
pub(crate) fn of_item(call: &Call, list: &[&str], index: usize) -> String {
    let path: FieldPath = list
        .iter()
        .map(|key| Segment::from(*key))
        .chain([index.into()])
        .collect();
    format!("{} in {}", call.origin(&path), list.join("."))
}

/// Who gave the volume `name` in the spec, if anybody did.
pub(crate) fn of_volume(actor: &Actor, name: &str) -> Option<String> {
    let mut given = actor.spec.volumes.iter();
    if let Some(index) = given.position(|volume| volume.name() == name) {
        return Some(of_item(actor.call, &["volumes"], index));
    }
    let mut in_template = actor.spec.workload.as_ref()?.volumes().iter();
    let has_name = |volume: &Value| key(volume, "name") == name;
    in_template
        .any(has_name)
        .then(|| in_workload(actor, "template"))
}

/// Who gave the mount at `path` of `asya-runtime` in the spec, if anybody did.
pub(crate) fn of_mount(actor: &Actor, path: &str) -> Option<String> {
    let mut given = actor.spec.volume_mounts.iter();
    if let Some(index) = given.position(|mount| mount.mount_path() == path) {
        return Some(of_item(actor.call, &["volumeMounts"], index));
    }
    let runtime = actor.spec.workload.as_ref()?.runtime()?;
    let mut in_template = runtime["volumeMounts"].as_array()?.iter();
    let has_path = |mount: &Value| key(mount, "mountPath") == path;
    in_template
        .any(has_path)
        .then(|| in_workload(actor, "template"))
}

/// Who gave a field of a workload: whoever wrote `workload` in the spec, or whichever
/// step rendered it.
pub(crate) fn of_workload(actor: &Actor, target: &str, field: &str) -> String {
    if actor.spec.workload.is_some() {
        in_workload(actor, field)
    } else {
        format!("the step that renders {target:?}")
    }
}

fn in_workload(actor: &Actor, field: &str) -> String {
    let path = FieldPath::from(["workload", field]);
    format!("{} in {path}", actor.call.origin(&path))
}

/// Variables that a user gives more than once in `list`, one fault each.
pub(crate) fn repeated_variables(call: &Call, list: &[&str], names: &[&str]) -> Vec<String> {
    let names = names.iter().copied().enumerate();
    actor::pod::repeated(names.map(|(index, name)| (name, index)))
        .into_iter()
        .map(|(name, first, later)| {
            let first = of_item(call, list, first);
            let later = of_item(call, list, later);
            format!(
                "environment variable {name:?} is given more than once, by {first} and by {later}: keep one of them"
            )
        })
        .collect()
}

/// The name of a list item of Kubernetes', under the key that names it.
pub(crate) fn key<'a>(item: &'a Value, key: &str) -> &'a str {
    item[key].as_str().unwrap_or_default()
}
