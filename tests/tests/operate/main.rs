//! `asya send`, `dead-letters` and `logs` on a real API server with the real kubectl, the controllers of
//! Deployments and Jobs, RabbitMQ, our provider and our sidecar.
//!
//! Only the kubelet is a stand-in ([`tests::kubelet`]): the containers of pods are processes of this
//! machine. The namespace enforces Pod Security "restricted", and the user has no more permissions than
//! the commands need.

mod fixture;

use serde_json::{Value, json};
use test_cluster::shared::Shared;
use test_cluster::until;
use tests::program;

use fixture::{Fixture, User};

static FIXTURE: Shared<Fixture> = Shared::new("operators' commands", || Box::pin(Fixture::start()));

#[test]
fn a_message_is_processed_by_the_actor_and_its_job_is_deleted() {
    FIXTURE.run(async |fixture| {
        // A kubelet would expand what looks like a variable.
        let cases = [
            ("a text", r#"{"text": "sent"}"#, "sent"),
            (
                "variables",
                r#"{"text": "$(HOME) $$(PATH) $"}"#,
                "$(HOME) $$(PATH) $",
            ),
            (
                "quotes",
                r#"{"text": "it's \"new\" — ü"}"#,
                "it's \"new\" — ü",
            ),
        ];
        for (reason, payload, text) in cases {
            let id = fixture.succeeds(&["send", "works", payload]);
            assert_eq!(id.trim().len(), 36, "{reason}: a UUID, not {id:?}");
            fixture
                .until_logged("works", &format!("handled {text}"))
                .await;
        }
        let sent = fixture.succeeds(&[
            "send",
            "works",
            r#"{"text": "own"}"#,
            "--id",
            "m-1",
            "-o",
            "json",
        ]);
        let sent: Value = serde_json::from_str(&sent).unwrap();
        assert_eq!(sent, json!({"actor": "works", "id": "m-1"}));
    });
}

#[test]
fn a_message_follows_the_route_of_next() {
    FIXTURE.run(async |fixture| {
        let payload = r#"{"text": "onwards"}"#;
        fixture.fix("onwards");
        fixture.succeeds(&["send", "works", payload, "--next", "crashes"]);
        fixture.until_logged("crashes", "handled onwards").await;
        fixture.until_logged("x-sink", "handled onwards").await;
    });
}

#[test]
fn dead_letters_are_listed_shown_requeued_and_dropped() {
    FIXTURE.run(async |fixture| {
        for id in ["dead-1", "dead-2"] {
            let payload = json!({ "text": id }).to_string();
            fixture.succeeds(&["send", "crashes", &payload, "--id", id]);
        }
        fixture.until_dead("crashes", &["dead-1", "dead-2"]).await;
        let shown = fixture.succeeds(&["dead-letters", "peek", "crashes", "--id", "dead-1"]);
        let shown: Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(shown["payload"], json!({"text": "dead-1"}));
        fixture.fix("dead-1");
        let requeued = ["dead-letters", "requeue", "crashes", "--id", "dead-1"];
        assert_eq!(fixture.succeeds(&requeued), "dead-1\n");
        fixture.until_logged("crashes", "handled dead-1").await;
        let dropped = ["dead-letters", "drop", "crashes", "--id", "dead-2"];
        assert_eq!(fixture.succeeds(&dropped), "dead-2\n");
        let again = fixture.asya(User::Operator, &dropped);
        assert_eq!(again.status.code(), Some(1), "{}", program::talk(&again));
        let left = fixture.succeeds(&["dead-letters", "list", "crashes"]);
        assert!(!left.contains("dead-"), "{left}");
    });
}

#[test]
fn logs_tell_runtime_and_sidecar_apart() {
    FIXTURE.run(async |fixture| {
        fixture.succeeds(&["send", "works", r#"{"text": "logged"}"#]);
        fixture.until_logged("works", "handled logged").await;
        let all = fixture.succeeds(&["logs", "works", "--timestamps"]);
        let lines: Vec<&str> = all.lines().collect();
        assert!(
            lines.iter().any(|line| line.contains(" sidecar | {")),
            "{all}"
        );
        assert!(lines.is_sorted(), "by time: {all}");
        let tail = fixture.succeeds(&["logs", "works", "--tail", "1", "--container", "sidecar"]);
        assert_eq!(tail.lines().count(), 1, "{tail}");
        let json = fixture.succeeds(&["logs", "works", "--container", "runtime", "-o", "json"]);
        let mut lines = json
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let handled = lines.find(|line| line["line"] == "handled logged").unwrap();
        assert_eq!(handled["container"], "asya-runtime");
    });
}

#[test]
fn logs_are_followed() {
    FIXTURE.run(async |fixture| {
        let mut stream = fixture.stream(&["logs", "works", "--follow", "--container", "runtime"]);
        for text in ["followed 1", "followed 2"] {
            let payload = json!({ "text": text }).to_string();
            fixture.succeeds(&["send", "works", &payload]);
            stream.until(&format!("handled {text}"));
        }
    });
}

/// A command that fails.
struct Case {
    reason: &'static str,
    user: User,
    arguments: &'static [&'static str],
    code: i32,
    message: &'static str,
}

const FAILURES: &[Case] = &[
    Case {
        reason: "no such actor",
        user: User::Operator,
        arguments: &["send", "nobody", "{}"],
        code: 2,
        message: "\"nobody\" not found",
    },
    Case {
        reason: "no permission to create Jobs",
        user: User::Viewer,
        arguments: &["send", "works", "{}"],
        code: 2,
        message: "cannot create resource \"jobs\"",
    },
    Case {
        reason: "no permission to read logs",
        user: User::Viewer,
        arguments: &["logs", "works"],
        code: 2,
        message: "cannot list resource \"pods\"",
    },
    Case {
        reason: "an image that does not exist",
        user: User::Operator,
        arguments: &["send", "works", "{}", "--image", "mirror/asya-sidecar:9"],
        code: 2,
        message: "cannot start: ImagePullBackOff: no such image",
    },
    Case {
        reason: "a dead letter that does not exist",
        user: User::Operator,
        arguments: &["dead-letters", "requeue", "works", "--id", "none"],
        code: 1,
        message: "the sidecar's command failed",
    },
];

#[test]
fn failures_have_a_status_and_a_remedy_and_leave_no_job() {
    FIXTURE.run_alone(async |fixture| {
        for case in FAILURES {
            let output = fixture.asya(case.user, case.arguments);
            let (reason, talk) = (case.reason, program::talk(&output));
            assert_eq!(output.status.code(), Some(case.code), "{reason}: {talk}");
            assert!(talk.contains(case.message), "{reason}: {talk}");
        }
        until("all Jobs are deleted", || async {
            fixture.jobs().is_empty().then_some(())
        })
        .await;
    });
}

#[test]
fn a_viewer_sees_the_numbers_of_the_broker() {
    FIXTURE.run(async |fixture| {
        let arguments = ["top", "works", "crashes", "--interval", "1", "-o", "json"];
        let output = fixture.asya(User::Viewer, &arguments);
        assert!(output.status.success(), "{}", program::talk(&output));
        let rows: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(rows.to_string().contains("works"), "{rows}");
    });
}
