//! A broker that cannot be reached, answers nonsense or loses answers: the object says so, nothing is
//! lost, and all is well again once the broker is.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot go on panics"
)]

mod rig;

use std::collections::BTreeSet;
use std::time::Duration;

use actor::managed::{READY, SYNCED};
use provider_asya::conditions;
use provider_asya::kinds::{ProviderConfig, Queue};
use provider_asya::timings::Timings;
use rig::provider_fixture::{self, ProviderFixture, Queues};
use rig::proxy::{Mode, Proxy, Which};
use rig::rabbitmq::RabbitMq;
use serde_json::{Value, json};

/// How long one call may take here.
const CALL: Duration = Duration::from_secs(2);

/// What goes wrong, and what is said of it.
struct Case {
    /// Part of the names of everything that is made for the case.
    name: &'static str,
    reason: &'static str,
    mode: Mode,
    says: &'static str,
}

const CASES: [Case; 10] = [
    Case {
        name: "cut",
        reason: "the answer breaks off; what was asked for is done",
        mode: Mode::Cut,
        says: "cannot reach http://127.0.0.1:",
    },
    Case {
        name: "half-open",
        reason: "the connection is taken and nobody answers",
        mode: Mode::HalfOpen,
        says: "no answer within 2000 ms",
    },
    Case {
        name: "late",
        reason: "answers come when nobody waits for them any more; what was asked for is done later",
        mode: Mode::Delay(Duration::from_secs(3)),
        says: "no answer within 2000 ms",
    },
    Case {
        name: "refused",
        reason: "nobody listens",
        mode: Mode::Refuse,
        says: "Connection refused",
    },
    Case {
        name: "broken",
        reason: "the broker fails in its own words",
        mode: Mode::Answer(
            "500 Internal Server Error",
            "{\"error\":\"internal_error\",\"reason\":\"badmatch,\\n timeout\"}",
        ),
        says: "badmatch, timeout (HTTP status 500)",
    },
    Case {
        name: "no-backend",
        reason: "the load balancer has nobody to ask",
        mode: Mode::Answer("503 Service Unavailable", "<h1>No server available</h1>"),
        says: "HTTP status 503",
    },
    Case {
        name: "stranger",
        reason: "the password was changed",
        mode: Mode::Answer(
            "401 Unauthorized",
            "{\"error\":\"not_authorised\",\"reason\":\"Login failed\"}",
        ),
        says: "Login failed (HTTP status 401)",
    },
    Case {
        name: "throttled",
        reason: "a gateway counts calls",
        mode: Mode::Answer("429 Too Many Requests", ""),
        says: "throttles calls",
    },
    Case {
        name: "no-route",
        reason: "an ingress knows no such host: that is no absent queue",
        mode: Mode::Answer("404 Not Found", "404 page not found\n"),
        says: "HTTP status 404",
    },
    Case {
        name: "login-page",
        reason: "a proxy answers everything with its own page: that is no queue",
        mode: Mode::Answer("200 OK", "<form>Who are you?</form>"),
        says: "the answer is not JSON: is this the management API?",
    },
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn faults_of_the_way_to_a_broker_are_said_and_outlived() {
    if rig::is_skipped("faults of the way to RabbitMQ") {
        return;
    }
    let timings = Timings {
        external_call: CALL,
        ..provider_fixture::timings()
    };
    let (provider, broker) = tokio::join!(ProviderFixture::start(timings), RabbitMq::start());
    // Each case has a proxy, a config and a namespace of its own, so that all go on at once.
    let ways = CASES
        .iter()
        .flat_map(|case| [Which::All, Which::Writes].map(|which| (case, which)))
        // Whether somebody listens does not depend on the request.
        .filter(|(case, which)| *which == Which::All || case.mode != Mode::Refuse);
    let fixtures = ways.map(async |(case, which)| {
        let fixture = Fixture::of(case, which, &provider, &broker).await;
        fixture.play().await;
    });
    futures::future::join_all(fixtures).await;
}

/// One case, on a way of its own to the broker.
struct Fixture<'a> {
    case: &'a Case,
    which: Which,
    namespace: String,
    provider: &'a ProviderFixture,
    broker: &'a RabbitMq,
    queues: Queues,
    proxy: Proxy,
}

impl<'a> Fixture<'a> {
    async fn of(
        case: &'a Case,
        which: Which,
        provider: &'a ProviderFixture,
        broker: &'a RabbitMq,
    ) -> Self {
        let suffix = match which {
            Which::All => "always",
            Which::Writes => "at-writes",
        };
        let namespace = format!("{}-{suffix}", case.name);
        provider.make_namespace(&namespace).await;
        let proxy = Proxy::start(&broker.endpoint).await;
        let spec = json!({"rabbitmq": provider_fixture::rabbitmq_connection(&proxy.endpoint, None),
            "countersInterval": "1s"});
        let config = json!({"metadata": {"name": "broker"}, "spec": spec});
        provider_fixture::apply(&provider.namespaced::<ProviderConfig>(&namespace), config).await;
        Self {
            case,
            which,
            queues: provider.queues(&namespace),
            namespace,
            provider,
            broker,
            proxy,
        }
    }

    /// One queue is to be kept, one to be changed, one to go and one to come while the fault is there.
    async fn play(mut self) {
        for name in ["kept", "changed", "going"] {
            self.make(name).await;
        }
        for name in ["kept", "changed", "going"] {
            self.queues.until_ready(name).await;
        }
        let exchange = self.exchange();
        for name in ["kept", "changed", "going"] {
            let key = self.queue(name);
            assert!(self.broker.publish(&exchange, &key).await);
        }

        self.proxy.set(self.case.mode, self.which).await;
        self.make("coming").await;
        let dead_letter = json!({"deadLetter": {"enabled": true}});
        let change = json!({"spec": {"forProvider": {"rabbitmq": dead_letter}}});
        self.queues.change("changed", change).await;
        self.queues.delete("going").await;
        let (_, _, going, ()) = tokio::join!(
            self.it_is_said("coming", "create failed: "),
            self.it_is_said("changed", "update failed: "),
            self.it_is_said("going", "delete failed: "),
            async {
                if self.which == Which::All {
                    self.it_is_said("kept", "observe failed: ").await;
                }
            },
        );
        let way_out = "set `spec.managementPolicies` to";
        assert!(message(&going).contains(way_out), "{}", message(&going));
        self.nothing_is_lost().await;

        self.proxy.pass().await;
        for name in ["kept", "changed", "coming"] {
            self.queues.until_ready(name).await;
        }
        self.queues.until_gone("going").await;
        self.all_is_well_again().await;
    }

    /// Waits until the object says what is wrong, and has not said it again after several passes.
    async fn it_is_said(&self, name: &str, at_write: &str) -> Queue {
        let Case { reason, says, .. } = self.case;
        let doing = match self.which {
            Which::All => "observe failed: ",
            Which::Writes => at_write,
        };
        self.queues.until_says(name, SYNCED, "False", says).await;
        for token in ["1", "2", "3", "4"] {
            self.queues.until_looked_at(name, token).await;
        }
        let queue = self.queues.until_looked_at(name, "5").await;
        let said = message(&queue);
        assert!(
            said.starts_with(doing) && said.contains(says) && !said.contains('\n'),
            "{reason}, {name}: {said}"
        );
        assert!(!said.contains("guest"), "{reason}, {name}: {said}");
        let warnings = self.provider.warnings(&self.namespace, name).await;
        assert!(warnings.contains(&said), "{reason}, {name}: {warnings:#?}");
        for warning in &warnings {
            let tellings = warnings.iter().filter(|other| *other == warning).count();
            assert_eq!(tellings, 1, "{reason}, {name}: {warnings:#?}");
        }
        queue
    }

    /// Every queue that has a message still has it, and who was ready is.
    async fn nothing_is_lost(&self) {
        let reason = self.case.reason;
        for name in ["kept", "changed", "going"] {
            let path = ["queues", "/", &self.queue(name)];
            assert!(self.broker.has(&path).await, "{reason}: {name} is gone");
        }
        let kept = self.queues.0.get("kept").await.unwrap();
        assert!(
            conditions::is_true(&kept.status.conditions, READY),
            "{reason}: {:?}",
            kept.status
        );
    }

    async fn all_is_well_again(&self) {
        let reason = self.case.reason;
        let prefix = self.queue("");
        let found = self.broker.read(&["queues", "/"]).await;
        let names = |key: &str, list: &Value| -> BTreeSet<String> {
            let names = list.as_array().unwrap().iter();
            names
                .map(|item| item[key].as_str().unwrap().to_owned())
                .filter(|name| name.starts_with(&prefix))
                .collect()
        };
        let expected = BTreeSet::from(
            ["changed", "changed-dlq", "coming", "kept"].map(|name| self.queue(name)),
        );
        assert_eq!(names("name", &found), expected, "{reason}");
        for name in ["kept", "changed"] {
            let messages = self.broker.take("/", &self.queue(name)).await;
            assert_eq!(messages, ["{}"], "{reason}: {name}");
        }
        let policy = format!("asya-{}", self.queue("changed"));
        let policy = self.broker.read(&["policies", "/", &policy]).await;
        let letters = json!(format!("{}-dlx", self.exchange()));
        let definition = &policy["definition"];
        assert_eq!(definition["dead-letter-exchange"], letters, "{reason}");
    }

    async fn make(&self, name: &str) {
        let (exchange, queue) = (self.exchange(), self.queue(name));
        self.queues.make_classic(name, &exchange, &queue).await;
    }

    fn exchange(&self) -> String {
        format!("asya-{}", self.namespace)
    }

    fn queue(&self, name: &str) -> String {
        format!("asya-{}-{name}", self.namespace)
    }
}

/// What the object says of its last pass.
fn message(queue: &Queue) -> String {
    let mut conditions = queue.status.conditions.iter();
    let synced = conditions.find(|condition| condition.type_ == SYNCED);
    synced
        .and_then(|condition| condition.message.clone())
        .unwrap_or_default()
}
