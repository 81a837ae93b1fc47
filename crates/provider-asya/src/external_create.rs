//! The annotations `external-create-pending`, `-succeeded` and `-failed`, which record how far a
//! creation came before a crash.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{Span, Timestamp};

/// Annotation: when a creation was begun.
pub const PENDING: &str = "crossplane.io/external-create-pending";
/// Annotation: when a creation succeeded.
pub const SUCCEEDED: &str = "crossplane.io/external-create-succeeded";
/// Annotation: when a creation failed.
pub const FAILED: &str = "crossplane.io/external-create-failed";

/// Returns whether a creation was begun and no success was recorded since.
///
/// The queue may be incomplete then, because the provider was killed or a call failed. Names are
/// deterministic and creation is idempotent, so it is repeated until it succeeds.
pub fn is_incomplete(annotations: &BTreeMap<String, String>) -> bool {
    time(annotations, PENDING).is_some_and(|pending| {
        time(annotations, SUCCEEDED).is_none_or(|succeeded| succeeded < pending)
    })
}

/// The present time as the annotations contain it: to the microsecond, so that two creations within
/// a second are ordered.
///
/// It is later than every annotation, also where the clock was set back: the annotations record an
/// order, and there is one creation at a time.
pub fn next(annotations: &BTreeMap<String, String>, now: Timestamp) -> String {
    let last = [PENDING, SUCCEEDED, FAILED]
        .into_iter()
        .filter_map(|key| time(annotations, key))
        .max();
    let after = last.and_then(|last| last.checked_add(Span::new().microseconds(1)).ok());
    format!("{:.6}", after.map_or(now, |after| after.max(now)))
}

/// Returns whether a creation succeeded less than `grace` ago, so that the queue may not be visible yet.
pub fn is_recent(annotations: &BTreeMap<String, String>, now: Timestamp, grace: Duration) -> bool {
    time(annotations, SUCCEEDED).is_some_and(|succeeded| {
        Duration::try_from(now.duration_since(succeeded)).is_ok_and(|age| age < grace)
    })
}

fn time(annotations: &BTreeMap<String, String>, key: &str) -> Option<Timestamp> {
    annotations.get(key)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn annotations(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs
            .iter()
            .map(|(key, time)| ((*key).to_owned(), format!("2026-01-01T00:00:{time}Z")))
            .collect()
    }

    #[test]
    fn a_creation_is_incomplete_until_its_success_is_recorded() {
        type Pairs = &'static [(&'static str, &'static str)];
        let cases: [(&str, Pairs, bool); 7] = [
            ("never begun", &[], false),
            ("begun", &[(PENDING, "10")], true),
            ("done", &[(PENDING, "10"), (SUCCEEDED, "11")], false),
            (
                "done within a second",
                &[(PENDING, "10"), (SUCCEEDED, "10")],
                false,
            ),
            (
                "failed, which may leave it incomplete",
                &[(PENDING, "10"), (FAILED, "11")],
                true,
            ),
            (
                "done, then begun again",
                &[(PENDING, "12"), (SUCCEEDED, "11")],
                true,
            ),
            (
                "begun again within the second",
                &[(PENDING, "11.000002"), (SUCCEEDED, "11.000001")],
                true,
            ),
        ];
        for (reason, pairs, expected) in cases {
            assert_eq!(is_incomplete(&annotations(pairs)), expected, "{reason}");
        }
        let broken = BTreeMap::from([(PENDING.to_owned(), "soon".to_owned())]);
        assert!(!is_incomplete(&broken), "an invalid time");
        let none = BTreeMap::new();
        let written = BTreeMap::from([(PENDING.to_owned(), next(&none, Timestamp::now()))]);
        assert!(is_incomplete(&written), "a time that this provider wrote");
    }

    #[test]
    fn a_clock_that_is_set_back_changes_no_order() {
        type Pairs = &'static [(&'static str, &'static str)];
        let cases: [(&str, Pairs, &str); 5] = [
            ("the first", &[], "30.000000"),
            ("later", &[(SUCCEEDED, "20")], "30.000000"),
            (
                "set back",
                &[(PENDING, "39"), (SUCCEEDED, "40")],
                "40.000001",
            ),
            ("within the microsecond", &[(FAILED, "30")], "30.000001"),
            ("nonsense", &[(FAILED, "soon")], "30.000000"),
        ];
        let now: Timestamp = "2026-01-01T00:00:30Z".parse().unwrap();
        for (reason, pairs, expected) in cases {
            let expected = format!("2026-01-01T00:00:{expected}Z");
            assert_eq!(next(&annotations(pairs), now), expected, "{reason}");
        }
    }

    #[test]
    fn a_creation_is_recent_within_the_grace_time() {
        let now: Timestamp = "2026-01-01T00:00:30Z".parse().unwrap();
        for (reason, time, expected) in [
            ("just now", "29", true),
            ("long ago", "00", false),
            ("a clock apart", "31", false),
        ] {
            let annotations = annotations(&[(SUCCEEDED, time)]);
            assert_eq!(
                is_recent(&annotations, now, Duration::from_secs(30)),
                expected,
                "{reason}"
            );
        }
    }
}
