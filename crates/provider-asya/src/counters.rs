//! Counters of messages, and whether a change of them is worth a status write.
//!
//! Each write wakes every watcher of the object, and Crossplane throttles watches of objects that
//! change all the time.

use std::time::Duration;

use actor::queue::AtProvider;

/// Intervals after which changes within a step are written.
const EXACT: u32 = 5;

/// Messages in a queue at one time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Messages that wait for a consumer.
    pub queued: u64,
    /// Messages that were delivered and not acknowledged.
    pub processing: u64,
    /// Messages in the dead-letter queue; none where they were not counted.
    pub dead_lettered: Option<u64>,
}

impl Counters {
    /// Reads the counters of a status; none where they are unknown.
    pub fn read(status: &AtProvider) -> Option<Self> {
        Some(Self {
            queued: status.queued?,
            processing: status.processing?,
            dead_lettered: status.dead_lettered,
        })
    }

    /// Writes counters into a status; unknown ones are removed.
    pub fn write(counters: Option<Self>, status: &mut AtProvider) {
        status.queued = counters.map(|counters| counters.queued);
        status.processing = counters.map(|counters| counters.processing);
        status.dead_lettered = counters.and_then(|counters| counters.dead_lettered);
    }
}

/// Returns whether `observed` counters are written over `written` ones, `ago` after the last write.
///
/// At most once per `interval`, and only when a counter reaches another step: 0, 1, 10, 100, and so on.
/// Smaller changes are written once in five intervals. Each write costs a reconcile of the actor, in which
/// Crossplane applies all its objects.
pub fn are_worth_writing(
    written: Option<Counters>,
    observed: Counters,
    ago: Option<Duration>,
    interval: Duration,
) -> bool {
    let Some(written) = written else {
        return true;
    };
    if ago.is_some_and(|ago| ago < interval) {
        return false;
    }
    let is_step = step(written.queued) != step(observed.queued)
        || step(written.processing) != step(observed.processing)
        || written.dead_lettered.map(step) != observed.dead_lettered.map(step);
    is_step || (written != observed && ago.is_none_or(|ago| ago >= EXACT * interval))
}

/// Number of digits, and 0 for 0.
fn step(count: u64) -> u32 {
    count.checked_ilog10().map_or(0, |digits| digits + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_mins(1);

    #[test]
    fn steps_are_written_at_once_and_other_changes_later() {
        let cases = [
            ("never written", None, 0, Some(0), true),
            ("the same", Some(5), 5, Some(1000), false),
            ("from zero", Some(0), 1, Some(100), true),
            ("to zero", Some(1), 0, Some(100), true),
            ("within a step", Some(100), 999, Some(100), false),
            (
                "within a step, after a while",
                Some(100),
                101,
                Some(300),
                true,
            ),
            ("the next step", Some(99), 100, Some(100), true),
            ("a former step", Some(10), 9, Some(100), true),
            ("several steps", Some(3), 4000, Some(100), true),
            ("written just now", Some(0), 100, Some(59), false),
            ("written by another process", Some(3), 4, None, true),
        ];
        for (reason, written, observed, ago, expected) in cases {
            let counters = |queued| Counters {
                queued,
                ..Counters::default()
            };
            let found = are_worth_writing(
                written.map(counters),
                counters(observed),
                ago.map(Duration::from_secs),
                INTERVAL,
            );
            assert_eq!(found, expected, "{reason}");
        }
    }

    #[test]
    fn dead_letters_are_compared_like_other_messages() {
        for (reason, written, observed, expected) in [
            ("not counted", None, None, false),
            ("counted for the first time", None, Some(0), true),
            ("the first one", Some(0), Some(1), true),
            ("within a step", Some(100), Some(111), false),
            ("the next step", Some(9), Some(10), true),
            ("not counted any more", Some(1), None, true),
        ] {
            let counters = |dead_lettered| Counters {
                dead_lettered,
                ..Counters::default()
            };
            let found = are_worth_writing(
                Some(counters(written)),
                counters(observed),
                Some(INTERVAL),
                INTERVAL,
            );
            assert_eq!(found, expected, "{reason}");
        }
    }

    #[test]
    fn written_counters_are_read_again() {
        let mut status = AtProvider::default();
        assert_eq!(Counters::read(&status), None);
        let counters = Counters {
            queued: 3,
            processing: 2,
            dead_lettered: Some(1),
        };
        for written in [Some(counters), None] {
            Counters::write(written, &mut status);
            assert_eq!(Counters::read(&status), written);
        }
        assert!(status.is_unknown(), "unknown counters are absent");
    }
}
