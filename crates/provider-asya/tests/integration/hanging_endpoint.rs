//! One tenant's endpoint hangs: queues of other tenants are reconciled nevertheless.

use std::sync::Arc;
use std::time::Duration;

use crate::rig::cluster::Cluster;
use crate::rig::fake::Server;
use crate::rig::fake_broker::FakeBroker;
use crate::rig::provider_fixture::{
    ProviderFixture, Queues, apply, control, make_namespace, rabbitmq_connection, timings,
};
use crate::rig::rabbitmq::RabbitMq;
use crate::rig::{Shared, shared};
use provider_asya::kinds::ProviderConfig;
use provider_asya::metrics::Metrics;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::time::{Instant, timeout};

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

/// Configs of one namespace, each with its own endpoint.
const CONFIGS: usize = 60;
/// Queues of each.
const QUEUES: usize = 3;
/// Time after which its endpoints answer: less than the timeout of a call.
const SLOW: Duration = Duration::from_secs(13);

/// All endpoints of one namespace answer correctly and slowly: they are one tenant, before and after a restart.
#[test]
fn a_namespace_with_many_slow_configs_does_not_delay_another_one() {
    shared::run("many slow configs of one namespace", async {
        let (cluster, rabbitmq) = tokio::join!(Cluster::start(), RabbitMq::start());
        cluster.install_kinds().await;
        let client = cluster.client().await;
        let broker = FakeBroker::default();
        let slow =
            Server::start_slow(SLOW, move |_, request, body| broker.answer(request, body)).await;
        let make_config = async |namespace: &str, name: &str, endpoint: &str| {
            let configs = kube::Api::<ProviderConfig>::namespaced(client.clone(), namespace);
            let connection = rabbitmq_connection(endpoint, None);
            let config = json!({"metadata": {"name": name}, "spec": {"rabbitmq": connection}});
            apply(&configs, config).await;
            Queues(kube::Api::namespaced(client.clone(), namespace))
        };
        for namespace in ["slow", "healthy"] {
            make_namespace(&client, namespace).await;
        }
        for config in 0..CONFIGS {
            let name = format!("broker-{config}");
            let queues = make_config("slow", &name, &slow.endpoint).await;
            for queue in 0..QUEUES {
                let queue = json!({"metadata": {"name": format!("queue-{config}-{queue}")}, "spec": {
                    "forProvider": {"rabbitmq": {"host": "rabbitmq", "routingKeys": [], "queueType": "classic",
                        "deadLetter": {"enabled": false, "maxReceiveCount": 20}}},
                    "providerConfigRef": {"kind": "ProviderConfig", "name": name}}});
                apply(&queues.0, queue).await;
            }
        }
        let queues = make_config("healthy", "broker", &rabbitmq.endpoint).await;
        for name in ["before", "after"] {
            let metrics = Arc::new(Metrics::new());
            let of_provider = cluster.client().await;
            let controllers = tokio::spawn(control(of_provider, timings(), metrics));
            let started = Instant::now();
            queues.make_classic(name, "healthy", name).await;
            let ready = timeout(Duration::from_secs(30), queues.until_ready(name)).await;
            println!(
                "{name} the restart: {:.1} s",
                started.elapsed().as_secs_f32()
            );
            assert!(
                ready.is_ok(),
                "{name}: it waits for another tenant's endpoints"
            );
            controllers.abort();
        }
    });
}
