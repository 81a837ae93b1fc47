//! Settings that a live queue keeps, and those that it refuses.
//!
//! A queue that may hold messages is never recreated to change it: its transport,
//! place and name are constant, and changed settings apply to new actors.

use actor::queue::QueueType;
use actor::queue::RESOURCE_NAME;
use actor::spec::Spec;
use actor::status::ConditionType;
use actor::transport::{Config, Transport};
use function_kit::{Call, Code, Diagnostic, Identity, Location, StepError, value};

use crate::Wanted;

/// Refuses a `spec.transport` that is not the live queue's.
pub(crate) fn refuse_another_transport(call: &Call, spec: &Spec) -> Result<(), StepError> {
    match (spec.transport.as_deref(), call.live_transport()) {
        (Some(asked), Some(live)) if asked != live => {
            let location = Location::actor(["spec", "transport"]);
            let message = format!(
                "spec.transport is {asked:?}, but the actor's queue is on {live:?} and a queue is never moved"
            );
            let error = Diagnostic::error(Code::QueueWouldMove, location, message);
            let error = error.help(format!(
                "set spec.transport to {live:?}, or drain the queue, delete the actor and create it again"
            ));
            Err(StepError::config(error).on(ConditionType::TransportReady, "ConfigError"))
        }
        _ => Ok(()),
    }
}

/// Refuses an entry of the platform that has become another queueing system.
pub(crate) fn refuse_another_type(call: &Call, transport: &Transport) -> Result<(), StepError> {
    let other = match transport.config {
        Config::Sqs(_) => "rabbitmq",
        Config::RabbitMq(_) => "sqs",
    };
    let is_live = |r#type| {
        call.observed(RESOURCE_NAME)
            .is_some_and(|queue| value::map(queue, &["spec", "forProvider", r#type]).is_some())
    };
    if !is_live(other) {
        return Ok(());
    }
    let (name, r#type) = (&transport.name, transport.r#type());
    let location = call.locate_setting(&["transports", name, "type"].into());
    let message = format!(
        "transport {name:?} is of type {type:?} in the platform's settings, but the actor's queue is of type {other:?} and a queue is never moved"
    );
    let error = Diagnostic::error(Code::TransportTypeChanged, location, message)
        .help("restore the entry and add the new one under another name");
    Err(StepError::transport(error))
}

/// Settings that the live queue keeps although those of the platform differ now, in one diagnostic. None where
/// nothing differs, or there is no queue yet.
pub(crate) fn kept_settings(wanted: &Wanted<'_>) -> Result<Option<Diagnostic>, StepError> {
    let Wanted {
        call,
        identity,
        platform,
        transport,
        ..
    } = wanted;
    if call.observed(RESOURCE_NAME).is_none() {
        return Ok(None);
    }
    let entry = || call.locate_setting(&["transports", transport.name.as_str()].into());
    let configured = platform
        .transport(&transport.name)
        .map_err(|error| call.transport_error(&error, entry()))?;
    let configured_name = call.configured_queue_name(identity, platform)?.name;
    let mut here = vec![("name", wanted.name.clone())];
    let mut there = vec![("name", configured_name)];
    let is_explicit = value::text(call.xr(), &["spec", "transport"]).is_some();
    if let (false, Ok(default)) = (is_explicit, platform.default_transport()) {
        here.push(("transport", transport.name.clone()));
        there.push(("transport", default.to_owned()));
    }
    here.extend(place(transport, identity));
    there.extend(place(&configured, identity));

    let shown = |text: &str| match text {
        "" => "not set".to_owned(),
        text => format!("{text:?}"),
    };
    let differences: Vec<String> = here
        .iter()
        .zip(&there)
        .filter(|(live, setting)| live != setting)
        .map(|((field, live), (_, setting))| {
            format!("{field} {} (settings: {})", shown(live), shown(setting))
        })
        .collect();
    Ok((!differences.is_empty()).then(|| {
        let message = format!("the live queue keeps {}", differences.join(", "));
        Diagnostic::info(Code::LiveQueueKeepsSettings, entry(), message)
            .help("changed settings apply to new actors")
    }))
}

/// Returns the location of a transport's queues, by setting; what is not set is empty.
fn place(transport: &Transport, identity: &Identity) -> Vec<(&'static str, String)> {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let mut place = match &transport.config {
        Config::Sqs(sqs) => vec![
            ("region", sqs.region.clone()),
            ("accountId", text(&sqs.account_id)),
            ("endpoint", text(&sqs.endpoint)),
        ],
        Config::RabbitMq(rabbitmq) => vec![
            ("host", rabbitmq.host.clone()),
            ("vhost", rabbitmq.vhost().to_owned()),
            ("exchange", rabbitmq.exchange(&identity.namespace)),
            (
                "queueType",
                match rabbitmq.queue_type {
                    QueueType::Quorum => "quorum",
                    QueueType::Classic => "classic",
                }
                .to_owned(),
            ),
        ],
    };
    let reference = &transport.provider_config_ref;
    place.push((
        "providerConfigRef",
        format!("{}/{}", reference.kind, reference.name),
    ));
    place
}
