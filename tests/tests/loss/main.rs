//! Messages lost and doubled while things break: many messages through three actors on RabbitMQ, with
//! everything of [`tests::mesh`] real, and one kind of fault at a time.
//!
//! `cargo xtask loss` measures; the ordinary tests make a short run of it. `docs/reliability.md` has the
//! figures and explains them.

mod faults;
mod fleet;
mod ledger;
mod pump;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use test_cluster::components;
use tests::mesh::{ENDS, Flavor, Mesh, STEPS, Transport, queue};

use faults::Fault;
use fleet::Fleet;
use ledger::{Count, Ledger};

/// Time without arrivals after which the messages that are missing count as lost. Longer than the
/// broker needs to start.
const SILENCE: Duration = Duration::from_mins(2);

/// Number of messages for each fault, by default.
const MESSAGES: usize = 20_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_message_is_lost_when_processes_are_killed_and_pods_scaled_in() {
    if components::is_skipped("messages while things break") {
        return;
    }
    let mut mesh = Mesh::start(Transport::RabbitMq).await;
    let plan = Plan {
        name: "short".to_owned(),
        faults: vec![Fault::KillRuntime, Fault::KillSidecar, Fault::ScaleIn],
        every: 20,
        messages: 300,
    };
    let run = run(&mut mesh, &plan).await;
    assert!(run.strikes >= plan.faults.len(), "each has struck: {run:?}");
    assert_eq!(run.count.sent, plan.messages, "{run:?}");
    assert_eq!(run.count.lost, 0, "{run:?}");
    assert_eq!(run.count.failed, 0, "no message is at fault: {run:?}");
}

/// Prints the table of `docs/reliability.md`. `ASYA_LOSS_MESSAGES` is the number of messages for each fault,
/// `ASYA_LOSS_FAULT` names one fault alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes an hour: cargo xtask loss"]
async fn messages_lost_and_doubled_per_million() {
    let messages = std::env::var("ASYA_LOSS_MESSAGES").ok();
    let messages = messages.map_or(MESSAGES, |text| text.parse().expect("a number of messages"));
    let only = std::env::var("ASYA_LOSS_FAULT").ok();
    let is_known = |only: &String| Fault::ALL.iter().any(|fault| fault.name() == only);
    assert!(only.iter().all(is_known), "no fault is named {only:?}");
    let mut mesh = Mesh::start(Transport::RabbitMq).await;
    println!(
        "| Fault | Messages | Times it struck | Lost | Doubled | Failed \
         | Lost per million | Doubled per million | Time |\n|---|---|---|---|---|---|---|---|---|"
    );
    for fault in Fault::ALL {
        if only.as_ref().is_some_and(|only| only != fault.name()) {
            continue;
        }
        let plan = Plan {
            name: fault.name().to_owned(),
            faults: vec![fault],
            every: fault.every(),
            messages,
        };
        let run = run(&mut mesh, &plan).await;
        println!("{}", row(fault, &run));
    }
}

/// Plan of a run.
struct Plan {
    /// Number of the run, for ids and pods; unique on a mesh.
    name: String,
    /// Faults, in turn.
    faults: Vec<Fault>,
    /// After how many messages that have arrived it does.
    every: usize,
    messages: usize,
}

/// Result of a run.
#[derive(Debug)]
struct Run {
    count: Count,
    strikes: usize,
    time: Duration,
    /// Messages in dead letter queues.
    dead: u32,
}

/// Sends messages through new pods while faults strike, and waits until all have come to an end.
async fn run(mesh: &mut Mesh, plan: &Plan) -> Run {
    let Plan { name, messages, .. } = plan;
    let start = Instant::now();
    let mut fleet = Fleet::start(mesh, name, Flavor::default()).await;
    let mut ledger = Ledger::new(name, *messages);
    let arrived = Arc::new(AtomicUsize::new(0));
    let pump = pump::send(mesh.login(), name.clone(), *messages, Arc::clone(&arrived));
    let mut pump = tokio::spawn(pump);
    let mut kept = None;
    let (mut strikes, mut last) = (0, Instant::now());
    loop {
        for output in fleet.outputs() {
            ledger.read(output);
        }
        let count = ledger.arrived();
        if arrived.swap(count, Ordering::Relaxed) != count {
            last = Instant::now();
        }
        if pump.is_finished() && kept.is_none() {
            kept = Some((&mut pump).await.expect("the pump does not fail"));
        }
        let is_whole = kept
            .as_ref()
            .is_some_and(|kept| ledger.count(kept).lost == 0);
        if is_whole || last.elapsed() > SILENCE {
            break;
        }
        if count / plan.every > strikes && count < *messages {
            let (turn, fault) = (strikes / plan.faults.len(), strikes % plan.faults.len());
            plan.faults[fault].strike(mesh, &mut fleet, turn).await;
            strikes += 1;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    for output in fleet.drain(mesh).await {
        ledger.read(&output);
    }
    Run {
        count: ledger.count(&kept.expect("the broker takes all messages")),
        strikes,
        time: start.elapsed(),
        dead: dead(mesh).await,
    }
}

async fn dead(mesh: &Mesh) -> u32 {
    let link = mesh.link().await;
    let mut dead = 0;
    for actor in STEPS.iter().chain(&ENDS) {
        let queue = format!("{}-dlq", queue(actor));
        dead += link.waiting(&queue).await.expect("a count");
    }
    dead
}

fn row(fault: Fault, run: &Run) -> String {
    let Count {
        sent,
        lost,
        doubled,
        failed,
    } = run.count;
    let per_million = |count: usize| count * 1_000_000 / sent.max(1);
    let dead = match run.dead {
        0 => String::new(),
        dead => format!(" ({dead} messages in dead letter queues)"),
    };
    format!(
        "| {} | {sent} | {} | {lost}{dead} | {doubled} | {failed} | {} | {} | {} s |",
        fault.description(),
        run.strikes,
        per_million(lost),
        per_million(doubled),
        run.time.as_secs(),
    )
}
