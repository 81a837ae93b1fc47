//! Reasons of a WorkloadBinding's conditions: what the provider reports, and the step
//! report-status and the step render-scaledobject read.

/// `TargetResolved`, True: the target is there.
pub const RESOLVED: &str = "Resolved";
/// `TargetResolved`: there is no object of that kind and name.
pub const TARGET_NOT_FOUND: &str = "TargetNotFound";
/// `TargetResolved`: the cluster does not serve the kind.
pub const KIND_NOT_SERVED: &str = "KindNotServed";
/// `TargetResolved`: the target is there, and what makes its pods is not, or not yet.
pub const NO_WORKLOAD: &str = "NoWorkload";

/// `Ready`, True.
pub const AVAILABLE: &str = "Available";
/// `Ready`: all is well so far, and not done.
pub const CREATING: &str = "Creating";
/// `Ready`: another controller removed what was added; it is restored. The message
/// names that controller's field manager.
pub const CONFLICT: &str = "Conflict";
/// `Ready`: another controller removed it more than
/// [`CONFLICTS_MAX`](super::CONFLICTS_MAX) times, and nothing is done until the spec
/// changes. The message names that controller's field manager.
pub const GAVE_UP: &str = "GaveUp";
/// `Ready`: another actor is bound to the target; the message names it.
pub const ALREADY_BOUND: &str = "AlreadyBound";
/// `Ready`: a container, volume or label that is to be added is another owner's
/// already; the message names the field and its manager.
pub const FIELD_TAKEN: &str = "FieldTaken";
/// `Ready`: the API server refused what was to be added; the message has its words.
pub const REFUSED: &str = "Refused";
/// `Ready`: the provider lacks the right; the message names it.
pub const FORBIDDEN: &str = "Forbidden";

/// `ScalingReady` of the actor: nothing can set the number of the target's pods.
pub const NOT_SCALABLE: &str = "NotScalable";
/// Conditions of the actor: the target is not resolved yet.
pub const TARGET_NOT_RESOLVED: &str = "TargetNotResolved";
