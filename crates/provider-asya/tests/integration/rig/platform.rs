//! Provider configs and objects for the platforms and actors of the examples.

use std::fs;
use std::path::Path;

use kube::Api;
use provider_asya::kinds::ClusterProviderConfig;
use serde_json::{Value, json};

use super::moto::Moto;
use super::provider_fixture::{self, PROVIDER_NAMESPACE, ProviderFixture};
use super::rabbitmq::RabbitMq;

/// The configs that the examples' platforms name, leading to the rig's servers, with `more` in their
/// specs.
pub async fn make_platform(
    provider: &ProviderFixture,
    rabbitmq: &RabbitMq,
    moto: &Moto,
    more: &Value,
) {
    provider.make_namespace(PROVIDER_NAMESPACE).await;
    let configs: Api<ClusterProviderConfig> = Api::all(provider.client.clone());
    let own = Some(PROVIDER_NAMESPACE);
    let transports = [
        (
            "rabbitmq",
            provider_fixture::rabbitmq_connection(&rabbitmq.endpoint, own),
        ),
        ("sqs", provider_fixture::sqs_connection(&moto.endpoint, own)),
    ];
    for (transport, connection) in transports {
        let mut spec = json!({transport: connection, "countersInterval": "1s"});
        let more = more.as_object().expect("fields of a spec");
        spec.as_object_mut().expect("a map").extend(more.clone());
        let config = json!({"metadata": {"name": transport}, "spec": spec});
        provider_fixture::apply(&configs, config).await;
    }
}

/// The Queue that the example's actor is rendered with.
pub fn rendered(example: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples")
        .join(example)
        .join("expected.yaml");
    let text = fs::read_to_string(path).expect("an example");
    let documents = actor::yaml::documents(&text).expect("YAML");
    let mut queues = documents
        .into_iter()
        .filter(|document| document["kind"] == "Queue");
    let mut queue = queues.next().expect("a Queue");
    assert_eq!(queues.next(), None, "{example} has one queue");
    // The actor itself is not on this cluster, whose garbage collector would miss it.
    let metadata = queue["metadata"].as_object_mut().expect("metadata");
    assert!(metadata.remove("ownerReferences").is_some());
    queue
}
