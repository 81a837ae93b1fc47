//! Blockers of scaling that are not errors of the spec.

use actor::{KEDA_API_VERSION, health};
use function_kit::{Call, Code, Diagnostic, SchemaAnswer, value};
use function_proto::v1::Capability;

use crate::scaled_object;

/// Reason for which KEDA must not scale this actor for now.
pub(crate) enum Blocker {
    /// Another scaler acts on the workload.
    ForeignScaler(ForeignScaler),
    /// The cluster does not have KEDA.
    KedaNotInstalled,
}

/// A scaler of another owner's on the same pods.
pub(crate) struct ForeignScaler {
    /// Message that names it.
    pub(crate) message: String,
    /// Remedy.
    pub(crate) help: String,
    /// The field of the spec that lets Asya scale the pods.
    pub(crate) field: [&'static str; 2],
}

impl Blocker {
    /// Returns whether KEDA is known not to be there. Asks Crossplane for schemas while there is
    /// no ScaledObject yet.
    pub(crate) fn absence(call: &mut Call) -> Option<Self> {
        // An observed ScaledObject proves that KEDA is installed. It must not be left out
        // because of a doubt: that would be an order to delete it.
        let is_new = call.observed(scaled_object::RESOURCE_NAME).is_none();
        (is_new && is_keda_absent(call)).then_some(Self::KedaNotInstalled)
    }

    /// The scaler of another owner's that the provider has seen on the actor's own pods.
    pub(crate) fn on_own_pods(call: &Call) -> Option<Self> {
        let path = |field| ["status", "atProvider", "foreignScaler", field];
        let health = call.observed(health::RESOURCE_NAME)?;
        let kind = value::text(health, &path("kind"))?;
        let name = value::text(health, &path("name"))?;
        let api_version = value::text(health, &path("apiVersion"))?;
        Some(Self::ForeignScaler(ForeignScaler {
            message: format!("{kind} {name:?} ({api_version}) scales the actor's workload too"),
            help: "delete it, or set scaling.enabled to false".to_owned(),
            field: ["scaling", "enabled"],
        }))
    }

    /// The reason of condition `ScalingReady`.
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Self::ForeignScaler(_) => "ForeignScaler",
            Self::KedaNotInstalled => "KedaNotInstalled",
        }
    }

    /// A blocker of scaling, with its remedy.
    pub(crate) fn diagnostic(&self, call: &Call) -> Diagnostic {
        match self {
            Self::ForeignScaler(scaler) => {
                let location = call.locate(&scaler.field.into());
                Diagnostic::warning(Code::ForeignScaler, location, &scaler.message)
                    .help(&scaler.help)
            }
            Self::KedaNotInstalled => {
                let location = call.locate(&["scaling", "enabled"].into());
                let message = format!(
                    "KEDA is not installed, because the cluster does not serve ScaledObject of {KEDA_API_VERSION}"
                );
                Diagnostic::warning(Code::KedaMissing, location, message).help(
                    "install KEDA, or set scaling.enabled to false; the actor runs without scaling",
                )
            }
        }
    }
}

/// Returns whether the cluster is known not to serve `ScaledObject`. The schema of a kind
/// that is always there is the control: where that is not answered either, as in a
/// render without a cluster, nothing is known.
fn is_keda_absent(call: &mut Call) -> bool {
    if !call.has_capability(Capability::RequiredSchemas) {
        return false;
    }
    let control = call.require_schema("control-configmap", "v1", "ConfigMap");
    let keda = call.require_schema("keda-scaledobject", KEDA_API_VERSION, "ScaledObject");
    control == SchemaAnswer::Served && keda == SchemaAnswer::Absent
}
