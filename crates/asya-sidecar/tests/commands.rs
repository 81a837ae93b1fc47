//! Commands for operators.

mod rig;

use std::collections::BTreeMap;
use std::process::{Command, Output};

use rig::envelope;
use rig::rabbit::Rabbit;
use rig::sqs::Sqs;
use serde_json::{Value, json};

fn run(environment: &BTreeMap<String, String>, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_asya-sidecar"));
    let command = command.env_clear().envs(environment).args(arguments);
    command.output().expect("the program starts")
}

fn lines(output: &Output) -> Vec<String> {
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout.clone()).expect("text");
    text.lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn messages_are_sent_shown_and_requeued_on_rabbitmq() {
    let rabbit = Rabbit::start().await;
    rabbit.queue("a").await;
    rabbit
        .declare("asya-a-dlq", &json!({"x-queue-type": "quorum"}))
        .await;
    let environment = rabbit.environment("a");
    let sent = run(
        &environment,
        &["send", "a", r#"{"x": 1.0}"#, "--id", "m", "--next", "b,c"],
    );
    assert_eq!(lines(&sent), ["m"]);
    for _ in 0..2 {
        let shown = lines(&run(&environment, &["peek"]));
        let shown: Vec<Value> = shown.iter().map(|line| line.parse().unwrap()).collect();
        assert_eq!(shown.len(), 1);
        assert_eq!(
            shown[0]["route"],
            json!({"prev": [], "curr": "a", "next": ["b", "c"]})
        );
    }
    assert_eq!(rabbit.take("a").await.len(), 1, "it stays");
    rabbit.bind_to("asya-a-dlq", "dead").await;
    for id in ["p", "q", "r"] {
        rabbit
            .send("dead", &envelope(id, "a", &[], &json!({})))
            .await;
    }
    let one = run(&environment, &["requeue", "--id", "q"]);
    assert_eq!(lines(&one), ["q"]);
    assert_eq!(lines(&run(&environment, &["peek", "--dead"])).len(), 2);
    assert_eq!(lines(&run(&environment, &["requeue", "--all"])).len(), 2);
    let back: Vec<Value> = rabbit.take("a").await;
    assert_eq!(back.len(), 3);
    let none = run(&environment, &["requeue", "--all"]);
    assert_eq!(none.status.code(), Some(1));
    let missing = run(&environment, &["send", "nobody", "{}"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("no queue receives"));
}

#[tokio::test]
async fn dead_letters_are_dropped_and_the_others_stay() {
    let rabbit = Rabbit::start().await;
    rabbit.queue("a").await;
    rabbit
        .declare("asya-a-dlq", &json!({"x-queue-type": "quorum"}))
        .await;
    rabbit.bind_to("asya-a-dlq", "dead").await;
    for id in ["p", "q", "r"] {
        let message = envelope(id, "a", &[], &json!({}));
        rabbit.send("dead", &message).await;
    }
    let environment = rabbit.environment("a");
    let dropped = run(&environment, &["drop", "--id", "q"]);
    assert_eq!(lines(&dropped), ["q"]);
    let none = run(&environment, &["drop", "--id", "q"]);
    assert_eq!(none.status.code(), Some(1));
    assert_eq!(lines(&run(&environment, &["peek", "--dead"])).len(), 2);
    assert_eq!(lines(&run(&environment, &["drop", "--all"])).len(), 2);
    assert!(lines(&run(&environment, &["peek", "--dead"])).is_empty());
    assert!(rabbit.take("a").await.is_empty(), "nothing was moved");
}

#[tokio::test]
async fn messages_are_sent_shown_and_requeued_on_sqs() {
    let sqs = Sqs::start().await;
    sqs.queue("a").await;
    sqs.queue("a-dlq").await;
    let environment = sqs.environment("a");
    assert_eq!(
        lines(&run(&environment, &["send", "a", "1", "--id", "m"])),
        ["m"]
    );
    assert_eq!(lines(&run(&environment, &["peek"])).len(), 1);
    for id in ["p", "q"] {
        sqs.send("a-dlq", &envelope(id, "a", &[], &json!({}))).await;
    }
    assert_eq!(lines(&run(&environment, &["requeue", "--id", "q"])), ["q"]);
    sqs.until_counts("a-dlq", [1, 0, 0]).await;
    sqs.until_counts("a", [2, 0, 0]).await;
}

#[test]
fn the_runtime_files_are_written_without_an_environment() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("asya");
    let output = run(
        &BTreeMap::new(),
        &["runtime-files", "--to", to.to_str().unwrap()],
    );
    assert!(output.status.success(), "{output:?}");
    assert!(to.join("asya_runtime.py").is_file() && to.join("end_actors/__init__.py").is_file());
}

#[tokio::test]
async fn what_fails_again_while_dead_letters_are_requeued_is_not_requeued_in_a_circle() {
    let rabbit = Rabbit::start().await;
    // Whatever comes back to this queue is a dead letter at once.
    let back = json!({"x-message-ttl": 0, "x-dead-letter-exchange": "",
        "x-dead-letter-routing-key": "asya-a-dlq"});
    rabbit.declare("asya-a", &back).await;
    rabbit.declare("asya-a-dlq", &json!({})).await;
    rabbit.bind_to("asya-a-dlq", "dead").await;
    for id in ["p", "q"] {
        let mut letter = envelope(id, "a", &[], &json!({}));
        letter["status"] = json!({"attempt": 3});
        rabbit.send("dead", &letter).await;
    }
    let moved = run(&rabbit.environment("a"), &["requeue", "--all"]);
    assert_eq!(lines(&moved), ["p", "q"]);
    rabbit.until_count("asya-a-dlq", 2).await;
}
