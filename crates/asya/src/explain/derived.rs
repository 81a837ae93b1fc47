//! Values derived from the runtime timeout.

use actor::binding::Strategy;
use actor::diagnostic::Diagnostic;
use actor::duration::format;
use actor::spec::Spec;
use actor::timeout::{
    VARIABLE, consumer_timeout_milliseconds, grace_period_seconds, runtime_timeout_and_place,
    visibility_timeout_seconds,
};
use actor::transport::Config;
use function_kit::report;
use merge::FieldPath;
use serde_json::{Value, json};

use super::{Explanation, Origin, Resolved};

/// A value that is not a field of the spec but derived from fields.
#[derive(Debug, Clone, PartialEq)]
pub struct Derived {
    /// Its name: `runtime timeout`.
    pub name: &'static str,
    /// Its value, with its unit where it is a text.
    pub value: Value,
    /// Its source: `2 × runtime timeout`.
    pub from: String,
}

const GRACE_PERIOD: &str = "terminationGracePeriodSeconds";
/// The formula of the timeouts of queues.
const TWICE: &str = "2 × runtime timeout";

/// Adds everything that is derived from the runtime timeout.
pub(super) fn add(explanation: &mut Explanation, resolved: &Resolved<'_>, spec: &Spec) {
    let (timeout, place) = match runtime_timeout_and_place(spec) {
        Ok(found) => found,
        Err(error) => {
            let location = resolved.facts.locate(error.path());
            explanation.add_error(Diagnostic::error(error.code(), location, report(&error)));
            return;
        }
    };
    let set_by = |path: FieldPath| format!("{path}, set by {}", resolved.facts.origin(&path));
    let mut add = |name, value, from| {
        explanation.derived.push(Derived { name, value, from });
    };
    let from = match place {
        None => "default".to_owned(),
        Some("resiliency.actorTimeout") => set_by(["resiliency", "actorTimeout"].into()),
        Some(place) => format!("{VARIABLE} in {place}"),
    };
    add("runtime timeout", json!(format(timeout)), from);
    let platform = resolved.platform();
    let max = platform.max_grace_period_seconds();
    let in_template = spec.workload.as_ref().and_then(|workload| {
        let pod = workload.template.get("spec")?;
        pod.get(GRACE_PERIOD)?.as_u64()
    });
    let (grace, from) = match (in_template, spec.termination_grace_period_seconds) {
        (Some(given), _) => (
            given,
            set_by(["workload", "template", "spec", GRACE_PERIOD].into()),
        ),
        (None, Some(given)) => (given.into(), set_by([GRACE_PERIOD].into())),
        (None, None) => (
            grace_period_seconds(timeout, max).into(),
            format!("runtime timeout + 30s, at most {max}s"),
        ),
    };
    // Pods of a bound workload keep the grace period of that workload.
    if spec.strategy() != Some(Strategy::Inject) {
        add("grace period of pods", seconds(grace), from);
    }
    let Some(transport) = resolved.transport(spec) else {
        return;
    };
    match &transport.config {
        Config::Sqs(sqs) => {
            let (value, from) = match sqs.visibility_timeout_seconds {
                Some(given) => {
                    let setting = format!(
                        "transports.{}.config.visibilityTimeoutSeconds",
                        transport.name
                    );
                    (given, Origin::Platform(setting).to_string())
                }
                None => (visibility_timeout_seconds(timeout), TWICE.to_owned()),
            };
            add(
                "visibility timeout of the queue",
                seconds(value.into()),
                from,
            );
        }
        Config::RabbitMq(_) => {
            if let Some(milliseconds) = consumer_timeout_milliseconds(timeout) {
                let value = seconds(milliseconds / 1000);
                add("consumer timeout of the queue", value, TWICE.to_owned());
            }
        }
    }
}

fn seconds(seconds: u64) -> Value {
    json!(format!("{seconds}s"))
}
