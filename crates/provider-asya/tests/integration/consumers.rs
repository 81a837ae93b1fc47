//! Queues with messages that no ready pod takes.

use actor::queue::NO_CONSUMER;
use k8s_openapi::api::core::v1::Pod;
use kube::api::PostParams;
use provider_asya::kinds::ProviderConfig;
use provider_asya::timings::Timings;
use serde_json::json;
use std::time::Duration;

use crate::rig::health_fixture::{containers, running};
use crate::rig::provider_fixture::{ProviderFixture, apply, rabbitmq_connection, timings};
use crate::rig::rabbitmq::RabbitMq;
use crate::rig::{self, shared};

const NAMESPACE: &str = "shop";

/// Makes a pod of the actor `cart`, which is ready.
async fn make_ready_pod(provider: &ProviderFixture) {
    let pods = provider.namespaced::<Pod>(NAMESPACE);
    let labels = json!({"asya.sh/actor": "cart"});
    let pod = json!({"metadata": {"name": "cart-a", "labels": labels},
        "spec": {"containers": containers(), "automountServiceAccountToken": false}});
    // A namespace that is new has no ServiceAccount yet.
    rig::until("the pod is made", || async {
        let pod = serde_json::from_value(pod.clone()).unwrap();
        pods.create(&PostParams::default(), &pod).await.ok()
    })
    .await;
    let mut pod = json!(pods.get("cart-a").await.unwrap());
    pod["status"] = running();
    let pod = serde_json::from_value(pod).unwrap();
    let parameters = PostParams::default();
    let written = pods.replace_status("cart-a", &parameters, &pod).await;
    written.unwrap();
}

#[test]
fn messages_that_no_ready_pod_takes_are_reported_until_somebody_does() {
    shared::run("queues without a consumer", async {
        let timings = Timings {
            unconsumed_for: Duration::from_secs(1),
            unconsumed_poll: Duration::from_millis(300),
            ..timings()
        };
        let settings = "collect_statistics_interval = 300\n";
        let (provider, rabbitmq) = tokio::join!(
            ProviderFixture::start_with_health(timings),
            RabbitMq::start_with(settings)
        );
        provider.make_namespace(NAMESPACE).await;
        let configs = provider.namespaced::<ProviderConfig>(NAMESPACE);
        let spec = json!({"rabbitmq": rabbitmq_connection(&rabbitmq.endpoint, None),
            "countersInterval": "300ms"});
        apply(
            &configs,
            json!({"metadata": {"name": "broker"}, "spec": spec}),
        )
        .await;
        let queues = provider.queues(NAMESPACE);
        queues.make_classic("cart", "shop", "cart").await;
        queues
            .change(
                "cart",
                json!({"metadata": {"labels": {"asya.sh/actor": "cart"}}}),
            )
            .await;
        queues.until_ready("cart").await;
        assert!(rabbitmq.publish("shop", "cart").await);
        let is_counted = |queue: &provider_asya::kinds::Queue| {
            queue
                .status
                .at_provider
                .queued
                .is_some_and(|queued| queued > 0)
        };
        queues.until("cart", "counts the message", is_counted).await;
        for token in ["1", "2", "3"] {
            let queue = queues.until_reconciled("cart", token).await;
            let has_flag = |type_: &str| type_ == NO_CONSUMER;
            let conditions = &queue.status.conditions;
            assert!(
                !conditions
                    .iter()
                    .any(|condition| has_flag(&condition.type_)),
                "without pods nobody is expected to take messages"
            );
        }
        make_ready_pod(&provider).await;
        queues
            .until_condition(
                "cart",
                NO_CONSUMER,
                "True",
                "though 1 of the actor's pods is ready",
            )
            .await;
        rabbitmq.take("/", "cart").await;
        queues
            .until_condition("cart", NO_CONSUMER, "False", "Consumed")
            .await;
    });
}
