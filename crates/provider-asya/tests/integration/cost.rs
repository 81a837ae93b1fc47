//! The cost of queues that do not change: one call per queue and poll, and no write, on both transports.
//! Full observations and counts of dead letters are as rare as by default, since each takes more calls.

use crate::rig::moto::{Moto, REGION};
use crate::rig::provider_fixture::{self, ProviderFixture, Queues};
use crate::rig::rabbitmq::RabbitMq;
use crate::rig::{self, Shared};
use provider_asya::kinds::{ProviderConfig, Queue};
use provider_asya::timings::Timings;
use serde_json::json;

const NAMESPACE: &str = "shop";

// Its tests count the calls of the whole provider: each is alone.
static FIXTURE: Shared<Fixture> = Shared::new("calls to brokers", || Box::pin(Fixture::start("")));

/// Reconciliations during which calls are counted.
const RECONCILIATIONS: u64 = 20;

/// The transports, with the object that has a queue of each.
const TRANSPORTS: [&str; 2] = ["rabbitmq", "sqs"];

struct Fixture {
    provider: ProviderFixture,
    queues: Queues,
    rabbitmq: RabbitMq,
    moto: Moto,
}

impl Fixture {
    /// A broker with these settings, beside a service for SQS.
    async fn start(settings: &str) -> Self {
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
        let settings = format!("collect_statistics_interval = 300\n{settings}");
        let (provider, rabbitmq, moto) = tokio::join!(
            ProviderFixture::start(timings),
            RabbitMq::start_with(&settings),
            Moto::start()
        );
        provider.make_namespace(NAMESPACE).await;
        let configs = provider.namespaced::<ProviderConfig>(NAMESPACE);
        let connections = [
            provider_fixture::rabbitmq_connection(&rabbitmq.endpoint, None),
            provider_fixture::sqs_connection(&moto.endpoint, None),
        ];
        for (transport, connection) in TRANSPORTS.into_iter().zip(connections) {
            // Each object has its own poll interval; counters are written at each poll.
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
            "rabbitmq" => json!({"host": "rabbitmq", "queueType": "quorum", "routingKeys": [name],
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

    /// Reconciliations of queues, with any result.
    fn reconciliations(&self) -> u64 {
        let text = self.provider.metrics.text();
        let of_queues = text.lines().filter(|line| {
            line.starts_with("controller_runtime_reconcile_total")
                && line.contains("controller=\"queue\"")
        });
        of_queues
            .map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap())
            .sum()
    }

    /// Waits until all queues are ready, and some reconciliations have written nothing and made one call
    /// each: it takes the broker a while to show which policy applies to a new queue.
    async fn until_at_rest(&self) {
        for transport in TRANSPORTS {
            self.queues.until_ready(transport).await;
        }
        rig::until(
            "nothing is written, and no more calls are made than reconciliations",
            || async {
                let (versions, calls, reconciliations) = (
                    self.versions().await,
                    self.all_calls(),
                    self.reconciliations(),
                );
                self.until_reconciliations(8).await;
                let (calls, reconciliations) = (
                    self.all_calls() - calls,
                    self.reconciliations() - reconciliations,
                );
                // One of each transport may be under way.
                (versions == self.versions().await && calls <= reconciliations + 2).then_some(())
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

    /// Waits for this many more reconciliations.
    async fn until_reconciliations(&self, count: u64) {
        let before = self.reconciliations();
        rig::until("more reconciliations have ended", || async {
            (self.reconciliations() >= before + count).then_some(())
        })
        .await;
    }
}

async fn one_call_is_made_per_reconcile_and_nothing_is_written(fixture: &Fixture) {
    let versions = fixture.versions().await;
    let each = TRANSPORTS.map(|transport| fixture.calls(transport));
    let (calls, reconciliations) = (fixture.all_calls(), fixture.reconciliations());
    // A reconciliation that has not ended has made its call and is not counted yet: the numbers are equal
    // between reconciliations, and never again if a single one makes two calls.
    let (calls, reconciliations) = rig::until("there is one call per reconciliation", || async {
        let (calls, reconciliations) = (
            fixture.all_calls() - calls,
            fixture.reconciliations() - reconciliations,
        );
        (calls == reconciliations && reconciliations >= RECONCILIATIONS)
            .then_some((calls, reconciliations))
    })
    .await;
    assert_eq!(calls, reconciliations);
    for (transport, before) in TRANSPORTS.into_iter().zip(each) {
        assert!(
            fixture.calls(transport) > before,
            "{transport} was observed"
        );
    }
    assert_eq!(fixture.versions().await, versions, "nothing was written");
}

#[test]
fn a_queue_without_changes_costs_one_call_per_reconcile_and_no_write() {
    FIXTURE.run_alone(async |fixture| {
        fixture.until_at_rest().await;
        one_call_is_made_per_reconcile_and_nothing_is_written(fixture).await;
    });
}

#[test]
fn an_object_with_a_longer_poll_interval_is_polled_less_often() {
    FIXTURE.run_alone(async |fixture| {
        fixture.until_at_rest().await;
        fixture.make("rare", "sqs", "1h").await;
        fixture.queues.until_ready("rare").await;
        // What else its creation has started is over after this.
        fixture.queues.until_reconciled("rare", "first").await;
        let (sqs, _) = fixture.moto.clients();
        let url = sqs.get_queue_url().queue_name("rare").send().await.unwrap();
        let send = sqs.send_message().queue_url(url.queue_url.unwrap());
        send.message_body("{}").send().await.unwrap();
        fixture.until_reconciliations(RECONCILIATIONS).await;
        assert_eq!(fixture.get("rare").await.status.at_provider.queued, Some(0));
        fixture.queues.until_reconciled("rare", "now").await;
        let counted = |queue: &Queue| queue.status.at_provider.queued == Some(1);
        fixture
            .queues
            .until("rare", "counts it on request", counted)
            .await;
    });
}

#[test]
fn changes_by_hand_are_repaired_by_the_next_quick_observation() {
    FIXTURE.run_alone(async |fixture| {
        fixture.until_at_rest().await;
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
        one_call_is_made_per_reconcile_and_nothing_is_written(fixture).await;
    });
}

/// As on Amazon MQ: the broker merges the operator's policy into what it reports of a queue, and the lower
/// delivery limit applies.
#[test]
fn an_operator_policy_costs_no_more_calls() {
    FIXTURE.run_alone(async |fixture| {
        let api = &fixture.rabbitmq.api;
        let path = ["operator-policies", "/", "limits"];
        let policy = json!({"pattern": ".*", "apply-to": "queues", "priority": 9,
            "definition": {"message-ttl": 3_600_000, "max-length": 100_000, "delivery-limit": 1}});
        fixture.until_at_rest().await;
        assert!(api.put(&path, &policy).await.unwrap());
        rig::until("the operator policy applies", || async {
            let queue = fixture.rabbitmq.read(&["queues", "/", "rabbitmq"]).await;
            (queue["operator_policy"] == "limits").then_some(())
        })
        .await;
        fixture.until_at_rest().await;
        one_call_is_made_per_reconcile_and_nothing_is_written(fixture).await;
        api.delete(&path).await.unwrap();
    });
}

/// As on brokers whose operator saves work, such as those of Amazon MQ.
#[test]
fn a_broker_without_rates_costs_no_more_calls() {
    static WITHOUT: Shared<Fixture> = Shared::new("a broker without rates", || {
        Box::pin(Fixture::start("management.rates_mode = none\n"))
    });
    WITHOUT.run_alone(async |fixture| {
        fixture.until_at_rest().await;
        let overview = fixture.rabbitmq.read(&["overview"]).await;
        assert_eq!(overview["rates_mode"], "none", "{overview}");
        one_call_is_made_per_reconcile_and_nothing_is_written(fixture).await;
    });
}

/// The broker neither counts messages nor shows which policy applies to a queue.
#[test]
fn a_broker_without_statistics_costs_no_more_calls() {
    static WITHOUT: Shared<Fixture> = Shared::new("a broker without statistics", || {
        Box::pin(Fixture::start("management.disable_stats = true\n"))
    });
    WITHOUT.run_alone(async |fixture| {
        let overview = fixture.rabbitmq.read(&["overview"]).await;
        assert_eq!(overview["disable_stats"], true, "{overview}");
        fixture.until_at_rest().await;
        let queue = fixture.get("rabbitmq").await;
        assert_eq!(queue.status.at_provider.queued, None, "nothing counts");
        one_call_is_made_per_reconcile_and_nothing_is_written(fixture).await;
    });
}
