//! The containers behind state proxies.

use std::iter;

use actor::entry::{EnvVar, VolumeMount};
use actor::names::STATE_PROXY_PREFIX;
use actor::pod::{
    CONNECTOR_SOCKET_VARIABLE as SOCKET_VARIABLE, STATE_BUCKET_VARIABLE, STATE_DIR,
    STATE_DIRECTORY_VARIABLE, problem_of_state_proxy, repeated,
};
use actor::spec::{Connector, StateProxy};
use function_kit::{Code, Diagnostic};
use merge::{FieldPath, Segment};
use serde_json::{Value, json};

use crate::security::{self, Program};
use crate::{Actor, origin, resources, sidecar, volumes};

/// One container for each state proxy, in the spec's order.
pub(crate) fn render(
    actor: &Actor,
    is_foreign_pod: bool,
    errors: &mut Vec<Diagnostic>,
) -> Vec<Value> {
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
        .map(|(index, proxy)| container(actor, index, proxy, is_foreign_pod, errors))
        .collect()
}

fn container(
    actor: &Actor,
    proxy_index: usize,
    proxy: &StateProxy,
    is_foreign_pod: bool,
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
    let is_ours = sidecar::is_ours(&connector.image);
    let program = if is_ours {
        Program::Ours
    } else {
        Program::Foreign
    };
    let given = [None, proxy.security_context.as_ref()];
    let mounts = connector.volume_mounts.iter().cloned();
    let mounts = mounts.map(VolumeMount::into_value);
    let mut container = json!({
        "name": format!("{STATE_PROXY_PREFIX}{name}"),
        "image": connector.image,
        "env": env,
        "resources": resources,
        "securityContext": security::context(program, actor.spec, is_foreign_pod, given),
        "volumeMounts": iter::once(volumes::of_state()).chain(mounts).collect::<Vec<_>>(),
    });
    if is_ours {
        match arguments(connector) {
            Ok(arguments) => container["args"] = json!(arguments),
            Err(problem) => {
                let message = format!("state proxy {name:?} given by {text}: {problem}");
                let help = format!(
                    "set {STATE_BUCKET_VARIABLE} for S3 or {STATE_DIRECTORY_VARIABLE} for a directory"
                );
                let error = Diagnostic::error(Code::InvalidStateProxy, location, message);
                errors.push(error.help(help));
            }
        }
    }
    container
}

/// Arguments of our own program as the connector that its variables ask for.
fn arguments(connector: &Connector) -> Result<[&'static str; 3], String> {
    let has = |name| connector.env.iter().any(|variable| variable.name() == name);
    let kind = match (has(STATE_BUCKET_VARIABLE), has(STATE_DIRECTORY_VARIABLE)) {
        (true, false) => "s3",
        (false, true) => "file",
        (given, _) => {
            let (before, between, verb) = if given {
                ("both", "and", "are")
            } else {
                ("neither", "nor", "is")
            };
            return Err(format!(
                "{before} {STATE_BUCKET_VARIABLE} {between} {STATE_DIRECTORY_VARIABLE} {verb} in the env of its connector"
            ));
        }
    };
    Ok(["state", "--connector", kind])
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
