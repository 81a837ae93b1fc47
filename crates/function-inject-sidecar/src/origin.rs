//! Origins of existing fields of a pod.

use function_kit::{Call, Code, Diagnostic, Location};
use merge::{FieldPath, Segment};
use serde_json::Value;

use crate::Actor;

/// Addition of this step, as a message names it.
pub(crate) const OURS: &str = "Asya itself";

/// Origin of an existing field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The document and field.
    pub(crate) location: Location,
    /// As a message names it: who, and in which field.
    pub(crate) text: String,
}

/// Origin of an item of a list in the spec.
pub(crate) fn of_item(call: &Call, list: &[&str], index: usize) -> Origin {
    let location = call.locate(&path_of_item(list, index));
    let text = format!("{} in {}", location.source, list.join("."));
    Origin { location, text }
}

/// The path of an item of a list in the spec.
pub(crate) fn path_of_item(list: &[&str], index: usize) -> FieldPath {
    let list = list.iter().map(|key| Segment::from(*key));
    list.chain([index.into()]).collect()
}

/// Origin of the volume `name` in the spec, if it has one.
pub(crate) fn of_volume(actor: &Actor, name: &str) -> Option<Origin> {
    let mut given = actor.spec.volumes.iter();
    if let Some(index) = given.position(|volume| volume.name() == name) {
        return Some(of_item(actor.call, &["volumes"], index));
    }
    let mut in_template = actor.spec.workload.as_ref()?.volumes().iter();
    let index = in_template.position(|volume| key(volume, "name") == name)?;
    let path: [Segment; 5] = [
        "workload".into(),
        "template".into(),
        "spec".into(),
        "volumes".into(),
        index.into(),
    ];
    Some(in_workload(actor, "template", &path.into()))
}

/// Origin of the mount at `path` of `asya-runtime` in the spec, if it has one.
pub(crate) fn of_mount(actor: &Actor, path: &str) -> Option<Origin> {
    let mut given = actor.spec.volume_mounts.iter();
    if let Some(index) = given.position(|mount| mount.mount_path() == path) {
        return Some(of_item(actor.call, &["volumeMounts"], index));
    }
    let workload = actor.spec.workload.as_ref()?;
    let runtime = workload.runtime()?;
    let mut containers = workload.containers().iter();
    let container = containers.position(|container| container == runtime)?;
    let mut in_template = runtime["volumeMounts"].as_array()?.iter();
    let index = in_template.position(|mount| key(mount, "mountPath") == path)?;
    let path: [Segment; 7] = [
        "workload".into(),
        "template".into(),
        "spec".into(),
        "containers".into(),
        container.into(),
        "volumeMounts".into(),
        index.into(),
    ];
    Some(in_workload(actor, "template", &path.into()))
}

/// Origin of a field of a workload: the author of `workload` in the spec, or whichever
/// step rendered it.
pub(crate) fn of_workload(actor: &Actor, target: &str, field: &str) -> Origin {
    let path = FieldPath::from(["workload", field]);
    if actor.spec.workload.is_some() {
        in_workload(actor, field, &path)
    } else {
        Origin {
            location: Location::actor(["spec"]),
            text: format!("the step that renders {target:?}"),
        }
    }
}

/// Origin of `path`, which is inside that field of `workload`.
fn in_workload(actor: &Actor, field: &str, path: &FieldPath) -> Origin {
    let location = actor.call.locate(path);
    let text = format!("{} in workload.{field}", location.source);
    Origin { location, text }
}

/// Variables that a user gives more than once in `list`, one error each.
pub(crate) fn repeated_variables(call: &Call, list: &[&str], names: &[&str]) -> Vec<Diagnostic> {
    let names = names.iter().copied().enumerate();
    actor::pod::repeated(names.map(|(index, name)| (name, index)))
        .into_iter()
        .map(|(name, first, later)| {
            let what = format!("environment variable {name:?}");
            repeated(
                &what,
                of_item(call, list, first),
                of_item(call, list, later),
            )
        })
        .collect()
}

/// Returns the diagnostic of a duplicate: the later one is wrong.
pub(crate) fn repeated(what: &str, first: Origin, later: Origin) -> Diagnostic {
    let message = format!(
        "{what} is given more than once, by {} and by {}",
        first.text, later.text
    );
    Diagnostic::error(Code::DuplicateName, later.location, message)
        .related([first.location])
        .help("keep one of them")
}

/// The name of a list item of Kubernetes', under the key that names it.
pub(crate) fn key<'a>(item: &'a Value, key: &str) -> &'a str {
    item[key].as_str().unwrap_or_default()
}
