//! The effective transport: what an actor's messages travel through.

use actor::platform::Platform;
use actor::queue::RESOURCE_NAME;
use actor::status::ConditionType;
use function_kit::{Call, Code, Diagnostic, Location, StepError, value};
use serde_json::{Map, Value};

use crate::kind_of;

/// Text of a message about a transport that the actor does not name itself.
const OF_LIVE_QUEUE: &str = "; the live queue belongs to it, so an actor that shall have another must be drained, deleted and created again";
const DEFAULT: &str = "; it is the platform's default";

/// Name of the transport: that of the actor, else that of the live queue (an
/// actor never changes it by itself), else the platform's default.
///
/// # Errors
/// When there is none, or it is unknown, disabled or misconfigured.
pub(crate) fn effective(
    call: &Call,
    resolved: &Map<String, Value>,
    platform: &Platform,
) -> Result<String, StepError> {
    let field = || Location::actor(["spec", "transport"]);
    let (name, source, named_at) = match resolved.get("transport") {
        Some(Value::String(name)) => (name.clone(), "", field()),
        Some(other) => {
            let message = format!(
                "spec.transport must be the name of a transport, found {}",
                kind_of(other)
            );
            let error = Diagnostic::error(Code::InvalidValue, field(), message);
            return Err(StepError::config(error).on(ConditionType::TransportReady, "ConfigError"));
        }
        None => match of_live_queue(call, platform)? {
            Some(name) => (name, OF_LIVE_QUEUE, field()),
            None => {
                let default = platform
                    .default_transport()
                    .map_err(|error| call.transport_error(&error, field()))?;
                let named_at = match &platform.default_transport {
                    Some(_) => call.locate_setting(&["defaultTransport"].into()),
                    None => field(),
                };
                (default.to_owned(), DEFAULT, named_at)
            }
        },
    };
    match platform.transport(&name) {
        Ok(_) => Ok(name),
        Err(error) => {
            let mut error = error.diagnostic(named_at, |path| call.locate_setting(&path));
            // The source is the end of the message.
            match &mut error.help {
                Some(help) => help.push_str(source),
                None => error.message.push_str(source),
            }
            Err(StepError::transport(error))
        }
    }
}

/// The transport of the live queue; none where there is no queue yet.
fn of_live_queue(call: &Call, platform: &Platform) -> Result<Option<String>, StepError> {
    if let Some(name) = call.live_transport() {
        return Ok(Some(name.to_owned()));
    }
    let Some(queue) = call.observed(RESOURCE_NAME) else {
        return Ok(None);
    };
    let is_of = |r#type: &&str| value::map(queue, &["spec", "forProvider", r#type]).is_some();
    let Some(r#type) = ["rabbitmq", "sqs"].into_iter().find(is_of) else {
        return Ok(None);
    };
    let candidates = enabled_of_type(platform, r#type);
    let default = platform.default_transport.as_deref();
    match candidates[..] {
        [only] => Ok(Some(only.to_owned())),
        [] => Err(unusable(
            call.locate_setting(&["transports"].into()),
            format!(
                "the live queue is of type {type:?}, of which the platform's settings enable no transport"
            ),
            "enable it there again, or drain the queue, delete and create the actor",
        )),
        _ if candidates.iter().any(|name| Some(*name) == default) => Ok(default.map(str::to_owned)),
        _ => Err(unusable(
            Location::actor(["spec", "transport"]),
            format!(
                "the live queue does not say which transport it belongs to, and the platform's settings enable several of its type {type:?} ({})",
                candidates.join(", ")
            ),
            "name one in spec.transport",
        )),
    }
}

fn unusable(location: Location, message: String, help: &str) -> StepError {
    let error = Diagnostic::error(Code::LiveQueueWithoutTransport, location, message);
    StepError::transport(error.help(help))
}

/// The enabled transports of that type, sorted. Whether they are well configured
/// is asked of the one that is used.
fn enabled_of_type<'a>(platform: &'a Platform, r#type: &str) -> Vec<&'a str> {
    let matches = |entry: &Value| {
        entry.get("type").and_then(Value::as_str) == Some(r#type)
            && entry.get("enabled") != Some(&Value::Bool(false))
    };
    platform
        .transports
        .iter()
        .filter(|(_, entry)| matches(entry))
        .map(|(name, _)| name.as_str())
        .collect()
}
