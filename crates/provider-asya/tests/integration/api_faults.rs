//! An API server that does not answer, refuses, or loses answers: no queue and no message is lost, and
//! everything is in sync once the API server works again.

use crate::rig::{self, Shared};
use std::collections::BTreeSet;
use std::time::Instant;

use crate::rig::api_faults::ApiFault;
use crate::rig::provider_fixture::{self, ProviderFixture, Queues};
use crate::rig::rabbitmq::RabbitMq;
use provider_asya::kinds::ProviderConfig;
use serde_json::json;

/// Requests that fail before a fault ends.
const MET: u64 = 12;

// A fault is one of the whole API server: each test is alone.
static FIXTURE: Shared<Fixture> =
    Shared::new("faults of the API server", || Box::pin(Fixture::start()));

struct Fixture {
    provider: ProviderFixture,
    broker: RabbitMq,
}

impl Fixture {
    async fn start() -> Self {
        let (provider, broker) = tokio::join!(
            ProviderFixture::start(provider_fixture::timings()),
            RabbitMq::start()
        );
        Self { provider, broker }
    }
}

/// Queues are reconciled after the fault, and none is lost. `name` is part of the names of everything
/// that the test makes.
fn queues_survive(name: &'static str, fault: ApiFault) {
    FIXTURE.run_alone(async |fixture| {
        let Fixture { provider, broker } = fixture;
        Case::new(name, provider, broker).await.run(fault).await;
    });
}

#[test]
fn queues_survive_an_api_server_that_does_not_answer() {
    queues_survive("unreachable", ApiFault::Unreachable);
}

#[test]
fn queues_survive_watches_that_end_at_once() {
    queues_survive("watches", ApiFault::WatchesEnd);
}

#[test]
fn queues_survive_answers_to_writes_that_are_lost() {
    queues_survive("lost", ApiFault::AnswersLost);
}

#[test]
fn queues_survive_conflicts_of_every_write() {
    let text = "the object has been modified";
    queues_survive("conflict", ApiFault::Refused(409, "Conflict", text));
}

#[test]
fn queues_survive_an_api_server_that_asks_for_fewer_requests() {
    let fault = ApiFault::AllRefused(429, "TooManyRequests", "too many requests");
    queues_survive("busy", fault);
}

#[test]
fn queues_survive_a_full_disk_of_etcd() {
    let text = "etcdserver: mvcc: database space exceeded";
    queues_survive("full", ApiFault::Refused(500, "InternalError", text));
}

#[test]
fn queues_survive_missing_rights_of_the_provider() {
    let text = "user cannot patch resource";
    queues_survive("forbidden", ApiFault::Refused(403, "Forbidden", text));
}

/// One fault and its queues, in a namespace of its own.
struct Case<'a> {
    name: &'static str,
    provider: &'a ProviderFixture,
    broker: &'a RabbitMq,
    queues: Queues,
}

impl<'a> Case<'a> {
    async fn new(name: &'static str, provider: &'a ProviderFixture, broker: &'a RabbitMq) -> Self {
        provider.make_namespace(name).await;
        let spec = json!({"rabbitmq": provider_fixture::rabbitmq_connection(&broker.endpoint, None),
            "countersInterval": "1s"});
        let config = json!({"metadata": {"name": "broker"}, "spec": spec});
        provider_fixture::apply(&provider.namespaced::<ProviderConfig>(name), config).await;
        let queues = provider.queues(name);
        Self {
            name,
            provider,
            broker,
            queues,
        }
    }

    /// During the fault one queue is unchanged, one is changed, one deleted, one created, and one
    /// deleted at the broker.
    async fn run(&self, fault: ApiFault) {
        let before = ["kept", "changed", "deleted", "hit"];
        for name in before {
            self.make(name).await;
        }
        for name in before {
            self.queues.until_ready(name).await;
            let key = self.queue(name);
            assert!(self.broker.publish(&self.exchange(), &key).await);
        }

        self.provider.api_faults.set(fault);
        let letters =
            json!({"spec": {"forProvider": {"rabbitmq": {"deadLetter": {"enabled": true}}}}});
        self.queues.change("changed", letters).await;
        self.queues.delete("deleted").await;
        self.make("created").await;
        let hit = self.queue("hit");
        let deleted = self.broker.api.delete(&["queues", "/", &hit]).await;
        deleted.unwrap();
        rig::until("requests fail", || async {
            (self.provider.api_faults.met() >= MET).then_some(())
        })
        .await;
        for name in ["kept", "changed"] {
            let path = ["queues", "/", &self.queue(name)];
            assert!(self.broker.has(&path).await, "{name}");
        }

        self.provider.api_faults.set(ApiFault::None);
        let start = Instant::now();
        let letters = self.queue("changed-dlq");
        rig::until("the change is written", || async {
            let has = self.broker.has(&["queues", "/", &letters]).await;
            has.then_some(())
        })
        .await;
        for name in ["kept", "changed", "created"] {
            self.queues.until_ready(name).await;
        }
        self.queues.until_deleted("deleted").await;
        rig::until(
            "the queue that was deleted at the broker exists",
            || async { self.broker.has(&["queues", "/", &hit]).await.then_some(()) },
        )
        .await;
        self.queues.until_ready("hit").await;
        println!(
            "{:6.1} s until everything is in sync after {}",
            start.elapsed().as_secs_f64(),
            self.name
        );
        self.nothing_is_lost().await;
    }

    async fn nothing_is_lost(&self) {
        let prefix = self.queue("");
        let found = self.broker.read(&["queues", "/"]).await;
        let names = found.as_array().unwrap().iter();
        let found: BTreeSet<_> = names
            .map(|queue| queue["name"].as_str().unwrap().to_owned())
            .filter(|name| name.starts_with(&prefix))
            .collect();
        let names = ["changed", "changed-dlq", "created", "hit", "kept"];
        let expected = BTreeSet::from(names.map(|name| self.queue(name)));
        assert_eq!(found, expected);
        for name in ["kept", "changed"] {
            let messages = self.broker.take("/", &self.queue(name)).await;
            assert_eq!(messages, ["{}"], "{name}");
        }
    }

    async fn make(&self, name: &str) {
        let (exchange, queue) = (self.exchange(), self.queue(name));
        self.queues.make_classic(name, &exchange, &queue).await;
    }

    fn exchange(&self) -> String {
        format!("asya-{}", self.name)
    }

    fn queue(&self, name: &str) -> String {
        format!("asya-{}-{name}", self.name)
    }
}
