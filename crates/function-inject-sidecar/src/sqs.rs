//! Environment of the sidecar for Amazon SQS.

use actor::duration::seconds_up;
use actor::spec::value_of;
use actor::timeout::visibility_timeout_seconds;
use actor::transport::{Config, Sqs};
use function_kit::{Code, Diagnostic, StepError};
use merge::{FieldPath, Segment};
use serde_json::{Value, json};

use crate::Actor;
use crate::variables::Environment;

const VISIBILITY_VARIABLE: &str = "ASYA_SQS_VISIBILITY_TIMEOUT";

/// Adds the variables of SQS. The queue's URL is among them only where configuration
/// determines it: one that becomes known later would restart every pod.
///
/// # Errors
/// When the queue's name is not valid.
pub(crate) fn add(actor: &Actor, sqs: &Sqs, env: &mut Environment) -> Result<(), StepError> {
    let visibility = sqs
        .visibility_timeout_seconds
        .unwrap_or_else(|| visibility_timeout_seconds(actor.timeout));
    env.set("ASYA_AWS_REGION", &sqs.region);
    env.set(VISIBILITY_VARIABLE, visibility.to_string());
    env.set(
        "ASYA_SQS_WAIT_TIME_SECONDS",
        sqs.wait_time_seconds().to_string(),
    );
    env.set_if("ASYA_SQS_ENDPOINT", sqs.endpoint.as_ref());
    if sqs.account_id.is_some() {
        let call = actor.call;
        let queue = call.queue_name(actor.identity, actor.platform, actor.transport)?;
        env.set_if("ASYA_QUEUE_URL", sqs.queue_url(&queue));
    }
    Ok(())
}

/// The sidecar's `envFrom`: the credentials, unless the pod's ServiceAccount has a role.
pub(crate) fn credentials(transport: &Config) -> Option<Value> {
    match transport {
        Config::Sqs(Sqs {
            actor_role_arn: None,
            credentials_secret_ref: Some(secret),
            ..
        }) => Some(json!([{"secretRef": {"name": secret.name}}])),
        _ => None,
    }
}

/// A warning where the user's own visibility timeout is shorter than the work may take.
pub(crate) fn note_on_visibility(actor: &Actor) -> Option<Diagnostic> {
    let env = &actor.spec.sidecar.env;
    let given = value_of(env, VISIBILITY_VARIABLE)?;
    let seconds = given.parse::<u64>().ok()?;
    let timeout = seconds_up(actor.timeout);
    let is_sqs = matches!(actor.transport.config, Config::Sqs(_));
    // 0 leaves the choice to the sidecar.
    (is_sqs && seconds > 0 && seconds < timeout).then(|| {
        let mut variables = env.iter();
        let index = variables.rposition(|variable| variable.name() == VISIBILITY_VARIABLE);
        let path: FieldPath = ["sidecar", "env"]
            .map(Segment::from)
            .into_iter()
            .chain(index.map(Segment::from))
            .collect();
        let message = format!(
            "{VISIBILITY_VARIABLE} in sidecar.env is {seconds} s, below the runtime timeout of {timeout} s"
        );
        Diagnostic::warning(Code::VisibilityTooShort, actor.call.locate(&path), message)
            .help("a message that takes longer would be delivered twice")
    })
}
