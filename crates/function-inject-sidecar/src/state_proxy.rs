//! The containers behind state proxies.

use actor::entry::EnvVar;
use actor::names::STATE_PROXY_PREFIX;
use actor::pod::{STATE_DIR, fault_of_state_proxy, repeated};
use actor::spec::StateProxy;
use merge::{FieldPath, Segment};
use serde_json::{Value, json};

use crate::security::{self, Program};
use crate::{Actor, origin, resources, sidecar, volumes};

const SOCKET_VARIABLE: &str = "CONNECTOR_SOCKET";

/// One container for each state proxy, in the spec's order.
pub(crate) fn render(actor: &Actor, faults: &mut Vec<String>) -> Vec<Value> {
    let proxies = &actor.spec.state_proxy;
    let names = proxies.iter().enumerate();
    for (name, first, later) in repeated(names.map(|(index, proxy)| (proxy.name.as_str(), index))) {
        let first = origin::of_item(actor.call, &["stateProxy"], first);
        let later = origin::of_item(actor.call, &["stateProxy"], later);
        faults.push(format!(
            "state proxy {name:?} is given more than once, by {first} and by {later}: keep one of them"
        ));
    }
    let proxies = proxies.iter().enumerate();
    proxies
        .map(|(index, proxy)| container(actor, index, proxy, faults))
        .collect()
}

fn container(actor: &Actor, index: usize, proxy: &StateProxy, faults: &mut Vec<String>) -> Value {
    let place = origin::of_item(actor.call, &["stateProxy"], index);
    if let Some(fault) = fault_of_state_proxy(proxy) {
        faults.push(format!("state proxy given by {place}: {fault}"));
    }
    let name = &proxy.name;
    let connector = &proxy.connector;
    let socket = format!("{STATE_DIR}/{name}.sock");
    let mut env = vec![EnvVar::literal(SOCKET_VARIABLE, socket)];
    env.extend(connector.env.iter().cloned());
    let variables = env.iter().enumerate();
    for (variable, _, _) in repeated(variables.map(|(index, own)| (own.name(), index))) {
        faults.push(if variable == SOCKET_VARIABLE {
            format!(
                "environment variable {variable:?} of state proxy {name:?} (given by {place}) is set by {}: remove it",
                origin::OURS
            )
        } else {
            format!(
                "environment variable {variable:?} of state proxy {name:?} is given more than once by {place}: keep one of them"
            )
        });
    }
    let describe = |field: &FieldPath| {
        let path = FieldPath::from([Segment::from("stateProxy"), index.into()]);
        let origin = actor.call.origin(&path);
        format!("spec.{path}.connector.resources.{field} (set by {origin})")
    };
    json!({
        "name": format!("{STATE_PROXY_PREFIX}{name}"),
        "image": connector.image,
        "env": env,
        "resources": resources::with_requests(connector.resources.as_ref(), None, describe, faults),
        "securityContext": security::context(
            if sidecar::is_ours(&connector.image) { Program::Ours } else { Program::Foreign },
            actor.spec,
            [None, proxy.security_context.as_ref()],
        ),
        "volumeMounts": [volumes::of_state()],
    })
}
