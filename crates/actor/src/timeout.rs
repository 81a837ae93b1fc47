//! The one timeout of an actor, and what follows from it.
//!
//! Everything that could kill or duplicate running work is derived from the
//! runtime timeout: how long the queue hides a message, how long a pod may take
//! to end, how long a RabbitMQ consumer may hold a message.

use std::time::Duration;

use merge::{FieldPath, Segment};

use crate::diagnostic::Code;
use crate::duration::{ParseDurationError, parse, parse_or_seconds, seconds_up};
use crate::entry::EnvVar;
use crate::spec::Spec;

/// The variable that gives the runtime timeout, in the sidecar's environment
/// or the runtime's.
pub const VARIABLE: &str = "ASYA_RUNTIME_TIMEOUT";
/// The default timeout of an actor: 5 minutes.
pub const DEFAULT: Duration = Duration::from_mins(5);
/// Longest visibility timeout of SQS, in seconds.
pub const VISIBILITY_MAX: u64 = 43_200;
/// Time for the sidecar to hand a result on after the handler has ended.
const GRACE: Duration = Duration::from_secs(30);
/// From this timeout on, RabbitMQ's consumer timeout (30 min by default) could
/// take a message away while it is worked on.
const LONG_WORK: Duration = Duration::from_mins(15);

/// Reason for which the timeout cannot be determined.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TimeoutError {
    /// A variable that comes from a Secret or a field is not known here.
    #[error(
        "{place} takes {VARIABLE} from elsewhere (valueFrom): queue and pod limits follow from it, so write it as a literal value"
    )]
    FromElsewhere {
        /// The field that holds the environment.
        place: &'static str,
        /// The variable in the resolved spec.
        path: FieldPath,
    },
    /// Not a duration.
    #[error("{place} is not a timeout")]
    Parse {
        /// The field, or the variable and where it stands.
        place: String,
        /// The field or variable in the resolved spec.
        path: FieldPath,
        /// The problem.
        source: ParseDurationError,
    },
    /// A handler needs some time.
    #[error("{place} is zero: a handler needs some time, set for example \"5m\"")]
    Zero {
        /// The field, or the variable and where it stands.
        place: String,
        /// The field or variable in the resolved spec.
        path: FieldPath,
    },
}

impl TimeoutError {
    /// The code of its diagnostic.
    pub fn code(&self) -> Code {
        match self {
            Self::FromElsewhere { .. } => Code::TimeoutFromElsewhere,
            Self::Parse { .. } | Self::Zero { .. } => Code::InvalidTimeout,
        }
    }

    /// The field or variable in the resolved spec.
    pub fn path(&self) -> &FieldPath {
        match self {
            Self::FromElsewhere { path, .. }
            | Self::Parse { path, .. }
            | Self::Zero { path, .. } => path,
        }
    }
}

/// Finds the runtime timeout of an actor: `ASYA_RUNTIME_TIMEOUT` of the
/// sidecar's environment, else of the runtime container's, else
/// `resiliency.actorTimeout`, else [`DEFAULT`]. The variable holds a Go duration
/// or whole seconds.
///
/// # Errors
/// When the value cannot be read here, is not a duration or is zero.
pub fn runtime_timeout(spec: &Spec) -> Result<Duration, TimeoutError> {
    runtime_timeout_and_place(spec).map(|(timeout, _)| timeout)
}

/// [`runtime_timeout`], and the place that gives it; none where it is [`DEFAULT`].
///
/// # Errors
/// The same.
pub fn runtime_timeout_and_place(
    spec: &Spec,
) -> Result<(Duration, Option<&'static str>), TimeoutError> {
    let given = match (
        from_env(SIDECAR_ENV, &spec.sidecar.env, || path_in_sidecar_env(spec))?,
        from_env(RUNTIME_ENV, &spec.runtime_env(), || {
            spec.path_in_runtime_env(VARIABLE)
        })?,
        spec.resiliency.actor_timeout.as_deref(),
    ) {
        (Some(timeout), _, _) => (SIDECAR_ENV, timeout),
        (None, Some(timeout), _) => (RUNTIME_ENV, timeout),
        (None, None, Some(text)) => (
            ACTOR_TIMEOUT,
            parse(text).map_err(|source| TimeoutError::Parse {
                place: ACTOR_TIMEOUT.to_owned(),
                path: FieldPath::from(ACTOR_TIMEOUT_PATH),
                source,
            })?,
        ),
        (None, None, None) => return Ok((DEFAULT, None)),
    };
    let (place, timeout) = given;
    if !timeout.is_zero() {
        return Ok((timeout, Some(place)));
    }
    let (path, place) = match place {
        ACTOR_TIMEOUT => (FieldPath::from(ACTOR_TIMEOUT_PATH), place.to_owned()),
        SIDECAR_ENV => (path_in_sidecar_env(spec), variable_in(place)),
        _ => (spec.path_in_runtime_env(VARIABLE), variable_in(place)),
    };
    Err(TimeoutError::Zero { place, path })
}

const ACTOR_TIMEOUT: &str = "resiliency.actorTimeout";
const ACTOR_TIMEOUT_PATH: [&str; 2] = ["resiliency", "actorTimeout"];
const SIDECAR_ENV: &str = "sidecar.env";
const RUNTIME_ENV: &str = "the environment of asya-runtime";

fn path_in_sidecar_env(spec: &Spec) -> FieldPath {
    let mut env = spec.sidecar.env.iter();
    let index = env.rposition(|variable| variable.name() == VARIABLE);
    let list = ["sidecar", "env"].map(Segment::from).into_iter();
    list.chain(index.map(Segment::from)).collect()
}

/// The timeout of an environment; `path` leads to the variable, where it is needed.
fn from_env(
    place: &'static str,
    env: &[EnvVar],
    path: impl FnOnce() -> FieldPath,
) -> Result<Option<Duration>, TimeoutError> {
    let Some(variable) = env
        .iter()
        .rev()
        .find(|variable| variable.name() == VARIABLE)
    else {
        return Ok(None);
    };
    if variable.is_from_elsewhere() {
        let path = path();
        return Err(TimeoutError::FromElsewhere { place, path });
    }
    parse_or_seconds(variable.value().unwrap_or_default())
        .map(Some)
        .map_err(|source| TimeoutError::Parse {
            place: variable_in(place),
            path: path(),
            source,
        })
}

fn variable_in(environment: &str) -> String {
    format!("{VARIABLE} in {environment}")
}

/// Seconds in which a received message is hidden: twice the timeout, at most
/// [`VISIBILITY_MAX`].
pub fn visibility_timeout_seconds(timeout: Duration) -> u32 {
    bounded(seconds_up(timeout * 2), VISIBILITY_MAX)
}

/// Seconds between SIGTERM and SIGKILL of a pod: the timeout and 30 s, at most
/// `max` (the platform's `maxGracePeriodSeconds`).
pub fn grace_period_seconds(timeout: Duration, max: u32) -> u32 {
    bounded(seconds_up(timeout + GRACE), max.into())
}

/// Milliseconds that a RabbitMQ consumer may hold a message: twice the timeout
/// where that exceeds 15 min; none where the broker's default suffices.
pub fn consumer_timeout_milliseconds(timeout: Duration) -> Option<u64> {
    (timeout > LONG_WORK).then(|| seconds_up(timeout * 2) * 1000)
}

fn bounded(seconds: u64, max: u64) -> u32 {
    u32::try_from(seconds.min(max)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_timeout_is_found_in_one_place_after_the_other() {
        let variable = |value: &str| json!([{"name": "ASYA_RUNTIME_TIMEOUT", "value": value}]);
        let cases = [
            (json!({}), Ok(300), "the default"),
            (
                json!({"resiliency": {"actorTimeout": "10m"}}),
                Ok(600),
                "the actor's",
            ),
            (
                json!({"resiliency": {"actorTimeout": "10m"}, "env": variable("90")}),
                Ok(90),
                "whole seconds",
            ),
            (
                json!({"env": variable("90s"), "sidecar": {"env": variable("2m")}}),
                Ok(120),
                "the sidecar's first",
            ),
            (
                json!({"workload": {"template": {"spec": {"containers": [
                {"name": "asya-runtime", "env": variable("45s")}]}}}}),
                Ok(45),
                "of a template's container",
            ),
            (
                json!({"workload": {"template": {"spec": {"containers": [
                {"name": "asya-runtime", "env": variable("45s")}]}}}, "env": variable("1m")}),
                Ok(45),
                "a template wins over a flavor",
            ),
            (
                json!({"workloadRef": {"apiVersion": "a/v1", "kind": "K", "name": "n"},
                    "runtime": {"env": variable("50s")}}),
                Ok(50),
                "of an adapter",
            ),
            (
                json!({"env": [{"name": "ASYA_RUNTIME_TIMEOUT", "valueFrom": {}}]}),
                Err("takes ASYA_RUNTIME_TIMEOUT from elsewhere"),
                "not known here",
            ),
            (
                json!({"env": variable("soon")}),
                Err(
                    "ASYA_RUNTIME_TIMEOUT in the environment of asya-runtime is not a timeout: \"soon\" is not a duration",
                ),
                "not a duration",
            ),
            (
                json!({"sidecar": {"env": variable("0")}}),
                Err("ASYA_RUNTIME_TIMEOUT in sidecar.env is zero"),
                "no time at all by variable",
            ),
            (
                json!({"resiliency": {"actorTimeout": "90"}}),
                Err("\"90\" is not a duration"),
                "a field needs a unit",
            ),
            (
                json!({"resiliency": {"actorTimeout": "0s"}}),
                Err("is zero"),
                "no time at all",
            ),
        ];
        for (spec, expected, reason) in cases {
            let timeout = runtime_timeout(&Spec::parse(spec).unwrap());
            match (timeout, expected) {
                (Ok(timeout), Ok(seconds)) => assert_eq!(timeout.as_secs(), seconds, "{reason}"),
                (Err(error), Err(part)) => {
                    let mut text = error.to_string();
                    if let Some(source) = std::error::Error::source(&error) {
                        text = format!("{text}: {source}");
                    }
                    assert!(text.contains(part), "{reason}: {text}");
                }
                (timeout, _) => panic!("{reason}: {timeout:?}"),
            }
        }
    }

    #[test]
    fn limits_follow_from_the_timeout() {
        let minutes = |minutes: u64| Duration::from_mins(minutes);
        assert_eq!(visibility_timeout_seconds(DEFAULT), 600);
        assert_eq!(visibility_timeout_seconds(minutes(24 * 60)), 43_200);
        assert_eq!(grace_period_seconds(DEFAULT, 3600), 330);
        assert_eq!(grace_period_seconds(minutes(120), 3600), 3600);
        assert_eq!(consumer_timeout_milliseconds(minutes(15)), None);
        assert_eq!(consumer_timeout_milliseconds(minutes(16)), Some(1_920_000));
    }
}
