//! Checks of KEDA's webhook, made here first.
//!
//! A refusal by KEDA's webhook or by the schema of its objects aborts Crossplane's whole reconcile,
//! without a condition that gives the reason. Source of the rules: KEDA, `scaledobject_webhook.go` and
//! the CRD of ScaledObject.

mod advanced;
mod counts;
mod fallback;
mod formula;
mod triggers;

use actor::platform::Platform;
use actor::spec::Scaling;
use function_kit::{Call, Code, Diagnostic, Identity, Location};
use merge::{FieldPath, Segment};

use crate::scaled_object::PAUSED_PREFIX;
use crate::target::Target;

/// The largest number in KEDA's objects, which have 32 bits with a sign.
const NUMBER_MAX: u32 = i32::MAX as u32;

/// Returns the diagnostics of everything that KEDA would reject.
pub(crate) fn check(
    call: &Call,
    identity: &Identity,
    scaling: &Scaling,
    target: &Target<'_>,
    platform: &Platform,
) -> Vec<Diagnostic> {
    let allowed = &platform.allowed_cluster_trigger_authentications;
    [
        counts::check(call, scaling),
        fallback::check(call, scaling),
        advanced::check(call, scaling),
        triggers::check(call, scaling, target),
        triggers::check_credentials(call, scaling, allowed),
        Vec::from_iter(paused_replicas(identity)),
    ]
    .concat()
}

/// The document and field that gave a path below `spec.scaling`.
fn locate<S: Into<Segment>>(call: &Call, path: impl IntoIterator<Item = S>) -> Location {
    let path = path.into_iter().map(Into::into);
    let path: FieldPath = std::iter::once(Segment::from("scaling"))
        .chain(path)
        .collect();
    call.locate(&path)
}

/// The annotation that pauses KEDA at a number of replicas, if it holds none.
fn paused_replicas(identity: &Identity) -> Option<Diagnostic> {
    let key = format!("{PAUSED_PREFIX}-replicas");
    let text = identity.annotations.get(&key)?;
    let is_count = text.parse::<u32>().is_ok_and(|count| count <= NUMBER_MAX);
    (!is_count).then(|| {
        let location = Location::actor(["metadata", "annotations", key.as_str()]);
        let message = format!("annotation {key} is {text:?}");
        Diagnostic::error(Code::InvalidPause, location, message).help("set a number of replicas")
    })
}
