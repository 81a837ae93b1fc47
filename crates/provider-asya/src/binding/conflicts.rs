//! Conflicts: how often another controller has removed what was injected, and when it is applied again.
//!
//! Each time restarts the target's pods, which on GPUs takes minutes. So each wait is twice as long as
//! the one before, and after [`CONFLICTS_MAX`] conflicts nothing is applied: the owner of the workload
//! wins.

use std::time::Duration;

use actor::binding::{AtProvider, CONFLICTS_MAX};
use jiff::Timestamp;

use crate::timings::Timings;

/// The conflicts that count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Conflicts {
    /// Conflicts since the spec changed or [`Timings::conflict_quiet`] passed without one.
    pub count: u32,
    /// Time at which the last one was observed.
    pub last: Option<Timestamp>,
}

impl Conflicts {
    /// Conflicts in a status.
    pub fn reported(before: &AtProvider) -> Self {
        let last = before.last_conflict_time.as_deref();
        Self {
            count: before.conflict_count.unwrap_or_default(),
            last: last.and_then(|time| time.parse().ok()),
        }
    }

    /// The same history, with a count of 0.
    #[must_use]
    pub fn reset(self) -> Self {
        Self { count: 0, ..self }
    }

    /// Conflicts at a time: the count is reset after [`Timings::conflict_quiet`], unless the provider has
    /// given up. Nothing is applied then, so the quiet time means nothing.
    #[must_use]
    pub fn at(self, now: Timestamp, timings: &Timings) -> Self {
        let is_quiet = self.quiet_for(now) >= Some(timings.conflict_quiet);
        if is_quiet && !self.are_too_many() {
            self.reset()
        } else {
            self
        }
    }

    /// Returns these conflicts and one more.
    #[must_use]
    pub fn and_one(self, now: Timestamp, timings: &Timings) -> Self {
        Self {
            count: self.at(now, timings).count.saturating_add(1),
            last: Some(now),
        }
    }

    /// Returns whether the provider gives up.
    pub fn are_too_many(self) -> bool {
        self.count > CONFLICTS_MAX
    }

    /// Wait after the last conflict before the intent is applied again.
    pub fn backoff(self, timings: &Timings) -> Duration {
        let doublings = self.count.saturating_sub(1).min(CONFLICTS_MAX);
        timings.conflict_backoff.saturating_mul(1 << doublings)
    }

    /// The rest of the backoff; none when it has passed.
    pub fn wait(self, now: Timestamp, timings: &Timings) -> Option<Duration> {
        let left = self.backoff(timings).checked_sub(self.quiet_for(now)?)?;
        (!left.is_zero()).then_some(left)
    }

    /// Time until the count is reset.
    pub fn reset_in(self, now: Timestamp, timings: &Timings) -> Option<Duration> {
        if self.count == 0 {
            return None;
        }
        timings.conflict_quiet.checked_sub(self.quiet_for(now)?)
    }

    /// Time since the last conflict; 0 where the clock was set back.
    fn quiet_for(self, now: Timestamp) -> Option<Duration> {
        let since = now.duration_since(self.last?);
        Some(Duration::try_from(since).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    fn conflicts(count: u32, last: i64) -> Conflicts {
        Conflicts {
            count,
            last: Some(at(last)),
        }
    }

    #[test]
    fn backoff_doubles_and_the_sixth_conflict_is_the_last() {
        let timings = Timings::default();
        let mut now = 0;
        let mut conflicts = Conflicts::default();
        let mut waits = Vec::new();
        while !conflicts.are_too_many() {
            conflicts = conflicts.and_one(at(now), &timings);
            let wait = conflicts.wait(at(now), &timings).unwrap().as_secs();
            waits.push(wait);
            now += i64::try_from(wait).unwrap();
            assert_eq!(
                conflicts.wait(at(now), &timings),
                None,
                "the backoff has passed"
            );
        }
        assert_eq!(waits, [10, 20, 40, 80, 160, 320]);
        assert_eq!(conflicts.count, 6);
    }

    #[test]
    fn a_quiet_hour_resets_the_count() {
        let timings = Timings::default();
        let cases = [
            ("a minute later", conflicts(3, 0), 60, 3, 4),
            ("a second too soon", conflicts(3, 0), 3599, 3, 4),
            ("an hour later", conflicts(3, 0), 3600, 0, 1),
            ("a clock that was set back", conflicts(3, 0), -60, 3, 4),
            ("an hour after giving up", conflicts(6, 0), 3600, 6, 7),
        ];
        for (reason, before, now, known, next) in cases {
            let now = at(now);
            assert_eq!(before.at(now, &timings).count, known, "{reason}");
            assert_eq!(before.and_one(now, &timings).count, next, "{reason}");
            assert_eq!(before.at(now, &timings).last, before.last, "{reason}");
        }
    }

    #[test]
    fn reported_conflicts_are_read_again() {
        let before = AtProvider {
            conflict_count: Some(2),
            last_conflict_time: Some("2027-01-15T08:00:00Z".to_owned()),
            ..AtProvider::default()
        };
        assert_eq!(Conflicts::reported(&before), conflicts(2, 0));
        assert_eq!(
            Conflicts::reported(&AtProvider::default()),
            Conflicts::default()
        );
        let timings = Timings::default();
        let reset = conflicts(2, 0).reset_in(at(600), &timings);
        assert_eq!(reset, Some(Duration::from_mins(50)));
        assert_eq!(Conflicts::default().reset_in(at(0), &timings), None);
    }
}
