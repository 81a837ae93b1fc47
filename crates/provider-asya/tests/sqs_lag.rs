//! What takes a while to be seen on SQS: queues, their tags, and whether they exist. Nothing is said of
//! it, nothing is given up, and nothing stays behind. On a fake, which says so.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot go on panics"
)]

mod rig;

use std::time::Duration;

use kube::api::{Patch, PatchParams};
use provider_asya::kinds::ProviderConfig;
use provider_asya::timings::Timings;
use rig::fake_sqs::{FakeSqs, Lag};
use rig::provider_fixture::{self, ProviderFixture, Queues};
use serde_json::json;

/// Each lag, with the namespace of its case and the call by which the provider looks again.
const LAGS: [(&str, Lag, &str); 3] = [
    ("tags", Lag::Tags, "ListQueueTags"),
    ("tag-calls", Lag::TagCalls, "ListQueueTags"),
    ("existence", Lag::Existence, "GetQueueUrl"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_seen_yet_is_waited_for() {
    if rig::is_skipped("lags of SQS") {
        return;
    }
    let timings = Timings {
        // Longer than the test: what is waited for is not given up.
        creation_grace: Duration::from_hours(1),
        ..provider_fixture::timings()
    };
    let provider = ProviderFixture::start(timings).await;
    let cases = LAGS.map(async |(name, lag, call)| {
        a_new_queue_is_waited_for(&provider, name, lag, call).await;
        a_new_queue_is_deleted_once_it_is_seen(&provider, &format!("{name}-gone"), lag, call).await;
    });
    tokio::join!(
        futures::future::join_all(cases),
        a_dead_letter_queue_comes_back(&provider),
        a_status_leads_to_no_other_queue(&provider),
    );
}

/// A service and a config that leads to it, in a namespace of their own.
async fn set(provider: &ProviderFixture, namespace: &str) -> (FakeSqs, Queues) {
    provider.make_namespace(namespace).await;
    let sqs = FakeSqs::start().await;
    let spec = json!({"sqs": provider_fixture::sqs_connection(&sqs.endpoint, None), "countersInterval": "1s"});
    let config = json!({"metadata": {"name": "sqs"}, "spec": spec});
    provider_fixture::apply(&provider.namespaced::<ProviderConfig>(namespace), config).await;
    (sqs, provider.queues(namespace))
}

async fn make(queues: &Queues) {
    let object = json!({
        "metadata": {"name": "cart", "annotations": {"crossplane.io/external-name": "asya-cart"}},
        "spec": {
            "forProvider": {"sqs": {"region": "us-east-1", "deadLetter": {"enabled": true}}},
            "providerConfigRef": {"kind": "ProviderConfig", "name": "sqs"},
        },
    });
    provider_fixture::apply(&queues.0, object).await;
}

/// Waits until the service has been asked this often again.
async fn more_calls(sqs: &FakeSqs, call: &str, count: usize) {
    let before = sqs.calls(call);
    rig::until("the service is asked again", || async {
        (sqs.calls(call) >= before + count).then_some(())
    })
    .await;
}

async fn a_new_queue_is_waited_for(
    provider: &ProviderFixture,
    namespace: &str,
    lag: Lag,
    call: &str,
) {
    let (sqs, queues) = set(provider, namespace).await;
    sqs.lag(lag);
    make(&queues).await;
    rig::until("both queues are made", || async {
        (sqs.names() == ["asya-cart", "asya-cart-dlq"]).then_some(())
    })
    .await;
    more_calls(&sqs, call, 6).await;
    let queue = queues.0.get("cart").await.unwrap();
    let said = json!(queue.status.conditions).to_string();
    assert!(!said.contains("QueueOwnedByAnother"), "{lag:?}: {said}");
    assert!(!said.contains("QueueNotOwned"), "{lag:?}: {said}");
    sqs.catch_up();
    queues.until_ready("cart").await;
    let redrive = rig::until("failed messages go to the other queue", || async {
        let redrive = sqs.attribute("asya-cart", "RedrivePolicy")?;
        (!redrive.as_str()?.is_empty()).then_some(redrive)
    })
    .await;
    assert!(redrive.to_string().contains(":asya-cart-dlq"), "{redrive}");
    assert_eq!(sqs.calls("CreateQueue"), 2, "{lag:?}: each was made once");
    assert_eq!(
        provider.warnings(namespace, "cart").await,
        [""; 0],
        "{lag:?}: nobody is warned"
    );
}

async fn a_new_queue_is_deleted_once_it_is_seen(
    provider: &ProviderFixture,
    namespace: &str,
    lag: Lag,
    call: &str,
) {
    let (sqs, queues) = set(provider, namespace).await;
    sqs.lag(lag);
    make(&queues).await;
    let is_made = "crossplane.io/external-create-succeeded";
    queues
        .until("cart", "is made", |queue| {
            let annotations = queue.metadata.annotations.as_ref();
            annotations.is_some_and(|annotations| annotations.contains_key(is_made))
        })
        .await;
    queues.delete("cart").await;
    more_calls(&sqs, call, 6).await;
    let held = queues.0.get("cart").await.unwrap();
    assert!(held.metadata.deletion_timestamp.is_some(), "{lag:?}");
    sqs.catch_up();
    rig::until("no queue stays behind", || async {
        sqs.names().is_empty().then_some(())
    })
    .await;
}

async fn a_dead_letter_queue_comes_back(provider: &ProviderFixture) {
    let (sqs, queues) = set(provider, "letters").await;
    make(&queues).await;
    queues.until_ready("cart").await;
    sqs.remove("asya-cart-dlq");
    rig::until("the dead-letter queue is back", || async {
        (sqs.names() == ["asya-cart", "asya-cart-dlq"]).then_some(())
    })
    .await;
    queues.until_ready("cart").await;
}

/// Who may edit a namespace may also write what a status says.
async fn a_status_leads_to_no_other_queue(provider: &ProviderFixture) {
    let (sqs, queues) = set(provider, "forged").await;
    make(&queues).await;
    let own = queues.until_ready("cart").await.status.at_provider.url;
    let other = json!({
        "metadata": {"name": "theirs"},
        "spec": {
            "forProvider": {"sqs": {"region": "us-east-1", "visibilityTimeoutSeconds": 77}},
            "providerConfigRef": {"kind": "ProviderConfig", "name": "sqs"},
        },
    });
    provider_fixture::apply(&queues.0, other).await;
    let theirs = queues.until_ready("theirs").await.status.at_provider.url;
    assert_ne!(own, theirs);
    let parameters = PatchParams::default();
    let forged = Patch::Merge(json!({"status": {"atProvider": {"url": theirs}}}));
    let forge = queues.0.patch_status("cart", &parameters, &forged);
    forge.await.unwrap();
    let change = json!({"spec": {"forProvider": {"sqs": {"visibilityTimeoutSeconds": 33}}}});
    queues.change("cart", change).await;
    queues
        .until("cart", "has its own URL again", |queue| {
            queue.status.at_provider.url == own
        })
        .await;
    rig::until("the setting is written to the own queue", || async {
        let written = sqs.attribute("asya-cart", "VisibilityTimeout");
        (written == Some(json!("33"))).then_some(())
    })
    .await;
    let of_other = sqs.attribute("theirs", "VisibilityTimeout");
    assert_eq!(of_other, Some(json!("77")), "nobody else's is touched");
}
