//! What it costs that nothing changes: one call per queue and poll, and no write, on both transports.
//! With whole looks as rare as they are, since these hide what glances do not see, and dead letters
//! counted as rarely, which takes a call more.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot go on panics"
)]

mod rig;

use provider_asya::kinds::{ProviderConfig, Queue};
use provider_asya::timings::Timings;
use rig::moto::{Moto, REGION};
use rig::provider_fixture::{self, ProviderFixture, Queues};
use rig::rabbitmq::RabbitMq;
use serde_json::json;

const NAMESPACE: &str = "shop";

/// Passes over which the calls are counted.
const PASSES: u64 = 20;

/// The transports, with the object that has a queue of each.
const TRANSPORTS: [&str; 2] = ["rabbitmq", "sqs"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_not_change_costs_one_call_and_no_write() {
    if rig::is_skipped("costs") {
        return;
    }
    let fixture = Fixture::set().await;
    fixture.until_at_rest().await;
    one_call_is_made_per_pass_and_nothing_is_written(&fixture).await;
    an_object_s_own_interval_is_its_own(&fixture).await;
    glances_see_what_was_done_by_hand(&fixture).await;
}

struct Fixture {
    provider: ProviderFixture,
    queues: Queues,
    rabbitmq: RabbitMq,
    moto: Moto,
}

impl Fixture {
    async fn set() -> Self {
        let usual = Timings::default();
        let timings = Timings {
            // Only what an object asks for is sooner.
            poll: usual.poll,
            counters: usual.counters,
            resync_interval: usual.resync_interval,
            creation_grace: usual.creation_grace,
            ..provider_fixture::timings()
        };
        // A broker that counts often, so that there is rest soon.
        let settings = "collect_statistics_interval = 300\n";
        let (provider, rabbitmq, moto) = tokio::join!(
            ProviderFixture::start(timings),
            RabbitMq::start_with(settings),
            Moto::start()
        );
        provider.make_namespace(NAMESPACE).await;
        let configs = provider.namespaced::<ProviderConfig>(NAMESPACE);
        let connections = [
            provider_fixture::rabbitmq_connection(&rabbitmq.endpoint, None),
            provider_fixture::sqs_connection(&moto.endpoint, None),
        ];
        for (transport, connection) in TRANSPORTS.into_iter().zip(connections) {
            // Each object says itself how often it is looked at; what is counted then is written.
            let spec = json!({transport: connection, "countersInterval": "100ms"});
            let config = json!({"metadata": {"name": transport}, "spec": spec});
            provider_fixture::apply(&configs, config).await;
        }
        let fixture = Self {
            queues: provider.queues(NAMESPACE),
            provider,
            rabbitmq,
            moto,
        };
        for transport in TRANSPORTS {
            fixture.make(transport, transport, "200ms").await;
        }
        fixture
    }

    /// A queue with everything that a queue can have.
    async fn make(&self, name: &str, transport: &str, poll: &str) {
        let letters = json!({"enabled": true, "maxReceiveCount": 3});
        let settings = match transport {
            "rabbitmq" => json!({"host": "rabbitmq", "queueType": "classic", "routingKeys": [name],
                "deadLetter": letters}),
            _ => json!({"region": REGION, "visibilityTimeoutSeconds": 600, "deadLetter": letters}),
        };
        let object = json!({
            "metadata": {"name": name, "annotations": {"crossplane.io/poll-interval": poll}},
            "spec": {"forProvider": {transport: settings},
                "providerConfigRef": {"kind": "ProviderConfig", "name": transport}},
        });
        provider_fixture::apply(&self.queues.0, object).await;
    }

    async fn get(&self, name: &str) -> Queue {
        self.queues.0.get(name).await.unwrap()
    }

    fn calls(&self, transport: &str) -> u64 {
        self.provider.metrics.calls_to(transport).get()
    }

    fn all_calls(&self) -> u64 {
        TRANSPORTS.iter().map(|name| self.calls(name)).sum()
    }

    /// Passes over queues, whatever came of them.
    fn passes(&self) -> u64 {
        let text = self.provider.metrics.text();
        let of_queues = text.lines().filter(|line| {
            line.starts_with("controller_runtime_reconcile_total")
                && line.contains("controller=\"queue\"")
        });
        of_queues
            .map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap())
            .sum()
    }

    /// Waits until all queues are ready, and some passes have neither written anything nor had doubts: it
    /// takes the broker a while to show by which policy a new queue is ruled.
    async fn until_at_rest(&self) {
        for transport in TRANSPORTS {
            self.queues.until_ready(transport).await;
        }
        rig::until(
            "nothing is written any more, and no doubt is left",
            || async {
                let (versions, calls, passes) =
                    (self.versions().await, self.all_calls(), self.passes());
                self.until_passes(8).await;
                let (calls, passes) = (self.all_calls() - calls, self.passes() - passes);
                // One of each transport may be under way.
                (versions == self.versions().await && calls <= passes + 2).then_some(())
            },
        )
        .await;
    }

    async fn versions(&self) -> Vec<Option<String>> {
        let mut versions = Vec::new();
        for transport in TRANSPORTS {
            versions.push(self.get(transport).await.metadata.resource_version);
        }
        versions
    }

    /// Waits for this many passes more.
    async fn until_passes(&self, count: u64) {
        let before = self.passes();
        rig::until("more passes are made", || async {
            (self.passes() >= before + count).then_some(())
        })
        .await;
    }
}

async fn one_call_is_made_per_pass_and_nothing_is_written(fixture: &Fixture) {
    let versions = fixture.versions().await;
    let each = TRANSPORTS.map(|transport| fixture.calls(transport));
    let (calls, passes) = (fixture.all_calls(), fixture.passes());
    // A pass that is under way has made its call and is not counted yet: the two numbers meet
    // between passes, and never again if a single pass makes two.
    let (calls, passes) = rig::until("calls are as many as passes", || async {
        let (calls, passes) = (fixture.all_calls() - calls, fixture.passes() - passes);
        (calls == passes && passes >= PASSES).then_some((calls, passes))
    })
    .await;
    assert_eq!(calls, passes);
    for (transport, before) in TRANSPORTS.into_iter().zip(each) {
        assert!(
            fixture.calls(transport) > before,
            "{transport} was looked at"
        );
    }
    assert_eq!(fixture.versions().await, versions, "nothing was written");
}

/// One that asks to be looked at rarely is not looked at while others are, many times.
async fn an_object_s_own_interval_is_its_own(fixture: &Fixture) {
    fixture.make("rare", "sqs", "1h").await;
    fixture.queues.until_ready("rare").await;
    // What else its creation has started is over after this.
    fixture.queues.until_looked_at("rare", "first").await;
    let (sqs, _) = fixture.moto.clients();
    let url = sqs.get_queue_url().queue_name("rare").send().await.unwrap();
    let send = sqs.send_message().queue_url(url.queue_url.unwrap());
    send.message_body("{}").send().await.unwrap();
    fixture.until_passes(PASSES).await;
    assert_eq!(fixture.get("rare").await.status.at_provider.queued, Some(0));
    fixture.queues.until_looked_at("rare", "now").await;
    let counted = |queue: &Queue| queue.status.at_provider.queued == Some(1);
    fixture
        .queues
        .until("rare", "counts it on request", counted)
        .await;
}

/// An hour is long for somebody who waits for a queue.
async fn glances_see_what_was_done_by_hand(fixture: &Fixture) {
    let api = &fixture.rabbitmq.api;
    let (sqs, _) = fixture.moto.clients();
    let url = async || {
        let found = sqs.get_queue_url().queue_name("sqs").send().await;
        found.ok().and_then(|found| found.queue_url)
    };
    // Settings.
    api.delete(&["policies", "/", "asya-rabbitmq"])
        .await
        .unwrap();
    let name = aws_sdk_sqs::types::QueueAttributeName::VisibilityTimeout;
    let set = sqs.set_queue_attributes().queue_url(url().await.unwrap());
    set.attributes(name.clone(), "7").send().await.unwrap();
    rig::until("the policy is back", || async {
        let policy = ["policies", "/", "asya-rabbitmq"];
        fixture.rabbitmq.has(&policy).await.then_some(())
    })
    .await;
    rig::until("the setting is as it was", || async {
        let get = sqs.get_queue_attributes().queue_url(url().await?);
        let found = get.attribute_names(name.clone()).send().await.unwrap();
        (found.attributes?[&name] == "600").then_some(())
    })
    .await;
    // The queues themselves.
    api.delete(&["queues", "/", "rabbitmq"]).await.unwrap();
    let delete = sqs.delete_queue().queue_url(url().await.unwrap());
    delete.send().await.unwrap();
    rig::until("both queues are back", || async {
        let is_back = fixture.rabbitmq.has(&["queues", "/", "rabbitmq"]).await;
        (is_back && url().await.is_some()).then_some(())
    })
    .await;
    for transport in TRANSPORTS {
        fixture.queues.until_ready(transport).await;
    }
    // And at rest again, it costs no more than before.
    fixture.until_at_rest().await;
    one_call_is_made_per_pass_and_nothing_is_written(fixture).await;
}
