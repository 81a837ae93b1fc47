//! The three annotations that tell, after a crash, how far a creation came.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;

/// A creation is about to be asked for.
pub const PENDING: &str = "crossplane.io/external-create-pending";
/// A creation was asked for, and nothing said no.
pub const SUCCEEDED: &str = "crossplane.io/external-create-succeeded";
/// A creation failed.
pub const FAILED: &str = "crossplane.io/external-create-failed";

/// How long ago a creation was begun of which neither success nor failure was
/// recorded; nothing, where none was.
///
/// Names are ours to choose and creation takes what is there, so the pass goes
/// on; but what is there may be half made.
pub fn in_doubt_for(annotations: &BTreeMap<String, String>, now: Timestamp) -> Option<Duration> {
    let pending = time(annotations, PENDING)?;
    let later = |key| time(annotations, key).is_some_and(|time| time >= pending);
    let is_in_doubt = !later(SUCCEEDED) && !later(FAILED);
    is_in_doubt.then(|| Duration::try_from(now.duration_since(pending)).unwrap_or_default())
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
    fn a_creation_is_in_doubt_until_its_end_is_recorded() {
        type Notes = &'static [(&'static str, &'static str)];
        let now: Timestamp = "2026-01-01T00:00:30Z".parse().unwrap();
        let cases: [(&str, Notes, bool); 6] = [
            ("never begun", &[], false),
            ("begun", &[(PENDING, "10")], true),
            ("done", &[(PENDING, "10"), (SUCCEEDED, "11")], false),
            (
                "done within the second",
                &[(PENDING, "10"), (SUCCEEDED, "10")],
                false,
            ),
            ("failed", &[(PENDING, "10"), (FAILED, "11")], false),
            (
                "failed, then begun anew",
                &[(PENDING, "12"), (FAILED, "11")],
                true,
            ),
        ];
        for (reason, pairs, expected) in cases {
            let found = in_doubt_for(&annotations(pairs), now).is_some();
            assert_eq!(found, expected, "{reason}");
        }
        let broken = BTreeMap::from([(PENDING.to_owned(), "soon".to_owned())]);
        assert_eq!(in_doubt_for(&broken, now), None, "a time that nobody wrote");
        let begun = annotations(&[(PENDING, "10")]);
        assert_eq!(in_doubt_for(&begun, now), Some(Duration::from_secs(20)));
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
