//! Delayed visibility on SQS: queues, their tags, and whether they exist. No warning is
//! written for it, no object fails, and no queue stays behind. A fake does that here.

use crate::rig::{self, Shared};
use std::time::Duration;

use crate::rig::fake_sqs::{FakeSqs, Lag};
use crate::rig::provider_fixture::{self, ProviderFixture, Queues};
use kube::api::{Patch, PatchParams};
use provider_asya::kinds::ProviderConfig;
use provider_asya::timings::Timings;
use serde_json::json;

static PROVIDER: Shared<ProviderFixture> = Shared::new("lags of SQS", || {
    let timings = Timings {
        // Longer than the test: the wait has no end.
        creation_grace: Duration::from_hours(1),
        ..provider_fixture::timings()
    };
    Box::pin(ProviderFixture::start(timings))
});

#[test]
fn a_new_queue_becomes_ready_once_its_tags_are_visible() {
    PROVIDER.run(async |provider| {
        until_a_new_queue_is_ready(provider, "tags", Lag::Tags, "ListQueueTags").await;
    });
}

#[test]
fn a_new_queue_becomes_ready_once_its_tags_can_be_listed() {
    PROVIDER.run(async |provider| {
        until_a_new_queue_is_ready(provider, "tag-calls", Lag::TagCalls, "ListQueueTags").await;
    });
}

#[test]
fn a_new_queue_becomes_ready_once_it_is_visible() {
    PROVIDER.run(async |provider| {
        until_a_new_queue_is_ready(provider, "existence", Lag::Existence, "GetQueueUrl").await;
    });
}

#[test]
fn a_new_queue_is_deleted_once_its_tags_are_visible() {
    PROVIDER.run(async |provider| {
        until_a_new_queue_is_deleted(provider, "tags-deleted", Lag::Tags, "ListQueueTags").await;
    });
}

#[test]
fn a_new_queue_is_deleted_once_its_tags_can_be_listed() {
    let (namespace, lag) = ("tag-calls-deleted", Lag::TagCalls);
    PROVIDER.run(async |provider| {
        until_a_new_queue_is_deleted(provider, namespace, lag, "ListQueueTags").await;
    });
}

#[test]
fn a_new_queue_is_deleted_once_it_is_visible() {
    let (namespace, lag) = ("existence-deleted", Lag::Existence);
    PROVIDER.run(async |provider| {
        until_a_new_queue_is_deleted(provider, namespace, lag, "GetQueueUrl").await;
    });
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

/// `call` is the one by which the provider observes again.
async fn until_a_new_queue_is_ready(
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
    let conditions = json!(queue.status.conditions).to_string();
    assert!(
        !conditions.contains("QueueOwnedByAnother"),
        "{lag:?}: {conditions}"
    );
    assert!(
        !conditions.contains("QueueNotOwned"),
        "{lag:?}: {conditions}"
    );
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

/// `call` is the one by which the provider observes again.
async fn until_a_new_queue_is_deleted(
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

#[test]
fn a_deleted_dead_letter_queue_is_recreated() {
    PROVIDER.run(async |provider| {
        let (sqs, queues) = set(provider, "letters").await;
        make(&queues).await;
        queues.until_ready("cart").await;
        sqs.remove("asya-cart-dlq");
        rig::until("the dead-letter queue is back", || async {
            (sqs.names() == ["asya-cart", "asya-cart-dlq"]).then_some(())
        })
        .await;
        queues.until_ready("cart").await;
    });
}

/// Anyone who may edit a namespace may write a status, too.
#[test]
fn a_forged_status_does_not_redirect_the_provider_to_a_foreign_queue() {
    PROVIDER.run(async |provider| {
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
    });
}
