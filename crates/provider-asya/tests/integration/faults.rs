//! A broker that cannot be reached, answers nonsense or loses answers: the object reports it, nothing is
//! lost, and everything is in sync once the broker can be reached again.

use crate::rig::{self, Shared};
use std::collections::BTreeSet;
use std::time::Duration;

use crate::rig::provider_fixture::{self, ProviderFixture, Queues};
use crate::rig::proxy::{Mode, Proxy, Which};
use crate::rig::rabbitmq::RabbitMq;
use actor::managed::{READY, SYNCED};
use provider_asya::conditions;
use provider_asya::kinds::{ProviderConfig, Queue};
use provider_asya::timings::Timings;
use serde_json::{Value, json};

/// Timeout of a call in these tests.
const CALL: Duration = Duration::from_secs(2);

/// A fault of the connection to the broker.
#[derive(Clone, Copy)]
struct Fault {
    /// Part of the names of everything that the test makes.
    name: &'static str,
    mode: Mode,
    /// Part of the message in the condition.
    message: &'static str,
}

static FIXTURE: Shared<Fixture> = Shared::new("faults of the connection to RabbitMQ", || {
    Box::pin(Fixture::start())
});

struct Fixture {
    provider: ProviderFixture,
    broker: RabbitMq,
}

impl Fixture {
    async fn start() -> Self {
        let timings = Timings {
            external_call: CALL,
            ..provider_fixture::timings()
        };
        let (provider, broker) = tokio::join!(ProviderFixture::start(timings), RabbitMq::start());
        Self { provider, broker }
    }
}

/// The fault is reported and nothing is lost, whether it is one of all requests or of writes only.
fn reported_and_survived(fault: Fault) {
    FIXTURE.run(async |fixture| {
        let ways = [Which::All, Which::Writes];
        // A listener that is missing is so for every request.
        let ways = ways
            .into_iter()
            .filter(|which| *which == Which::All || fault.mode != Mode::Refuse);
        let cases = ways.map(async |which| {
            let case = Case::new(fault, which, fixture).await;
            case.run().await;
        });
        futures::future::join_all(cases).await;
    });
}

/// The broker has done what was asked for.
#[test]
fn answers_that_break_off_are_reported_and_survived() {
    reported_and_survived(Fault {
        name: "cut",
        mode: Mode::Cut,
        message: "cannot reach http://127.0.0.1:",
    });
}

#[test]
fn connections_without_an_answer_are_reported_and_survived() {
    reported_and_survived(Fault {
        name: "half-open",
        mode: Mode::HalfOpen,
        message: "no answer within 2000 ms",
    });
}

/// The broker has done what was asked for, later.
#[test]
fn answers_after_the_timeout_are_reported_and_survived() {
    reported_and_survived(Fault {
        name: "late",
        mode: Mode::Delay(Duration::from_secs(3)),
        message: "no answer within 2000 ms",
    });
}

#[test]
fn refused_connections_are_reported_and_survived() {
    reported_and_survived(Fault {
        name: "refused",
        mode: Mode::Refuse,
        message: "Connection refused",
    });
}

#[test]
fn internal_errors_of_the_broker_are_reported_and_survived() {
    reported_and_survived(Fault {
        name: "broken",
        mode: Mode::Answer(
            "500 Internal Server Error",
            "{\"error\":\"internal_error\",\"reason\":\"badmatch,\\n timeout\"}",
        ),
        message: "badmatch, timeout (HTTP status 500)",
    });
}

#[test]
fn a_load_balancer_without_a_backend_is_reported_and_survived() {
    reported_and_survived(Fault {
        name: "no-backend",
        mode: Mode::Answer("503 Service Unavailable", "<h1>No server available</h1>"),
        message: "HTTP status 503",
    });
}

#[test]
fn a_rejected_password_is_reported_and_survived() {
    reported_and_survived(Fault {
        name: "password",
        mode: Mode::Answer(
            "401 Unauthorized",
            "{\"error\":\"not_authorised\",\"reason\":\"Login failed\"}",
        ),
        message: "Login failed (HTTP status 401)",
    });
}

#[test]
fn a_gateway_that_limits_calls_is_reported_and_survived() {
    reported_and_survived(Fault {
        name: "throttled",
        mode: Mode::Answer("429 Too Many Requests", ""),
        message: "throttles calls",
    });
}

/// A 404 of its own is no missing queue.
#[test]
fn an_ingress_without_a_route_is_reported_and_survived() {
    reported_and_survived(Fault {
        name: "no-route",
        mode: Mode::Answer("404 Not Found", "404 page not found\n"),
        message: "HTTP status 404",
    });
}

/// A page is no queue.
#[test]
fn a_proxy_that_answers_with_a_login_page_is_reported_and_survived() {
    reported_and_survived(Fault {
        name: "login-page",
        mode: Mode::Answer("200 OK", "<form>Who are you?</form>"),
        message: "the answer is not JSON: is this the management API?",
    });
}

/// A fault of a connection of its own to the broker.
struct Case<'a> {
    fault: Fault,
    which: Which,
    namespace: String,
    provider: &'a ProviderFixture,
    broker: &'a RabbitMq,
    queues: Queues,
    proxy: Proxy,
}

impl<'a> Case<'a> {
    async fn new(fault: Fault, which: Which, fixture: &'a Fixture) -> Self {
        let Fixture { provider, broker } = fixture;
        let suffix = match which {
            Which::All => "always",
            Which::Writes => "at-writes",
        };
        let namespace = format!("{}-{suffix}", fault.name);
        provider.make_namespace(&namespace).await;
        let proxy = Proxy::start(&broker.endpoint).await;
        let spec = json!({"rabbitmq": provider_fixture::rabbitmq_connection(&proxy.endpoint, None),
            "countersInterval": "1s"});
        let config = json!({"metadata": {"name": "broker"}, "spec": spec});
        provider_fixture::apply(&provider.namespaced::<ProviderConfig>(&namespace), config).await;
        Self {
            fault,
            which,
            queues: provider.queues(&namespace),
            namespace,
            provider,
            broker,
            proxy,
        }
    }

    /// During the fault one queue is unchanged, one changed, one deleted, and one created.
    async fn run(mut self) {
        for name in ["kept", "changed", "deleted"] {
            self.make(name).await;
        }
        for name in ["kept", "changed", "deleted"] {
            self.queues.until_ready(name).await;
        }
        let exchange = self.exchange();
        for name in ["kept", "changed", "deleted"] {
            let key = self.queue(name);
            assert!(self.broker.publish(&exchange, &key).await);
        }

        self.proxy.set(self.fault.mode, self.which).await;
        self.make("created").await;
        let dead_letter = json!({"deadLetter": {"enabled": true}});
        let change = json!({"spec": {"forProvider": {"rabbitmq": dead_letter}}});
        self.queues.change("changed", change).await;
        self.queues.delete("deleted").await;
        tokio::join!(
            self.reported_once("created", "create failed: "),
            self.reported_once("changed", "update failed: "),
            self.deletion_is_reported_or_done(),
            async {
                if self.which == Which::All {
                    self.reported_once("kept", "observe failed: ").await;
                }
            },
        );
        self.nothing_is_lost().await;

        self.proxy.forward().await;
        for name in ["kept", "changed", "created"] {
            self.queues.until_ready(name).await;
        }
        self.queues.until_deleted("deleted").await;
        self.everything_is_in_sync().await;
    }

    /// Returns whether the broker does what it is asked for, and only its answers to writes are lost. The next
    /// observation shows then that a queue is deleted.
    fn does_what_is_written(&self) -> bool {
        let is_done = matches!(self.fault.mode, Mode::Cut | Mode::Delay(_));
        is_done && self.which == Which::Writes
    }

    async fn deletion_is_reported_or_done(&self) {
        if self.does_what_is_written() {
            self.queues.until_deleted("deleted").await;
            return;
        }
        let deleting = self.reported_once("deleted", "delete failed: ").await;
        let way_out = "set `spec.managementPolicies` to";
        assert!(
            message(&deleting).contains(way_out),
            "{}",
            message(&deleting)
        );
    }

    /// Waits until the object reports the fault; several reconciliations do not report it again.
    async fn reported_once(&self, name: &str, at_write: &str) -> Queue {
        let Fault {
            name: fault,
            message: expected,
            ..
        } = self.fault;
        let doing = match self.which {
            Which::All => "observe failed: ",
            Which::Writes => at_write,
        };
        self.queues
            .until_condition(name, SYNCED, "False", expected)
            .await;
        for token in ["1", "2", "3", "4"] {
            self.queues.until_reconciled(name, token).await;
        }
        let queue = self.queues.until_reconciled(name, "5").await;
        let reported = message(&queue);
        assert!(
            reported.starts_with(doing) && reported.contains(expected) && !reported.contains('\n'),
            "{fault}, {name}: {reported}"
        );
        assert!(!reported.contains("guest"), "{fault}, {name}: {reported}");
        let what = format!("{fault}, {name}: a warning is written");
        let warnings = rig::until(&what, || async {
            let warnings = self.provider.warnings(&self.namespace, name).await;
            warnings.contains(&reported).then_some(warnings)
        })
        .await;
        for warning in &warnings {
            let reports = warnings.iter().filter(|other| *other == warning).count();
            assert_eq!(reports, 1, "{fault}, {name}: {warnings:#?}");
        }
        queue
    }

    /// Every queue exists, and one that was ready is ready.
    async fn nothing_is_lost(&self) {
        let fault = self.fault.name;
        let mut names = vec!["kept", "changed"];
        if !self.does_what_is_written() {
            names.push("deleted");
        }
        for name in names {
            let path = ["queues", "/", &self.queue(name)];
            assert!(self.broker.has(&path).await, "{fault}: {name} is missing");
        }
        let kept = self.queues.0.get("kept").await.unwrap();
        assert!(
            conditions::is_true(&kept.status.conditions, READY),
            "{fault}: {:?}",
            kept.status
        );
    }

    async fn everything_is_in_sync(&self) {
        let fault = self.fault.name;
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
            ["changed", "changed-dlq", "created", "kept"].map(|name| self.queue(name)),
        );
        assert_eq!(names("name", &found), expected, "{fault}");
        for name in ["kept", "changed"] {
            let messages = self.broker.take("/", &self.queue(name)).await;
            assert_eq!(messages, ["{}"], "{fault}: {name}");
        }
        let policy = format!("asya-{}", self.queue("changed"));
        let policy = self.broker.read(&["policies", "/", &policy]).await;
        let letters = json!(format!("{}-dlx", self.exchange()));
        let definition = &policy["definition"];
        assert_eq!(definition["dead-letter-exchange"], letters, "{fault}");
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

/// The message of the object's last reconciliation.
fn message(queue: &Queue) -> String {
    let mut conditions = queue.status.conditions.iter();
    let synced = conditions.find(|condition| condition.type_ == SYNCED);
    synced
        .and_then(|condition| condition.message.clone())
        .unwrap_or_default()
}
