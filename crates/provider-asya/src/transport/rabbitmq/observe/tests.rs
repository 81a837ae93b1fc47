//! Answers of a broker, and the observation that follows.

use super::super::definition::{OWNER_ARGUMENT, PolicyRecord};
use super::*;
use crate::owner::OwnerTag;
use crate::transport::DriftKind;

const VERSION: Version = Version(3, 10);

fn cart() -> QueueDefinition {
    let queue = json!({
        "host": "broker", "vhost": "/", "exchange": "asya", "routingKeys": ["cart", "asya-cart"],
        "queueType": "quorum", "deadLetter": {"enabled": true, "maxReceiveCount": 5},
    });
    QueueDefinition {
        name: "asya-cart".to_owned(),
        queue: serde_json::from_value(queue).unwrap(),
        owner_tag: OwnerTag::new("east", "shop", "cart").unwrap(),
        priority: 0,
        shared: None,
        policies: PolicyRecord::New,
        recorded_delays: std::collections::BTreeSet::new(),
    }
}

/// A queue in sync, as a broker shows it.
fn queue() -> Value {
    json!({
        "name": "asya-cart", "type": "quorum", "durable": true, "auto_delete": false, "state": "running",
        "arguments": {"x-queue-type": "quorum", OWNER_ARGUMENT: "east/shop/cart"},
        "policy": "asya-asya-cart", "effective_policy_definition": cart().policy_definition(VERSION, &json!({})),
        "messages": 3, "messages_ready": 2, "messages_unacknowledged": 1,
    })
}

fn policy(name: &str, queue: &str, definition: &Map<String, Value>) -> Value {
    let mut policy = cart().policy_body(queue, name, definition);
    policy["name"] = json!(name);
    policy
}

fn slot(policy: Value) -> PolicySlot {
    PolicySlot {
        name: policy["name"].as_str().map(str::to_owned),
        ours: Some(policy),
        ..PolicySlot::default()
    }
}

/// Its related objects, in sync.
fn related() -> RelatedObjects {
    let definition = cart();
    let bound = |keys: &[&str]| Bindings {
        owner: Some("east/shop/cart".to_owned()),
        has_ours: true,
        our_keys: keys.iter().map(|key| (*key).to_owned()).collect(),
        is_bound: true,
    };
    RelatedObjects {
        exchange: Some(json!({"type": "topic", "durable": true})),
        bindings: bound(&["cart", "asya-cart"]),
        policy: slot(policy(
            "asya-asya-cart",
            "asya-cart",
            &definition.policy_definition(VERSION, &json!({})),
        )),
        own_policy: definition.policy_definition(VERSION, &json!({})),
        dead_letter_own_policy: Map::new(),
        foreign_policy: None,
        retry_queues: Vec::new(),
        dead_letter_queue: Some(json!({
            "arguments": {OWNER_ARGUMENT: "east/shop/cart"}, "messages": 4})),
        dead_letter_policy: PolicySlot {
            name: Some("asya-asya-cart-dlq".to_owned()),
            ..PolicySlot::default()
        },
        dead_letter_bindings: bound(&["asya-cart-dlq"]),
    }
}

fn observe(queue: &Value, related: Option<&RelatedObjects>) -> ObservedQueue {
    observed(&cart(), VERSION, Location::default(), queue, related)
}

#[test]
fn a_queue_in_sync_has_no_drift() {
    let quick = observe(&queue(), None);
    assert_eq!(quick.owner, Ownership::OwnedBy("east/shop/cart".to_owned()));
    assert_eq!(
        quick.counters,
        Some(Counters {
            queued: 2,
            processing: 1,
            dead_lettered: None
        })
    );
    assert_eq!(
        (quick.drift, quick.unusable, quick.held),
        (vec![], None, None)
    );
    let full = observe(&queue(), Some(&related()));
    assert_eq!(
        (full.drift, full.shadowed, full.held),
        (vec![], None, Some(7))
    );
}

#[test]
fn dead_letters_are_counted_in_our_own_queue() {
    let letters = |owner: &str, messages: Value| json!({"arguments": {OWNER_ARGUMENT: owner}, "messages": messages});
    let ours = letters("east/shop/cart", json!(4));
    for (reason, is_on, letters, expected) in [
        ("counted", true, Some(&ours), Some(4)),
        (
            "turned off, whatever was left there",
            false,
            Some(&ours),
            None,
        ),
        ("not there", true, None, None),
        (
            "another owner's",
            true,
            Some(&letters("west/shop/cart", json!(4))),
            None,
        ),
        (
            "not counted yet",
            true,
            Some(&letters("east/shop/cart", Value::Null)),
            None,
        ),
    ] {
        let mut definition = cart();
        definition.queue.dead_letter.enabled = is_on;
        assert_eq!(dead_lettered(&definition, letters), expected, "{reason}");
    }
}

#[test]
fn uncounted_messages_are_unknown() {
    let mut queue = queue();
    for key in [
        "messages",
        "messages_ready",
        "messages_unacknowledged",
        "state",
    ] {
        queue.as_object_mut().unwrap().remove(key);
    }
    let found = observe(&queue, Some(&related()));
    assert_eq!(
        (found.counters, found.held, found.unusable),
        (None, None, None)
    );
}

#[test]
fn a_queue_without_members_or_quorum_is_unusable() {
    for (reason, key, value, expected) in [
        ("members online", "online", json!(["rabbit@a"]), None),
        (
            "its declaration was cut off, or its nodes are down",
            "online",
            json!([]),
            Some("the broker reports that no member of the queue is online"),
        ),
        (
            "without a quorum",
            "state",
            json!("minority"),
            Some("the broker reports that the queue is minority"),
        ),
    ] {
        let mut queue = queue();
        queue[key] = value;
        assert_eq!(
            observe(&queue, None).unusable.as_deref(),
            expected,
            "{reason}"
        );
    }
}

#[test]
fn drift_is_found_with_its_kind() {
    type Change = fn(&mut Value, &mut RelatedObjects);
    let cases: [(&str, Change, &str, DriftKind); 10] = [
        (
            "another type",
            |queue, _| queue["type"] = json!("classic"),
            "queueType",
            DriftKind::Fixed,
        ),
        (
            "transient",
            |queue, _| queue["durable"] = json!(false),
            "durable",
            DriftKind::Fixed,
        ),
        (
            "no exchange",
            |_, related| related.exchange = None,
            "exchange \"asya\"",
            DriftKind::Settable,
        ),
        (
            "an exchange of another type",
            |_, related| related.exchange = Some(json!({"type": "direct", "durable": true})),
            "exchange \"asya\"",
            DriftKind::Fixed,
        ),
        (
            "a missing binding",
            |_, related| drop(related.bindings.our_keys.pop_last()),
            "binding",
            DriftKind::Settable,
        ),
        (
            "the binding of another",
            |_, related| drop(related.bindings.our_keys.pop_first()),
            "binding",
            DriftKind::Settable,
        ),
        (
            "no policy",
            |_, related| related.policy.ours = None,
            "policy \"asya-asya-cart\"",
            DriftKind::Settable,
        ),
        (
            "a changed policy",
            |_, related| {
                let policy = related.policy.ours.as_mut().unwrap();
                policy["definition"]["delivery-limit"] = json!(99);
            },
            "policy \"asya-asya-cart\"",
            DriftKind::Settable,
        ),
        (
            "no dead-letter queue",
            |_, related| related.dead_letter_queue = None,
            "deadLetter",
            DriftKind::Settable,
        ),
        (
            "an unbound dead-letter queue",
            |_, related| related.dead_letter_bindings = Bindings::default(),
            "deadLetter",
            DriftKind::Settable,
        ),
    ];
    for (reason, change, what, kind) in cases {
        let (mut queue, mut related) = (queue(), related());
        change(&mut queue, &mut related);
        let found = observe(&queue, Some(&related)).drift;
        let found: Vec<_> = found
            .iter()
            .map(|drift| (drift.what.as_str(), drift.kind))
            .collect();
        assert_eq!(found, [(what, kind)], "{reason}");
    }
}

#[test]
fn a_quick_observation_finds_another_policy() {
    for (key, value) in [
        ("policy", json!("ops")),
        ("effective_policy_definition", json!([])),
    ] {
        let mut queue = queue();
        queue[key] = value;
        assert_eq!(observe(&queue, None).drift.len(), 1, "{key}");
    }
}

#[test]
fn shadowing_policies_are_named() {
    let mut displaced = queue();
    displaced["policy"] = json!("ops");
    let found = observe(&displaced, Some(&related())).shadowed.unwrap();
    assert!(
        found.starts_with("policy \"ops\" applies to queue \"asya-cart\" in place of"),
        "{found}"
    );

    let mut related = related();
    related.foreign_policy = Some("all".to_owned());
    let found = observe(&queue(), Some(&related)).shadowed.unwrap();
    assert!(
        found.contains("in place of \"all\", whose settings do not apply"),
        "{found}"
    );
    related.foreign_policy = None;
    assert_eq!(observe(&queue(), Some(&related)).shadowed, None);
}

#[test]
fn an_adopted_queue_has_its_owner_tag_at_its_bindings() {
    let mut queue = queue();
    queue["arguments"] = json!({"x-queue-type": "quorum"});
    assert_eq!(observe(&queue, None).owner, Ownership::Unread);
    assert_eq!(
        observe(&queue, Some(&related())).owner,
        Ownership::OwnedBy("east/shop/cart".to_owned())
    );
    let unbound = RelatedObjects {
        bindings: Bindings::default(),
        ..related()
    };
    assert_eq!(observe(&queue, Some(&unbound)).owner, Ownership::Unowned);
}

#[test]
fn keys_of_operator_policies_are_ignored() {
    let mut queue = queue();
    queue["effective_policy_definition"]["max-length"] = json!(1000);
    queue["operator_policy"] = json!("limits");
    assert_eq!(observe(&queue, None).drift, []);
}

#[test]
fn a_broker_without_statistics_shows_no_policy_and_no_drift() {
    let mut queue = queue();
    for key in ["policy", "effective_policy_definition"] {
        queue.as_object_mut().unwrap().remove(key);
    }
    assert_eq!(observe(&queue, None).drift, []);
}

#[test]
fn foreign_policies_under_our_names_are_no_drift_unless_no_name_is_free() {
    let mut related = related();
    let [preferred, other] = cart().policy_names("asya-cart");
    let desired = cart().policy_definition(VERSION, &json!({}));
    related.policy = slot(policy(&other, "asya-cart", &desired));
    related.policy.foreign = vec![preferred];
    let mut queue = queue();
    queue["policy"] = json!(other);
    let queue = || queue.clone();
    let observed = observe(&queue(), Some(&related));
    assert_eq!(observed.drift, []);
    assert_eq!(observed.policies, Some(vec![other]));
    related.policy.name = None;
    related.policy.ours = None;
    let drift = observe(&queue(), Some(&related)).drift;
    assert_eq!(drift.len(), 1);
    assert_eq!(drift[0].kind, DriftKind::Fixed);
}
