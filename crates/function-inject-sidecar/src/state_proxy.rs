//! The containers behind state proxies.

use actor::entry::EnvVar;
use actor::names::STATE_PROXY_PREFIX;
use actor::pod::{STATE_DIR, problem_of_state_proxy, repeated};
use actor::spec::StateProxy;
use function_kit::{Code, Diagnostic};
use merge::{FieldPath, Segment};
use serde_json::{Value, json};

use crate::security::{self, Program};
use crate::{Actor, origin, resources, sidecar, volumes};

const SOCKET_VARIABLE: &str = "CONNECTOR_SOCKET";

/// One container for each state proxy, in the spec's order.
pub(crate) fn render(actor: &Actor, errors: &mut Vec<Diagnostic>) -> Vec<Value> {
    let proxies = &actor.spec.state_proxy;
    let names = proxies.iter().enumerate();
    for (name, first, later) in repeated(names.map(|(index, proxy)| (proxy.name.as_str(), index))) {
        let first = origin::of_item(actor.call, &["stateProxy"], first);
        let later = origin::of_item(actor.call, &["stateProxy"], later);
        let what = format!("state proxy {name:?}");
        errors.push(origin::repeated(&what, first, later));
    }
    let proxies = proxies.iter().enumerate();
    proxies
        .map(|(index, proxy)| container(actor, index, proxy, errors))
        .collect()
}

fn container(
    actor: &Actor,
    proxy_index: usize,
    proxy: &StateProxy,
    errors: &mut Vec<Diagnostic>,
) -> Value {
    let origin::Origin { location, text } =
        origin::of_item(actor.call, &["stateProxy"], proxy_index);
    if let Some(problem) = problem_of_state_proxy(proxy) {
        let message = format!("state proxy given by {text}: {problem}");
        errors.push(Diagnostic::error(
            Code::InvalidStateProxy,
            location.clone(),
            message,
        ));
    }
    let name = &proxy.name;
    let connector = &proxy.connector;
    let socket = format!("{STATE_DIR}/{name}.sock");
    let mut env = vec![EnvVar::literal(SOCKET_VARIABLE, socket)];
    env.extend(connector.env.iter().cloned());
    let variables = env.iter().enumerate();
    for (variable, first, later) in repeated(variables.map(|(index, own)| (own.name(), index))) {
        // Ours is the first.
        let at = |index: usize| actor.call.locate(&path_of_variable(proxy_index, index - 1));
        errors.push(if variable == SOCKET_VARIABLE {
            let message = format!(
                "environment variable {variable:?} of state proxy {name:?} (given by {text}) is set by {}",
                origin::OURS
            );
            Diagnostic::error(Code::ReservedVariable, at(later), message).help("remove it")
        } else {
            let message = format!(
                "environment variable {variable:?} of state proxy {name:?} is given more than once by {text}"
            );
            Diagnostic::error(Code::DuplicateName, at(later), message)
                .related([at(first)])
                .help("keep one of them")
        });
    }
    let resources =
        resources::with_requests(connector.resources.as_ref(), None, |field, problem| {
            let path = path_in_proxy(proxy_index, &["connector", "resources"]);
            let path = path.segments().iter().chain(field.segments()).cloned();
            let path: FieldPath = path.collect();
            let location = actor.call.locate(&path);
            let message = format!("spec.{path}: {problem} (set by {})", location.source);
            errors.push(Diagnostic::error(Code::InvalidQuantity, location, message));
        });
    json!({
        "name": format!("{STATE_PROXY_PREFIX}{name}"),
        "image": connector.image,
        "env": env,
        "resources": resources,
        "securityContext": security::context(
            if sidecar::is_ours(&connector.image) { Program::Ours } else { Program::Foreign },
            actor.spec,
            [None, proxy.security_context.as_ref()],
        ),
        "volumeMounts": [volumes::of_state()],
    })
}

fn path_in_proxy(index: usize, inner: &[&str]) -> FieldPath {
    let path = origin::path_of_item(&["stateProxy"], index);
    let inner = inner.iter().copied().map(Segment::from);
    path.segments().iter().cloned().chain(inner).collect()
}

/// The path of a variable of a state proxy's connector.
fn path_of_variable(proxy: usize, index: usize) -> FieldPath {
    let list = path_in_proxy(proxy, &["connector", "env"]);
    list.segments()
        .iter()
        .cloned()
        .chain([index.into()])
        .collect()
}
