//! The time from a message for an actor without pods until it is handled, and what it is spent on.

use std::io::BufReader;
use std::process::{Child, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::{Story, TIMEOUT};
use crate::cluster::control_plane::kubectl;
use crate::cluster::poll::until;
use crate::cluster::process::Processes;
use crate::cluster::workloads::apply_text;

/// An actor whose results have the times at which its handler was imported and called.
const ACTOR: &str = include_str!("first_message.yaml");

/// Namespace of the actor, and its name.
const NAMESPACE: &str = "first-message";

/// Queue at the end of the route, which only this program reads.
const END: &str = "first-message-end";

/// What happens between two neighbours of the moments of a round.
const SPANS: [&str; 5] = [
    "KEDA sees the message, and scales the Deployment",
    "a pod is created and scheduled",
    "its containers are started, images being there",
    "the runtime starts and imports the handler",
    "the sidecar receives the message, and the handler is called",
];

/// Sends one message after the other, each when there is no pod any more, and prints the spans.
pub(super) fn measure(
    story: &Story<'_>,
    rounds: usize,
    processes: &mut Processes<'_>,
) -> Result<()> {
    story.create_namespace(NAMESPACE, &json!({}))?;
    apply_text(story.instance, ACTOR)?;
    story.broker.create_queue(END)?;
    let mut spans: [Vec<Duration>; SPANS.len()] = Default::default();
    let mut totals = Vec::new();
    for round in 1..=rounds {
        story.wait_for_status(NAMESPACE, NAMESPACE, "Napping", "")?;
        story.wait_for_no_pods(NAMESPACE, NAMESPACE)?;
        let moments = play_round(story, round)?;
        for (span, pair) in spans.iter_mut().zip(moments.windows(2)) {
            span.push(pair[1].saturating_sub(pair[0]));
        }
        totals.push(moments[SPANS.len()].saturating_sub(moments[0]));
        processes.print(&format!("first message, round {round} of {rounds}"))?;
    }
    processes.print("first message: median, shortest and longest of each span")?;
    for (what, span) in SPANS.iter().zip(&mut spans) {
        processes.print(&format!("{}  {what}", summary(span)))?;
    }
    let all = summary(&mut totals);
    processes.print(&format!("{all}  all: published until handled"))?;
    story.delete_namespace(NAMESPACE)
}

fn summary(spans: &mut [Duration]) -> String {
    spans.sort_unstable();
    let [first, .., last] = spans else {
        return spans
            .iter()
            .map(|only| format!("{:6.2} s", only.as_secs_f64()))
            .collect();
    };
    let (first, last) = (first.as_secs_f64(), last.as_secs_f64());
    let median = spans[spans.len() / 2].as_secs_f64();
    format!("{median:6.2} s ({first:.2} to {last:.2})")
}

/// The moments at which the spans begin and end, as times since the epoch.
fn play_round(story: &Story<'_>, round: usize) -> Result<[Duration; SPANS.len() + 1]> {
    let (sender, events) = mpsc::channel();
    let _deployments = Watch::start(story, "deployments", &sender)?;
    let _pods = Watch::start(story, "pods", &sender)?;
    let published = now();
    let id = format!("round-{round}");
    story.broker.publish(&id, &[NAMESPACE, END], &json!({}))?;
    let scaled = moment(&events, |object| {
        object["kind"] == "Deployment" && object["spec"]["replicas"].as_u64() >= Some(1)
    })?;
    let is_scheduled = |object: &Value| {
        let conditions = object["status"]["conditions"].as_array();
        conditions.is_some_and(|conditions| {
            conditions.iter().any(|condition| {
                condition["type"] == "PodScheduled" && condition["status"] == "True"
            })
        })
    };
    let scheduled = moment(&events, is_scheduled)?;
    let runs = |object: &Value| {
        let containers = object["status"]["containerStatuses"].as_array();
        containers.is_some_and(|containers| {
            containers
                .iter()
                .all(|container| !container["state"]["running"].is_null())
        })
    };
    let started = moment(&events, runs)?;
    let result = until("the message is handled", TIMEOUT, || {
        let mut messages = story.broker.take(END)?;
        Ok(messages.pop().ok_or_else(|| "nothing".to_owned()))
    })?;
    let time = |name: &str| {
        let seconds = result["payload"][name].as_f64();
        let seconds = seconds.with_context(|| format!("the result has no {name:?}: {result}"))?;
        anyhow::Ok(Duration::from_secs_f64(seconds))
    };
    Ok([
        published,
        scaled,
        scheduled,
        started,
        time("imported")?,
        time("called")?,
    ])
}

/// When the first event for which this holds arrived.
fn moment(
    events: &Receiver<(Duration, Value)>,
    holds: impl Fn(&Value) -> bool,
) -> Result<Duration> {
    loop {
        let (time, object) = events
            .recv_timeout(TIMEOUT)
            .context("the cluster reports no progress of the actor's pods")?;
        if holds(&object) {
            return Ok(time);
        }
    }
}

fn now() -> Duration {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
}

/// A watch of objects, which ends when it is dropped.
struct Watch(Child);

impl Watch {
    /// Sends every state of the objects with the time at which it arrived.
    fn start(story: &Story<'_>, kind: &str, sender: &Sender<(Duration, Value)>) -> Result<Self> {
        let line = format!("get {kind} --namespace {NAMESPACE} --watch-only --output json");
        let mut watch = kubectl(story.instance, &line)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start kubectl")?;
        let output = watch.stdout.take().context("the pipe was asked for")?;
        let sender = sender.clone();
        thread::spawn(move || {
            let objects = serde_json::Deserializer::from_reader(BufReader::new(output));
            // Half an object at the end is that the watch has ended.
            for object in objects.into_iter::<Value>().map_while(Result::ok) {
                if sender.send((now(), object)).is_err() {
                    break;
                }
            }
        });
        Ok(Self(watch))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}
