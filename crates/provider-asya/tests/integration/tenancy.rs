//! Values that a ClusterProviderConfig does not allow, with a broker that counts its calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use actor::managed::SYNCED;
use bytes::Bytes;
use http::Response;
use http_body_util::Full;
use kube::Api;
use kube::api::{Patch, PatchParams};
use provider_asya::kinds::ClusterProviderConfig;
use serde_json::{Value, json};

use crate::rig::fake::Server;
use crate::rig::fake_broker::FakeBroker;
use crate::rig::provider_fixture::{
    PROVIDER_NAMESPACE, ProviderFixture, Queues, apply, make_namespace, rabbitmq_connection,
    sqs_connection, timings,
};
use crate::rig::{self, Shared};

/// Namespace of the objects.
const NAMESPACE: &str = "tenant";
/// A namespace that exists before any queue, and whose name another template has.
const OTHER_BY_TEMPLATE: &str = "asya-tenant";
/// A longer namespace that exists before any queue.
const OTHER_LONGER: &str = "tenant-us";

static FIXTURE: Shared<Fixture> =
    Shared::new("foreign virtual hosts, exchanges and regions", || {
        Box::pin(Fixture::start())
    });

struct Fixture {
    provider: ProviderFixture,
    queues: Queues,
    /// Calls of brokers and services.
    calls: Arc<AtomicUsize>,
    /// The broker of the config `live`, which works.
    broker: Arc<FakeBroker>,
    _servers: [Server; 2],
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
        let broker = Arc::new(FakeBroker::default());
        let of_server = broker.clone();
        let live = Server::start(move |_, request, body| of_server.answer(request, body)).await;
        make_namespace(&provider.client, PROVIDER_NAMESPACE).await;
        provider.make_namespace(NAMESPACE).await;
        // The provider caches the list of namespaces for some seconds.
        for other in [OTHER_BY_TEMPLATE, OTHER_LONGER] {
            provider.make_namespace(other).await;
        }
        let configs: Api<ClusterProviderConfig> = Api::all(provider.client.clone());
        let secrets = Some(PROVIDER_NAMESPACE);
        let specs = [
            json!({"rabbitmq": rabbitmq_connection(&server.endpoint, secrets)}),
            json!({"sqs": sqs_connection(&server.endpoint, secrets), "regions": ["eu-*"]}),
            json!({"rabbitmq": rabbitmq_connection(&server.endpoint, secrets),
                "queueNames": ["asya-{namespace}-*", "{namespace}-*"]}),
            json!({"rabbitmq": rabbitmq_connection(&live.endpoint, secrets),
                "queueNames": ["live-{namespace}-*"], "allowedExchanges": ["live-{namespace}*"]}),
        ];
        for (name, spec) in ["rabbitmq", "sqs", "templates", "live"]
            .into_iter()
            .zip(specs)
        {
            apply(&configs, json!({"metadata": {"name": name}, "spec": spec})).await;
        }
        Self {
            queues: provider.queues(NAMESPACE),
            provider,
            calls,
            broker,
            _servers: [server, live],
        }
    }

    async fn make(&self, name: &str, config: &str, settings: Value) {
        let transport = if config == "sqs" { "sqs" } else { "rabbitmq" };
        let queue = json!({"metadata": {"name": name}, "spec": {"forProvider": {transport: settings},
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
fn a_name_of_another_namespace_by_another_template_is_refused_before_any_call() {
    FIXTURE.run_alone(async |fixture| {
        let text = format!("it belongs to namespace {OTHER_BY_TEMPLATE:?}");
        let name = format!("{OTHER_BY_TEMPLATE}-cart");
        let settings = rabbitmq("/", "asya-tenant");
        fixture.refuses(&name, "templates", settings, &text).await;
    });
}

#[test]
fn a_newer_namespace_takes_no_live_queue_from_another_one() {
    FIXTURE.run_alone(async |fixture| {
        let (queues, name) = (&fixture.queues, "live-tenant-eu-cart");
        let mut settings = rabbitmq("/", "live-tenant");
        settings["routingKeys"] = json!(["cart"]);
        fixture.make(name, "live", settings).await;
        queues.until_ready(name).await;
        fixture.provider.make_namespace("tenant-eu").await;
        for token in ["first", "second"] {
            queues.until_reconciled(name, token).await;
            queues.until_ready(name).await;
        }
        // An exchange can be changed to one of the other namespace.
        let exchange =
            |name: &str| json!({"spec": {"forProvider": {"rabbitmq": {"exchange": name}}}});
        queues.change(name, exchange("live-tenant-eu")).await;
        let text = "does not allow exchange \"live-tenant-eu\"";
        queues.until_condition(name, SYNCED, "False", text).await;
        queues.change(name, exchange("live-tenant")).await;
        queues.until_ready(name).await;
        assert!(fixture.broker.has(name));
        queues.delete(name).await;
        queues.until_deleted(name).await;
        assert!(!fixture.broker.has(name));
    });
}

#[test]
fn a_forged_record_allows_no_name_of_another_namespace() {
    FIXTURE.run_alone(async |fixture| {
        let name = &*format!("live-{OTHER_LONGER}-cart");
        let settings = rabbitmq("/", "live-tenant");
        fixture.make(name, "live", settings).await;
        let text = &format!("it belongs to namespace {OTHER_LONGER:?}");
        let queues = &fixture.queues;
        queues.until_condition(name, SYNCED, "False", text).await;
        let forged = json!({"status": {"atProvider": {"name": name, "ownerID": "east",
            "location": {"vhost": "/"}}}});
        let patch = Patch::Merge(&forged);
        let manager = PatchParams::default();
        let patched = queues.0.patch_status(name, &manager, &patch).await;
        patched.expect("the status is written");
        queues.until_reconciled(name, "forged").await;
        queues.until_condition(name, SYNCED, "False", "").await;
        assert!(!fixture.broker.has(name));
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
