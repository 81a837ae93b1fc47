//! Transport of an actor, and the location and name of its queue.
//!
//! None of these changes for a live actor, so the live queue's settings go
//! before every setting: otherwise a new region in the platform's settings would
//! silently give every actor a second, empty queue.

use actor::diagnostic::{Code, Diagnostic, Location};
use actor::names::{self, EXTERNAL_NAME, RABBITMQ_QUEUE_MAX, SQS_QUEUE_MAX};
use actor::platform::Platform;
use actor::queue::ProviderConfigRef;
use actor::spec::Spec;
use actor::status::ConditionType;
use actor::transport::{Config, Transport, TransportError};
use actor::{labels, queue};
use pbjson_types::Struct;
use serde::Deserialize;
use serde::de::{IntoDeserializer, value::StrDeserializer};

use crate::{Call, Identity, StepError, value};

/// The part of a step's input that names the queue, for Compositions in which no
/// step renders one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct QueueInput {
    /// Name of the queue at the broker. Ignored if an earlier step or the live queue names it. Default:
    /// the platform's `queueNameTemplate`, expanded.
    pub queue_name: Option<String>,
}

/// The name that the settings give to a new queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfiguredName {
    /// The name.
    pub name: String,
    /// Setting from which it comes, for messages.
    pub origin: String,
    /// Location of that setting.
    pub location: Location,
}

impl Call {
    /// The actor's transport: the one that the resolved spec names, else the live
    /// queue's, else the platform's default. Where a queue is live, its place (the
    /// ProviderConfig, region, account and endpoint, or host, vhost, exchange and
    /// queue type) is in it, whatever the settings say now.
    ///
    /// # Errors
    /// When the platform has no such transport, or it is disabled or misconfigured.
    pub fn transport(&self, spec: &Spec, platform: &Platform) -> Result<Transport, StepError> {
        let given = spec.transport.as_deref().or_else(|| self.live_transport());
        let named_at = match given {
            None if platform.default_transport.is_some() => {
                self.locate_setting(&["defaultTransport"].into())
            }
            _ => Location::actor(["spec", "transport"]),
        };
        let failed = |error: &TransportError| self.transport_error(error, named_at.clone());
        let name = match given {
            Some(name) => name,
            None => platform
                .default_transport()
                .map_err(|error| failed(&error))?,
        };
        let configured = platform.transport(name).map_err(|error| failed(&error))?;
        Ok(match self.observed(queue::RESOURCE_NAME) {
            Some(live) => at_place_of(live, configured),
            None => configured,
        })
    }

    /// An error of the platform's transports. `named_at` is where the transport is named.
    pub fn transport_error(&self, error: &TransportError, named_at: Location) -> StepError {
        StepError::transport(error.diagnostic(named_at, |path| self.locate_setting(&path)))
    }

    /// The transport that the live queue was made for. None before the first
    /// queue, and for a queue without the label.
    pub fn live_transport(&self) -> Option<&str> {
        let live = self.observed(queue::RESOURCE_NAME)?;
        value::text(live, &["metadata", "labels", labels::TRANSPORT])
    }

    /// Name of the actor's queue at the broker: what this reconcile desires, else that of
    /// the live queue, else what the settings give to a new one.
    ///
    /// # Errors
    /// When a new queue's name is too long for the transport, or holds a character
    /// that it does not allow.
    pub fn queue_name(
        &self,
        identity: &Identity,
        platform: &Platform,
        transport: &Transport,
    ) -> Result<String, StepError> {
        let desired = self.desired(queue::RESOURCE_NAME).and_then(external_name);
        let live = || self.observed(queue::RESOURCE_NAME).and_then(external_name);
        if let Some(name) = desired.or_else(live) {
            return Ok(name.to_owned());
        }
        let ConfiguredName {
            name,
            origin,
            location: location_of_setting,
        } = self.configured_queue_name(identity, platform)?;
        match problem_of_name(&name, &transport.config) {
            None => Ok(name),
            Some((problem, help)) => {
                let message = format!("queue name {name:?} (from {origin}) {problem}");
                let location = Identity::location_of_name(self.xr());
                let diagnostic = Diagnostic::error(Code::InvalidQueueName, location, message)
                    .related([location_of_setting])
                    .help(help);
                Err(StepError::config(diagnostic).on(ConditionType::TransportReady, "ConfigError"))
            }
        }
    }

    /// The name that the settings give to a new queue: that of the step's input
    /// ([`QueueInput`]), else the platform's template, filled. It is not checked.
    ///
    /// # Errors
    /// When the step's input does not have its form.
    pub fn configured_queue_name(
        &self,
        identity: &Identity,
        platform: &Platform,
    ) -> Result<ConfiguredName, StepError> {
        let given = self.input::<QueueInput>()?.queue_name;
        if let Some(name) = given.filter(|name| !name.is_empty()) {
            let origin = "queueName of the step's input".to_owned();
            let location = Location::input(["queueName"]);
            return Ok(ConfiguredName {
                name,
                origin,
                location,
            });
        }
        let template = platform.queue_name_template();
        Ok(ConfiguredName {
            name: names::fill(template, &identity.namespace, &identity.actor),
            origin: format!("the platform's queueNameTemplate {template:?}"),
            location: self.locate_setting(&["queueNameTemplate"].into()),
        })
    }
}

/// `configured`, but where the live queue is.
fn at_place_of(live: &Struct, mut configured: Transport) -> Transport {
    let text = |path: [&str; 4]| value::text(live, &path).map(str::to_owned);
    let of = |field| text(["spec", "forProvider", configured.r#type(), field]);
    let place = [
        "region",
        "accountId",
        "endpoint",
        "host",
        "vhost",
        "exchange",
        "queueType",
    ];
    let [
        region,
        account_id,
        endpoint,
        host,
        vhost,
        exchange,
        queue_type,
    ] = place.map(of);
    match &mut configured.config {
        Config::Sqs(sqs) => {
            if let Some(region) = region {
                sqs.region = region;
                sqs.account_id = account_id;
                sqs.endpoint = endpoint;
            }
        }
        Config::RabbitMq(rabbitmq) => {
            if let Some(host) = host.filter(|host| *host != rabbitmq.host) {
                rabbitmq.host = host;
                // It is that of the broker in the settings, which does not have this queue.
                rabbitmq.management_host = None;
            }
            rabbitmq.vhost = vhost.or_else(|| rabbitmq.vhost.take());
            rabbitmq.exchange = exchange.or_else(|| rabbitmq.exchange.take());
            if let Some(queue_type) = queue_type.as_deref().and_then(from_text) {
                rabbitmq.queue_type = queue_type;
            }
        }
    }
    let reference = |field| value::text(live, &["spec", "providerConfigRef", field]);
    if let (Some(kind), Some(name)) = (reference("kind"), reference("name")) {
        configured.provider_config_ref = ProviderConfigRef {
            kind: kind.to_owned(),
            name: name.to_owned(),
        };
    }
    configured
}

/// An enumeration from its text.
fn from_text<'a, T: Deserialize<'a>>(text: &'a str) -> Option<T> {
    let text: StrDeserializer<'a, serde::de::value::Error> = text.into_deserializer();
    T::deserialize(text).ok()
}

fn external_name(queue: &Struct) -> Option<&str> {
    value::text(queue, &["metadata", "annotations", EXTERNAL_NAME]).filter(|name| !name.is_empty())
}

/// Returns why a transport cannot have a queue of that name, and the remedy.
fn problem_of_name(name: &str, config: &Config) -> Option<(String, &'static str)> {
    let (service, limit, unit) = match config {
        Config::Sqs(_) => ("SQS", SQS_QUEUE_MAX, "characters"),
        Config::RabbitMq(_) => ("RabbitMQ", RABBITMQ_QUEUE_MAX, "bytes"),
    };
    let forbidden = |c: &char| !(c.is_ascii_alphanumeric() || ['-', '_'].contains(c));
    let character = name.chars().find(forbidden);
    if let (Config::Sqs(_), Some(character)) = (config, character) {
        return Some((
            format!("holds {character:?}"),
            "SQS allows only letters, digits, '-' and '_', so change that setting",
        ));
    }
    (name.len() > limit).then(|| {
        (
            format!("has {} {unit}, {service} allows {limit}", name.len()),
            "give the actor a shorter name, or change that setting",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run;
    use crate::value::json_to_struct;
    use actor::queue::QueueType;
    use function_proto::v1::{Resource, RunFunctionRequest, State};
    use serde_json::{Value, json};

    /// Returns the result of `read` for a call about actor `a` in namespace `n`, with a live
    /// queue and a queue name from the step's input.
    fn in_call<T>(
        live: &Value,
        queue_name: &Value,
        read: impl FnOnce(&Call, &Platform) -> Result<T, StepError>,
    ) -> Result<T, StepError> {
        let structure = |value: Value| value.as_object().map(json_to_struct);
        let resource = |value: Value| Resource {
            resource: structure(value),
            ..Resource::default()
        };
        let mut observed = State {
            composite: Some(resource(
                json!({"metadata": {"name": "a", "namespace": "n"}}),
            )),
            ..State::default()
        };
        if live.is_object() {
            let live = resource(live.clone());
            observed.resources.insert("queue".to_owned(), live);
        }
        let platform = json!({"defaultTransport": "sqs", "transports": {
            "sqs": {"type": "sqs", "config": {"region": "new", "accountId": "2"}},
            "mq": {"type": "rabbitmq", "config": {"host": "new", "managementHost": "new"}},
        }});
        let request = RunFunctionRequest {
            observed: Some(observed),
            input: structure(json!({"platform": platform, "queueName": queue_name})),
            ..RunFunctionRequest::default()
        };
        let mut found = None;
        run(request, |call| {
            let platform = call.platform()?;
            found = Some(read(call, &platform));
            Ok(())
        });
        found.unwrap()
    }

    fn transport(live: &Value) -> Transport {
        let read = |call: &Call, platform: &Platform| call.transport(&call.spec()?, platform);
        in_call(live, &Value::Null, read).unwrap()
    }

    #[test]
    fn a_new_actor_has_the_default_transport_as_it_is_configured() {
        let Transport { name, config, .. } = transport(&Value::Null);
        assert_eq!(name, "sqs");
        assert!(matches!(config, Config::Sqs(sqs) if sqs.region == "new"));
    }

    #[test]
    fn a_live_queue_stays_where_it_is_on_sqs() {
        let live = json!({
            "metadata": {"labels": {"asya.sh/transport": "sqs"}},
            "spec": {
                "forProvider": {"sqs": {"region": "old"}},
                "providerConfigRef": {"kind": "ProviderConfig", "name": "p"},
            },
        });
        let transport = transport(&live);
        assert_eq!(transport.provider_config_ref.kind, "ProviderConfig");
        let Config::Sqs(sqs) = transport.config else {
            panic!("not the live queue's type")
        };
        assert_eq!(sqs.region, "old");
        assert_eq!(sqs.account_id, None, "not set is a place too");
    }

    #[test]
    fn a_live_queue_stays_where_it_is_on_rabbitmq() {
        let live = json!({
            "metadata": {"labels": {"asya.sh/transport": "mq"}},
            "spec": {"forProvider": {"rabbitmq": {
                "host": "old", "vhost": "v", "exchange": "e", "queueType": "classic",
            }}},
        });
        let Config::RabbitMq(mq) = transport(&live).config else {
            panic!("not the live queue's transport")
        };
        assert_eq!((mq.host.as_str(), mq.vhost()), ("old", "v"));
        assert_eq!(mq.exchange("n"), "e");
        assert_eq!(mq.queue_type, QueueType::Classic);
        assert_eq!(
            mq.management_host, None,
            "the new broker's does not know it"
        );
    }

    #[test]
    fn a_queue_keeps_its_name_and_a_new_one_gets_a_valid_one() {
        let named = |name: &str| json!({"metadata": {"annotations": {EXTERNAL_NAME: name}}});
        let long = "x".repeat(81);
        let cases = [
            (json!(null), json!(null), Ok("asya-a"), "the template"),
            (json!(null), json!("given"), Ok("given"), "the input"),
            (named("live"), json!("given"), Ok("live"), "the live queue"),
            (
                named(&long),
                json!(null),
                Ok(long.as_str()),
                "a live name is not judged",
            ),
            (
                json!(null),
                json!(long),
                Err("has 81 characters, SQS allows 80"),
                "too long",
            ),
            (
                json!(null),
                json!("a.b"),
                Err("holds '.'"),
                "a forbidden character",
            ),
        ];
        for (live, given, expected, reason) in cases {
            let name = in_call(&live, &given, |call, platform| {
                let transport = platform.transport("sqs").unwrap();
                call.queue_name(&call.identity()?, platform, &transport)
            });
            match (name, expected) {
                (Ok(name), Ok(expected)) => assert_eq!(name, expected, "{reason}"),
                (Err(error), Err(part)) => {
                    assert!(error.to_string().contains(part), "{reason}: {error}");
                }
                (name, _) => panic!("{reason}: {name:?}"),
            }
        }
    }
}
