//! Delays of the retry queues that an actor on RabbitMQ needs.
//!
//! RabbitMQ has no delayed delivery. A message that is tried again waits in a queue
//! `<queue>-retry-<seconds>`, whose messages expire after that time and are dead-lettered back to
//! the actor's queue. The provider makes one queue for each delay listed here; the sidecar takes
//! the shortest one that is long enough and lets the message expire earlier where it needs less.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::duration;
use crate::spec::{Resiliency, Retry};

/// Most retry queues of one actor. A policy with more different delays gets a geometric series of
/// them.
pub const MAX_DELAYS: usize = 8;
/// Longest delay, in seconds: 24 hours, as in the sidecar.
pub const MAX_DELAY_SECONDS: u32 = 86_400;

/// Delay before the second attempt where a policy gives none.
const INITIAL: Duration = Duration::from_secs(1);
/// Longest delay where a policy gives none.
const LONGEST: Duration = Duration::from_mins(5);
/// Growth of an exponential delay where a policy gives none.
const COEFFICIENT: f64 = 2.0;
/// Attempts of the older form where it gives none.
const ATTEMPTS: u32 = 3;
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

/// What of a policy decides its delays.
#[derive(Debug)]
struct Growth {
    /// None for no limit.
    attempts: Option<u32>,
    backoff: Backoff,
    initial: Duration,
    longest: Duration,
    coefficient: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Backoff {
    Constant,
    Linear,
    Exponential,
}

fn is_given(retry: &Retry) -> bool {
    *retry != Retry::default()
}

fn older(retry: &Retry) -> Growth {
    let backoff = match retry.policy.as_deref() {
        Some("constant") => Backoff::Constant,
        _ => Backoff::Exponential,
    };
    let coefficient = retry.backoff_coefficient.as_ref();
    Growth {
        attempts: Some(retry.max_attempts.unwrap_or(ATTEMPTS)),
        backoff,
        initial: read(retry.initial_interval.as_deref()).unwrap_or(INITIAL),
        longest: read(retry.max_interval.as_deref()).unwrap_or(LONGEST),
        coefficient: coefficient
            .and_then(serde_json::Number::as_f64)
            .filter(|growth| *growth >= 1.0)
            .unwrap_or(COEFFICIENT),
    }
}

fn newer(policy: &Map<String, Value>) -> Growth {
    let text = |key: &str| policy.get(key).and_then(Value::as_str);
    let attempts = policy.get("maxAttempts").and_then(Value::as_u64);
    let attempts = attempts.map(|attempts| u32::try_from(attempts).unwrap_or(u32::MAX));
    let is_limited_by_time = text("maxDuration").is_some();
    Growth {
        attempts: attempts.or_else(|| (!is_limited_by_time).then_some(1)),
        backoff: match text("backoff") {
            Some("constant") => Backoff::Constant,
            Some("linear") => Backoff::Linear,
            _ => Backoff::Exponential,
        },
        initial: read(text("initialDelay")).unwrap_or(INITIAL),
        longest: read(text("maxInterval")).unwrap_or(LONGEST),
        coefficient: COEFFICIENT,
    }
}

fn read(text: Option<&str>) -> Option<Duration> {
    duration::parse_or_seconds(text?).ok()
}

fn add(growth: &Growth, delays: &mut BTreeSet<u32>) {
    let retries = growth.attempts.map_or(MOST_STEPS, |attempts| {
        attempts.saturating_sub(1).min(MOST_STEPS)
    });
    for step in 0..retries {
        let initial = growth.initial.as_secs_f64();
        let seconds = match growth.backoff {
            Backoff::Constant => initial,
            Backoff::Linear => initial * f64::from(step + 1),
            Backoff::Exponential => {
                initial
                    * growth
                        .coefficient
                        .powi(i32::try_from(step).unwrap_or(i32::MAX))
            }
        };
        let seconds = seconds.min(growth.longest.as_secs_f64());
        delays.insert(whole_seconds(seconds));
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

/// At most [`MAX_DELAYS`] of the delays: all where they are few, else the first and the last and
/// those nearest above a geometric series between them.
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
