//! Counts of actors: messages, pods, and how fast queues grow or shrink.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::ActorState;
use crate::table::columns;
use crate::visible::visible_line;

/// Columns by which rows are sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// By namespace and name.
    Name,
    /// Waiting messages, most first.
    Queued,
    /// Messages in work, most first.
    Processing,
    /// Ready pods, most first.
    Ready,
    /// Dead letters, most first.
    Dead,
}

/// The counts of one actor.
#[derive(Debug, Clone, PartialEq)]
pub struct Counts {
    /// The actor.
    pub state: ActorState,
    /// Messages per second by which its queue grows; below 0 it shrinks. None without an earlier read.
    pub change: Option<f64>,
}

/// The messages in queues at one time, by namespace and name of the actor.
pub type Levels = BTreeMap<(String, String), u64>;

/// The waiting and processed messages of each actor, where both are known.
pub fn levels(states: &[ActorState]) -> Levels {
    let level = |state: &ActorState| {
        let queued = state.queue.queued?;
        Some(queued + state.queue.processing.unwrap_or_default())
    };
    let known = states
        .iter()
        .filter_map(|state| Some(((state.namespace.clone(), state.name.clone()), level(state)?)));
    known.collect()
}

/// The counts of actors, with the change since an earlier read.
pub fn counts(
    states: Vec<ActorState>,
    before: Option<(&Levels, Duration)>,
    order: Order,
) -> Vec<Counts> {
    let now = levels(&states);
    let mut counts: Vec<Counts> = states
        .into_iter()
        .map(|state| {
            let key = (state.namespace.clone(), state.name.clone());
            let change = before.and_then(|(levels, time)| {
                let seconds = time.as_secs_f64();
                let (old, new) = (*levels.get(&key)?, *now.get(&key)?);
                #[expect(
                    clippy::cast_precision_loss,
                    reason = "counts of messages are below 2^53"
                )]
                let change = (new as f64 - old as f64) / seconds;
                (seconds > 0.0).then_some(change)
            });
            Counts { state, change }
        })
        .collect();
    // The states are sorted by name, and the sort keeps the order of equal counts.
    counts.sort_by_key(|it| {
        let count = match order {
            Order::Name => Some(0),
            Order::Queued => it.state.queue.queued,
            Order::Processing => it.state.queue.processing,
            Order::Ready => it.state.replicas.ready.map(u64::from),
            Order::Dead => it.state.queue.dead_lettered,
        };
        std::cmp::Reverse(count)
    });
    counts
}

/// A table with a row for each actor and a row of sums, cut to a width in characters.
pub fn table(counts: &[Counts], width: Option<usize>) -> String {
    fn shown<T: ToString>(count: Option<T>) -> String {
        count.map_or_else(|| "-".to_owned(), |it| it.to_string())
    }
    let rate =
        |change: Option<f64>| change.map_or_else(|| "-".to_owned(), |it| format!("{it:+.1}"));
    let rows = counts.iter().map(|Counts { state, change }| {
        let pods = state.replicas;
        [
            visible_line(&format!("{}/{}", state.namespace, state.name)).into_owned(),
            visible_line(&state.status).into_owned(),
            shown(state.queue.queued),
            shown(state.queue.processing),
            rate(*change),
            shown(state.queue.dead_lettered),
            shown(pods.ready),
            shown(pods.desired),
        ]
    });
    let sum = |of: fn(&ActorState) -> Option<u64>| {
        counts
            .iter()
            .filter_map(|it| of(&it.state))
            .sum::<u64>()
            .to_string()
    };
    let changes: Vec<f64> = counts.iter().filter_map(|it| it.change).collect();
    let total = [
        format!("{} actors", counts.len()),
        String::new(),
        sum(|it| it.queue.queued),
        sum(|it| it.queue.processing),
        rate((!changes.is_empty()).then(|| changes.iter().sum())),
        sum(|it| it.queue.dead_lettered),
        sum(|it| it.replicas.ready.map(u64::from)),
        sum(|it| it.replicas.desired.map(u64::from)),
    ];
    let head = [
        "ACTOR",
        "STATUS",
        "QUEUED",
        "PROCESSING",
        "CHANGE/S",
        "DEAD",
        "READY",
        "DESIRED",
    ];
    let mut text = String::new();
    columns(head, rows.chain([total]), width, &mut text);
    text.trim_start().to_owned()
}

/// The counts as a JSON list.
pub fn json(counts: &[Counts]) -> Value {
    let document = |it: &Counts| {
        json!({
            "namespace": it.state.namespace, "name": it.state.name, "status": it.state.status,
            "queued": it.state.queue.queued, "processing": it.state.queue.processing,
            "changePerSecond": it.change, "deadLettered": it.state.queue.dead_lettered,
            "ready": it.state.replicas.ready, "desired": it.state.replicas.desired,
        })
    };
    counts.iter().map(document).collect()
}
