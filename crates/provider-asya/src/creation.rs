//! The three annotations that tell, after a crash, how far a creation came.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{Span, Timestamp};

/// A creation is about to be asked for.
pub const PENDING: &str = "crossplane.io/external-create-pending";
/// A creation was asked for, and nothing said no.
pub const SUCCEEDED: &str = "crossplane.io/external-create-succeeded";
/// A creation failed.
pub const FAILED: &str = "crossplane.io/external-create-failed";

/// Whether a creation was begun of which no success was recorded since.
///
/// What is there may be half made then, be it that the provider ended or that a
/// call failed. Names are ours to choose and creation takes what is there, so it
/// is simply done again until it succeeds.
pub fn is_in_doubt(annotations: &BTreeMap<String, String>) -> bool {
    time(annotations, PENDING).is_some_and(|pending| {
        time(annotations, SUCCEEDED).is_none_or(|succeeded| succeeded < pending)
    })
}

/// This moment, as the annotations have it: exact enough that of two creations within a
/// second the later one shows.
///
/// Later than every note that is there, also where the clock was put back since: the notes
/// tell an order, and one creation at a time is on its way.
pub fn next(annotations: &BTreeMap<String, String>, now: Timestamp) -> String {
    let last = [PENDING, SUCCEEDED, FAILED]
        .into_iter()
        .filter_map(|key| time(annotations, key))
        .max();
    let after = last.and_then(|last| last.checked_add(Span::new().microseconds(1)).ok());
    format!("{:.6}", after.map_or(now, |after| after.max(now)))
}

/// Whether a creation succeeded less than `grace` ago, so that its queue may not be visible yet.
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
    fn a_creation_is_in_doubt_until_its_success_is_recorded() {
        type Notes = &'static [(&'static str, &'static str)];
        let cases: [(&str, Notes, bool); 7] = [
            ("never begun", &[], false),
            ("begun", &[(PENDING, "10")], true),
            ("done", &[(PENDING, "10"), (SUCCEEDED, "11")], false),
            (
                "done within a moment",
                &[(PENDING, "10"), (SUCCEEDED, "10")],
                false,
            ),
            (
                "failed, which may leave it half made",
                &[(PENDING, "10"), (FAILED, "11")],
                true,
            ),
            (
                "done, then begun anew",
                &[(PENDING, "12"), (SUCCEEDED, "11")],
                true,
            ),
            (
                "begun anew within the second",
                &[(PENDING, "11.000002"), (SUCCEEDED, "11.000001")],
                true,
            ),
        ];
        for (reason, pairs, expected) in cases {
            assert_eq!(is_in_doubt(&annotations(pairs)), expected, "{reason}");
        }
        let broken = BTreeMap::from([(PENDING.to_owned(), "soon".to_owned())]);
        assert!(!is_in_doubt(&broken), "a time that nobody wrote");
        let none = BTreeMap::new();
        let written = BTreeMap::from([(PENDING.to_owned(), next(&none, Timestamp::now()))]);
        assert!(is_in_doubt(&written), "a time that we wrote");
    }

    #[test]
    fn a_clock_that_is_put_back_changes_no_order() {
        type Notes = &'static [(&'static str, &'static str)];
        let cases: [(&str, Notes, &str); 5] = [
            ("the first", &[], "30.000000"),
            ("as clocks go", &[(SUCCEEDED, "20")], "30.000000"),
            (
                "put back",
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
    fn a_queue_has_some_seconds_to_become_visible() {
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
