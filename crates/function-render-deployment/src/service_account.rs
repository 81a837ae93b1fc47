//! The ServiceAccount that carries the IAM role of an actor on SQS.

use actor::platform::Platform;
use actor::spec::Spec;
use actor::status::ConditionType;
use actor::transport::Config;
use function_kit::{Call, Code, Diagnostic, StepError};
use merge::FieldPath;
use serde_json::{Value, json};

use crate::Actor;
use crate::findings::Findings;

/// Name of the composed resource.
pub(crate) const RESOURCE_NAME: &str = "service-account";

/// By which EKS gives pods an IAM role.
/// Source: Amazon EKS User Guide, IAM roles for service accounts.
pub(crate) const ROLE_ANNOTATION: &str = "eks.amazonaws.com/role-arn";

/// The IAM role of the actor's pods, where its transport has one.
///
/// # Errors
/// When the platform has transports and the actor's is not a usable one.
pub(crate) fn role(
    call: &Call,
    spec: &Spec,
    platform: &Platform,
) -> Result<Option<String>, StepError> {
    if platform.transports.is_empty() {
        return Ok(None);
    }
    Ok(match call.transport(spec, platform)?.config {
        Config::Sqs(sqs) => sqs.actor_role_arn,
        Config::RabbitMq(_) => None,
    })
}

/// The ServiceAccount. `own` is the one that the user names: then none is rendered.
pub(crate) fn render(actor: &Actor, own: Option<&str>, findings: &mut Findings) -> Option<Value> {
    let role = expanded(actor)?;
    if let Some(own) = own {
        let field = if actor.spec.service_account_name.is_some() {
            FieldPath::from(["serviceAccountName"])
        } else {
            FieldPath::from(["workload", "template", "spec", "serviceAccountName"])
        };
        let location = actor.call.locate(&field);
        let message = format!("ServiceAccount {own:?} is the actor's own choice");
        let note = Diagnostic::warning(Code::ServiceAccountRole, location, message).help(format!(
            "it must carry the role {role:?} in annotation {ROLE_ANNOTATION}"
        ));
        findings.note(ConditionType::TransportReady, note);
        return None;
    }
    let name = actor.identity.actor.asya_prefixed();
    let mut metadata = actor.identity.metadata(&name, "serviceaccount");
    metadata["annotations"] = json!({ROLE_ANNOTATION: role});
    Some(json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}))
}

/// The role with `{namespace}` and `{actor}` replaced by those of the actor.
fn expanded(actor: &Actor) -> Option<String> {
    let role = actor.role.as_ref()?;
    let role = role.replace("{namespace}", &actor.identity.namespace);
    Some(role.replace("{actor}", actor.identity.actor.as_str()))
}
