//! The environment of `asya-runtime`.

use actor::duration::format;
use actor::entry::EnvVar;
use actor::names::HANDLER_VARIABLE;
use actor::pod::{
    SOCKET_DIR, SOCKET_DIR_VARIABLE, STATE_MOUNTS_VARIABLE, TARGET_URL_VARIABLE,
    is_reserved_variable, state_mounts,
};
use actor::spec::{SecretKey, SecretRef};
use actor::status::ConditionType;
use actor::timeout::{self, runtime_timeout_and_place};
use function_kit::{Call, Code, Diagnostic};
use merge::FieldPath;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::Actor;
use crate::findings::Findings;
use crate::list::{Item, List, maps};
use crate::place::Place;

const VALIDATION_VARIABLE: &str = "ASYA_ENABLE_VALIDATION";
const STRATEGY_VARIABLE: &str = "ASYA_BINDING_STRATEGY";

/// Completes the environment of the `container` at `path`: what wires it, what the
/// user gives, and where its state is.
pub(crate) fn render(
    actor: &Actor,
    container: &mut Map<String, Value>,
    path: &FieldPath,
    findings: &mut Findings,
) {
    let spec = actor.spec;
    let mut list = List::take(actor.call, container, path, "env", Some("name"), findings);
    check_form(actor.call, &list, findings);
    list.append("env", maps(&spec.env));
    let secrets = spec.secret_refs.iter().enumerate();
    list.append("secretRefs", secrets.flat_map(variables));
    let handler = handler(actor, &list);
    refuse_reserved(actor, &mut list, handler.is_none(), findings);

    let mut first = vec![ours(SOCKET_DIR_VARIABLE, SOCKET_DIR)];
    first.extend(handler.map(|handler| ours(HANDLER_VARIABLE, handler)));
    let url = actor.bound.as_ref().and_then(|bound| bound.url.as_ref());
    first.extend(url.map(|url| ours(TARGET_URL_VARIABLE, url)));
    first.extend(strategy(actor));
    first.extend(timeout_of_adapter(actor, &list));
    if actor
        .platform
        .end_actors
        .is_end(actor.identity.actor.as_str())
    {
        let of_user = position(&list, VALIDATION_VARIABLE);
        first.push(match of_user {
            Some(index) => list.items.remove(index),
            None => ours(VALIDATION_VARIABLE, "false"),
        });
    }
    list.items.splice(0..0, first);
    if !spec.state_proxy.is_empty() {
        let mounts = state_mounts(&spec.state_proxy);
        list.items.push(ours(STATE_MOUNTS_VARIABLE, &mounts));
    }
    findings.repeated(actor.call, "environment variable", list.names());
    if position(&list, HANDLER_VARIABLE).is_none() {
        let location = actor.call.locate(&["handler"].into());
        let note = Diagnostic::warning(Code::HandlerMissing, location, "the actor has no handler");
        findings.note(
            ConditionType::WorkloadReady,
            note.help(
                "set 'handler', or ASYA_HANDLER in the environment of container \"asya-runtime\"",
            ),
        );
    }
    list.write(container, "env");
}

/// The handler to set. None where the template's container names its own: a
/// flavor's lies under it, but the actor's own beside it would be a second one.
fn handler<'a>(actor: &'a Actor, env: &List) -> Option<&'a str> {
    let handler = actor.handler()?;
    let of_container = actor.spec.workload.is_some() && position(env, HANDLER_VARIABLE).is_some();
    (!(of_container && actor.flavor_gives_handler)).then_some(handler)
}

/// Returns the variable with an adapter's placement: in a pod of its own, the target is not on loopback.
fn strategy(actor: &Actor) -> Option<Item> {
    let bound = actor.bound.as_ref()?;
    Some(ours(STRATEGY_VARIABLE, bound.strategy.as_str()))
}

/// The actor's one timeout, by which an adapter gives up before the sidecar does: where
/// somebody gives it, and not to the adapter itself. Its own default is the actor's.
/// inject-sidecar reports one that cannot be read.
fn timeout_of_adapter(actor: &Actor, env: &List) -> Option<Item> {
    if actor.bound.is_none() || position(env, timeout::VARIABLE).is_some() {
        return None;
    }
    let (timeout, place) = runtime_timeout_and_place(actor.spec).ok()?;
    place.map(|_| ours(timeout::VARIABLE, &format(timeout)))
}

/// Refuses variables that are not the user's to give. What is refused is removed,
/// so that it is not reported a second time as a repetition.
fn refuse_reserved(actor: &Actor, env: &mut List, may_name_handler: bool, findings: &mut Findings) {
    env.items.retain(|Item { map, place }| {
        let name = map.get("name").and_then(Value::as_str).unwrap_or_default();
        let is_allowed = name == HANDLER_VARIABLE && may_name_handler && place.is_template();
        // A standalone adapter may well be configured by them.
        let is_of_binding =
            [TARGET_URL_VARIABLE, STRATEGY_VARIABLE].contains(&name) && actor.bound.is_some();
        if is_allowed || !is_of_binding && !is_reserved_variable(name) {
            return true;
        }
        let location = place.locate(actor.call);
        let place = place.describe(actor.call);
        let instead = match (name, &actor.bound) {
            (TARGET_URL_VARIABLE, _) => "write it in 'runtime.targetURL'",
            (STRATEGY_VARIABLE, _) => "write it in 'binding.strategy'",
            (HANDLER_VARIABLE, Some(_)) => "write it in 'runtime.handler'",
            (HANDLER_VARIABLE, None) => "write it in 'handler'",
            _ => "remove it",
        };
        let message =
            format!("environment variable {name:?} (given by {place}) is set by Asya itself");
        let location = location.unwrap_or_else(|| actor.call.locate(&["env"].into()));
        findings.error(Diagnostic::error(Code::ReservedVariable, location, message).help(instead));
        false
    });
}

/// Checks the template's variables, of which only the names have been checked.
fn check_form(call: &Call, env: &List, findings: &mut Findings) {
    for item in &env.items {
        if let Place::Spec(path) = &item.place
            && let Err(error) = EnvVar::deserialize(&item.map)
        {
            findings.error_at(call, Code::InvalidValue, path, &error.to_string());
        }
    }
}

fn variables(
    (index, secret): (usize, &SecretRef),
) -> impl Iterator<Item = (usize, Map<String, Value>)> {
    let variables = secret.keys.iter().map(|SecretKey { key, env_var }| {
        into_map(EnvVar::from_secret(env_var, &secret.secret_name, key))
    });
    variables.map(move |variable| (index, variable))
}

fn into_map(variable: EnvVar) -> Map<String, Value> {
    match variable.into_value() {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

fn ours(name: &str, value: &str) -> Item {
    Item {
        map: into_map(EnvVar::literal(name, value)),
        place: Place::Asya,
    }
}

fn position(env: &List, name: &str) -> Option<usize> {
    env.names().position(|(own, _)| own == name)
}
