//! Kubernetes events of core `v1`, the only ones that a provider's default role may write.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::api::PostParams;
use kube::{Api, Client, Resource, ResourceExt as _};

use crate::text;

/// Component that events come from.
const COMPONENT: &str = env!("CARGO_PKG_NAME");

/// Longest message that the API server accepts, in bytes.
const MESSAGE_MAX: usize = 1024;

/// Type of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::controller) enum Severity {
    /// Something happened as intended.
    Normal,
    /// Something failed.
    Warning,
}

/// Emits an event about an object. A failure is logged and changes nothing.
pub(in crate::controller) async fn emit<K>(
    client: &Client,
    object: &K,
    severity: Severity,
    reason: &str,
    message: &str,
) where
    K: Resource<DynamicType = ()>,
{
    let namespace = object.namespace().unwrap_or_else(|| "default".to_owned());
    let now = Timestamp::now();
    let event = event(object, &namespace, severity, reason, message, now);
    let api: Api<Event> = Api::namespaced(client.clone(), &namespace);
    if let Err(error) = api.create(&PostParams::default(), &event).await {
        tracing::debug!(%error, reason, "cannot write an event");
    }
}

fn event<K>(
    object: &K,
    namespace: &str,
    severity: Severity,
    reason: &str,
    message: &str,
    now: Timestamp,
) -> Event
where
    K: Resource<DynamicType = ()>,
{
    let name = object.name_any();
    let external_name = object
        .annotations()
        .get(actor::names::EXTERNAL_NAME)
        .cloned();
    let annotations = external_name.map(|value| (actor::names::EXTERNAL_NAME.to_owned(), value));
    let message = truncated(&text::clean(message, MESSAGE_MAX));
    Event {
        metadata: ObjectMeta {
            // The time makes it unique, as in other controllers.
            name: Some(format!("{name}.{:x}", now.as_nanosecond())),
            namespace: Some(namespace.to_owned()),
            annotations: Some(annotations.into_iter().collect()),
            ..ObjectMeta::default()
        },
        involved_object: ObjectReference {
            api_version: Some(K::api_version(&()).into_owned()),
            kind: Some(K::kind(&()).into_owned()),
            name: Some(name),
            namespace: object.namespace(),
            uid: object.uid(),
            resource_version: object.resource_version(),
            ..ObjectReference::default()
        },
        type_: Some(match severity {
            Severity::Normal => "Normal".to_owned(),
            Severity::Warning => "Warning".to_owned(),
        }),
        reason: Some(reason.to_owned()),
        message: Some(message),
        source: Some(EventSource {
            component: Some(COMPONENT.to_owned()),
            host: None,
        }),
        count: Some(1),
        first_timestamp: Some(Time(now)),
        last_timestamp: Some(Time(now)),
        ..Event::default()
    }
}

/// The longest start of a message that the API server accepts.
fn truncated(message: &str) -> String {
    message[..message.floor_char_boundary(MESSAGE_MAX)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_messages_are_cut_at_a_character() {
        let message = "\u{e4}".repeat(MESSAGE_MAX);
        assert_eq!(truncated(&message).len(), MESSAGE_MAX);
        assert_eq!(truncated("short"), "short");
    }
}
