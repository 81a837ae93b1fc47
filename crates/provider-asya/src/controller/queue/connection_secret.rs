//! The connection Secret of a Queue: where the queue is, for programs that are not actors.
//!
//! It never contains credentials: those of a ProviderConfig may do anything at the broker, and an
//! author of Queues may not read them.

use std::collections::BTreeMap;

use actor::queue::ForProvider;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client, Resource as _, ResourceExt as _};
use serde_json::{Value, json};

use crate::kinds::Queue;
use crate::transport::ObservedQueue;

/// Type of connection Secrets, by Crossplane's convention.
const TYPE: &str = "connection.crossplane.io/v1alpha1";

/// Reason for which the Secret is not written.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unpublished {
    /// The Secret is controlled by another object.
    #[error(
        "Secret {name:?} is controlled by {owner}: choose another name in `spec.writeConnectionSecretToRef`"
    )]
    Controlled {
        /// The Secret.
        name: String,
        /// Kind and name of its controller.
        owner: String,
    },
    /// The Secret has no controller and is not a connection Secret.
    #[error(
        "Secret {name:?} exists with type {type_:?}, and the provider writes only type {TYPE:?}: choose \
         another name in `spec.writeConnectionSecretToRef`, or delete it"
    )]
    OtherType {
        /// The Secret.
        name: String,
        /// Its type.
        type_: String,
    },
    /// The API server failed or refused.
    #[error("cannot write Secret {name:?}: {cause}")]
    Kube {
        /// The Secret.
        name: String,
        /// Cause.
        cause: kube::Error,
    },
}

/// Writes the connection Secret, where the queue names one and its content differs.
pub(super) async fn publish(
    client: &Client,
    queue: &Queue,
    external_name: &str,
    observed: &ObservedQueue,
) -> Result<(), Unpublished> {
    let Some(reference) = &queue.spec.write_connection_secret_to_ref else {
        return Ok(());
    };
    let name = &reference.name;
    let api: Api<Secret> = Api::namespaced(client.clone(), &queue.namespace().unwrap_or_default());
    let failed = |cause| Unpublished::Kube {
        name: name.clone(),
        cause,
    };
    let data = data(&queue.spec.for_provider, external_name, observed);
    let Some(existing) = api.get_opt(name).await.map_err(failed)? else {
        let secret = Secret {
            metadata: ObjectMeta {
                name: Some(name.clone()),
                owner_references: Some(vec![owner(queue)]),
                ..ObjectMeta::default()
            },
            type_: Some(TYPE.to_owned()),
            data: Some(data),
            ..Secret::default()
        };
        let parameters = PostParams::default();
        return api
            .create(&parameters, &secret)
            .await
            .map(drop)
            .map_err(failed);
    };
    if let Some(patch) = difference(&existing, queue, &data)? {
        api.patch(name, &PatchParams::default(), &Patch::Merge(&patch))
            .await
            .map_err(failed)?;
    }
    Ok(())
}

/// Content of the Secret.
fn data(
    settings: &ForProvider,
    name: &str,
    observed: &ObservedQueue,
) -> BTreeMap<String, ByteString> {
    let mut pairs = vec![("queue", Some(name))];
    if let Some(rabbitmq) = &settings.rabbitmq {
        pairs.push(("endpoint", Some(&rabbitmq.host)));
        pairs.push(("vhost", Some(&rabbitmq.vhost)));
        pairs.push(("exchange", Some(&rabbitmq.exchange)));
        let key = rabbitmq.routing_keys.first();
        pairs.push(("routingKey", key.map(String::as_str)));
    }
    if let Some(sqs) = &settings.sqs {
        pairs.push(("endpoint", observed.url.as_deref()));
        pairs.push(("arn", observed.arn.as_deref()));
        pairs.push(("region", Some(&sqs.region)));
    }
    let known = pairs
        .into_iter()
        .filter_map(|(key, value)| Some((key, value?)));
    known
        .map(|(key, value)| (key.to_owned(), ByteString(value.as_bytes().to_vec())))
        .collect()
}

/// The patch that sets the content. Other keys stay.
fn difference(
    existing: &Secret,
    queue: &Queue,
    wanted: &BTreeMap<String, ByteString>,
) -> Result<Option<Value>, Unpublished> {
    let name = existing.name_any();
    let mut owners = existing.owner_references().to_vec();
    let controller = owners.iter().find(|owner| owner.controller == Some(true));
    let is_adopted = controller.is_none();
    if let Some(other) = controller
        && Some(&other.uid) != queue.metadata.uid.as_ref()
    {
        let owner = format!("{} {:?}", other.kind, other.name);
        return Err(Unpublished::Controlled { name, owner });
    }
    let type_ = existing.type_.as_deref().unwrap_or("Opaque");
    if is_adopted && type_ != TYPE {
        let type_ = type_.to_owned();
        return Err(Unpublished::OtherType { name, type_ });
    }
    let held = existing.data.as_ref();
    let changed: BTreeMap<&String, &ByteString> = wanted
        .iter()
        .filter(|(key, value)| held.and_then(|held| held.get(*key)) != Some(value))
        .collect();
    if changed.is_empty() && !is_adopted {
        return Ok(None);
    }
    let mut patch =
        json!({"metadata": {"resourceVersion": existing.resource_version()}, "data": changed});
    if is_adopted {
        owners.push(owner(queue));
        patch["metadata"]["ownerReferences"] = json!(owners);
    }
    Ok(Some(patch))
}

/// The owner reference by which the Secret is deleted with the Queue.
fn owner(queue: &Queue) -> OwnerReference {
    OwnerReference {
        api_version: actor::PROVIDER_API_VERSION.to_owned(),
        kind: Queue::kind(&()).into_owned(),
        name: queue.name_any(),
        uid: queue.uid().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue() -> Queue {
        serde_json::from_value(json!({
            "metadata": {"name": "cart", "uid": "1"},
            "spec": {"forProvider": {"rabbitmq": {
                "host": "broker", "vhost": "/", "exchange": "asya", "routingKeys": ["cart", "asya-cart"],
                "queueType": "quorum", "deadLetter": {"enabled": false, "maxReceiveCount": 3}}},
                "providerConfigRef": {"name": "main"}},
        }))
        .unwrap()
    }

    fn text(data: &BTreeMap<String, ByteString>) -> Value {
        let pairs = data.iter();
        pairs
            .map(|(key, value)| (key.clone(), json!(String::from_utf8_lossy(&value.0))))
            .collect()
    }

    #[test]
    fn a_secret_contains_the_location_and_no_credentials() {
        let observed = ObservedQueue::default();
        let rabbitmq = data(&queue().spec.for_provider, "asya-cart", &observed);
        assert_eq!(
            text(&rabbitmq),
            json!({"endpoint": "broker", "vhost": "/", "exchange": "asya", "routingKey": "cart", "queue": "asya-cart"})
        );
        let sqs = serde_json::from_value(json!({"sqs": {
            "region": "us-east-1", "visibilityTimeoutSeconds": 30, "messageRetentionSeconds": 60,
            "receiveWaitTimeSeconds": 0, "deadLetter": {"enabled": false, "maxReceiveCount": 3}}}))
        .unwrap();
        let observed = ObservedQueue {
            url: Some("https://sqs/1/q".to_owned()),
            ..ObservedQueue::default()
        };
        assert_eq!(
            text(&data(&sqs, "q", &observed)),
            json!({"endpoint": "https://sqs/1/q", "region": "us-east-1", "queue": "q"}),
            "unknown values are absent"
        );
    }

    #[test]
    fn a_secret_is_written_when_it_differs_and_is_ours() {
        let controller = |uid: &str, is_controller: bool| json!([{"apiVersion": "v1", "kind": "Queue", "name": "other", "uid": uid, "controller": is_controller}]);
        // `YQ==` is `a`.
        let (same, old) = (
            json!({"key": "YQ==", "more": "YQ=="}),
            json!({"key": "Yg=="}),
        );
        let cases = [
            ("equal", controller("1", true), TYPE, &same, "nothing"),
            ("old", controller("1", true), TYPE, &old, "data"),
            (
                "ours, whatever its type",
                controller("1", true),
                "Opaque",
                &old,
                "data",
            ),
            ("without owner", json!([]), TYPE, &same, "owners"),
            (
                "with an owner that does not control it",
                controller("2", false),
                TYPE,
                &same,
                "owners",
            ),
            (
                "without owner, of another type",
                json!([]),
                "Opaque",
                &same,
                "refused: Secret \"login\" exists with type \"Opaque\"",
            ),
            (
                "another's",
                controller("2", true),
                TYPE,
                &old,
                "refused: Secret \"login\" is controlled by Queue \"other\"",
            ),
        ];
        let wanted = BTreeMap::from([("key".to_owned(), ByteString(b"a".to_vec()))]);
        for (reason, owners, type_, data, expected) in cases {
            let existing: Secret = serde_json::from_value(json!({
                "metadata": {"name": "login", "resourceVersion": "7", "ownerReferences": owners},
                "type": type_, "data": data,
            }))
            .unwrap();
            let found = match difference(&existing, &queue(), &wanted) {
                Ok(None) => "nothing".to_owned(),
                Ok(Some(patch)) => {
                    assert_eq!(patch["metadata"]["resourceVersion"], "7", "{reason}");
                    let is_adopted = patch["metadata"]["ownerReferences"].is_array();
                    if is_adopted { "owners" } else { "data" }.to_owned()
                }
                Err(error) => format!("refused: {error}"),
            };
            assert!(found.starts_with(expected), "{reason}: {found}");
        }
    }
}
