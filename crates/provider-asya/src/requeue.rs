//! Time of an object's next reconcile.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::timings::Timings;

/// Annotation with an object's own poll interval, as a Go duration.
pub const POLL_INTERVAL: &str = "crossplane.io/poll-interval";

/// Time of an object's next reconcile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requeue {
    /// When it changes.
    OnChange,
    /// After the poll interval.
    Poll,
    /// After a backoff that doubles with each consecutive one.
    Backoff,
    /// After this time exactly.
    After(Duration),
}

/// Poll interval of an object.
///
/// The object's annotation wins; an invalid one is ignored. Without it, the smaller of the provider's
/// poll interval and the interval of counters, which come with the same call. An interval that a
/// user sets is raised to [`Timings::shortest_poll`].
pub fn poll_interval(
    annotations: &BTreeMap<String, String>,
    counters: Option<Duration>,
    timings: &Timings,
) -> Duration {
    let own = annotations
        .get(POLL_INTERVAL)
        .and_then(|text| actor::duration::parse(text).ok())
        .filter(|interval| !interval.is_zero());
    let requested = own.or_else(|| counters.filter(|counters| *counters < timings.poll));
    requested.map_or(timings.poll, |interval| interval.max(timings.shortest_poll))
}

/// `interval` with random jitter; `chance` is random, 0 to 1.
///
/// Without jitter, objects that were created together would poll the broker together for ever.
pub fn with_jitter(interval: Duration, chance: f64, timings: &Timings) -> Duration {
    let part = f64::from(timings.jitter_percent) / 100.0;
    interval.mul_f64(1.0 + part * (2.0 * chance.clamp(0.0, 1.0) - 1.0))
}

/// The wait after `retries` consecutive retries, at least one.
pub fn backoff(retries: u32, timings: &Timings) -> Duration {
    let doublings = retries.saturating_sub(1).min(16);
    timings
        .first_backoff
        .saturating_mul(1 << doublings)
        .min(timings.longest_backoff)
}

/// A random number, 0 to 1, for jitter. Nothing depends on its quality.
pub fn chance() -> f64 {
    use std::hash::BuildHasher as _;
    let random = std::collections::hash_map::RandomState::new().hash_one(0_u8);
    #[expect(
        clippy::cast_precision_loss,
        reason = "jitter needs no more than 32 bits"
    )]
    let chance = (random >> 32) as f64 / f64::from(u32::MAX);
    chance
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_annotation_wins_over_the_shorter_of_both_intervals() {
        let seconds = Duration::from_secs;
        let cases = [
            ("counters are the shorter", None, Some(60), 60),
            ("counters are off", None, None, 600),
            ("counters are rare", None, Some(3600), 600),
            ("counters all the time", None, Some(1), 5),
            ("the object's own", Some("30s"), Some(60), 30),
            ("the object's own, longer", Some("2h"), Some(60), 7200),
            ("raised to the shortest", Some("1ms"), Some(60), 5),
            ("unreadable", Some("often"), Some(60), 60),
            ("zero is no interval", Some("0s"), Some(60), 60),
        ];
        for (reason, own, counters, expected) in cases {
            let own = own.map(|own| (POLL_INTERVAL.to_owned(), own.to_owned()));
            let annotations = BTreeMap::from_iter(own);
            let found = poll_interval(&annotations, counters.map(seconds), &Timings::default());
            assert_eq!(found, seconds(expected), "{reason}");
        }
    }

    #[test]
    fn jitter_changes_an_interval_by_a_tenth_at_most() {
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
            .map(|retries| backoff(retries, &timings).as_secs())
            .collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(backoff(u32::MAX, &timings).as_secs(), 60);
    }

    #[test]
    fn chances_are_between_0_and_1() {
        assert!((0..100).all(|_| (0.0..=1.0).contains(&chance())));
    }
}
