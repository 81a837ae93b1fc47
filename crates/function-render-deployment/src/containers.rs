//! The containers of the pod, and who may call one what.

use actor::names::{RUNTIME_CONTAINER, SIDECAR_CONTAINER, STATE_PROXY_PREFIX};
use actor::pod::{is_injected_container, is_reserved_init_container};
use function_kit::{Code, Diagnostic, Location};
use merge::FieldPath;
use serde_json::{Map, Value};

use crate::findings::Findings;
use crate::list::{Item, List, maps};
use crate::place::Place;
use crate::{Actor, resources, runtime};

/// Completes the containers of `pod`, a PodSpec at `path`.
pub(crate) fn render(
    actor: &Actor,
    pod: &mut Map<String, Value>,
    path: &FieldPath,
    findings: &mut Findings,
) {
    let name = Some("name");
    let mut containers = List::take(actor.call, pod, path, "containers", name, findings);
    if let (Some(_), [adapter]) = (&actor.bound, &mut containers.items[..]) {
        adapter.place = Place::Spec(FieldPath::from(["runtime"]));
    }
    let mut init = List::take(actor.call, pod, path, "initContainers", name, findings);
    if !actor.is_injected() {
        init.append("initContainers", maps(&actor.spec.init_containers));
    }
    let has_runtime = check(actor, &containers, &init, findings);
    for Item { map, place } in containers.items.iter_mut().chain(&mut init.items) {
        if let Place::Spec(path) = place {
            resources::normalise_of(map, path, actor, findings);
        }
    }
    let runtime = containers
        .items
        .iter_mut()
        .find(|item| is_runtime(&item.map));
    if let Some(Item {
        map,
        place: Place::Spec(path),
    }) = runtime.filter(|_| has_runtime)
    {
        runtime::complete(actor, map, path, findings);
    }
    containers.write(pod, "containers");
    init.write(pod, "initContainers");
}

fn is_runtime(container: &Map<String, Value>) -> bool {
    container.get("name").and_then(Value::as_str) == Some(RUNTIME_CONTAINER)
}

/// Checks the containers' names, and answers whether there is one `asya-runtime`.
fn check(actor: &Actor, containers: &List, init: &List, findings: &mut Findings) -> bool {
    let runtimes = containers.items.iter().filter(|item| is_runtime(&item.map));
    let runtimes = runtimes.count();
    if runtimes != 1 {
        let path = ["workload", "template", "spec", "containers"];
        let location = actor.call.locate(&path.into());
        let message = format!(
            "spec.workload.template must have exactly one container {RUNTIME_CONTAINER:?}, which runs the handler; it has {runtimes}"
        );
        findings.error(Diagnostic::error(Code::RuntimeContainer, location, message));
    }
    for (name, place) in containers.names() {
        if is_injected_container(name) {
            reserved("container", name, place, actor, findings);
        }
    }
    for (name, place) in init.names() {
        if is_reserved_init_container(name) {
            reserved("init container", name, place, actor, findings);
        }
    }
    // Reserved names are reported already.
    let names = containers.names().chain(init.names());
    let names = names.filter(|(name, _)| !is_reserved_init_container(name));
    findings.repeated(actor.call, "container", names);
    runtimes == 1
}

fn reserved(what: &str, name: &str, place: &Place, actor: &Actor, findings: &mut Findings) {
    let location = place.locate(actor.call);
    let location = location.unwrap_or_else(|| Location::actor(["spec"]));
    let place = place.describe(actor.call);
    let message = format!("{what} {name:?} (given by {place}) has a reserved name");
    findings.error(
        Diagnostic::error(Code::ReservedContainer, location, message).help(format!(
            "{RUNTIME_CONTAINER:?}, {SIDECAR_CONTAINER:?} and names that begin with {STATE_PROXY_PREFIX:?} are Asya's"
        )),
    );
}
