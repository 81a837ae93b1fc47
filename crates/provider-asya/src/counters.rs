//! Messages in a queue, and when their change is worth a write.
//!
//! Each write wakes everybody who watches the object, and Crossplane stops
//! listening to objects that change all the time.

use std::time::Duration;

use actor::queue::AtProvider;

/// Messages in a queue at one time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Messages that wait.
    pub queued: u64,
    /// Messages that consumers hold.
    pub processing: u64,
    /// Messages that were given up, as far as they were counted.
    pub dead_lettered: Option<u64>,
}

impl Counters {
    /// Those in a status.
    pub fn read(status: &AtProvider) -> Option<Self> {
        Some(Self {
            queued: status.queued?,
            processing: status.processing?,
            dead_lettered: status.dead_lettered,
        })
    }

    /// Puts these into a status; unknown is absent.
    pub fn write(counters: Option<Self>, status: &mut AtProvider) {
        status.queued = counters.map(|counters| counters.queued);
        status.processing = counters.map(|counters| counters.processing);
        status.dead_lettered = counters.and_then(|counters| counters.dead_lettered);
    }
}

/// Whether `seen` is written in place of `written`, which was done `ago`.
///
/// At most once per `interval`, and only when a counter leaves or reaches zero
/// or changes by more than a tenth.
pub fn are_worth_writing(
    written: Option<Counters>,
    seen: Counters,
    ago: Option<Duration>,
    interval: Duration,
) -> bool {
    let Some(written) = written else {
        return true;
    };
    let letters = match (written.dead_lettered, seen.dead_lettered) {
        (Some(written), Some(seen)) => differs(written, seen),
        (written, seen) => written != seen,
    };
    ago.is_none_or(|ago| ago >= interval)
        && (letters
            || differs(written.queued, seen.queued)
            || differs(written.processing, seen.processing))
}

fn differs(written: u64, seen: u64) -> bool {
    (written == 0) != (seen == 0) || written.abs_diff(seen) > written / 10
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_news_are_written_and_not_too_often() {
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
        for (reason, written, seen, ago, expected) in cases {
            let counters = |queued| Counters {
                queued,
                ..Counters::default()
            };
            let found = are_worth_writing(
                written.map(counters),
                counters(seen),
                ago.map(Duration::from_secs),
                Duration::from_mins(1),
            );
            assert_eq!(found, expected, "{reason}");
        }
    }

    #[test]
    fn dead_letters_are_news_like_other_messages() {
        for (reason, written, seen, expected) in [
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
                counters(seen),
                Some(interval),
                interval,
            );
            assert_eq!(found, expected, "{reason}");
        }
    }

    #[test]
    fn what_is_written_into_a_status_is_read_from_it() {
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
        assert!(status.is_unknown(), "unknown is absent");
    }
}
