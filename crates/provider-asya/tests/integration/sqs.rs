//! Queues on moto's SQS, through the interface of transports.

use crate::rig::Shared;
use std::collections::BTreeMap;
use std::time::Duration;

use crate::rig::fake_sqs::FakeSqs;
use crate::rig::moto::{Moto, REGION};
use provider_asya::owner::OwnerTag;
use provider_asya::transport::sqs::{QueueDefinition, Service, SqsExternal};
use provider_asya::transport::{
    Depth, DriftKind, ExternalQueue as _, Observation, ObservedQueue, Ownership, TransportError,
};
use serde_json::json;

static MOTO: Shared<Moto> = Shared::new("queues on SQS", || Box::pin(Moto::start()));

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

#[test]
fn a_created_queue_is_observed_without_drift() {
    MOTO.run(async |moto| {
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
    });
}

#[test]
fn changed_settings_are_written_and_a_lower_retention_is_withheld() {
    MOTO.run(async |moto| {
        let queue = external(moto, wanted("asya-changed", "east"));
        queue.create().await.unwrap();
        let mut changed = wanted("asya-changed", "east");
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
    });
}

#[test]
fn a_queue_of_another_owner_is_refused() {
    MOTO.run(async |moto| {
        let first = external(moto, wanted("asya-owned", "east"));
        first.create().await.unwrap();
        let theirs = QueueDefinition {
            owner_tag: OwnerTag::new("west", "shop", "x").unwrap(),
            ..wanted("asya-owned", "west")
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
            Ownership::OwnedBy("east/shop/asya-owned".to_owned())
        );
    });
}

#[test]
fn an_unowned_queue_is_adopted_with_its_messages() {
    MOTO.run(async |moto| {
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
    });
}

#[test]
fn a_fifo_queue_has_a_fifo_dead_letter_queue() {
    MOTO.run(async |moto| {
        let queue = external(moto, wanted("asya-cart.fifo", "east"));
        queue.create().await.unwrap();
        assert_eq!(found(&queue, Depth::Full).await.drift, []);
        let (sqs, _) = moto.clients();
        sqs.get_queue_url()
            .queue_name("asya-cart-dlq.fifo")
            .send()
            .await
            .unwrap();
    });
}

#[test]
fn no_queue_is_created_with_credentials_of_another_account() {
    MOTO.run(async |moto| {
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
    });
}

#[test]
fn a_queue_of_another_account_is_refused() {
    MOTO.run(async |moto| {
        let queue = external(moto, wanted("asya-account", "east"));
        queue.create().await.unwrap();
        let mut elsewhere = wanted("asya-account", "east");
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
    });
}

/// An account that a service without STS cannot report is no other account; a failing STS is an error.
#[test]
fn an_unknown_account_is_no_other_account_and_a_failing_sts_is_an_error() {
    MOTO.run(async |moto| {
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
    });
}

#[test]
fn a_deleted_dead_letter_queue_is_recreated_and_a_foreign_one_is_not_taken() {
    MOTO.run(async |moto| {
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
        let found_drift: Vec<_> = drift
            .iter()
            .map(|drift| (drift.what.as_str(), drift.have.as_str(), drift.kind))
            .collect();
        assert_eq!(
            found_drift,
            [("deadLetter", "missing", DriftKind::Settable)]
        );
        queue.update().await.unwrap();
        let dead_lettered =
            async |depth| found(&queue, depth).await.counters.unwrap().dead_lettered;
        // The cached URL of the deleted one is dropped.
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
    });
}

#[test]
fn deletion_removes_the_dead_letter_queue_and_can_be_repeated() {
    MOTO.run(async |moto| {
        let queue = external(moto, wanted("asya-deleted", "east"));
        queue.create().await.unwrap();
        queue.delete().await.unwrap();
        queue.delete().await.unwrap();
        assert_eq!(
            queue.observe(Depth::Full).await.unwrap(),
            Observation::Missing
        );
        let (sqs, _) = moto.clients();
        let letters = sqs
            .get_queue_url()
            .queue_name("asya-deleted-dlq")
            .send()
            .await;
        assert!(letters.is_err(), "{letters:?}");
    });
}
