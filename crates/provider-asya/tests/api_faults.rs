//! An API server that is gone, refuses, or loses answers: no queue and no message is lost, and all is
//! as users want it once the API server is back.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot go on panics"
)]

mod rig;

use std::collections::BTreeSet;
use std::time::Instant;

use provider_asya::kinds::ProviderConfig;
use rig::api_faults::TransportError;
use rig::provider_fixture::{self, ProviderFixture, Queues};
use rig::rabbitmq::RabbitMq;
use serde_json::json;

/// How many requests meet a fault before it ends.
const MET: u64 = 12;

/// Name, what goes wrong, and how.
const CASES: [(&str, &str, TransportError); 7] = [
    ("gone", "nobody answers", TransportError::Gone),
    (
        "watches",
        "every watch is cut as soon as it begins",
        TransportError::WatchesEnd,
    ),
    (
        "lost",
        "what is written is written, and nobody says so",
        TransportError::AnswersLost,
    ),
    (
        "conflict",
        "somebody else is always faster",
        TransportError::Refused(409, "Conflict", "the object has been modified"),
    ),
    (
        "busy",
        "priority and fairness has no room",
        TransportError::AllRefused(429, "TooManyRequests", "too many requests"),
    ),
    (
        "full",
        "the disk of etcd is full",
        TransportError::Refused(
            500,
            "InternalError",
            "etcdserver: mvcc: database space exceeded",
        ),
    ),
    (
        "forbidden",
        "somebody took the provider's rights away",
        TransportError::Refused(403, "Forbidden", "user cannot patch resource"),
    ),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn faults_of_the_api_server_are_outlived() {
    if rig::is_skipped("faults of the API server") {
        return;
    }
    let (provider, broker) = tokio::join!(
        ProviderFixture::start(provider_fixture::timings()),
        RabbitMq::start()
    );
    for (name, reason, fault) in CASES {
        let fixture = Fixture::of(name, reason, &provider, &broker).await;
        fixture.play(fault).await;
    }
}

/// One fault, in a namespace of its own.
struct Fixture<'a> {
    name: &'static str,
    reason: &'static str,
    provider: &'a ProviderFixture,
    broker: &'a RabbitMq,
    queues: Queues,
}

impl<'a> Fixture<'a> {
    async fn of(
        name: &'static str,
        reason: &'static str,
        provider: &'a ProviderFixture,
        broker: &'a RabbitMq,
    ) -> Self {
        provider.make_namespace(name).await;
        let spec = json!({"rabbitmq": provider_fixture::rabbitmq_connection(&broker.endpoint, None),
            "countersInterval": "1s"});
        let config = json!({"metadata": {"name": "broker"}, "spec": spec});
        provider_fixture::apply(&provider.namespaced::<ProviderConfig>(name), config).await;
        let queues = provider.queues(name);
        Self {
            name,
            reason,
            provider,
            broker,
            queues,
        }
    }

    /// Of the queues one is kept, one is changed, one goes, one comes, and one is deleted at the
    /// broker while the fault is there.
    async fn play(&self, fault: TransportError) {
        let before = ["kept", "changed", "going", "hit"];
        for name in before {
            self.make(name).await;
        }
        for name in before {
            self.queues.until_ready(name).await;
            let key = self.queue(name);
            assert!(self.broker.publish(&self.exchange(), &key).await);
        }

        self.provider.way.set(fault);
        let letters =
            json!({"spec": {"forProvider": {"rabbitmq": {"deadLetter": {"enabled": true}}}}});
        self.queues.change("changed", letters).await;
        self.queues.delete("going").await;
        self.make("coming").await;
        let hit = self.queue("hit");
        let gone = self.broker.api.delete(&["queues", "/", &hit]).await;
        gone.unwrap();
        rig::until(self.reason, || async {
            (self.provider.way.met() >= MET).then_some(())
        })
        .await;
        for name in ["kept", "changed"] {
            let path = ["queues", "/", &self.queue(name)];
            assert!(self.broker.has(&path).await, "{}: {name}", self.reason);
        }

        self.provider.way.set(TransportError::None);
        let start = Instant::now();
        let letters = self.queue("changed-dlq");
        rig::until(&format!("{}: dead letters", self.reason), || async {
            let has = self.broker.has(&["queues", "/", &letters]).await;
            has.then_some(())
        })
        .await;
        for name in ["kept", "changed", "coming"] {
            self.queues.until_ready(name).await;
        }
        self.queues.until_gone("going").await;
        rig::until(
            &format!("{}: the one that was hit", self.reason),
            || async { self.broker.has(&["queues", "/", &hit]).await.then_some(()) },
        )
        .await;
        self.queues.until_ready("hit").await;
        let reason = self.reason;
        println!(
            "{:6.1} s until all is well after: {reason}",
            start.elapsed().as_secs_f64()
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
        let names = ["changed", "changed-dlq", "coming", "hit", "kept"];
        let expected = BTreeSet::from(names.map(|name| self.queue(name)));
        assert_eq!(found, expected, "{}", self.reason);
        for name in ["kept", "changed"] {
            let messages = self.broker.take("/", &self.queue(name)).await;
            assert_eq!(messages, ["{}"], "{}: {name}", self.reason);
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
