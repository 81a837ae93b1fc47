//! Shared policies on a real broker: each test has a virtual host of its own.

use std::collections::BTreeMap;

use super::{BROKER, COUNTING, found, recorded, wanted};
use crate::rig;
use crate::rig::rabbitmq::RabbitMq;
use actor::provider_config::PolicyOrigin;
use provider_asya::transport::rabbitmq::definition::{PolicyRecord, QueueDefinition};
use provider_asya::transport::rabbitmq::shared_policy::SharedPolicy;
use provider_asya::transport::rabbitmq::{Broker, RabbitMqExternal};
use provider_asya::transport::{Depth, ExternalQueue as _};
use serde_json::{Value, json};

const SHARED: &str = "asya:east:queues";

pub(super) async fn make_vhost(broker: &RabbitMq, vhost: &str) {
    let api = &broker.api;
    api.put(&["vhosts", vhost], &json!({})).await.unwrap();
    let rights = json!({"configure": ".*", "write": ".*", "read": ".*"});
    let path = ["permissions", vhost, "guest"];
    api.put(&path, &rights).await.unwrap();
}

/// A queue of `owner` with the limit of the shared policy. Its config records nothing, and has queues from before
/// records existed.
pub(super) fn sharing(vhost: &str, name: &str, owner: &str) -> QueueDefinition {
    let mut definition = wanted(name, owner);
    vhost.clone_into(&mut definition.queue.vhost);
    definition.queue.dead_letter.max_receive_count = 3;
    definition.shared = Some(SharedPolicy {
        owner_id: owner.to_owned(),
        queue_names: "asya-*".to_owned(),
        max_receive_count: 3,
        records: BTreeMap::new(),
        may_predate_records: true,
    });
    definition
}

/// The queue as a provider that has just been started sees it.
fn external(broker: &RabbitMq, definition: &QueueDefinition) -> RabbitMqExternal {
    let fresh = Broker::new(broker.api.clone(), COUNTING);
    fresh.queue(definition.clone()).unwrap()
}

/// Creates the queue as the controller does: what it may write is recorded before.
pub(super) async fn create(broker: &RabbitMq, definition: &QueueDefinition) {
    let external = external(broker, definition);
    record(&external).await;
    external.create().await.unwrap();
}

async fn update(broker: &RabbitMq, definition: &QueueDefinition) {
    let external = external(broker, definition);
    record(&external).await;
    external.update().await.unwrap();
}

async fn record(external: &RabbitMqExternal) {
    external.names_to_record().await.unwrap();
    external.shared_policies_recorded(&external.shared_policies_to_record());
}

/// The definition of a queue whose ProviderConfig records the shared policy so.
fn with_record(mut definition: QueueDefinition, origin: PolicyOrigin) -> QueueDefinition {
    let shared = definition.shared.as_mut().unwrap();
    shared.records.insert(SHARED.to_owned(), origin);
    definition
}

/// Names of all policies of the virtual host, sorted, without those that dead-letter queues have from RabbitMQ 4.0.
async fn policies(broker: &RabbitMq, vhost: &str) -> Vec<String> {
    let overview = broker.read(&["overview"]).await;
    let version = overview["rabbitmq_version"].as_str().unwrap();
    let is_3 = version.starts_with("3.");
    let list = broker.read(&["policies", vhost]).await;
    let names = list.as_array().unwrap().iter();
    let names = names.map(|policy| policy["name"].as_str().unwrap().to_owned());
    let mut names: Vec<String> = names
        .filter(|name| is_3 || !(name.ends_with(":dead-letters") || name.ends_with("-dlq")))
        .collect();
    names.sort();
    names
}

async fn until_applied(broker: &RabbitMq, vhost: &str, queue: &str, policy: &str) -> Value {
    rig::until(&format!("{policy} applies to {queue}"), || async {
        let found = broker.read(&["queues", vhost, queue]).await;
        (found["policy"] == policy).then_some(found)
    })
    .await
}

/// Waits until an observation finds nothing to do.
async fn until_in_sync(broker: &RabbitMq, definition: &QueueDefinition) {
    for depth in [Depth::Full, Depth::Quick] {
        rig::until(&format!("{} is in sync", definition.name), || async {
            let drift = found(&external(broker, definition), depth).await.drift;
            drift.is_empty().then_some(())
        })
        .await;
    }
}

#[test]
fn new_queues_share_one_policy_and_dead_letter_by_argument() {
    BROKER.run(async |broker| {
        let vhost = "shared";
        make_vhost(broker, vhost).await;
        for name in ["asya-a", "asya-b", "asya-c"] {
            create(broker, &sharing(vhost, name, "east")).await;
        }
        assert_eq!(policies(broker, vhost).await, [SHARED]);
        let queue = until_applied(broker, vhost, "asya-a", SHARED).await;
        assert_eq!(queue["arguments"]["x-dead-letter-exchange"], "asya-dlx");
        assert_eq!(
            queue["arguments"]["x-dead-letter-routing-key"],
            "asya-a-dlq"
        );
        assert_eq!(queue["effective_policy_definition"]["delivery-limit"], 3);
        let letters = broker.read(&["queues", vhost, "asya-a-dlq"]).await;
        assert_ne!(letters["policy"], SHARED, "reading dead letters drops none");
        until_in_sync(broker, &sharing(vhost, "asya-a", "east")).await;

        assert!(broker.publish_to(vhost, "asya", "a", "lost?").await);
        rig::until("the message is a dead letter", || async {
            let body = json!({"count": 1, "ackmode": "reject_requeue_true", "encoding": "auto"});
            let path = ["queues", vhost, "asya-a", "get"];
            broker.api.post(&path, &body).await.unwrap();
            let letters = broker.read(&["queues", vhost, "asya-a-dlq"]).await;
            (letters["messages"] == 1).then_some(())
        })
        .await;
        external(broker, &sharing(vhost, "asya-a", "east"))
            .delete()
            .await
            .unwrap();
        assert_eq!(policies(broker, vhost).await, [SHARED], "others use it");
    });
}

#[test]
fn a_queue_with_other_settings_has_a_policy_of_its_own() {
    BROKER.run(async |broker| {
        let vhost = "own";
        make_vhost(broker, vhost).await;
        create(broker, &sharing(vhost, "asya-a", "east")).await;
        let mut other = sharing(vhost, "asya-b", "east");
        other.queue.dead_letter.max_receive_count = 7;
        create(broker, &other).await;
        let own = other.policy_names("asya-b")[0].clone();
        assert_eq!(
            policies(broker, vhost).await,
            [own.clone(), SHARED.to_owned()]
        );
        let queue = until_applied(broker, vhost, "asya-b", &own).await;
        assert_eq!(queue["effective_policy_definition"]["delivery-limit"], 7);

        // Without dead letters, a limit would drop messages.
        let mut without = sharing(vhost, "asya-c", "east");
        without.queue.dead_letter.enabled = false;
        create(broker, &without).await;
        let name = without.policy_names("asya-c")[0].clone();
        let queue = until_applied(broker, vhost, "asya-c", &name).await;
        assert_eq!(
            queue["effective_policy_definition"]["delivery-limit"],
            1_000_000
        );

        // It shares once its settings are the shared ones.
        other.queue.dead_letter.max_receive_count = 3;
        other.policies = PolicyRecord::Recorded([own.clone()].into());
        update(broker, &other).await;
        until_applied(broker, vhost, "asya-b", SHARED).await;
        assert!(!policies(broker, vhost).await.contains(&own));
        until_in_sync(broker, &other).await;
    });
}

/// A queue and a policy as versions without shared policies wrote them.
async fn make_older(broker: &RabbitMq, vhost: &str, name: &str, has_policy: bool) {
    let api = &broker.api;
    let owner = format!("east/shop/{name}");
    let arguments = json!({"x-queue-type": "quorum", "x-asya-owner": owner});
    for queue in [name.to_owned(), format!("{name}-dlq")] {
        let body = json!({"durable": true, "arguments": arguments});
        api.put(&["queues", vhost, queue.as_str()], &body)
            .await
            .unwrap();
    }
    if has_policy {
        let definition = json!({"delivery-limit": 3, "dead-letter-exchange": "asya-dlx",
            "dead-letter-routing-key": format!("{name}-dlq")});
        let body = json!({"pattern": format!("^{}$", name.replace('-', r"\-")), "definition": definition,
            "priority": 0, "apply-to": "queues"});
        let path = ["policies", vhost, &format!("asya-{name}")];
        api.put(&path, &body).await.unwrap();
    }
}

#[test]
fn older_queues_keep_their_policies_beside_the_shared_one() {
    BROKER.run(async |broker| {
        let vhost = "older";
        make_vhost(broker, vhost).await;
        make_older(broker, vhost, "asya-old", true).await;
        until_applied(broker, vhost, "asya-old", "asya-asya-old").await;
        let path = ["policies", vhost, "asya-asya-old"];
        let before = broker.read(&path).await;
        create(broker, &sharing(vhost, "asya-new", "east")).await;
        assert!(policies(broker, vhost).await.contains(&SHARED.to_owned()));
        let mut old = sharing(vhost, "asya-old", "east");
        old.policies = PolicyRecord::Unrecorded;
        let queue = external(broker, &old);
        queue.update().await.unwrap();
        assert_eq!(
            broker.read(&path).await,
            before,
            "it has its dead letters by policy"
        );
        until_in_sync(broker, &old).await;
        let applied = broker.read(&["queues", vhost, "asya-old"]).await;
        assert_eq!(applied["policy"], "asya-asya-old");
        // As after a crash in the middle of its creation: declared again with the arguments that it has.
        queue.create().await.unwrap();
    });
}

#[test]
fn no_policy_is_shared_while_an_older_queue_would_lose_messages_by_it() {
    BROKER.run(async |broker| {
        let vhost = "unprotected";
        make_vhost(broker, vhost).await;
        // Without dead letters and without a policy: the shared limit would drop messages.
        make_older(broker, vhost, "asya-old", false).await;
        let new = sharing(vhost, "asya-new", "east");
        create(broker, &new).await;
        let own = new.policy_names("asya-new")[0].clone();
        assert_eq!(policies(broker, vhost).await, std::slice::from_ref(&own));

        let mut old = sharing(vhost, "asya-old", "east");
        old.queue.dead_letter.enabled = false;
        old.policies = PolicyRecord::Unrecorded;
        update(broker, &old).await;
        let protected = old.policy_names("asya-old")[0].clone();
        until_applied(broker, vhost, "asya-old", &protected).await;
        let mut new = new;
        new.policies = PolicyRecord::Recorded([own.clone()].into());
        update(broker, &new).await;
        assert_eq!(
            policies(broker, vhost).await,
            [protected, SHARED.to_owned()]
        );
        until_applied(broker, vhost, "asya-new", SHARED).await;
    });
}

#[test]
fn no_policy_is_shared_beside_queues_of_other_owners() {
    BROKER.run(async |broker| {
        let vhost = "foreign";
        make_vhost(broker, vhost).await;
        let classic = json!({"durable": true, "arguments": {}});
        let path = ["queues", vhost, "asya-theirs"];
        broker.api.put(&path, &classic).await.unwrap();
        let ours = sharing(vhost, "asya-ours", "east");
        create(broker, &ours).await;
        let own = ours.policy_names("asya-ours")[0].clone();
        assert_eq!(policies(broker, vhost).await, [own]);
        until_in_sync(broker, &ours).await;
    });
}

#[test]
fn two_owners_in_one_virtual_host_change_nothing_of_each_other() {
    BROKER.run(async |broker| {
        let vhost = "owners";
        make_vhost(broker, vhost).await;
        let first = sharing(vhost, "asya-first", "east");
        create(broker, &first).await;
        let before = broker.read(&["policies", vhost, SHARED]).await;
        let mut second = sharing(vhost, "asya-second", "west");
        second.queue.dead_letter.max_receive_count = 9;
        second.shared.as_mut().unwrap().max_receive_count = 9;
        create(broker, &second).await;
        let own = second.policy_names("asya-second")[0].clone();
        assert_eq!(
            policies(broker, vhost).await,
            [own.clone(), SHARED.to_owned()]
        );
        assert_eq!(broker.read(&["policies", vhost, SHARED]).await, before);
        let queue = until_applied(broker, vhost, "asya-second", &own).await;
        assert_eq!(queue["effective_policy_definition"]["delivery-limit"], 9);
        until_in_sync(broker, &first).await;
        until_in_sync(broker, &second).await;
        let second = recorded(second);
        external(broker, &second).delete().await.unwrap();
        assert_eq!(policies(broker, vhost).await, [SHARED]);
    });
}

#[test]
fn a_foreign_policy_that_matches_leads_to_a_policy_of_its_own() {
    BROKER.run(async |broker| {
        let vhost = "operators";
        make_vhost(broker, vhost).await;
        let all = json!({"pattern": ".*", "definition": {"max-length": 9}, "priority": -1, "apply-to": "queues"});
        let path = ["policies", vhost, "ops"];
        broker.api.put(&path, &all).await.unwrap();
        let mut ours = sharing(vhost, "asya-ours", "east");
        create(broker, &ours).await;
        let own = ours.policy_names("asya-ours")[0].clone();
        until_applied(broker, vhost, "asya-ours", &own).await;
        until_in_sync(broker, &ours).await;
        broker.api.delete(&path).await.unwrap();
        ours.policies = PolicyRecord::Recorded([own].into());
        update(broker, &ours).await;
        assert_eq!(policies(broker, vhost).await, [SHARED]);
    });
}

#[test]
fn a_shared_policy_that_was_deleted_or_changed_is_restored() {
    BROKER.run(async |broker| {
        let vhost = "restored";
        make_vhost(broker, vhost).await;
        let ours = sharing(vhost, "asya-ours", "east");
        create(broker, &ours).await;
        let ours = with_record(ours, PolicyOrigin::Provider);
        let path = ["policies", vhost, SHARED];
        let before = broker.read(&path).await;
        broker.api.delete(&path).await.unwrap();
        let drift = found(&external(broker, &ours), Depth::Full).await.drift;
        assert_eq!(drift.len(), 1, "{drift:?}");
        update(broker, &ours).await;
        assert_eq!(broker.read(&path).await, before);
        let mut changed = before.clone();
        changed["definition"]["delivery-limit"] = json!(1);
        broker.api.put(&path, &changed).await.unwrap();
        update(broker, &ours).await;
        assert_eq!(broker.read(&path).await, before);
        assert_eq!(policies(broker, vhost).await, [SHARED]);
    });
}

/// What the provider would write, with changes.
fn shared_body(changes: &[(&str, Value)]) -> Value {
    let mut body = json!({"pattern": r"^(?!.*-dlq$)asya\-.*$", "definition": {"delivery-limit": 3},
        "priority": -1, "apply-to": "queues"});
    for (key, value) in changes {
        body[*key] = value.clone();
    }
    body
}

#[test]
fn a_foreign_policy_with_the_shared_name_survives_create_update_and_delete() {
    BROKER.run(async |broker| {
        let cases = [
            (
                "taken-pattern",
                shared_body(&[("pattern", json!("^other"))]),
            ),
            (
                "taken-key",
                shared_body(&[("definition", json!({"max-length": 9}))]),
            ),
            (
                "taken-limit",
                shared_body(&[("definition", json!({"delivery-limit": 7}))]),
            ),
            ("taken-priority", shared_body(&[("priority", json!(5))])),
        ];
        for (vhost, theirs) in cases {
            make_vhost(broker, vhost).await;
            let path = ["policies", vhost, SHARED];
            broker.api.put(&path, &theirs).await.unwrap();
            let before = broker.read(&path).await;
            let ours = sharing(vhost, "asya-ours", "east");
            create(broker, &ours).await;
            assert_eq!(broker.read(&path).await, before, "{vhost}");
            let own = ours.policy_names("asya-ours")[0].clone();
            assert_eq!(policies(broker, vhost).await, [own, SHARED.to_owned()]);
            // As the config would record it, and as before there was a record.
            for ours in [
                recorded(with_record(ours.clone(), PolicyOrigin::Foreign)),
                recorded(ours),
            ] {
                update(broker, &ours).await;
                assert_eq!(broker.read(&path).await, before, "{vhost}");
            }
            let ours = recorded(sharing(vhost, "asya-ours", "east"));
            external(broker, &ours).delete().await.unwrap();
            assert_eq!(broker.read(&path).await, before, "{vhost}");
        }
    });
}

#[test]
fn an_equal_shared_policy_is_the_providers_only_where_queues_predate_records() {
    BROKER.run(async |broker| {
        let other = shared_body(&[("definition", json!({"delivery-limit": 7}))]);
        let cases = [
            (
                "before-equal",
                shared_body(&[]),
                true,
                PolicyOrigin::Provider,
            ),
            ("before-other", other, true, PolicyOrigin::Foreign),
            (
                "equal-without-queues",
                shared_body(&[]),
                false,
                PolicyOrigin::Foreign,
            ),
        ];
        for (vhost, existing, may_predate, expected) in cases {
            make_vhost(broker, vhost).await;
            let path = ["policies", vhost, SHARED];
            broker.api.put(&path, &existing).await.unwrap();
            let mut old = sharing(vhost, "asya-old", "east");
            old.shared.as_mut().unwrap().may_predate_records = may_predate;
            create(broker, &old).await;
            // Nothing is in memory after a restart.
            let observed = external(broker, &old);
            found(&observed, Depth::Full).await;
            let mut records = observed.shared_policies_to_record();
            records.retain(|record| record.name == SHARED);
            assert_eq!(records.len(), 1, "{vhost}");
            assert_eq!(
                (&*records[0].name, records[0].origin),
                (SHARED, expected),
                "{vhost}"
            );
            // The ProviderConfig gets another limit.
            let mut changed = with_record(old, expected);
            changed.shared.as_mut().unwrap().max_receive_count = 9;
            changed.queue.dead_letter.max_receive_count = 9;
            update(broker, &changed).await;
            let limit = broker.read(&path).await["definition"]["delivery-limit"].clone();
            let wanted = if expected == PolicyOrigin::Provider {
                json!(9)
            } else {
                existing["definition"]["delivery-limit"].clone()
            };
            assert_eq!(limit, wanted, "{vhost}");
        }
    });
}

#[test]
fn an_equal_policy_that_is_recorded_as_foreign_is_never_changed() {
    BROKER.run(async |broker| {
        let vhost = "equal-foreign";
        make_vhost(broker, vhost).await;
        let path = ["policies", vhost, SHARED];
        broker.api.put(&path, &shared_body(&[])).await.unwrap();
        let before = broker.read(&path).await;
        let ours = with_record(sharing(vhost, "asya-ours", "east"), PolicyOrigin::Foreign);
        create(broker, &ours).await;
        let own = ours.policy_names("asya-ours")[0].clone();
        assert_eq!(
            policies(broker, vhost).await,
            [own.clone(), SHARED.to_owned()]
        );
        let mut changed = recorded(ours.clone());
        changed.shared.as_mut().unwrap().max_receive_count = 9;
        changed.queue.dead_letter.max_receive_count = 9;
        update(broker, &changed).await;
        assert_eq!(broker.read(&path).await, before);
        let queue = until_applied(broker, vhost, "asya-ours", &own).await;
        assert_eq!(queue["effective_policy_definition"]["delivery-limit"], 9);
        // Once it is deleted, the name is free.
        broker.api.delete(&path).await.unwrap();
        update(broker, &changed).await;
        let limit = broker.read(&path).await["definition"]["delivery-limit"].clone();
        assert_eq!(limit, 9);
    });
}
