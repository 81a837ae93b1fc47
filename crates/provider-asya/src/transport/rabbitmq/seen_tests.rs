//! Answers of a broker, and what is made of them.

use super::*;
use crate::owner::OwnerMark;
use crate::transport::DriftKind;

const VERSION: Version = Version(3, 10);

fn wanted() -> Wanted {
    let queue = json!({
        "host": "broker", "vhost": "/", "exchange": "asya", "routingKeys": ["cart", "asya-cart"],
        "queueType": "quorum", "deadLetter": {"enabled": true, "maxReceiveCount": 5},
    });
    Wanted {
        name: "asya-cart".to_owned(),
        queue: serde_json::from_value(queue).unwrap(),
        mark: OwnerMark::new("east", "shop", "cart").unwrap(),
        priority: 0,
    }
}

/// The queue as a broker shows it when all is well.
fn queue() -> Value {
    json!({
        "name": "asya-cart", "type": "quorum", "durable": true, "auto_delete": false, "state": "running",
        "arguments": {"x-queue-type": "quorum", OWNER_ARGUMENT: "east/shop/cart"},
        "policy": "asya-asya-cart", "effective_policy_definition": wanted().definition(VERSION),
        "messages": 3, "messages_ready": 2, "messages_unacknowledged": 1,
    })
}

fn policy(name: &str, queue: &str, definition: &Map<String, Value>) -> Value {
    let mut policy = wanted().policy_body(queue, definition);
    policy["name"] = json!(name);
    policy
}

/// Its surroundings when all is well.
fn around() -> Surroundings {
    let wanted = wanted();
    let binding = |key: &str| wanted.binding_body(key);
    Surroundings {
        exchange: Some(json!({"type": "topic", "durable": true})),
        bindings: vec![binding("cart"), binding("asya-cart")],
        policy: Some(policy(
            "asya-asya-cart",
            "asya-cart",
            &wanted.definition(VERSION),
        )),
        others: Arc::default(),
        dead_letter_queue: Some(json!({
            "arguments": {OWNER_ARGUMENT: "east/shop/cart"}, "messages": 4})),
        dead_letter_policy: None,
        dead_letter_bindings: vec![binding("asya-cart-dlq")],
    }
}

fn look(queue: &Value, around: Option<&Surroundings>) -> Found {
    found(&wanted(), VERSION, Location::default(), queue, around)
}

#[test]
fn when_all_is_well_nothing_differs() {
    let glance = look(&queue(), None);
    assert_eq!(glance.mark, Mark::Of("east/shop/cart".to_owned()));
    assert_eq!(
        glance.counters,
        Some(Counters {
            queued: 2,
            processing: 1,
            dead_lettered: None
        })
    );
    assert_eq!(
        (glance.drift, glance.unusable, glance.held),
        (vec![], None, None)
    );
    let whole = look(&queue(), Some(&around()));
    assert_eq!(
        (whole.drift, whole.shadowed, whole.held),
        (vec![], None, Some(7))
    );
}

#[test]
fn dead_letters_are_what_is_in_a_dead_letter_queue_of_ours() {
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
        let mut wanted = wanted();
        wanted.queue.dead_letter.enabled = is_on;
        assert_eq!(dead_lettered(&wanted, letters), expected, "{reason}");
    }
}

#[test]
fn what_the_broker_has_not_counted_is_unknown() {
    let mut queue = queue();
    for key in [
        "messages",
        "messages_ready",
        "messages_unacknowledged",
        "state",
    ] {
        queue.as_object_mut().unwrap().remove(key);
    }
    let found = look(&queue, Some(&around()));
    assert_eq!(
        (found.counters, found.held, found.unusable),
        (None, None, None)
    );
}

#[test]
fn a_queue_that_cannot_serve_is_said_to_be_unusable() {
    for (reason, key, value, expected) in [
        ("at work", "online", json!(["rabbit@a"]), None),
        (
            "its declaration was cut off, or its nodes are down",
            "online",
            json!([]),
            Some("the broker says that no member of the queue is online"),
        ),
        (
            "without a quorum",
            "state",
            json!("minority"),
            Some("the broker says that the queue is minority"),
        ),
    ] {
        let mut queue = queue();
        queue[key] = value;
        assert_eq!(look(&queue, None).unusable.as_deref(), expected, "{reason}");
    }
}

#[test]
fn each_difference_is_found_with_what_can_be_done_about_it() {
    type Change = fn(&mut Value, &mut Surroundings);
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
            |_, around| around.exchange = None,
            "exchange \"asya\"",
            DriftKind::Settable,
        ),
        (
            "an exchange of another type",
            |_, around| around.exchange = Some(json!({"type": "direct", "durable": true})),
            "exchange \"asya\"",
            DriftKind::Fixed,
        ),
        (
            "a binding is gone",
            |_, around| drop(around.bindings.pop()),
            "binding",
            DriftKind::Settable,
        ),
        (
            "the binding of another",
            |_, around| around.bindings[0]["arguments"] = json!({}),
            "binding",
            DriftKind::Settable,
        ),
        (
            "no policy",
            |_, around| around.policy = None,
            "policy \"asya-asya-cart\"",
            DriftKind::Settable,
        ),
        (
            "a changed policy",
            |_, around| {
                let policy = around.policy.as_mut().unwrap();
                policy["definition"]["delivery-limit"] = json!(99);
            },
            "policy \"asya-asya-cart\"",
            DriftKind::Settable,
        ),
        (
            "no dead-letter queue",
            |_, around| around.dead_letter_queue = None,
            "deadLetter",
            DriftKind::Settable,
        ),
        (
            "a dead-letter queue that nothing leads to",
            |_, around| around.dead_letter_bindings.clear(),
            "deadLetter",
            DriftKind::Settable,
        ),
    ];
    for (reason, change, what, kind) in cases {
        let (mut queue, mut around) = (queue(), around());
        change(&mut queue, &mut around);
        let found = look(&queue, Some(&around)).drift;
        let found: Vec<_> = found
            .iter()
            .map(|drift| (drift.what.as_str(), drift.kind))
            .collect();
        assert_eq!(found, [(what, kind)], "{reason}");
    }
}

#[test]
fn a_glance_sees_that_another_policy_applies() {
    for (key, value) in [
        ("policy", json!("ops")),
        ("effective_policy_definition", json!([])),
    ] {
        let mut queue = queue();
        queue[key] = value;
        assert_eq!(look(&queue, None).drift.len(), 1, "{key}");
    }
}

#[test]
fn policies_in_the_way_are_named() {
    let mut displaced = queue();
    displaced["policy"] = json!("ops");
    let found = look(&displaced, Some(&around())).shadowed.unwrap();
    assert!(
        found.starts_with("policy \"ops\" applies to queue \"asya-cart\" in place of"),
        "{found}"
    );

    let mut around = around();
    let mut other = policy("all", "", &Map::new());
    other["pattern"] = json!("^asya-");
    around.others = Arc::new([Other::read(&other).unwrap()]);
    let found = look(&queue(), Some(&around)).shadowed.unwrap();
    assert!(
        found.contains("in place of \"all\", of which nothing holds"),
        "{found}"
    );
    around.others = Arc::default();
    assert_eq!(look(&queue(), Some(&around)).shadowed, None);
}

#[test]
fn an_adopted_queue_has_its_mark_at_its_bindings() {
    let mut queue = queue();
    queue["arguments"] = json!({"x-queue-type": "quorum"});
    assert_eq!(look(&queue, None).mark, Mark::Unread);
    assert_eq!(
        look(&queue, Some(&around())).mark,
        Mark::Of("east/shop/cart".to_owned())
    );
    let unbound = Surroundings {
        bindings: Vec::new(),
        ..around()
    };
    assert_eq!(look(&queue, Some(&unbound)).mark, Mark::None);
}
