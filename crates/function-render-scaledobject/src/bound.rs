//! Target of an actor in mode Binding, as far as scaling needs it.

use actor::binding::targets::{Scale, TargetKind};
use actor::binding::{AtProvider, ObjectReference, RESOURCE_NAME, Strategy};
use actor::spec::Spec;
use function_kit::{Call, Code, Diagnostic, value};

use crate::blocker::ForeignScaler;
use crate::scaled_object;

/// Target of an actor in mode Binding.
pub(crate) struct Bound {
    target: ObjectReference,
    kind: Option<&'static TargetKind>,
    /// Placement of adapter and sidecar.
    pub(crate) strategy: Strategy,
    /// True if the target is to be scaled beside an adapter of its own.
    scales_target: bool,
    known: AtProvider,
}

/// True if there is something to scale for the target's pods.
pub(crate) enum Scalable<'a> {
    /// This object's `/scale` sets their number.
    Yes(&'a ObjectReference),
    /// Nothing does, for this reason.
    No(&'a str),
    /// The provider has not reported it yet.
    Unknown,
}

impl Bound {
    /// Target of the actor; none in mode Standalone.
    pub(crate) fn of(call: &Call, spec: &Spec) -> Option<Self> {
        let target = spec.workload_ref.as_ref()?.object();
        let kind = TargetKind::find(&target.api_version, &target.kind);
        Some(Self {
            known: known(call, &target),
            target,
            kind,
            strategy: spec.strategy().unwrap_or(Strategy::Adapter),
            scales_target: spec.binding.scale_target.unwrap_or(false),
        })
    }

    /// Returns whether the target's pods are scaled with the queue.
    pub(crate) fn scales_target(&self) -> bool {
        self.strategy == Strategy::Inject || self.scales_target
    }

    /// Field that sets the number of the target's pods.
    pub(crate) fn scalable(&self) -> Scalable<'_> {
        let never = match self.kind.map(|kind| kind.scale) {
            Some(Scale::Nothing(reason)) => Some(reason),
            _ => None,
        };
        match (
            &self.known.scale_target,
            never.or(self.known.not_scalable.as_deref()),
        ) {
            (_, Some(reason)) => Scalable::No(reason),
            (Some(object), None) => Scalable::Yes(object),
            (None, None) => Scalable::Unknown,
        }
    }

    /// Returns the diagnostic of a target whose pods cannot be scaled.
    pub(crate) fn not_scalable(&self, call: &Call, reason: &str) -> Diagnostic {
        let target = &self.target;
        let (field, message) = match self.strategy {
            Strategy::Inject => (
                ["scaling", "enabled"],
                format!(
                    "nothing can scale the pods of {target}: {reason}; the actor runs without scaling"
                ),
            ),
            Strategy::Adapter => (
                ["binding", "scaleTarget"],
                format!(
                    "binding.scaleTarget has no effect, nothing can scale the pods of {target}: {reason}"
                ),
            ),
        };
        Diagnostic::warning(Code::NotScalable, call.locate(&field.into()), message)
    }

    /// The field that lets the target be scaled.
    pub(crate) fn scaling_field(&self) -> [&'static str; 2] {
        match self.strategy {
            Strategy::Inject => ["scaling", "enabled"],
            Strategy::Adapter => ["binding", "scaleTarget"],
        }
    }

    /// Another autoscaler of the target, and the remedy.
    pub(crate) fn foreign_scaler(&self) -> Option<ForeignScaler> {
        let foreign = self.known.foreign_scaler.as_ref()?;
        let remedy = self.kind.and_then(|kind| kind.own_scaler);
        let instead = match self.strategy {
            Strategy::Inject => "set scaling.enabled to false",
            Strategy::Adapter => "set binding.scaleTarget to false",
        };
        Some(ForeignScaler {
            message: format!(
                "{} {:?} ({}) scales {} too",
                foreign.kind, foreign.name, foreign.api_version, self.target,
            ),
            help: format!("{}, or {instead}", remedy.unwrap_or("delete it")),
            field: self.scaling_field(),
        })
    }
}

/// State of the target, as the provider reports it. If it reports nothing, as
/// after a restore without status, what is scaled goes on being scaled.
fn known(call: &Call, target: &ObjectReference) -> AtProvider {
    let reported = || {
        let binding = call.observed(RESOURCE_NAME)?;
        let reported = value::map(binding, &["status", "atProvider"])?;
        serde_json::from_value::<AtProvider>(value::struct_to_json(reported)).ok()
    };
    let reported = reported().unwrap_or_default();
    if reported.target_ref.is_some() {
        return reported.about(target);
    }
    AtProvider {
        scale_target: scaled(call),
        ..AtProvider::default()
    }
}

/// Workload that the observed ScaledObject of the target scales.
fn scaled(call: &Call) -> Option<ObjectReference> {
    let [in_own, beside] = [scaled_object::RESOURCE_NAME, scaled_object::OF_TARGET]
        .map(|name| value::map(call.observed(name)?, &["spec", "scaleTargetRef"]));
    let has_adapter = call
        .desired(actor::binding::ADAPTER_RESOURCE_NAME)
        .is_some();
    let reference = if has_adapter { beside } else { in_own }?;
    let text = |key| value::text(reference, &[key]).map(str::to_owned);
    Some(ObjectReference {
        api_version: text("apiVersion")?,
        kind: text("kind")?,
        name: text("name")?,
    })
}
