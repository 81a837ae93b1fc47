//! What stands in the way of scaling though the spec is right.

use actor::{KEDA_API_VERSION, health};
use function_kit::{Call, SchemaAnswer, value};
use function_proto::v1::Capability;

use crate::scaled_object;

/// Why KEDA is not to scale this actor for now.
pub(crate) enum Obstacle {
    /// Another scaler acts on the workload; the text names it and says what to do.
    ForeignScaler(String),
    /// The cluster does not have KEDA.
    KedaNotInstalled,
}

impl Obstacle {
    /// Whether KEDA is known not to be there. Asks Crossplane for schemas while there is
    /// no ScaledObject yet.
    pub(crate) fn absence(call: &mut Call) -> Option<Self> {
        // An observed ScaledObject proves that KEDA is there. It must not be left out
        // because of a doubt: that would be an order to delete it.
        let is_new = call.observed(scaled_object::RESOURCE_NAME).is_none();
        (is_new && is_keda_absent(call)).then_some(Self::KedaNotInstalled)
    }

    /// The scaler of somebody else's that the provider has seen on the actor's own pods.
    pub(crate) fn on_own_pods(call: &Call) -> Option<Self> {
        let path = |field| ["status", "atProvider", "foreignScaler", field];
        let health = call.observed(health::RESOURCE_NAME)?;
        let kind = value::text(health, &path("kind"))?;
        let name = value::text(health, &path("name"))?;
        let api_version = value::text(health, &path("apiVersion"))?;
        Some(Self::ForeignScaler(format!(
            "{kind} {name:?} ({api_version}) scales the actor's workload too: delete it, or set scaling.enabled to false"
        )))
    }

    /// The reason of condition `ScalingReady`.
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Self::ForeignScaler(_) => "ForeignScaler",
            Self::KedaNotInstalled => "KedaNotInstalled",
        }
    }

    /// What stands in the way, and what to do.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::ForeignScaler(message) => message.clone(),
            Self::KedaNotInstalled => format!(
                "KEDA is not installed, for the cluster does not serve ScaledObject of {KEDA_API_VERSION}: install KEDA, or set scaling.enabled to false; the actor runs without scaling"
            ),
        }
    }
}

/// Whether the cluster is known not to serve `ScaledObject`. The schema of a kind
/// that is always there is the control: where that is not told either, as in a
/// render without a cluster, nothing is known.
fn is_keda_absent(call: &mut Call) -> bool {
    if !call.has_capability(Capability::RequiredSchemas) {
        return false;
    }
    let control = call.require_schema("control-configmap", "v1", "ConfigMap");
    let keda = call.require_schema("keda-scaledobject", KEDA_API_VERSION, "ScaledObject");
    control == SchemaAnswer::Served && keda == SchemaAnswer::Absent
}
