//! Queues on a real broker: everything that the transport promises, seen from outside.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::too_many_lines,
    reason = "a test that cannot go on panics, and a table of cases is as long as it is"
)]

mod rig;

use std::time::Duration;

use provider_asya::owner::OwnerTag;
use provider_asya::transport::rabbitmq::api::Answer;
use provider_asya::transport::rabbitmq::definition::{PolicyRecord, QueueDefinition};
use provider_asya::transport::rabbitmq::{Broker, RabbitMqExternal};
use provider_asya::transport::{
    Depth, ExternalQueue as _, Observation, ObservedQueue, Ownership, TransportError,
};
use rig::rabbitmq::{RabbitMq, login};
use serde_json::json;

/// Time in which the broker counts every queue that works.
const COUNTING: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queues_live_on_a_real_broker() {
    if rig::is_skipped("queues on RabbitMQ") {
        return;
    }
    let broker = RabbitMq::start().await;
    a_queue_is_made_with_all_that_belongs_to_it(&broker).await;
    a_message_arrives_the_way_a_sidecar_sends_it(&broker).await;
    what_is_taken_away_comes_back(&broker).await;
    a_second_owner_gets_nothing(&broker).await;
    a_losing_creator_changes_nothing(&broker).await;
    foreign_policies_survive_create_update_and_delete(&broker).await;
    an_unmarked_queue_is_adopted_with_its_messages(&broker).await;
    odd_names_are_taken_as_they_are(&broker).await;
    dead_letters_arrive_and_count(&broker).await;
    a_declaration_that_was_cut_off_is_made_again(&broker).await;
    deletion_takes_everything_along_and_can_be_repeated(&broker).await;
    faults_say_what_is_wrong(&broker).await;
}

fn wanted(name: &str, owner: &str) -> QueueDefinition {
    let queue = json!({
        "host": "rabbitmq", "vhost": "/", "exchange": "asya", "routingKeys": [name.trim_start_matches("asya-"), name],
        "queueType": "quorum", "deadLetter": {"enabled": true, "maxReceiveCount": 2},
    });
    QueueDefinition {
        name: name.to_owned(),
        queue: serde_json::from_value(queue).unwrap(),
        owner_tag: OwnerTag::new(owner, "shop", name).unwrap(),
        priority: 0,
        policies: PolicyRecord::New,
    }
}

fn external(broker: &RabbitMq, wanted: QueueDefinition) -> RabbitMqExternal {
    Broker::new(broker.api.clone(), COUNTING)
        .queue(wanted)
        .unwrap()
}

async fn found(queue: &RabbitMqExternal, depth: Depth) -> ObservedQueue {
    match queue.observe(depth).await.unwrap() {
        Observation::Present(found) => *found,
        Observation::Missing => panic!("the queue is absent"),
    }
}

async fn messages(broker: &RabbitMq, queue: &str) -> usize {
    let list = broker.read(&["queues", "/", queue]).await;
    list["messages"].as_u64().unwrap_or(0).try_into().unwrap()
}

async fn a_queue_is_made_with_all_that_belongs_to_it(broker: &RabbitMq) {
    let queue = external(broker, wanted("asya-made", "east"));
    assert_eq!(
        queue.observe(Depth::Full).await.unwrap(),
        Observation::Missing
    );
    queue.create().await.unwrap();
    queue.create().await.unwrap(); // as after a crash
    for depth in [Depth::Full, Depth::Quick] {
        let found = rig::until("policy and bindings are seen", || async {
            let found = found(&queue, depth).await;
            found.drift.is_empty().then_some(found)
        })
        .await;
        assert_eq!(
            found.owner,
            Ownership::OwnedBy("east/shop/asya-made".to_owned()),
            "{depth:?}"
        );
        assert_eq!(found.shadowed, None);
    }
    let exchange = broker.read(&["exchanges", "/", "asya"]).await;
    assert_eq!(
        (&exchange["type"], &exchange["durable"]),
        (&json!("topic"), &json!(true))
    );
    // The broker shows the policy with its next statistics.
    rig::until("the policy applies", || async {
        let queue = broker.read(&["queues", "/", "asya-made"]).await;
        assert_eq!(queue["type"], "quorum");
        (queue["policy"] == "asya-asya-made").then_some(())
    })
    .await;
}

async fn a_message_arrives_the_way_a_sidecar_sends_it(broker: &RabbitMq) {
    assert!(broker.publish("asya", "made").await);
    assert!(broker.publish("asya", "asya-made").await);
    rig::until("both keys lead to the queue", || async {
        (messages(broker, "asya-made").await == 2).then_some(())
    })
    .await;
    let queue = external(broker, wanted("asya-made", "east"));
    let counters = found(&queue, Depth::Quick).await.counters.unwrap();
    assert_eq!((counters.queued, counters.processing), (2, 0));
}

async fn what_is_taken_away_comes_back(broker: &RabbitMq) {
    let queue = external(broker, wanted("asya-made", "east"));
    broker
        .api
        .delete(&["exchanges", "/", "asya"])
        .await
        .unwrap();
    broker
        .api
        .delete(&["policies", "/", "asya-asya-made"])
        .await
        .unwrap();
    let whats: Vec<String> = found(&queue, Depth::Full)
        .await
        .drift
        .into_iter()
        .map(|drift| drift.what)
        .collect();
    assert_eq!(
        whats,
        [
            "policy \"asya-asya-made\"",
            "exchange \"asya\"",
            "binding",
            "binding"
        ]
    );
    queue.update().await.unwrap();
    assert_eq!(found(&queue, Depth::Full).await.drift, []);
    assert_eq!(
        messages(broker, "asya-made").await,
        2,
        "the messages are still there"
    );
    // Another policy of higher priority displaces ours, and is named.
    let body = json!({"pattern": "^asya-made$", "definition": {"max-length": 9}, "priority": 9, "apply-to": "queues"});
    broker
        .api
        .put(&["policies", "/", "ops"], &body)
        .await
        .unwrap();
    let shadowed = rig::until("the other policy applies", || async {
        found(&queue, Depth::Full)
            .await
            .shadowed
            .filter(|text| text.starts_with("policy \"ops\""))
    })
    .await;
    assert!(shadowed.contains("raise `policyPriority`"), "{shadowed}");
    broker.api.delete(&["policies", "/", "ops"]).await.unwrap();
}

async fn a_second_owner_gets_nothing(broker: &RabbitMq) {
    let theirs = QueueDefinition {
        owner_tag: OwnerTag::new("west", "shop", "x").unwrap(),
        ..wanted("asya-made", "west")
    };
    let queue = external(broker, theirs);
    assert_eq!(
        found(&queue, Depth::Quick).await.owner,
        Ownership::OwnedBy("east/shop/asya-made".to_owned())
    );
    // Between its look and its creation the other was faster.
    let error = queue.create().await.unwrap_err();
    assert!(
        matches!(&error, TransportError::Foreign { owner, .. } if owner == "east/shop/asya-made"),
        "{error}"
    );
    assert_eq!(messages(broker, "asya-made").await, 2);
}

/// Everything that the broker holds and that an owner can change.
async fn definitions(broker: &RabbitMq) -> Vec<serde_json::Value> {
    let mut all = Vec::new();
    for kind in ["exchanges", "policies", "bindings"] {
        all.push(broker.read(&[kind, "/"]).await);
    }
    let queues = broker.read(&["queues", "/"]).await;
    let names = queues.as_array().unwrap().iter();
    all.extend(names.map(|queue| json!([queue["name"], queue["arguments"]])));
    all
}

async fn a_losing_creator_changes_nothing(broker: &RabbitMq) {
    let winner = external(broker, wanted("asya-won", "east"));
    winner.create().await.unwrap();
    let before = definitions(broker).await;
    for dead_letters in [true, false] {
        let mut losing = wanted("asya-won", "west");
        losing.queue.dead_letter.enabled = dead_letters;
        losing.queue.exchange = "west".to_owned();
        let error = external(broker, losing).create().await.unwrap_err();
        assert!(
            matches!(error, TransportError::Foreign { .. }),
            "{dead_letters}: {error}"
        );
        assert_eq!(definitions(broker).await, before, "{dead_letters}");
    }
    winner.delete().await.unwrap();
}

async fn foreign_policies_survive_create_update_and_delete(broker: &RabbitMq) {
    let desired = wanted("asya-taken", "east");
    let [first, second] = desired.policy_names("asya-taken");
    let path = ["policies", "/", first.as_str()];
    let foreign = json!({"pattern": "^asya-taken$", "definition": {"delivery-limit": 77},
        "priority": 0, "apply-to": "queues"});
    broker.api.put(&path, &foreign).await.unwrap();
    let before = broker.read(&path).await;
    let queue = external(broker, desired);
    queue.create().await.unwrap();
    assert_eq!(broker.read(&path).await, before, "after creation");
    assert!(broker.has(&["policies", "/", second.as_str()]).await);
    queue.update().await.unwrap();
    assert_eq!(broker.read(&path).await, before, "after an update");
    let observed = found(&queue, Depth::Full).await;
    assert_eq!(observed.policies, Some(vec![second.clone()]));
    queue.delete().await.unwrap();
    assert_eq!(broker.read(&path).await, before, "after deletion");
    assert!(!broker.has(&["policies", "/", second.as_str()]).await);
    broker.api.delete(&path).await.unwrap();
}

async fn an_unmarked_queue_is_adopted_with_its_messages(broker: &RabbitMq) {
    let body =
        json!({"durable": true, "auto_delete": false, "arguments": {"x-queue-type": "classic"}});
    broker
        .api
        .put(&["queues", "/", "asya-old"], &body)
        .await
        .unwrap();
    let mut old = wanted("asya-old", "east");
    old.queue.queue_type = actor::transport::QueueType::Classic;
    old.queue.routing_keys.clear();
    let queue = external(broker, old);
    assert_eq!(found(&queue, Depth::Full).await.owner, Ownership::Unowned);
    queue.update().await.unwrap();
    assert_eq!(
        found(&queue, Depth::Full).await.owner,
        Ownership::OwnedBy("east/shop/asya-old".to_owned())
    );
    // A type cannot be changed; it is shown, not recreated.
    let other_type = external(broker, wanted("asya-old", "east"));
    let drift = found(&other_type, Depth::Quick).await.drift;
    assert_eq!(
        (drift[0].what.as_str(), drift[0].have.as_str()),
        ("queueType", "classic")
    );
    queue.delete().await.unwrap();
}

async fn odd_names_are_taken_as_they_are(broker: &RabbitMq) {
    for vhost in ["v/x", "%2F", "ä b"] {
        broker
            .api
            .put(&["vhosts", vhost], &json!({}))
            .await
            .unwrap();
        let rights = json!({"configure": ".*", "write": ".*", "read": ".*"});
        broker
            .api
            .put(&["permissions", vhost, "guest"], &rights)
            .await
            .unwrap();
        let mut odd = wanted("asya-a.b+c (d)/e", "east");
        odd.queue.vhost = vhost.to_owned();
        odd.queue.dead_letter.enabled = false; // so that 3.x needs no policy
        let queue = external(broker, odd);
        queue.create().await.unwrap();
        rig::until("the queue is as wanted", || async {
            found(&queue, Depth::Full)
                .await
                .drift
                .is_empty()
                .then_some(())
        })
        .await;
        queue.delete().await.unwrap();
        assert_eq!(
            queue.observe(Depth::Quick).await.unwrap(),
            Observation::Missing,
            "{vhost}"
        );
    }
}

async fn dead_letters_arrive_and_count(broker: &RabbitMq) {
    let letters = wanted("asya-letters", "east");
    let queue = external(broker, letters);
    queue.create().await.unwrap();
    assert!(broker.publish("asya", "letters").await);
    // Taken and given back until the limit is passed.
    rig::until("the message is a dead letter", || async {
        let body = json!({"count": 1, "ackmode": "reject_requeue_true", "encoding": "auto"});
        broker
            .api
            .post(&["queues", "/", "asya-letters", "get"], &body)
            .await
            .unwrap();
        (messages(broker, "asya-letters-dlq").await == 1).then_some(())
    })
    .await;
    rig::until("all that would be lost is counted", || async {
        (found(&queue, Depth::Full).await.held == Some(1)).then_some(())
    })
    .await;
    for (depth, expected) in [
        (Depth::Quick, None),
        (Depth::WithDeadLetters, Some(1)),
        (Depth::Full, Some(1)),
    ] {
        let counters = found(&queue, depth).await.counters.unwrap();
        assert_eq!(counters.dead_lettered, expected, "{depth:?}");
    }
}

async fn a_declaration_that_was_cut_off_is_made_again(broker: &RabbitMq) {
    let cut = cut_off_declaration(broker).await;
    let name = cut.name.clone();
    let counting = Duration::from_secs(12); // twice the broker's own interval, and a little
    let queue = Broker::new(broker.api.clone(), counting)
        .queue(cut)
        .unwrap();
    assert_eq!(
        found(&queue, Depth::Quick).await.unusable.as_deref(),
        Some("the broker reports that no member of the queue is online")
    );
    // To what somebody has bound a message may have been sent.
    let bindings = ["bindings", "/", "e", "amq.direct", "q", &name];
    broker
        .api
        .post(&bindings, &json!({"routing_key": "x"}))
        .await
        .unwrap();
    let error = queue.create().await.unwrap_err();
    assert!(
        matches!(error, TransportError::NeverCounted { .. }),
        "{error}"
    );
    let binding = [bindings.as_slice(), &["x"]].concat();
    broker.api.delete(&binding).await.unwrap();
    rig::until("the queue is whole", || async {
        match queue.create().await {
            Ok(()) => Some(()),
            Err(TransportError::NotCountedYet { .. }) => None,
            Err(error) => panic!("{error}"),
        }
    })
    .await;
    assert!(broker.publish("asya", &name).await);
    rig::until("it counts what it gets", || async {
        (messages(broker, &name).await == 1).then_some(())
    })
    .await;
    queue.create().await.unwrap();
    assert_eq!(messages(broker, &name).await, 1, "and keeps it");
    queue.delete().await.unwrap();
}

/// A queue that is listed and has no process, as the broker leaves it when a client hangs up
/// while it declares one. When this happens is chance, so it is tried until it does.
async fn cut_off_declaration(broker: &RabbitMq) -> QueueDefinition {
    use tokio::io::AsyncWriteExt as _;

    let address = broker.endpoint.trim_start_matches("http://");
    for attempt in 0..2000_u64 {
        let mut cut = wanted(&format!("asya-cut-{attempt}"), "east");
        cut.queue.dead_letter.enabled = false;
        let body = cut.queue_body().to_string();
        let request = format!(
            "PUT /api/queues/%2F/{} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Basic Z3Vlc3Q6Z3Vlc3Q=\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            cut.name,
            body.len()
        );
        let mut connection = tokio::net::TcpStream::connect(address).await.unwrap();
        connection.write_all(request.as_bytes()).await.unwrap();
        tokio::time::sleep(Duration::from_micros(500 * (attempt % 40))).await;
        drop(connection);
        // What is not cut off yet is by the second look.
        for _ in 0..2 {
            let path = ["queues", "/", &cut.name];
            let Answer::Ok(found) = broker.api.get(&path).await.unwrap() else {
                break;
            };
            if found["online"] != json!([]) {
                broker.api.delete(&path).await.unwrap();
                break;
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        if let Answer::Ok(found) = broker.api.get(&["queues", "/", &cut.name]).await.unwrap()
            && found["online"] == json!([])
        {
            return cut;
        }
    }
    panic!("the broker finished every declaration");
}

async fn deletion_takes_everything_along_and_can_be_repeated(broker: &RabbitMq) {
    let letters = wanted("asya-letters", "east");
    let queue = external(broker, letters);
    queue.delete().await.unwrap();
    queue.delete().await.unwrap();
    for path in [
        ["queues", "/", "asya-letters"],
        ["queues", "/", "asya-letters-dlq"],
        ["policies", "/", "asya-asya-letters"],
        ["policies", "/", "asya-asya-letters-dlq"],
    ] {
        assert!(!broker.has(&path).await, "{path:?}");
    }
    assert!(
        broker.has(&["exchanges", "/", "asya"]).await,
        "others use the exchange"
    );
}

async fn faults_say_what_is_wrong(broker: &RabbitMq) {
    let mut nowhere = wanted("asya-x", "east");
    "nowhere".clone_into(&mut nowhere.queue.vhost);
    let error = external(broker, nowhere)
        .create()
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("has no virtual host \"nowhere\""), "{error}");

    let stranger = Broker::new(login(&broker.endpoint, "guest", "wrong"), COUNTING);
    let error = stranger
        .queue(wanted("asya-x", "east"))
        .unwrap()
        .observe(Depth::Quick)
        .await
        .unwrap_err();
    assert!(
        error.is_denied() && !error.to_string().contains("wrong"),
        "{error}"
    );

    let [port] = rig::ports::reserve();
    let down = Broker::new(
        login(&format!("http://127.0.0.1:{port}"), "guest", "guest"),
        COUNTING,
    );
    let error = down
        .queue(wanted("asya-x", "east"))
        .unwrap()
        .observe(Depth::Quick)
        .await
        .unwrap_err();
    assert!(
        matches!(error, TransportError::Unreachable { .. }),
        "{error}"
    );
}
