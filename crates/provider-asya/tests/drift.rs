//! What a Queue object says of a queue that is not as it should be, or would be looked for elsewhere: the
//! conditions `Drifted` and `PolicyShadowed`, and the reason `QueueLocationChanged`.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot go on panics"
)]

mod rig;

use actor::managed::SYNCED;
use actor::queue::{DRIFTED, POLICY_SHADOWED};
use kube::Api;
use kube::api::{Patch, PatchParams};
use provider_asya::kinds::ProviderConfig;
use rig::moto::{Moto, REGION};
use rig::provider_fixture::{self, ProviderFixture, Queues};
use rig::proxy::Proxy;
use rig::rabbitmq::RabbitMq;
use serde_json::{Value, json};

const NAMESPACE: &str = "shop";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_as_it_should_be_is_said() {
    if rig::is_skipped("what queue objects say") {
        return;
    }
    let (provider, rabbitmq, moto) = tokio::join!(
        ProviderFixture::start(provider_fixture::timings()),
        RabbitMq::start(),
        Moto::start()
    );
    provider.make_namespace(NAMESPACE).await;
    let fixture = Fixture {
        queues: provider.queues(NAMESPACE),
        provider,
        rabbitmq,
        moto,
    };
    let broker = provider_fixture::rabbitmq_connection(&fixture.rabbitmq.endpoint, None);
    let service = provider_fixture::sqs_connection(&fixture.moto.endpoint, None);
    fixture
        .make_config("rabbitmq", &json!({"rabbitmq": broker}))
        .await;
    fixture
        .make_config("moving", &json!({"rabbitmq": broker}))
        .await;
    fixture.make_config("sqs", &json!({"sqs": service})).await;
    tokio::join!(
        a_policy_of_somebody_else_s_is_named(&fixture),
        a_difference_for_good_is_named(&fixture),
        retention_is_not_lowered(&fixture),
        another_endpoint_is_another_place(&fixture),
        another_region_is_another_place(&fixture),
    );
}

struct Fixture {
    provider: ProviderFixture,
    queues: Queues,
    rabbitmq: RabbitMq,
    moto: Moto,
}

impl Fixture {
    /// A config whose queues are looked at often.
    async fn make_config(&self, name: &str, connection: &Value) {
        let mut spec = connection.clone();
        spec["countersInterval"] = json!("1s");
        let configs: Api<ProviderConfig> = self.provider.namespaced(NAMESPACE);
        provider_fixture::apply(&configs, json!({"metadata": {"name": name}, "spec": spec})).await;
    }

    async fn make(&self, name: &str, config: &str, settings: Value) {
        let object = json!({
            "metadata": {"name": name,
                "annotations": {"crossplane.io/external-name": format!("asya-{name}")}},
            "spec": {"forProvider": settings,
                "providerConfigRef": {"kind": "ProviderConfig", "name": config}},
        });
        provider_fixture::apply(&self.queues.0, object).await;
    }
}

fn rabbitmq(kind: &str) -> Value {
    json!({"rabbitmq": {"host": "rabbitmq", "queueType": kind, "routingKeys": ["key"],
        "deadLetter": {"enabled": true}}})
}

async fn a_policy_of_somebody_else_s_is_named(fixture: &Fixture) {
    fixture.make("shaded", "rabbitmq", rabbitmq("quorum")).await;
    fixture.queues.until_ready("shaded").await;
    let path = ["policies", "/", "operators"];
    let policy = json!({"pattern": "^asya-shaded$", "definition": {"max-length": 1000},
        "priority": 7, "apply-to": "queues"});
    fixture.rabbitmq.api.put(&path, &policy).await.unwrap();
    let text =
        "policy \"operators\" applies to queue \"asya-shaded\" in place of \"asya-asya-shaded\"";
    let queue = fixture
        .queues
        .until_says("shaded", POLICY_SHADOWED, "True", text)
        .await;
    let mut conditions = queue.status.conditions.iter();
    assert!(conditions.any(|condition| condition.reason == "AnotherPolicy"));
    // What cannot be helped is no failure, and is said once.
    let before = fixture.queues.until_looked_at("shaded", "1").await;
    let after = fixture.queues.until_looked_at("shaded", "2").await;
    assert_eq!(before.status.conditions, after.status.conditions);
    fixture.queues.until_ready("shaded").await;
    fixture.rabbitmq.api.delete(&path).await.unwrap();
    fixture
        .queues
        .until_says("shaded", POLICY_SHADOWED, "False", "NoOtherPolicy")
        .await;
}

async fn a_difference_for_good_is_named(fixture: &Fixture) {
    let body = json!({"durable": true, "auto_delete": false,
        "arguments": {"x-queue-type": "classic"}});
    let path = ["queues", "/", "asya-classic"];
    fixture.rabbitmq.api.put(&path, &body).await.unwrap();
    let mut settings = rabbitmq("quorum");
    settings["adopt"] = json!(true);
    fixture.make("classic", "rabbitmq", settings).await;
    let text = "queueType is \"classic\" and should be \"quorum\": to change it, drain the queue and delete it";
    fixture
        .queues
        .until_says("classic", DRIFTED, "True", text)
        .await;
    fixture.queues.until_ready("classic").await;
    let queue = fixture.rabbitmq.read(&path).await;
    assert_eq!(queue["type"], json!("classic"), "it is never made anew");
}

async fn retention_is_not_lowered(fixture: &Fixture) {
    let settings =
        |seconds: u32| json!({"sqs": {"region": REGION, "messageRetentionSeconds": seconds}});
    fixture.make("kept", "sqs", settings(7200)).await;
    fixture.queues.until_ready("kept").await;
    fixture
        .queues
        .change("kept", json!({"spec": {"forProvider": settings(60)}}))
        .await;
    let text =
        "messageRetentionSeconds is \"7200\" and should be \"60\": writing it could lose messages";
    fixture
        .queues
        .until_says("kept", DRIFTED, "True", text)
        .await;
    fixture.queues.until_ready("kept").await;
    let change = json!({"spec": {"forProvider": settings(7200)}});
    fixture.queues.change("kept", change).await;
    fixture
        .queues
        .until_says("kept", DRIFTED, "False", "NoDifference")
        .await;
}

async fn another_endpoint_is_another_place(fixture: &Fixture) {
    fixture.make("moved", "moving", rabbitmq("classic")).await;
    fixture.queues.until_ready("moved").await;
    // The same broker by another name: nobody can know that it is the same.
    let proxy = Proxy::start(&fixture.rabbitmq.endpoint).await;
    let elsewhere = provider_fixture::rabbitmq_connection(&proxy.endpoint, None);
    fixture
        .make_config("moving", &json!({"rabbitmq": elsewhere}))
        .await;
    let queue = fixture
        .queues
        .until_says("moved", SYNCED, "False", "QueueLocationChanged")
        .await;
    let said = json!(queue.status.conditions).to_string();
    let expected = json!(format!(
        "endpoint {:?} is now {:?}",
        fixture.rabbitmq.endpoint, proxy.endpoint
    ));
    assert!(
        said.contains(expected.as_str().unwrap().replace('"', "\\\"").as_str()),
        "{said}"
    );
    let back = provider_fixture::rabbitmq_connection(&fixture.rabbitmq.endpoint, None);
    fixture
        .make_config("moving", &json!({"rabbitmq": back}))
        .await;
    fixture.queues.until_ready("moved").await;
}

async fn another_region_is_another_place(fixture: &Fixture) {
    fixture
        .make("regional", "sqs", json!({"sqs": {"region": REGION}}))
        .await;
    fixture.queues.until_ready("regional").await;
    // An object cannot say so itself.
    let change = json!({"spec": {"forProvider": {"sqs": {"region": "eu-west-1"}}}});
    let parameters = PatchParams::default();
    let refused = fixture
        .queues
        .0
        .patch("regional", &parameters, &Patch::Merge(change))
        .await;
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("region"), "{refused}");
    // One that is made anew from a backup, with another region, brings its status along.
    let recorded = json!({"status": {"atProvider": {"location": {"region": "eu-west-1"}}}});
    let recorded = Patch::Merge(recorded);
    let change = fixture
        .queues
        .0
        .patch_status("regional", &parameters, &recorded);
    change.await.unwrap();
    let text = "region \"eu-west-1\" is now \"us-east-1\"";
    let queue = fixture
        .queues
        .until_says("regional", SYNCED, "False", text)
        .await;
    let mut conditions = queue.status.conditions.iter();
    assert!(conditions.any(|condition| condition.reason == "QueueLocationChanged"));
}
