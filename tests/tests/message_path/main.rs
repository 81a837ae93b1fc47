//! The way of a message on real parts: what is rendered for actors, our provider, RabbitMQ or moto
//! for SQS, and in each pod the runtime script beside our sidecar.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use test_cluster::{TIMEOUT, components, until};
use tests::caller::Caller;
use tests::mesh::{ENDS, Flavor, Mesh, Rendered, STEPS, Transport};
use tests::pod::{Pod, RUNTIME, SIDECAR};

/// Time for which a call continues after SIGTERM.
const HELD_ON: Duration = Duration::from_millis(300);

/// One pod of each actor.
struct Pods(BTreeMap<String, Pod>);

impl Pods {
    async fn start(mesh: &Mesh, actors: &BTreeMap<String, Rendered>) -> Self {
        let pods: BTreeMap<String, Pod> = actors
            .values()
            .map(|actor| (actor.actor.clone(), mesh.pod(actor, &actor.actor)))
            .collect();
        for pod in pods.values() {
            pod.started().await;
        }
        Self(pods)
    }

    /// Lines of an actor's runtime about a message.
    fn written_about(&self, actor: &str, id: &str) -> Vec<Value> {
        let lines = self.0[actor].lines(RUNTIME).into_iter();
        lines.filter(|line| line["id"] == id).collect()
    }

    /// Waits until an end actor has got a message; if it does not arrive, fails with what the pods wrote.
    async fn until_at(&self, end: &str, id: &str) -> Value {
        let start = Instant::now();
        loop {
            if let Some(written) = self.written_about(end, id).pop() {
                return written;
            }
            assert!(
                start.elapsed() < TIMEOUT,
                "{id} is not at {end}:\n{}",
                self.written()
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Returns the output of all pods.
    fn written(&self) -> String {
        let of_pod = |(actor, pod): (&String, &Pod)| {
            [SIDECAR, RUNTIME].map(|container| {
                let output = fs::read_to_string(pod.output(container));
                format!("{actor}, {container}:\n{}", output.unwrap_or_default())
            })
        };
        self.0.iter().flat_map(of_pod).collect()
    }

    async fn terminate(self) {
        for (actor, pod) in self.0 {
            let ending = pod.terminate().await;
            assert!(ending.is_clean(), "{actor}: {ending:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_follow_their_route_on_rabbitmq_and_survive_scaling_in() {
    check_the_path_on(Transport::RabbitMq).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_follow_their_route_on_sqs_and_survive_scaling_in() {
    check_the_path_on(Transport::Sqs).await;
}

/// In one test: at its end every message that was sent is accounted for.
async fn check_the_path_on(transport: Transport) {
    if components::is_skipped("the way of a message") {
        return;
    }
    let mesh = Mesh::start(transport).await;
    let actors = mesh.render(&Flavor::default());
    mesh.apply_queues(&actors).await;
    let mut pods = Pods::start(&mesh, &actors).await;
    let mut caller = mesh.caller().await;

    caller.send("whole", &json!({})).await;
    check_the_whole_way(&pods, "whole").await;
    caller.send("fails", &json!({"fail": "second"})).await;
    check_a_failure(&pods, "fails").await;

    let orders = [[RUNTIME, SIDECAR], [SIDECAR, RUNTIME]];
    for (round, order) in orders.iter().enumerate() {
        let (held, waiting) = (format!("held-{round}"), format!("waiting-{round}"));
        caller.send(&held, &json!({"hold": "second"})).await;
        let old = pods.0.remove("second").expect("a pod");
        let begun = old.volume("tmp").join(format!("{held}.begun"));
        until("the call has begun", || async {
            begun.is_file().then_some(())
        })
        .await;
        caller.send(&waiting, &json!({})).await;
        until("the next message waits", || async {
            (caller.waiting("second").await == 1).then_some(())
        })
        .await;
        scale_in(old, order, &held, &waiting).await;
        let new = mesh.pod(&actors["second"], &format!("second-{round}"));
        new.started().await;
        pods.0.insert("second".to_owned(), new);
        for id in [&held, &waiting] {
            pods.until_at("x-sink", id).await;
        }
    }
    check_a_timeout(&mesh, &mut caller, &mut pods).await;
    check_that_nothing_is_left(&caller, pods).await;
}

/// Each actor has it once, in the order of the route, and the sink has it once.
async fn check_the_whole_way(pods: &Pods, id: &str) {
    let arrived = pods.until_at("x-sink", id).await;
    assert_eq!(arrived["outcome"], "succeeded");
    for (index, step) in STEPS.iter().enumerate() {
        let written = pods.written_about(step, id);
        assert_eq!(written.len(), 1, "{step} runs once: {written:?}");
        assert_eq!(written[0]["trail"], json!(STEPS[..=index]), "{step}");
    }
    assert!(pods.written_about("x-sump", id).is_empty());
}

/// Checks that the message goes no further than to the actor that fails on it, and to the sump.
async fn check_a_failure(pods: &Pods, id: &str) {
    let arrived = pods.until_at("x-sump", id).await;
    assert_eq!(arrived["outcome"], "failed");
    assert_eq!(arrived["error"], "ValueError");
    assert_eq!(pods.written_about("first", id).len(), 1);
    for actor in ["second", "third", "x-sink"] {
        assert!(
            pods.written_about(actor, id).is_empty(),
            "{actor} has not run it"
        );
    }
}

/// A call takes longer than `actorTimeout`: the message is at the sump, once. The runtime, whose call
/// nothing ends, starts anew, and the next message is processed.
async fn check_a_timeout(mesh: &Mesh, caller: &mut Caller, pods: &mut Pods) {
    let flavor = Flavor {
        timeout: "1s".to_owned(),
        ..Flavor::default()
    };
    let hasty = mesh.pod(&mesh.render(&flavor)["third"], "hasty");
    hasty.started().await;
    let patient = pods.0.insert("third".to_owned(), hasty).expect("a pod");
    let ending = patient.terminate().await;
    assert!(ending.is_clean(), "{ending:?}");

    caller.send("late", &json!({"hold": "third"})).await;
    let arrived = pods.until_at("x-sump", "late").await;
    assert_eq!(arrived["error"], "asya.RuntimeTimeoutError");
    let hasty = &pods.0["third"];
    until("the runtime has ended and is started again", || async {
        (hasty.container(RUNTIME).restarts() == 1).then_some(())
    })
    .await;
    caller.send("after", &json!({})).await;
    pods.until_at("x-sink", "after").await;
    assert_eq!(pods.written_about("x-sump", "late").len(), 1);
    assert!(pods.written_about("third", "late").is_empty());
    assert_eq!(pods.0["third"].container(SIDECAR).restarts(), 0);
}

/// SIGTERM to both processes while a call runs: the call is finished, within the grace period; what
/// waits is left for the next pod.
async fn scale_in(pod: Pod, order: &[&str], held: &str, waiting: &str) {
    let reason = format!("SIGTERM in the order {order:?}");
    let output = pod.output(RUNTIME);
    let release = pod.volume("tmp").join(format!("{held}.release"));
    let released_later = async {
        tokio::time::sleep(HELD_ON).await;
        fs::write(&release, "").expect("a file");
    };
    let (ending, ()) = tokio::join!(pod.terminate_in(order), released_later);
    assert!(ending.is_clean(), "{reason}: {ending:?}");
    let text = fs::read_to_string(output).expect("what the runtime wrote");
    assert!(text.contains(held), "{reason}: the call is finished");
    assert!(!text.contains(waiting), "{reason}: no other one is begun");
}

/// Every message that succeeds has arrived once, and the queues are empty once all pods have ended.
async fn check_that_nothing_is_left(caller: &Caller, pods: Pods) {
    let actors = || STEPS.iter().chain(&ENDS);
    for actor in actors() {
        until(&format!("the queue of {actor} is empty"), || async {
            (caller.waiting(actor).await == 0).then_some(())
        })
        .await;
    }
    let output = pods.0["x-sink"].output(RUNTIME);
    pods.terminate().await;
    let text = fs::read_to_string(output).expect("what the sink wrote");
    let mut arrived: Vec<String> = text
        .lines()
        .map(|line| {
            let line: Value = serde_json::from_str(line).expect("JSON");
            line["id"].as_str().expect("an id").to_owned()
        })
        .collect();
    arrived.sort();
    let expected = [
        "after",
        "held-0",
        "held-1",
        "waiting-0",
        "waiting-1",
        "whole",
    ];
    assert_eq!(arrived, expected, "each arrives once");
    for actor in actors() {
        let left = caller.waiting(actor).await + caller.taken(actor).await;
        assert_eq!(left, 0, "nothing is left for {actor}");
    }
}
