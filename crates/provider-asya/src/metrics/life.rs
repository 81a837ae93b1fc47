//! What is counted once in the life of an object, and what of its life is
//! remembered for that.

use std::time::Duration;

use actor::managed::{READY, SYNCED};
use jiff::Timestamp;
use kube::ResourceExt as _;
use tokio::time::Instant;

use super::{Metrics, of_kind};
use crate::conditions;
use crate::kinds::Managed;

/// What is remembered of one object's life. An object that another process has
/// seen before this one counts as seen: a restart must not look like creations.
#[derive(Debug, Clone, Default)]
pub struct Life {
    /// Whether a pass was made over it.
    was_seen: bool,
    /// Whether the first pass over it was ours, and it has not been ready since.
    awaits_readiness: bool,
    /// When a pass last found it true, or made it so.
    in_sync: Option<Instant>,
}

/// What one pass did to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing had to be done.
    InSync,
    /// Something had to be changed.
    Changed,
    /// The object is gone.
    Gone,
    /// None of that: it failed, waits, or is being made.
    Other,
}

impl Metrics {
    /// Counts what a pass over `object`, which is as it was before, means for its life;
    /// `is_ready` tells of the time after.
    pub fn follow<K: Managed>(
        &self,
        life: &mut Life,
        object: &K,
        is_ready: bool,
        outcome: Outcome,
        now: Timestamp,
    ) {
        let kind = of_kind::<K>();
        let created = object.creation_timestamp().map(|time| time.0);
        let observe = |family: &super::Histograms<_>, since: Option<Timestamp>| {
            if let Some(since) = since {
                let time = now.duration_since(since).as_secs_f64();
                family.get_or_create(&kind).observe(time.max(0.0));
            }
        };
        let mut conditions = object.conditions().iter();
        let was_seen = life.was_seen || conditions.any(|condition| condition.type_ == SYNCED);
        life.was_seen = true;
        if !was_seen {
            life.awaits_readiness = true;
            observe(&self.first_pass, created);
        }
        if is_ready && life.awaits_readiness {
            life.awaits_readiness = false;
            if !conditions::is_true(object.conditions(), READY) {
                observe(&self.first_ready, created);
            }
        }
        match outcome {
            Outcome::InSync => life.in_sync = Some(Instant::now()),
            Outcome::Changed => {
                let since = life.in_sync.replace(Instant::now());
                if let Some(time) = since.map(|since| since.elapsed()) {
                    self.drifted::<K>(time);
                }
            }
            Outcome::Gone => {
                let deleted = object.meta().deletion_timestamp.as_ref();
                observe(&self.deletion, deleted.map(|time| time.0));
            }
            Outcome::Other => {}
        }
    }

    fn drifted<K: Managed>(&self, time: Duration) {
        let family = &self.drift;
        family
            .get_or_create(&of_kind::<K>())
            .observe(time.as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::kinds::Queue;

    fn queue(conditions: &[(&str, &str)]) -> Queue {
        let conditions: Vec<_> = conditions
            .iter()
            .map(|(type_, status)| {
                json!({"type": type_, "status": status, "reason": "Any",
                    "lastTransitionTime": "2026-01-01T00:00:00Z"})
            })
            .collect();
        serde_json::from_value(json!({
            "metadata": {"name": "cart", "creationTimestamp": "2026-01-01T00:00:00Z",
                "deletionTimestamp": "2026-01-01T00:00:10Z"},
            "spec": {"forProvider": {}, "providerConfigRef": {"name": "main"}},
            "status": {"conditions": conditions},
        }))
        .unwrap()
    }

    /// Conditions before a pass, whether the object is ready after it, and what it did.
    type Pass<'a> = (&'a [(&'a str, &'a str)], bool, Outcome);

    /// How often each of the four was counted, and the sum of what was measured, after some passes.
    fn counted(passes: &[Pass]) -> [String; 4] {
        let (metrics, mut life) = (Metrics::new(), Life::default());
        let now = "2026-01-01T00:00:12Z".parse().unwrap();
        for (conditions, is_ready, outcome) in passes {
            metrics.follow(&mut life, &queue(conditions), *is_ready, *outcome, now);
        }
        let text = metrics.text();
        [
            "first_time_to_reconcile",
            "first_time_to_readiness",
            "deletion",
            "drift",
        ]
        .map(|name| {
            let of = |what: &str| {
                let start = format!("crossplane_managed_resource_{name}_seconds_{what}{{");
                let found = text.lines().find(|line| line.starts_with(&start));
                found
                    .and_then(|found| found.rsplit(' ').next())
                    .unwrap_or("0")
                    .to_owned()
            };
            let sum = of("sum");
            // How long a drift lasted is up to the machine.
            let sum = if name == "drift" { "" } else { sum.as_str() };
            format!("{}x{sum}", of("count"))
        })
    }

    #[test]
    fn each_turn_of_a_life_is_counted_once() {
        use Outcome::{Changed, Gone, InSync, Other};
        const NEW: &[(&str, &str)] = &[];
        const SEEN: &[(&str, &str)] = &[("Synced", "True"), ("Ready", "False")];
        const READY: &[(&str, &str)] = &[("Synced", "True"), ("Ready", "True")];
        let cases: [(&str, &[Pass], [&str; 4]); 6] = [
            (
                "made and ready",
                &[
                    (NEW, false, Other),
                    (SEEN, true, InSync),
                    (READY, true, InSync),
                ],
                ["1x12.0", "1x12.0", "0x0", "0x"],
            ),
            (
                "a status that could not be written",
                &[(NEW, false, Other), (NEW, false, Other)],
                ["1x12.0", "0x0", "0x0", "0x"],
            ),
            (
                "seen by an earlier process",
                &[(SEEN, true, InSync), (READY, true, InSync)],
                ["0x0", "0x0", "0x0", "0x"],
            ),
            (
                "unready for a while",
                &[
                    (NEW, true, InSync),
                    (READY, false, Other),
                    (SEEN, true, InSync),
                ],
                ["1x12.0", "1x12.0", "0x0", "0x"],
            ),
            (
                "changed after it was true, and before",
                &[(READY, true, Changed), (READY, true, Changed)],
                ["0x0", "0x0", "0x0", "1x"],
            ),
            (
                "gone",
                &[(READY, true, InSync), (READY, true, Gone)],
                ["0x0", "0x0", "1x2.0", "0x"],
            ),
        ];
        for (reason, passes, expected) in cases {
            assert_eq!(counted(passes), expected, "{reason}");
        }
    }
}
