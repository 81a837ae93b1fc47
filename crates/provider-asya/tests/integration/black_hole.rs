//! Connections to the API server that lose their peer without a reset, as behind a load balancer that
//! forgets them: reconciles get their slots back, and watches resume.

use std::sync::Arc;
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig};
use provider_asya::cluster::{self, ApiTimeouts};
use provider_asya::kinds::ProviderConfig;
use provider_asya::metrics::Metrics;
use serde_json::json;

use crate::rig::black_hole::BlackHole;
use crate::rig::cluster::Cluster;
use crate::rig::provider_fixture::{
    Queues, apply, control, make_namespace, rabbitmq_connection, timings,
};
use crate::rig::rabbitmq::RabbitMq;
use crate::rig::shared;

const NAMESPACE: &str = "shop";

/// The provider behind a proxy, with these timeouts.
async fn queues_survive_lost_connections(timeouts: ApiTimeouts, losses: usize) {
    let (cluster, rabbitmq) = tokio::join!(Cluster::start(), RabbitMq::start());
    cluster.install_kinds().await;
    let client = cluster.client().await;
    let kubeconfig = Kubeconfig::read_from(cluster.kubeconfig()).expect("a kubeconfig");
    let options = KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await;
    let mut config = config.expect("a usable kubeconfig");
    let authority = config.cluster_url.authority().expect("an address");
    let hole = BlackHole::start(authority.as_str().parse().expect("an address")).await;
    let through = format!("https://{}", hole.address);
    config.cluster_url = through.parse().expect("a URL");
    let metrics = Arc::new(Metrics::new());
    let provider = cluster::connect(config, timeouts, metrics.clone()).expect("a client");
    let controllers = tokio::spawn(control(provider, timings(), metrics));
    make_namespace(&client, NAMESPACE).await;
    let configs = kube::Api::<ProviderConfig>::namespaced(client.clone(), NAMESPACE);
    let connection = rabbitmq_connection(&rabbitmq.endpoint, None);
    let broker = json!({"metadata": {"name": "broker"}, "spec": {"rabbitmq": connection}});
    apply(&configs, broker).await;
    let queues = Queues(kube::Api::namespaced(client.clone(), NAMESPACE));
    queues.make_classic("before", "shop", "before").await;
    queues.until_ready("before").await;
    for loss in 0..losses {
        let name = format!("after-{loss}");
        // The watch does not deliver it, and requests of reconciles are not answered.
        hole.lose();
        queues.make_classic(&name, "shop", &name).await;
        queues.until_ready(&name).await;
    }
    queues.until_reconciled("before", "again").await;
    controllers.abort();
}

#[test]
fn reconciles_and_watches_resume_after_connections_have_lost_their_peer() {
    let timeouts = ApiTimeouts {
        response: Duration::from_secs(1),
        idle: Duration::from_secs(3),
        ..ApiTimeouts::default()
    };
    shared::run(
        "connections that lose their peer",
        queues_survive_lost_connections(timeouts, 3),
    );
}

/// `docs/reliability.md` has the time. With `cargo test -p provider-asya --test integration
/// black_hole:: -- --ignored`.
#[test]
#[ignore = "takes three minutes"]
fn watches_resume_within_the_documented_time() {
    shared::run("connections that lose their peer, default times", async {
        let run = queues_survive_lost_connections(ApiTimeouts::default(), 1);
        let ended = tokio::time::timeout(Duration::from_mins(4), run).await;
        assert!(ended.is_ok(), "not within 150 s and the time of the start");
    });
}
