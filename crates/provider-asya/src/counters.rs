//! Counters of messages, and whether a change of them is worth a status write.
//!
//! Each write wakes every watcher of the object, and Crossplane throttles watches of objects that
//! change all the time.

use std::time::Duration;

use actor::queue::AtProvider;

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

/// Whether `observed` counters are written over `written` ones, `ago` after the last write.
///
/// At most once per `interval`, and only when a counter becomes zero or nonzero, or changes by more
/// than a tenth.
pub fn are_worth_writing(
    written: Option<Counters>,
    observed: Counters,
    ago: Option<Duration>,
    interval: Duration,
) -> bool {
    let Some(written) = written else {
        return true;
    };
    let dead_letters = match (written.dead_lettered, observed.dead_lettered) {
        (Some(written), Some(observed)) => differs(written, observed),
        (written, observed) => written != observed,
    };
    ago.is_none_or(|ago| ago >= interval)
        && (dead_letters
            || differs(written.queued, observed.queued)
            || differs(written.processing, observed.processing))
}

fn differs(written: u64, observed: u64) -> bool {
    (written == 0) != (observed == 0) || written.abs_diff(observed) > written / 10
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_changes_are_written_and_not_too_often() {
        let cases = [
            ("never written", None, 0, Some(0), true),
            ("the same", Some(5), 5, Some(100), false),
            ("from zero", Some(0), 1, Some(100), true),
            ("to zero", Some(1), 0, Some(100), true),
            ("a tenth", Some(100), 110, Some(100), false),
            ("more than a tenth", Some(100), 111, Some(100), true),
            ("fewer by more than a tenth", Some(100), 89, Some(100), true),
            ("few messages", Some(3), 4, Some(100), true),
            ("written just now", Some(0), 100, Some(59), false),
            ("written by another process", Some(0), 100, None, true),
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
                Duration::from_mins(1),
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
            ("a tenth more", Some(100), Some(110), false),
            ("more than a tenth", Some(100), Some(111), true),
            ("not counted any more", Some(1), None, true),
        ] {
            let counters = |dead_lettered| Counters {
                dead_lettered,
                ..Counters::default()
            };
            let interval = Duration::from_mins(1);
            let found = are_worth_writing(
                Some(counters(written)),
                counters(observed),
                Some(interval),
                interval,
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
