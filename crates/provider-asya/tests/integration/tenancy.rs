//! Values that a ClusterProviderConfig does not allow, with a broker that counts its calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use actor::managed::SYNCED;
use bytes::Bytes;
use http::Response;
use http_body_util::Full;
use kube::Api;
use provider_asya::kinds::ClusterProviderConfig;
use serde_json::{Value, json};

use crate::rig::fake::Server;
use crate::rig::provider_fixture::{
    PROVIDER_NAMESPACE, ProviderFixture, Queues, apply, make_namespace, rabbitmq_connection,
    sqs_connection, timings,
};
use crate::rig::{self, Shared};

/// Namespace of the objects.
const NAMESPACE: &str = "tenant";

static FIXTURE: Shared<Fixture> =
    Shared::new("foreign virtual hosts, exchanges and regions", || {
        Box::pin(Fixture::start())
    });

struct Fixture {
    provider: ProviderFixture,
    queues: Queues,
    /// Calls of brokers and services.
    calls: Arc<AtomicUsize>,
    _server: Server,
}

impl Fixture {
    async fn start() -> Self {
        let provider = ProviderFixture::start(timings()).await;
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = calls.clone();
        let server = Server::start(move |_, _, _| {
            counted.fetch_add(1, Ordering::Relaxed);
            Response::new(Full::new(Bytes::new()))
        })
        .await;
        make_namespace(&provider.client, PROVIDER_NAMESPACE).await;
        provider.make_namespace(NAMESPACE).await;
        let configs: Api<ClusterProviderConfig> = Api::all(provider.client.clone());
        let secrets = Some(PROVIDER_NAMESPACE);
        let specs = [
            json!({"rabbitmq": rabbitmq_connection(&server.endpoint, secrets)}),
            json!({"sqs": sqs_connection(&server.endpoint, secrets), "regions": ["eu-*"]}),
        ];
        for (name, spec) in ["rabbitmq", "sqs"].into_iter().zip(specs) {
            apply(&configs, json!({"metadata": {"name": name}, "spec": spec})).await;
        }
        Self {
            queues: provider.queues(NAMESPACE),
            provider,
            calls,
            _server: server,
        }
    }

    async fn make(&self, name: &str, config: &str, settings: Value) {
        let queue = json!({"metadata": {"name": name}, "spec": {"forProvider": {config: settings},
            "providerConfigRef": {"kind": "ClusterProviderConfig", "name": config}}});
        apply(&self.queues.0, queue).await;
    }

    /// The settings are refused with this text, several times, and nothing is called.
    async fn refuses(&self, name: &str, config: &str, settings: Value, text: &str) {
        let before = self.calls.load(Ordering::Relaxed);
        self.make(name, config, settings).await;
        let expect = async || {
            let queues = &self.queues;
            queues.until_condition(name, SYNCED, "False", text).await
        };
        expect().await;
        for token in ["first", "second"] {
            self.queues.until_reconciled(name, token).await;
            expect().await;
        }
        let warnings = self.provider.warnings(NAMESPACE, name).await;
        assert!(!warnings.is_empty());
        assert_eq!(self.calls.load(Ordering::Relaxed), before);
    }
}

fn rabbitmq(vhost: &str, exchange: &str) -> Value {
    json!({"host": "broker", "vhost": vhost, "exchange": exchange, "routingKeys": [], "queueType": "classic",
        "deadLetter": {"enabled": false, "maxReceiveCount": 3}})
}

fn sqs(region: &str) -> Value {
    json!({"region": region, "visibilityTimeoutSeconds": 30, "messageRetentionSeconds": 3600,
        "receiveWaitTimeSeconds": 0, "deadLetter": {"enabled": false, "maxReceiveCount": 3}})
}

#[test]
fn a_foreign_virtual_host_is_refused_before_any_call() {
    FIXTURE.run_alone(async |fixture| {
        let text = "does not allow virtual host \"bank\"";
        let settings = rabbitmq("bank", "asya-tenant");
        fixture.refuses("vhost", "rabbitmq", settings, text).await;
    });
}

#[test]
fn a_foreign_exchange_is_refused_before_any_call() {
    FIXTURE.run_alone(async |fixture| {
        let text = "does not allow exchange \"asya-bank\"";
        let settings = rabbitmq("/", "asya-bank");
        fixture
            .refuses("exchange", "rabbitmq", settings, text)
            .await;
    });
}

#[test]
fn a_foreign_region_is_refused_before_any_call() {
    FIXTURE.run_alone(async |fixture| {
        let text = "does not allow region \"us-east-1\"";
        fixture
            .refuses("region", "sqs", sqs("us-east-1"), text)
            .await;
    });
}

#[test]
fn allowed_values_lead_to_calls() {
    FIXTURE.run_alone(async |fixture| {
        for (name, config, settings) in [
            ("broker", "rabbitmq", rabbitmq("/", "asya-tenant")),
            ("service", "sqs", sqs("eu-west-1")),
        ] {
            let before = fixture.calls.load(Ordering::Relaxed);
            fixture.make(name, config, settings).await;
            rig::until("there is a call", || async {
                (fixture.calls.load(Ordering::Relaxed) > before).then_some(())
            })
            .await;
            fixture
                .queues
                .change(
                    name,
                    json!({"metadata": {"annotations": {"crossplane.io/paused": "true"}}}),
                )
                .await;
            fixture
                .queues
                .until_condition(name, SYNCED, "False", "ReconcilePaused")
                .await;
        }
    });
}
