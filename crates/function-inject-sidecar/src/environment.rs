//! The environment of `asya-sidecar`.

use actor::duration;
use actor::entry::EnvVar;
use actor::pod::{SOCKET_DIR, SOCKET_DIR_VARIABLE, is_reserved_variable};
use actor::spec::value_of;
use actor::timeout;
use actor::transport::Config;
use function_kit::{Code, Diagnostic, StepError};
use serde_json::Value;

use crate::origin::Origin;
use crate::variables::Environment;
use crate::{Actor, origin, rabbitmq, resiliency, sqs};

/// The variable with the address of the sidecar's metrics and probes.
const METRICS_VARIABLE: &str = "ASYA_METRICS_ADDR";
/// Its port where the actor gives none. Not 8080, which belongs to many a handler.
const METRICS_PORT: u16 = 9464;

/// The whole environment.
///
/// # Errors
/// When the queue's name is needed and not valid.
pub(crate) fn render(actor: &Actor, errors: &mut Vec<Diagnostic>) -> Result<Vec<Value>, StepError> {
    let mut env = Environment::default();
    identity(actor, &mut env);
    match &actor.transport.config {
        Config::Sqs(config) => sqs::add(actor, config, &mut env)?,
        Config::RabbitMq(config) => rabbitmq::add(actor, config, &mut env),
    }
    resiliency::add(actor, &mut env, errors);
    env.set(METRICS_VARIABLE, format!("0.0.0.0:{METRICS_PORT}"));
    check_given(actor, errors);
    env.override_with(&actor.spec.sidecar.env);
    Ok(env.into_values())
}

/// Port of the sidecar's metrics and probes: that of the actor's own [`METRICS_VARIABLE`], else
/// [`METRICS_PORT`].
pub(crate) fn metrics_port(actor: &Actor) -> u16 {
    let given = value_of(&actor.spec.sidecar.env, METRICS_VARIABLE);
    let port = given.and_then(|address| address.rsplit(':').next()?.parse().ok());
    port.filter(|port| *port > 0).unwrap_or(METRICS_PORT)
}

fn identity(actor: &Actor, env: &mut Environment) {
    let platform = actor.platform;
    let name = actor.identity.actor.as_str();
    let timeout = duration::format(actor.timeout);
    env.set("ASYA_LOG_LEVEL", "info");
    env.set(SOCKET_DIR_VARIABLE, SOCKET_DIR);
    env.set("ASYA_ACTOR_NAME", name);
    env.set("ASYA_NAMESPACE", &actor.identity.namespace);
    env.set("ASYA_ACTOR_SINK", &platform.end_actors.sink);
    env.set("ASYA_ACTOR_SUMP", &platform.end_actors.sump);
    env.set("ASYA_ACTOR_HAPPY_END", "happy-end");
    env.set("ASYA_ACTOR_ERROR_END", "error-end");
    env.set("ASYA_TRANSPORT", actor.transport.r#type());
    env.set(timeout::VARIABLE, &timeout);
    env.set("ASYA_RESILIENCY_ACTOR_TIMEOUT", &timeout);
    env.set("ASYA_QUEUE_RETRY_MAX_ATTEMPTS", "1");
    env.set_if("ASYA_QUEUE_NAME", actor.queue_name.as_ref());
    env.set("ASYA_QUEUE_NAME_TEMPLATE", platform.queue_name_template());
    env.set_if("ASYA_GATEWAY_URL", platform.gateway_url.as_ref());
    if platform.end_actors.is_end(name) {
        env.set("ASYA_IS_END_ACTOR", "true");
    }
}

/// Refuses what a user may not set, and what is set twice.
fn check_given(actor: &Actor, errors: &mut Vec<Diagnostic>) {
    const LIST: [&str; 2] = ["sidecar", "env"];
    let given = &actor.spec.sidecar.env;
    for (index, variable) in given.iter().enumerate() {
        let name = variable.name();
        if is_reserved_variable(name) {
            let Origin { location, text } = origin::of_item(actor.call, &LIST, index);
            let message = format!(
                "environment variable {name:?} (given by {text}) is set by {}",
                origin::OURS
            );
            let error = Diagnostic::error(Code::ReservedVariable, location, message);
            errors.push(error.help("remove it"));
        }
    }
    let names: Vec<&str> = given.iter().map(EnvVar::name).collect();
    errors.extend(origin::repeated_variables(actor.call, &LIST, &names));
}
