//! What stands in the way of scaling though the spec is right.

use actor::{KEDA_API_VERSION, health};
use function_kit::{Call, SchemaAnswer, value};
use function_sdk_rust::proto::v1::Capability;

use crate::scaled_object;

/// Why KEDA is not to scale this actor for now.
pub(crate) enum Obstacle {
    /// Another scaler acts on the workload; the text names it.
    ForeignScaler(String),
    /// The cluster does not have KEDA.
    KedaNotInstalled,
}

impl Obstacle {
    /// What stands in the way, if anything is known to. Asks Crossplane for schemas
    /// while there is no ScaledObject yet.
    pub(crate) fn find(call: &mut Call) -> Option<Self> {
        if let Some(foreign) = foreign_scaler(call) {
            return Some(Self::ForeignScaler(foreign));
        }
        // An observed ScaledObject proves that KEDA is there. It must not be left out
        // because of a doubt: that would be an order to delete it.
        let is_new = call.observed(scaled_object::RESOURCE_NAME).is_none();
        (is_new && is_keda_absent(call)).then_some(Self::KedaNotInstalled)
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
            Self::ForeignScaler(name) => format!(
                "{name} scales the actor's workload too: delete it, or set scaling.enabled to false"
            ),
            Self::KedaNotInstalled => format!(
                "KEDA is not installed, for the cluster does not serve ScaledObject of {KEDA_API_VERSION}: install KEDA, or set scaling.enabled to false; the actor runs without scaling"
            ),
        }
    }
}

/// The scaler of somebody else's that the provider has seen on the workload.
fn foreign_scaler(call: &Call) -> Option<String> {
    let path = |field| ["status", "atProvider", "foreignScaler", field];
    [health::RESOURCE_NAME, "binding"]
        .into_iter()
        .filter_map(|name| call.observed(name))
        .find_map(|observer| {
            let kind = value::text(observer, &path("kind"))?;
            let name = value::text(observer, &path("name"))?;
            let api_version = value::text(observer, &path("apiVersion"))?;
            Some(format!("{kind} {name:?} ({api_version})"))
        })
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
