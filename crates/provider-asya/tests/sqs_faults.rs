//! What SQS does and moto does not: names that were deleted just now, throttling, and settings that
//! take a while to be seen. On a fake, which says so.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot go on panics"
)]

mod rig;

use std::time::Duration;

use actor::managed::{IN_USE_FINALIZER, SYNCED};
use kube::ResourceExt as _;
use provider_asya::conditions;
use provider_asya::kinds::ProviderConfig;
use provider_asya::timings::Timings;
use rig::fake_sqs::{FakeSqs, Lag, Refusal};
use rig::provider_fixture::{self, ProviderFixture, Queues};
use serde_json::json;

/// The provider's wait after SQS refused a name, here.
const DELETED_RECENTLY: Duration = Duration::from_secs(2);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_sqs_alone_does_is_said_and_outlived() {
    if rig::is_skipped("faults of SQS") {
        return;
    }
    let timings = Timings {
        deleted_recently: DELETED_RECENTLY,
        // As long as it is, so that a second write within it would be seen.
        settling: Timings::default().settling,
        ..provider_fixture::timings()
    };
    let provider = ProviderFixture::start(timings).await;
    let refusal = |code, older_code| Refusal { code, older_code };
    let (deleted, older_deleted) = (
        "QueueDeletedRecently",
        "AWS.SimpleQueueService.QueueDeletedRecently",
    );
    // As today's service spells it, as a query-compatible one does, and as those that stand in for it.
    let deletions = [
        ("json", refusal(deleted, None)),
        ("header", refusal(deleted, Some(older_deleted))),
        ("older", refusal(older_deleted, None)),
    ];
    let throttles = [
        ("throttling", refusal("ThrottlingException", None)),
        (
            "throttled",
            refusal("RequestThrottled", Some("RequestThrottled")),
        ),
        ("limit", refusal("OverLimit", Some("OverLimit"))),
    ];
    tokio::join!(
        futures::future::join_all(deletions.map(|(name, refusal)| {
            a_name_that_was_deleted_just_now_is_waited_for(&provider, name, refusal)
        })),
        futures::future::join_all(throttles.map(|(name, refusal)| {
            a_service_that_asks_for_fewer_calls_gets_them(&provider, name, refusal)
        })),
        settings_that_are_not_seen_yet_are_written_once(&provider),
    );
}

/// A service and a config that leads to it, in a namespace of their own.
async fn set(provider: &ProviderFixture, namespace: &str) -> (FakeSqs, Queues) {
    provider.make_namespace(namespace).await;
    let sqs = FakeSqs::start().await;
    let spec = json!({"sqs": provider_fixture::sqs_connection(&sqs.endpoint, None), "countersInterval": "1s"});
    let config = json!({"metadata": {"name": "sqs"}, "spec": spec});
    let configs = provider.namespaced::<ProviderConfig>(namespace);
    provider_fixture::apply(&configs, config).await;
    // A config that the provider hears of later is news to its queues, and ends their waits.
    rig::until("the provider knows the config", || async {
        let config = configs.get("sqs").await.unwrap();
        config
            .finalizers()
            .iter()
            .any(|own| own == IN_USE_FINALIZER)
            .then_some(())
    })
    .await;
    (sqs, provider.queues(namespace))
}

async fn make(queues: &Queues) {
    let object = json!({
        "metadata": {"name": "cart", "annotations": {"crossplane.io/external-name": "asya-cart"}},
        "spec": {
            "forProvider": {"sqs": {"region": "us-east-1", "visibilityTimeoutSeconds": 600}},
            "providerConfigRef": {"kind": "ProviderConfig", "name": "sqs"},
        },
    });
    provider_fixture::apply(&queues.0, object).await;
}

async fn a_name_that_was_deleted_just_now_is_waited_for(
    provider: &ProviderFixture,
    namespace: &str,
    refusal: Refusal,
) {
    let (sqs, queues) = set(provider, namespace).await;
    sqs.refuse("CreateQueue", refusal);
    make(&queues).await;
    let queue = queues
        .until_says("cart", SYNCED, "False", "QueueDeletedRecently")
        .await;
    let said = "create failed: a queue named \"asya-cart\" was deleted less than 60 seconds ago, and SQS does \
                not give its name away before: it is tried again after 2 seconds";
    let messages: Vec<_> = queue
        .status
        .conditions
        .iter()
        .filter_map(|condition| condition.message.as_deref())
        .collect();
    assert_eq!(messages, [said], "{refusal:?}");
    let wait = rig::until("it is asked for again", || async {
        sqs.first_wait("CreateQueue")
    })
    .await;
    // Back-off and poll would have come sooner; no load makes it shorter.
    assert!(wait >= DELETED_RECENTLY, "{refusal:?}: after {wait:?}");
    sqs.accept();
    queues.until_ready("cart").await;
    assert_eq!(sqs.names(), ["asya-cart"], "{refusal:?}");
    let warnings = provider.warnings(namespace, "cart").await;
    assert!(
        warnings.iter().all(|warning| warning == said),
        "{warnings:#?}"
    );
}

async fn a_service_that_asks_for_fewer_calls_gets_them(
    provider: &ProviderFixture,
    namespace: &str,
    refusal: Refusal,
) {
    let (sqs, queues) = set(provider, namespace).await;
    make(&queues).await;
    queues.until_ready("cart").await;
    sqs.refuse("", refusal);
    let queue = queues
        .until_says("cart", SYNCED, "False", "asks for fewer calls")
        .await;
    assert!(
        conditions::is_true(&queue.status.conditions, actor::managed::READY),
        "{refusal:?}: {:?}",
        queue.status
    );
    sqs.accept();
    queues.until_ready("cart").await;
    // An object that is deleted meanwhile keeps its queue's name until the queue is gone.
    sqs.refuse("DeleteQueue", refusal);
    queues.delete("cart").await;
    queues
        .until_says(
            "cart",
            SYNCED,
            "False",
            "asks for fewer calls while asked to delete queue",
        )
        .await;
    assert_eq!(sqs.names(), ["asya-cart"], "{refusal:?}");
    sqs.accept();
    queues.until_gone("cart").await;
    assert!(sqs.names().is_empty(), "{refusal:?}");
}

async fn settings_that_are_not_seen_yet_are_written_once(provider: &ProviderFixture) {
    let (sqs, queues) = set(provider, "lagging").await;
    make(&queues).await;
    queues.until_ready("cart").await;
    assert_eq!(sqs.calls("SetQueueAttributes"), 0, "creation sets them all");
    sqs.lag(Lag::Settings);
    let change = json!({"spec": {"forProvider": {"sqs": {"visibilityTimeoutSeconds": 30}}}});
    queues.change("cart", change).await;
    rig::until("the setting is written", || async {
        (sqs.calls("SetQueueAttributes") > 0).then_some(())
    })
    .await;
    let looks = async |count: usize| {
        let before = sqs.calls("GetQueueAttributes");
        rig::until("more looks see the old setting", || async {
            (sqs.calls("GetQueueAttributes") >= before + count).then_some(())
        })
        .await;
    };
    looks(8).await;
    sqs.catch_up();
    looks(4).await;
    queues.until_ready("cart").await;
    assert_eq!(sqs.calls("SetQueueAttributes"), 1, "written once");
    let written = sqs.attribute("asya-cart", "VisibilityTimeout");
    assert_eq!(written, Some(json!("30")));
}
