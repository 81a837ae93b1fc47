//! Numbers of replicas, seconds and messages.

use actor::spec::Scaling;
use function_kit::Call;

use super::{NUMBER_MAX, set_by};

/// A number of `spec.scaling`: what the spec gives, what holds, the least allowed.
struct Count {
    field: &'static str,
    given: Option<u32>,
    value: u32,
    least: u32,
}

impl Count {
    fn of(field: &'static str, given: Option<u32>, value: u32, least: u32) -> Self {
        Self {
            field,
            given,
            value,
            least,
        }
    }

    /// The number, and where it comes from.
    fn said(&self, call: &Call) -> String {
        let origin = match self.given {
            Some(_) => set_by(call, [self.field]),
            None => "the default".to_owned(),
        };
        format!("scaling.{} {} ({origin})", self.field, self.value)
    }
}

pub(super) fn faults(call: &Call, scaling: &Scaling) -> Vec<String> {
    let min = Count::of(
        "minReplicaCount",
        scaling.min_replica_count,
        scaling.min(),
        0,
    );
    let max = Count::of(
        "maxReplicaCount",
        scaling.max_replica_count,
        scaling.max(),
        1,
    );
    let optional = |field, given: Option<u32>| Count::of(field, given, given.unwrap_or(0), 0);
    let idle = optional("idleReplicaCount", scaling.idle_replica_count);
    let others = [
        Count::of(
            "pollingInterval",
            scaling.polling_interval,
            scaling.polling_interval(),
            1,
        ),
        Count::of(
            "cooldownPeriod",
            scaling.cooldown_period,
            scaling.cooldown_period(),
            0,
        ),
        optional("initialCooldownPeriod", scaling.initial_cooldown_period),
        Count::of(
            "queueLength",
            scaling.queue_length,
            scaling.queue_length(),
            1,
        ),
    ];
    let mut faults: Vec<String> = [&min, &max, &idle]
        .into_iter()
        .chain(&others)
        .filter(|count| !(count.least..=NUMBER_MAX).contains(&count.value))
        .map(|count| {
            let (said, least) = (count.said(call), count.least);
            format!("{said} is out of range: set a number from {least} to {NUMBER_MAX}")
        })
        .collect();
    if min.value > max.value {
        let (min, max) = (min.said(call), max.said(call));
        faults.push(format!(
            "{min} is above {max}: lower the one or raise the other"
        ));
    }
    if idle.given.is_some() && idle.value >= min.value {
        let (idle, min) = (idle.said(call), min.said(call));
        faults.push(format!(
            "{idle} must be below {min}: lower it, or leave it out where minReplicaCount is 0"
        ));
    }
    faults
}
