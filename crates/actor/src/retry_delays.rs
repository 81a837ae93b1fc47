//! Delays of the retry queues that an actor on RabbitMQ needs.
//!
//! RabbitMQ has no delayed delivery. A message that is tried again waits in a queue
//! `<queue>-retry-<seconds>`, whose messages expire after that time and are dead-lettered back to
//! the actor's queue. The provider makes one queue for each delay listed here; the sidecar takes
//! the shortest one that is long enough and lets the message expire earlier where it needs less.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::backoff::{DEFAULT_ATTEMPTS, Delays, Growth};
use crate::duration;
use crate::spec::{Resiliency, Retry};

/// Most retry queues of one actor. A policy with more different delays gets a geometric series of
/// them.
pub const MAX_DELAYS: usize = 8;
/// Longest delay, in seconds: 24 hours, as [`MAX_DELAY`](crate::backoff::MAX_DELAY) has it.
pub const MAX_DELAY_SECONDS: u32 = 86_400;

/// Most steps that are computed of a policy: its delays have reached their limit by then, or are
/// covered by the series.
const MOST_STEPS: u32 = 64;

/// Returns the delays in whole seconds, ascending, at most [`MAX_DELAYS`]; empty if no policy tries
/// again. Values that cannot be read count as not set: the step that renders them reports them.
pub fn delays_seconds(resiliency: &Resiliency) -> Vec<u32> {
    let mut delays = BTreeSet::new();
    if is_given(&resiliency.retry) {
        add(&older(&resiliency.retry), &mut delays);
    }
    for policy in resiliency.policies.values() {
        add(&newer(policy), &mut delays);
    }
    series(delays)
}

/// Fields of a policy that determine its delays.
#[derive(Debug)]
struct Retries {
    /// None for no limit.
    attempts: Option<u32>,
    delays: Delays,
}

fn is_given(retry: &Retry) -> bool {
    *retry != Retry::default()
}

fn older(retry: &Retry) -> Retries {
    let coefficient = retry.backoff_coefficient.as_ref();
    let coefficient = coefficient
        .and_then(serde_json::Number::as_f64)
        .filter(|growth| *growth >= 1.0);
    let delays = delays(
        retry.policy.as_deref(),
        retry.initial_interval.as_deref(),
        retry.max_interval.as_deref(),
    );
    Retries {
        attempts: Some(retry.max_attempts.unwrap_or(DEFAULT_ATTEMPTS)),
        delays: Delays {
            coefficient: coefficient.unwrap_or(delays.coefficient),
            ..delays
        },
    }
}

fn newer(policy: &Map<String, Value>) -> Retries {
    let text = |key: &str| policy.get(key).and_then(Value::as_str);
    let attempts = policy.get("maxAttempts").and_then(Value::as_u64);
    let attempts = attempts.map(|attempts| u32::try_from(attempts).unwrap_or(u32::MAX));
    let is_limited_by_time = text("maxDuration").is_some();
    Retries {
        attempts: attempts.or_else(|| (!is_limited_by_time).then_some(1)),
        delays: delays(text("backoff"), text("initialDelay"), text("maxInterval")),
    }
}

fn delays(growth: Option<&str>, initial: Option<&str>, longest: Option<&str>) -> Delays {
    let defaults = Delays::default();
    let read = |text: Option<&str>| duration::parse_or_seconds(text?).ok();
    Delays {
        growth: growth.and_then(Growth::named).unwrap_or(defaults.growth),
        ..Delays::within(read(initial), read(longest))
    }
}

fn add(retries: &Retries, delays: &mut BTreeSet<u32>) {
    let count = retries.attempts.map_or(MOST_STEPS, |attempts| {
        attempts.saturating_sub(1).min(MOST_STEPS)
    });
    for attempt in 1..=count {
        delays.insert(whole_seconds(retries.delays.after(attempt).as_secs_f64()));
    }
}

/// Seconds rounded up, from 1 to [`MAX_DELAY_SECONDS`].
fn whole_seconds(seconds: f64) -> u32 {
    let seconds = seconds.ceil().clamp(1.0, f64::from(MAX_DELAY_SECONDS));
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to whole numbers that fit"
    )]
    {
        seconds as u32
    }
}

/// Returns at most [`MAX_DELAYS`] of the delays: all if they are few, else the first, the last and those
/// nearest above a geometric series between them.
fn series(delays: BTreeSet<u32>) -> Vec<u32> {
    let (Some(&first), Some(&last)) = (delays.first(), delays.last()) else {
        return Vec::new();
    };
    if delays.len() <= MAX_DELAYS {
        return delays.into_iter().collect();
    }
    let ratio = f64::from(last) / f64::from(first);
    let chosen: BTreeSet<u32> = (0..MAX_DELAYS)
        .filter_map(|rung| {
            let rung = f64::from(u32::try_from(rung).ok()?);
            let most = f64::from(u32::try_from(MAX_DELAYS - 1).ok()?);
            let wanted = whole_seconds(f64::from(first) * ratio.powf(rung / most));
            delays.range(wanted.min(last)..).next().copied()
        })
        .collect();
    chosen.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn delays_follow_from_policies() {
        let cases = [
            (json!({}), vec![], "no policy, no retry"),
            (
                json!({"retry": {"maxAttempts": 4, "initialInterval": "2s"}}),
                vec![2, 4, 8],
                "exponential by default",
            ),
            (
                json!({"retry": {"policy": "constant", "maxAttempts": 9, "initialInterval": "30s"}}),
                vec![30],
                "constant",
            ),
            (
                json!({"retry": {"maxAttempts": 1}}),
                vec![],
                "one attempt is no retry",
            ),
            (
                json!({"retry": {"maxAttempts": 6, "initialInterval": "100ms", "backoffCoefficient": 10}}),
                vec![1, 10, 100, 300],
                "whole seconds, and at most maxInterval",
            ),
            (
                json!({"policies": {"a": {"maxAttempts": 3, "backoff": "linear", "initialDelay": "5s"}}}),
                vec![5, 10],
                "linear",
            ),
            (
                json!({"policies": {"a": {"backoff": "constant", "initialDelay": "5s", "maxDuration": "1h"}, "b": {}}}),
                vec![5],
                "limited by time alone; a policy without attempts does not try again",
            ),
            (
                json!({"policies": {"a": {"maxAttempts": 400, "backoff": "linear", "initialDelay": "1s"}}}),
                vec![1, 2, 4, 6, 11, 20, 36, 64],
                "a series of very many",
            ),
        ];
        for (document, expected, reason) in cases {
            let resiliency: Resiliency = serde_json::from_value(document).unwrap();
            assert_eq!(delays_seconds(&resiliency), expected, "{reason}");
        }
    }
}
