//! Metrics that count once in the lifecycle of an object.

use std::time::Duration;

use actor::managed::{READY, SYNCED};
use jiff::Timestamp;
use kube::ResourceExt as _;
use tokio::time::Instant;

use super::{Metrics, kind_labels};
use crate::conditions;
use crate::kinds::Managed;

/// Lifecycle metrics that were counted for one object. An object that an earlier process has reconciled
/// counts as reconciled: a restart must not count as creations.
#[derive(Debug, Clone, Default)]
pub struct Lifecycle {
    /// True if it was reconciled.
    was_reconciled: bool,
    /// True if this process reconciled it first, and it has not been ready since.
    awaits_readiness: bool,
    /// Time at which it was in sync last.
    in_sync: Option<Instant>,
}

/// Result of one reconcile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The object was in sync.
    InSync,
    /// Drift was corrected.
    Changed,
    /// The object is deleted.
    Deleted,
    /// It failed, waits, or is being created.
    Other,
}

impl Metrics {
    /// Records a reconcile of `object`, which is as it was before; `is_ready` is the state after.
    pub fn follow<K: Managed>(
        &self,
        lifecycle: &mut Lifecycle,
        object: &K,
        is_ready: bool,
        outcome: Outcome,
        now: Timestamp,
    ) {
        let kind = kind_labels::<K>();
        let created = object.creation_timestamp().map(|time| time.0);
        let observe = |family: &super::Histograms<_>, since: Option<Timestamp>| {
            if let Some(since) = since {
                let time = now.duration_since(since).as_secs_f64();
                family.get_or_create(&kind).observe(time.max(0.0));
            }
        };
        let mut conditions = object.conditions().iter();
        let was_reconciled =
            lifecycle.was_reconciled || conditions.any(|condition| condition.type_ == SYNCED);
        lifecycle.was_reconciled = true;
        if !was_reconciled {
            lifecycle.awaits_readiness = true;
            observe(&self.first_reconcile, created);
        }
        if is_ready && lifecycle.awaits_readiness {
            lifecycle.awaits_readiness = false;
            if !conditions::is_true(object.conditions(), READY) {
                observe(&self.first_ready, created);
            }
        }
        match outcome {
            Outcome::InSync => lifecycle.in_sync = Some(Instant::now()),
            Outcome::Changed => {
                let since = lifecycle.in_sync.replace(Instant::now());
                if let Some(time) = since.map(|since| since.elapsed()) {
                    self.drifted::<K>(time);
                }
            }
            Outcome::Deleted => {
                let deleted = object.meta().deletion_timestamp.as_ref();
                observe(&self.deletion, deleted.map(|time| time.0));
            }
            Outcome::Other => {}
        }
    }

    fn drifted<K: Managed>(&self, time: Duration) {
        let family = &self.drift;
        family
            .get_or_create(&kind_labels::<K>())
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

    /// Conditions before a reconcile, whether the object is ready after it, and its result.
    type Reconcile<'a> = (&'a [(&'a str, &'a str)], bool, Outcome);

    /// Count and sum of each of the four metrics after some reconciles.
    fn counted(reconciles: &[Reconcile]) -> [String; 4] {
        let (metrics, mut lifecycle) = (Metrics::new(), Lifecycle::default());
        let now = "2026-01-01T00:00:12Z".parse().unwrap();
        for (conditions, is_ready, outcome) in reconciles {
            metrics.follow(&mut lifecycle, &queue(conditions), *is_ready, *outcome, now);
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
            // The duration of drift depends on the machine.
            let sum = if name == "drift" { "" } else { sum.as_str() };
            format!("{}x{sum}", of("count"))
        })
    }

    #[test]
    fn each_stage_of_a_lifecycle_is_counted_once() {
        use Outcome::{Changed, Deleted, InSync, Other};
        const NEW: &[(&str, &str)] = &[];
        const UNREADY: &[(&str, &str)] = &[("Synced", "True"), ("Ready", "False")];
        const READY: &[(&str, &str)] = &[("Synced", "True"), ("Ready", "True")];
        let cases: [(&str, &[Reconcile], [&str; 4]); 6] = [
            (
                "created and ready",
                &[
                    (NEW, false, Other),
                    (UNREADY, true, InSync),
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
                "reconciled by an earlier process",
                &[(UNREADY, true, InSync), (READY, true, InSync)],
                ["0x0", "0x0", "0x0", "0x"],
            ),
            (
                "unready for a while",
                &[
                    (NEW, true, InSync),
                    (READY, false, Other),
                    (UNREADY, true, InSync),
                ],
                ["1x12.0", "1x12.0", "0x0", "0x"],
            ),
            (
                "drift after it was in sync, and before",
                &[(READY, true, Changed), (READY, true, Changed)],
                ["0x0", "0x0", "0x0", "1x"],
            ),
            (
                "deleted",
                &[(READY, true, InSync), (READY, true, Deleted)],
                ["0x0", "0x0", "1x2.0", "0x"],
            ),
        ];
        for (reason, reconciles, expected) in cases {
            assert_eq!(counted(reconciles), expected, "{reason}");
        }
    }
}
