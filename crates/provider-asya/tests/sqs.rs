//! Queues on moto's SQS, and what moto cannot do on a fake that says so.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::too_many_lines,
    reason = "a test that cannot go on panics, and a table of cases is as long as it is"
)]

mod rig;

use std::collections::BTreeMap;
use std::time::Duration;

use provider_asya::owner::OwnerTag;
use provider_asya::transport::sqs::{QueueDefinition, Service, SqsExternal};
use provider_asya::transport::{
    Depth, DriftKind, ExternalQueue as _, Observation, ObservedQueue, Ownership, TransportError,
};
use rig::fake_sqs::FakeSqs;
use rig::moto::{Moto, REGION};
use serde_json::json;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queues_live_on_the_api_of_sqs() {
    if rig::is_skipped("queues on SQS") {
        return;
    }
    let moto = Moto::start().await;
    a_queue_is_made_and_found_again(&moto).await;
    only_what_differs_is_written(&moto).await;
    a_second_owner_gets_nothing(&moto).await;
    an_unmarked_queue_is_adopted_with_its_messages(&moto).await;
    fifo_queues_have_fifo_dead_letter_queues(&moto).await;
    another_account_gets_no_second_queue(&moto).await;
    a_queue_of_another_account_is_none_of_ours(&moto).await;
    an_account_that_nobody_tells_is_no_other_one(&moto).await;
    a_dead_letter_queue_that_is_gone_is_made_again(&moto).await;
    deletion_takes_everything_along_and_can_be_repeated(&moto).await;
}

fn wanted(name: &str, owner: &str) -> QueueDefinition {
    let queue = json!({
        "region": REGION, "visibilityTimeoutSeconds": 600, "messageRetentionSeconds": 345_600,
        "receiveWaitTimeSeconds": 20, "deadLetter": {"enabled": true, "maxReceiveCount": 3},
    });
    QueueDefinition {
        name: name.to_owned(),
        queue: serde_json::from_value(queue).unwrap(),
        owner_tag: OwnerTag::new(owner, "shop", name).unwrap(),
        tags: BTreeMap::from([(
            "crossplane-kind".to_owned(),
            "queue.provider.asya.sh".to_owned(),
        )]),
        account_id: None,
    }
}

fn external(moto: &Moto, wanted: QueueDefinition) -> SqsExternal {
    moto.service().queue(wanted).unwrap()
}

async fn found(queue: &SqsExternal, depth: Depth) -> ObservedQueue {
    match queue.observe(depth).await.unwrap() {
        Observation::Present(found) => *found,
        Observation::Missing => panic!("the queue is absent"),
    }
}

async fn a_queue_is_made_and_found_again(moto: &Moto) {
    let queue = external(moto, wanted("asya-made", "east"));
    assert_eq!(
        queue.observe(Depth::Full).await.unwrap(),
        Observation::Missing
    );
    queue.create().await.unwrap();
    queue.create().await.unwrap(); // as after a crash
    let seen = found(&queue, Depth::Full).await;
    assert_eq!(
        seen.owner,
        Ownership::OwnedBy("east/shop/asya-made".to_owned())
    );
    assert_eq!((seen.drift.as_slice(), seen.held), ([].as_slice(), Some(0)));
    assert_eq!(seen.location.account_id.as_deref(), Some("123456789012"));
    let (sqs, _) = moto.clients();
    let url = seen.url.unwrap();
    sqs.send_message()
        .queue_url(&url)
        .message_body("{}")
        .send()
        .await
        .unwrap();
    let counters = found(&queue, Depth::Quick).await.counters.unwrap();
    assert_eq!((counters.queued, counters.processing), (1, 0));
}

async fn only_what_differs_is_written(moto: &Moto) {
    let mut changed = wanted("asya-made", "east");
    changed.queue.visibility_timeout_seconds = 30;
    changed.queue.message_retention_seconds = 60;
    changed.queue.dead_letter.enabled = false;
    let queue = external(moto, changed);
    let kinds: Vec<_> = found(&queue, Depth::Full)
        .await
        .drift
        .into_iter()
        .map(|drift| (drift.what, drift.kind))
        .collect();
    assert_eq!(
        kinds,
        [
            ("messageRetentionSeconds".to_owned(), DriftKind::Withheld),
            ("deadLetter".to_owned(), DriftKind::Settable),
            ("visibilityTimeoutSeconds".to_owned(), DriftKind::Settable),
        ]
    );
    queue.update().await.unwrap();
    let left = found(&queue, Depth::Full).await.drift;
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(
        (left[0].kind, left[0].have.as_str()),
        (DriftKind::Withheld, "345600")
    );
}

async fn a_second_owner_gets_nothing(moto: &Moto) {
    let theirs = QueueDefinition {
        owner_tag: OwnerTag::new("west", "shop", "x").unwrap(),
        ..wanted("asya-made", "west")
    };
    let queue = external(moto, theirs);
    let error = queue.create().await.unwrap_err();
    assert!(
        matches!(&error, TransportError::Foreign { owner, .. } if owner.starts_with("east/")),
        "{error}"
    );
    let seen = found(&queue, Depth::Full).await;
    assert_eq!(
        seen.owner,
        Ownership::OwnedBy("east/shop/asya-made".to_owned())
    );
}

async fn an_unmarked_queue_is_adopted_with_its_messages(moto: &Moto) {
    let (sqs, _) = moto.clients();
    let url = sqs
        .create_queue()
        .queue_name("asya-old")
        .send()
        .await
        .unwrap()
        .queue_url
        .unwrap();
    sqs.send_message()
        .queue_url(&url)
        .message_body("{}")
        .send()
        .await
        .unwrap();
    let queue = external(moto, wanted("asya-old", "east"));
    assert_eq!(found(&queue, Depth::Full).await.owner, Ownership::Unowned);
    queue.update().await.unwrap();
    let seen = found(&queue, Depth::Full).await;
    assert_eq!(
        seen.owner,
        Ownership::OwnedBy("east/shop/asya-old".to_owned())
    );
    assert_eq!((seen.drift.as_slice(), seen.held), ([].as_slice(), Some(1)));
}

async fn fifo_queues_have_fifo_dead_letter_queues(moto: &Moto) {
    let queue = external(moto, wanted("asya-cart.fifo", "east"));
    queue.create().await.unwrap();
    assert_eq!(found(&queue, Depth::Full).await.drift, []);
    let (sqs, _) = moto.clients();
    sqs.get_queue_url()
        .queue_name("asya-cart-dlq.fifo")
        .send()
        .await
        .unwrap();
}

async fn another_account_gets_no_second_queue(moto: &Moto) {
    let mut elsewhere = wanted("asya-elsewhere", "east");
    elsewhere.account_id = Some("999999999999".to_owned());
    let queue = external(moto, elsewhere);
    let error = queue.create().await.unwrap_err();
    assert_eq!(error.reason(), "QueueLocationChanged", "{error}");
    // Absent, it would be made anew, or its object be let go.
    let error = queue.observe(Depth::Quick).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "queue \"asya-elsewhere\" belongs to account 999999999999, and the ProviderConfig's credentials are of \
         account 123456789012: use credentials of 999999999999, or delete this object and create another"
    );
    let none = external(moto, wanted("asya-elsewhere", "east"));
    assert_eq!(
        none.observe(Depth::Quick).await.unwrap(),
        Observation::Missing,
        "none was made"
    );
}

async fn a_queue_of_another_account_is_none_of_ours(moto: &Moto) {
    let mut elsewhere = wanted("asya-made", "east");
    elsewhere.queue.account_id = Some("999999999999".to_owned());
    let queue = external(moto, elsewhere);
    for depth in [Depth::Quick, Depth::Full] {
        let error = queue.observe(depth).await.unwrap_err();
        assert_eq!(error.reason(), "QueueLocationChanged", "{error}");
        assert!(
            error
                .to_string()
                .contains("the one found is in account 123456789012"),
            "{error}"
        );
    }
}

/// Not every service that stands in for SQS knows accounts, and not every silence means that.
async fn an_account_that_nobody_tells_is_no_other_one(moto: &Moto) {
    let fake = FakeSqs::start().await;
    let absent_with_sts_at = async |endpoint: &str| {
        let (sqs, sts) = moto.clients();
        let sts = sts.config().to_builder().endpoint_url(endpoint).build();
        let sts = aws_sdk_sts::Client::from_conf(sts);
        let after = Duration::from_secs(65);
        let service = Service::new(sqs, sts, REGION, Some(&moto.endpoint), after);
        let mut wanted = wanted("asya-elsewhere", "east");
        wanted.account_id = Some("999999999999".to_owned());
        service.queue(wanted).unwrap().observe(Depth::Quick).await
    };
    let of_none = absent_with_sts_at(&fake.endpoint).await;
    assert_eq!(of_none.unwrap(), Observation::Missing, "it knows no STS");
    let error = absent_with_sts_at("http://127.0.0.1:1").await.unwrap_err();
    assert!(
        matches!(error, TransportError::Unreachable { .. }),
        "{error}"
    );
}

async fn a_dead_letter_queue_that_is_gone_is_made_again(moto: &Moto) {
    let (sqs, _) = moto.clients();
    let letters = async || {
        let found = sqs.get_queue_url().queue_name("asya-letters-dlq").send();
        found.await.ok().and_then(|found| found.queue_url)
    };
    let delete = async |url| sqs.delete_queue().queue_url(url).send().await.unwrap();
    let queue = external(moto, wanted("asya-letters", "east"));
    queue.create().await.unwrap();
    delete(letters().await.unwrap()).await;
    let drift = found(&queue, Depth::Full).await.drift;
    let said: Vec<_> = drift
        .iter()
        .map(|drift| (drift.what.as_str(), drift.have.as_str(), drift.kind))
        .collect();
    assert_eq!(said, [("deadLetter", "absent", DriftKind::Settable)]);
    queue.update().await.unwrap();
    let dead_lettered = async |depth| found(&queue, depth).await.counters.unwrap().dead_lettered;
    // What was remembered of the one that is gone is forgotten.
    let _ = dead_lettered(Depth::WithDeadLetters).await;
    let send = sqs.send_message().queue_url(letters().await.unwrap());
    send.message_body("{}").send().await.unwrap();
    for (depth, expected) in [
        (Depth::Quick, None),
        (Depth::WithDeadLetters, Some(1)),
        (Depth::Full, Some(1)),
    ] {
        assert_eq!(dead_lettered(depth).await, expected, "{depth:?}");
    }
    assert_eq!(found(&queue, Depth::Full).await.drift, []);
    // One of the same name that is nobody's is not taken, and its messages are not counted as ours.
    let url = letters().await.unwrap();
    delete(url).await;
    let make = sqs.create_queue().queue_name("asya-letters-dlq");
    let url = make.send().await.unwrap().queue_url.unwrap();
    let send = sqs.send_message().queue_url(&url).message_body("{}");
    send.send().await.unwrap();
    let seen = found(&queue, Depth::Full).await;
    assert_eq!(
        (seen.drift[0].have.as_str(), seen.held),
        ("of \"nobody\"", Some(0))
    );
    for depth in [Depth::WithDeadLetters, Depth::Full] {
        assert_eq!(dead_lettered(depth).await, None, "{depth:?}");
    }
    let error = queue.update().await.unwrap_err();
    assert_eq!(error.reason(), "QueueOwnedByAnother", "{error}");
    queue.delete().await.unwrap();
    assert_eq!(letters().await, Some(url), "it stays");
    let off = {
        let mut wanted = wanted("asya-letters", "east");
        wanted.queue.dead_letter.enabled = false;
        external(moto, wanted)
    };
    off.create().await.unwrap();
    assert_eq!(
        found(&off, Depth::Full).await.drift,
        [],
        "without dead letters there is nothing to miss"
    );
    off.delete().await.unwrap();
}

async fn deletion_takes_everything_along_and_can_be_repeated(moto: &Moto) {
    let queue = external(moto, wanted("asya-made", "east"));
    queue.delete().await.unwrap();
    queue.delete().await.unwrap();
    assert_eq!(
        queue.observe(Depth::Full).await.unwrap(),
        Observation::Missing
    );
    let (sqs, _) = moto.clients();
    let letters = sqs.get_queue_url().queue_name("asya-made-dlq").send().await;
    assert!(letters.is_err(), "{letters:?}");
}
