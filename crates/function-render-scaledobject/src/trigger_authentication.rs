//! The `TriggerAuthentication`: whose credentials KEDA uses, and the ConfigMap for
//! what KEDA takes from no trigger's metadata although it is no secret.

use actor::KEDA_API_VERSION;
use function_kit::Identity;
use serde_json::{Value, json};

use crate::queue_trigger::Access;

/// Name of the composed resource.
pub(crate) const RESOURCE_NAME: &str = "trigger-authentication";
/// Name of the composed ConfigMap.
pub(crate) const PARAMETERS_RESOURCE_NAME: &str = "trigger-parameters";

const COMPONENT: &str = "trigger-authentication";

/// The object for `access`.
pub(crate) fn object(identity: &Identity, access: &Access) -> Value {
    let name = identity.actor.trigger_authentication();
    let mut spec = json!({});
    if let Some(provider) = access.pod_identity {
        spec["podIdentity"] = json!({"provider": provider});
    }
    if !access.secrets.is_empty() {
        spec["secretTargetRef"] = access
            .secrets
            .iter()
            .map(|(parameter, secret)| {
                json!({"parameter": parameter, "name": secret.name, "key": secret.key})
            })
            .collect();
    }
    if !access.parameters.is_empty() {
        spec["configMapTargetRef"] = access
            .parameters
            .keys()
            .map(|parameter| json!({"parameter": parameter, "name": name, "key": parameter}))
            .collect();
    }
    json!({
        "apiVersion": KEDA_API_VERSION,
        "kind": "TriggerAuthentication",
        "metadata": identity.metadata(&name, COMPONENT),
        "spec": spec,
    })
}

/// The ConfigMap with the parameters that are no secrets; none where there are none.
pub(crate) fn parameters(identity: &Identity, access: &Access) -> Option<Value> {
    let name = identity.actor.trigger_authentication();
    (!access.parameters.is_empty()).then(|| {
        json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": identity.metadata(&name, COMPONENT),
            "data": access.parameters,
        })
    })
}
