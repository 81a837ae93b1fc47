//! Messages in a queue, and when their change is worth a write.
//!
//! Each write wakes everybody who watches the object, and Crossplane stops
//! listening to objects that change all the time.

use std::time::Duration;

/// Messages in a queue at one time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Messages that wait.
    pub queued: u64,
    /// Messages that consumers hold.
    pub processing: u64,
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
    ago.is_none_or(|ago| ago >= interval)
        && (differs(written.queued, seen.queued) || differs(written.processing, seen.processing))
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
                processing: 0,
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
}
