//! When an object is looked at next.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::timings::Timings;

/// Annotation with an object's own poll interval, as a Go duration.
pub const POLL_INTERVAL: &str = "crossplane.io/poll-interval";

/// When to look at an object again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// When it changes.
    OnChange,
    /// After the poll interval.
    Poll,
    /// Soon, and ever later while this goes on.
    Backoff,
    /// After this time exactly.
    After(Duration),
}

/// The poll interval of an object.
///
/// Its own annotation decides; an unreadable one is ignored. Else the smaller of the
/// provider's and the interval of the counters, which travel with the same call. What
/// users asked for is raised to the shortest that is allowed.
pub fn poll_interval(
    annotations: &BTreeMap<String, String>,
    counters: Option<Duration>,
    timings: &Timings,
) -> Duration {
    let own = annotations
        .get(POLL_INTERVAL)
        .and_then(|text| actor::duration::parse(text).ok())
        .filter(|interval| !interval.is_zero());
    let asked = own.or_else(|| counters.filter(|counters| *counters < timings.poll));
    asked.map_or(timings.poll, |asked| asked.max(timings.shortest_poll))
}

/// `interval`, moved by up to the jitter; `chance` is random from 0 to 1.
///
/// Objects that were made together would else ask the broker together, for ever.
pub fn with_jitter(interval: Duration, chance: f64, timings: &Timings) -> Duration {
    let part = f64::from(timings.jitter_percent) / 100.0;
    interval.mul_f64(1.0 + part * (2.0 * chance.clamp(0.0, 1.0) - 1.0))
}

/// The wait after `failures` failures in a row, which are at least one.
pub fn backoff(failures: u32, timings: &Timings) -> Duration {
    let doublings = failures.saturating_sub(1).min(16);
    timings
        .first_backoff
        .saturating_mul(1 << doublings)
        .min(timings.longest_backoff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_of_polls_is_taken_unless_the_object_says_otherwise() {
        let seconds = Duration::from_secs;
        let cases = [
            ("counters are the shorter", None, Some(60), 60),
            ("counters are off", None, None, 600),
            ("counters are rare", None, Some(3600), 600),
            ("counters at every moment", None, Some(1), 5),
            ("the object's own", Some("30s"), Some(60), 30),
            ("the object's own, longer", Some("2h"), Some(60), 7200),
            ("raised to the shortest", Some("1ms"), Some(60), 5),
            ("unreadable", Some("often"), Some(60), 60),
            ("never is no interval", Some("0s"), Some(60), 60),
        ];
        for (reason, own, counters, expected) in cases {
            let own = own.map(|own| (POLL_INTERVAL.to_owned(), own.to_owned()));
            let annotations = BTreeMap::from_iter(own);
            let found = poll_interval(&annotations, counters.map(seconds), &Timings::default());
            assert_eq!(found, seconds(expected), "{reason}");
        }
    }

    #[test]
    fn jitter_moves_a_poll_by_a_tenth_at_most() {
        let timings = Timings::default();
        for (chance, expected) in [(0.0, 90), (0.5, 100), (1.0, 110), (7.0, 110)] {
            let found = with_jitter(Duration::from_secs(100), chance, &timings);
            assert_eq!(found.as_millis(), expected * 1000, "{chance}");
        }
    }

    #[test]
    fn waits_double_up_to_a_minute() {
        let timings = Timings::default();
        let waits: Vec<u64> = (1..=8)
            .map(|failures| backoff(failures, &timings).as_secs())
            .collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(backoff(u32::MAX, &timings).as_secs(), 60);
    }
}
