//! Numbers of replicas, seconds and messages.

use actor::spec::Scaling;
use function_kit::{Call, Code, Diagnostic, Location};

use super::{NUMBER_MAX, locate};

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

    /// The document and field that give the number, or could.
    fn locate(&self, call: &Call) -> Location {
        locate(call, [self.field])
    }

    /// The number, and where it comes from.
    fn describe(&self, call: &Call) -> String {
        let origin = match self.given {
            Some(_) => format!("set by {}", self.locate(call).source),
            None => "the default".to_owned(),
        };
        format!("scaling.{} {} ({origin})", self.field, self.value)
    }
}

pub(super) fn check(call: &Call, scaling: &Scaling) -> Vec<Diagnostic> {
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
    let error = |count: &Count, message: String| {
        Diagnostic::error(Code::ScalingOutOfRange, count.locate(call), message)
    };
    let mut errors: Vec<Diagnostic> = [&min, &max, &idle]
        .into_iter()
        .chain(&others)
        .filter(|count| !(count.least..=NUMBER_MAX).contains(&count.value))
        .map(|count| {
            let message = format!("{} is out of range", count.describe(call));
            let least = count.least;
            error(count, message).help(format!("set a number from {least} to {NUMBER_MAX}"))
        })
        .collect();
    if min.value > max.value {
        let message = format!("{} is above {}", min.describe(call), max.describe(call));
        // A default is not reported.
        let (wrong, other) = if min.given.is_some() {
            (&min, &max)
        } else {
            (&max, &min)
        };
        errors.push(
            error(wrong, message)
                .related([other.locate(call)])
                .help("lower the one or raise the other"),
        );
    }
    if idle.given.is_some() && idle.value >= min.value {
        let message = format!(
            "{} must be below {}",
            idle.describe(call),
            min.describe(call)
        );
        errors.push(
            error(&idle, message)
                .related([min.locate(call)])
                .help("lower it, or leave it out where minReplicaCount is 0"),
        );
    }
    errors
}
