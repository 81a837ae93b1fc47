//! Behaviour of SQS that moto lacks: refused names of deleted queues, throttling, and settings that take a
//! while to be visible. A fake does that here.

use crate::rig::{self, Shared};
use std::time::Duration;

use crate::rig::fake_sqs::{FakeSqs, Lag, Refusal};
use crate::rig::provider_fixture::{self, ProviderFixture, Queues};
use actor::managed::{IN_USE_FINALIZER, SYNCED};
use kube::ResourceExt as _;
use provider_asya::conditions;
use provider_asya::kinds::ProviderConfig;
use provider_asya::timings::Timings;
use serde_json::json;

/// The provider's wait after SQS refused a name, here.
const DELETED_RECENTLY: Duration = Duration::from_secs(2);

static PROVIDER: Shared<ProviderFixture> = Shared::new("faults of SQS", || {
    let timings = Timings {
        deleted_recently: DELETED_RECENTLY,
        // The default, so that a second write within it would be observed.
        settling: Timings::default().settling,
        ..provider_fixture::timings()
    };
    Box::pin(ProviderFixture::start(timings))
});

const fn refusal(code: &'static str, older_code: Option<&'static str>) -> Refusal {
    Refusal { code, older_code }
}

/// As the service of today spells it.
#[test]
fn a_recently_deleted_name_is_waited_for() {
    let refusal = refusal("QueueDeletedRecently", None);
    PROVIDER.run(async |provider| {
        until_the_name_is_free(provider, "json", refusal).await;
    });
}

#[test]
fn a_recently_deleted_name_is_waited_for_if_a_query_compatible_service_refuses_it() {
    let older = "AWS.SimpleQueueService.QueueDeletedRecently";
    let refusal = refusal("QueueDeletedRecently", Some(older));
    PROVIDER.run(async |provider| {
        until_the_name_is_free(provider, "header", refusal).await;
    });
}

/// As services spell it that stand in for SQS.
#[test]
fn a_recently_deleted_name_is_waited_for_if_it_is_refused_with_the_older_code() {
    let refusal = refusal("AWS.SimpleQueueService.QueueDeletedRecently", None);
    PROVIDER.run(async |provider| {
        until_the_name_is_free(provider, "older", refusal).await;
    });
}

#[test]
fn calls_are_fewer_after_throttling_exception() {
    let refusal = refusal("ThrottlingException", None);
    PROVIDER.run(async |provider| {
        until_the_service_accepts_calls(provider, "throttling", refusal).await;
    });
}

#[test]
fn calls_are_fewer_after_request_throttled() {
    let refusal = refusal("RequestThrottled", Some("RequestThrottled"));
    PROVIDER.run(async |provider| {
        until_the_service_accepts_calls(provider, "throttled", refusal).await;
    });
}

#[test]
fn calls_are_fewer_after_over_limit() {
    let refusal = refusal("OverLimit", Some("OverLimit"));
    PROVIDER.run(async |provider| {
        until_the_service_accepts_calls(provider, "limit", refusal).await;
    });
}

/// A service and a config that leads to it, in a namespace of their own.
async fn set(provider: &ProviderFixture, namespace: &str) -> (FakeSqs, Queues) {
    provider.make_namespace(namespace).await;
    let sqs = FakeSqs::start().await;
    let spec = json!({"sqs": provider_fixture::sqs_connection(&sqs.endpoint, None), "countersInterval": "1s"});
    let config = json!({"metadata": {"name": "sqs"}, "spec": spec});
    let configs = provider.namespaced::<ProviderConfig>(namespace);
    provider_fixture::apply(&configs, config).await;
    // A config that is observed later triggers its queues, which ends their waits.
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

async fn until_the_name_is_free(provider: &ProviderFixture, namespace: &str, refusal: Refusal) {
    let (sqs, queues) = set(provider, namespace).await;
    sqs.refuse("CreateQueue", refusal);
    make(&queues).await;
    let queue = queues
        .until_condition("cart", SYNCED, "False", "QueueDeletedRecently")
        .await;
    let expected = "create failed: a queue named \"asya-cart\" was deleted less than 60 seconds ago, and SQS \
                keeps its name for that long: it is retried after 2 seconds";
    let messages: Vec<_> = queue
        .status
        .conditions
        .iter()
        .filter_map(|condition| condition.message.as_deref())
        .collect();
    assert_eq!(messages, [expected], "{refusal:?}");
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
        warnings.iter().all(|warning| warning == expected),
        "{warnings:#?}"
    );
}

async fn until_the_service_accepts_calls(
    provider: &ProviderFixture,
    namespace: &str,
    refusal: Refusal,
) {
    let (sqs, queues) = set(provider, namespace).await;
    make(&queues).await;
    queues.until_ready("cart").await;
    sqs.refuse("", refusal);
    let queue = queues
        .until_condition("cart", SYNCED, "False", "throttles calls")
        .await;
    assert!(
        conditions::is_true(&queue.status.conditions, actor::managed::READY),
        "{refusal:?}: {:?}",
        queue.status
    );
    sqs.accept();
    queues.until_ready("cart").await;
    // An object that is deleted meanwhile stays until its queue is deleted.
    sqs.refuse("DeleteQueue", refusal);
    queues.delete("cart").await;
    queues
        .until_condition("cart", SYNCED, "False", "throttles calls to delete queue")
        .await;
    assert_eq!(sqs.names(), ["asya-cart"], "{refusal:?}");
    sqs.accept();
    queues.until_deleted("cart").await;
    assert!(sqs.names().is_empty(), "{refusal:?}");
}

#[test]
fn a_setting_that_takes_a_while_to_be_visible_is_written_once() {
    PROVIDER.run(async |provider| {
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
        let observations = async |count: usize| {
            let before = sqs.calls("GetQueueAttributes");
            rig::until("more observations return the old setting", || async {
                (sqs.calls("GetQueueAttributes") >= before + count).then_some(())
            })
            .await;
        };
        observations(8).await;
        sqs.catch_up();
        observations(4).await;
        queues.until_ready("cart").await;
        assert_eq!(sqs.calls("SetQueueAttributes"), 1, "written once");
        let written = sqs.attribute("asya-cart", "VisibilityTimeout");
        assert_eq!(written, Some(json!("30")));
    });
}
