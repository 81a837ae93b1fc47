//! One tenant's endpoint hangs: queues of other tenants are reconciled nevertheless.

use crate::rig::Shared;
use std::time::Duration;

use crate::rig::provider_fixture::{ProviderFixture, apply, rabbitmq_connection, timings};
use crate::rig::rabbitmq::RabbitMq;
use provider_asya::kinds::ProviderConfig;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::time::timeout;

/// Queues on the endpoint that hangs.
const HANGING: usize = 50;

static FIXTURE: Shared<Fixture> = Shared::new("a hanging endpoint beside healthy tenants", || {
    Box::pin(Fixture::start())
});

struct Fixture {
    provider: ProviderFixture,
    rabbitmq: RabbitMq,
}

impl Fixture {
    async fn start() -> Self {
        let (provider, rabbitmq) =
            tokio::join!(ProviderFixture::start(timings()), RabbitMq::start());
        Self { provider, rabbitmq }
    }
}

#[test]
fn queues_of_other_tenants_are_ready_within_30_seconds() {
    FIXTURE.run(async |fixture| {
        // It accepts connections and never answers.
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let hanging = format!("http://{}", listener.local_addr().unwrap());
        let accepting = tokio::spawn(async move {
            let mut connections = Vec::new();
            loop {
                connections.push(listener.accept().await);
            }
        });
        let healthy = fixture.rabbitmq.endpoint.as_str();
        for (namespace, endpoint) in [("hanging", hanging.as_str()), ("healthy", healthy)] {
            fixture.provider.make_namespace(namespace).await;
            let configs = fixture.provider.namespaced::<ProviderConfig>(namespace);
            let connection = rabbitmq_connection(endpoint, None);
            let config = json!({"metadata": {"name": "broker"}, "spec": {"rabbitmq": connection}});
            apply(&configs, config).await;
        }
        let queues = fixture.provider.queues("hanging");
        for index in 0..HANGING {
            let name = format!("queue-{index}");
            queues.make_classic(&name, "hanging", &name).await;
        }
        queues
            .until_condition("queue-0", "Synced", "False", "no answer within")
            .await;
        let queues = fixture.provider.queues("healthy");
        for index in 0..3 {
            let name = format!("queue-{index}");
            queues.make_classic(&name, "healthy", &name).await;
            timeout(Duration::from_secs(30), queues.until_ready(&name))
                .await
                .unwrap_or_else(|_| panic!("{name} waits for another tenant's endpoint"));
        }
        accepting.abort();
    });
}

/// Each tenant has a config of its own, and none of the endpoints has answered before.
#[test]
fn fifty_tenants_whose_endpoints_hang_do_not_delay_another_one() {
    FIXTURE.run(async |fixture| {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let hanging = format!("http://{}", listener.local_addr().unwrap());
        let accepting = tokio::spawn(async move {
            let mut connections = Vec::new();
            loop {
                connections.push(listener.accept().await);
            }
        });
        let make = async |namespace: &str, endpoint: &str| {
            fixture.provider.make_namespace(namespace).await;
            let configs = fixture.provider.namespaced::<ProviderConfig>(namespace);
            let connection = rabbitmq_connection(endpoint, None);
            let config = json!({"metadata": {"name": "broker"}, "spec": {"rabbitmq": connection}});
            apply(&configs, config).await;
            let queues = fixture.provider.queues(namespace);
            queues.make_classic("queue", namespace, namespace).await;
            queues
        };
        for index in 0..HANGING {
            make(&format!("hangs-{index}"), &hanging).await;
        }
        let queues = make("answers", &fixture.rabbitmq.endpoint).await;
        timeout(Duration::from_secs(30), queues.until_ready("queue"))
            .await
            .expect("the queue waits for other tenants' endpoints");
        accepting.abort();
    });
}
