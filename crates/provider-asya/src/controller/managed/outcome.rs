//! Outcome of a reconcile, and the time of the next one.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::ResourceExt as _;
use kube::runtime::controller::Action;
use tokio::time::Instant;

use super::StateCache;
use crate::kinds::Managed;
use crate::metrics::{Lifecycle, Outcome};
use crate::requeue::{self, Requeue};
use crate::timings::Timings;

/// Outcome of a reconcile of a managed resource.
#[derive(Debug)]
pub(in crate::controller) struct ReconcileOutcome {
    /// Time of the next reconcile.
    pub(in crate::controller) requeue: Requeue,
    /// Failed action, if one failed.
    pub(in crate::controller) error: Option<String>,
    /// True if the object is deleted, as far as this provider is concerned.
    pub(in crate::controller) is_deleted: bool,
    /// True if something outside had to be changed.
    pub(in crate::controller) has_changed: bool,
}

impl ReconcileOutcome {
    /// A reconcile after which the next one is due at `requeue`.
    pub(in crate::controller) fn done(requeue: Requeue) -> Self {
        Self {
            requeue,
            error: None,
            is_deleted: false,
            has_changed: false,
        }
    }

    /// The last reconcile of an object.
    pub(in crate::controller) fn deleted() -> Self {
        Self {
            is_deleted: true,
            ..Self::done(Requeue::OnChange)
        }
    }

    /// A reconcile that failed.
    pub(in crate::controller) fn failed(error: String, requeue: Requeue) -> Self {
        Self {
            error: Some(error),
            ..Self::done(requeue)
        }
    }

    fn for_lifecycle(&self) -> Outcome {
        match self.requeue {
            _ if self.is_deleted => Outcome::Deleted,
            _ if self.has_changed => Outcome::Changed,
            Requeue::Poll if self.error.is_none() => Outcome::InSync,
            _ => Outcome::Other,
        }
    }
}

/// Error of a reconcile. Conditions and events of the object already contain the message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(in crate::controller) struct ReconcileError {
    /// One line: what failed, and what to do.
    pub(in crate::controller) message: String,
    /// Requeue of the object; [`Requeue::Poll`] is resolved to a duration.
    pub(in crate::controller) requeue: Requeue,
}

impl ReconcileError {
    /// An error that is retried with backoff.
    pub(in crate::controller) fn retried(message: String) -> Self {
        Self {
            message,
            requeue: Requeue::Backoff,
        }
    }
}

/// Context of a controller whose objects have state between reconciles.
pub(in crate::controller) trait HasStates {
    /// State of one object.
    type State: Clone + Default;

    /// State of all objects.
    fn states(&self) -> &StateCache<Self::State>;

    /// Every duration.
    fn timings(&self) -> &Timings;
}

/// kube's error policy of all controllers: backoff from [`Timings::first_backoff`], doubled by each
/// consecutive error up to [`Timings::longest_backoff`], unless the error contains a time to retry.
#[expect(clippy::needless_pass_by_value, reason = "the signature of kube")]
pub(in crate::controller) fn error_policy<K, C>(
    object: Arc<K>,
    error: &ReconcileError,
    context: Arc<C>,
) -> Action
where
    K: kube::Resource<DynamicType = ()>,
    C: HasStates,
{
    let uid = object.uid().unwrap_or_default();
    let retries = context.states().count_retries(&uid, error.requeue);
    action(error.requeue, retries, context.timings())
}

/// Reporters of the end of a reconcile.
pub(in crate::controller) struct Finished<'a, K> {
    /// Name of the controller in metrics.
    pub(in crate::controller) controller: &'static str,
    /// The object as it was before.
    pub(in crate::controller) object: &'a K,
    /// True if it is ready now.
    pub(in crate::controller) is_ready: bool,
    /// Start of the reconcile.
    pub(in crate::controller) started: Instant,
    /// Interval at which its counters are read.
    pub(in crate::controller) counters: Option<Duration>,
    /// Outcome of the reconcile.
    pub(in crate::controller) outcome: ReconcileOutcome,
}

/// Records metrics and state of a finished reconcile.
///
/// # Errors
/// The reconcile failed: kube calls [`error_policy`].
pub(in crate::controller) fn finish<K, C>(
    finished: Finished<'_, K>,
    mut state: C::State,
    lifecycle: impl FnOnce(&mut C::State) -> &mut Lifecycle,
    provider: &super::super::Context,
    context: &C,
) -> Result<Action, ReconcileError>
where
    K: Managed,
    C: HasStates,
{
    let (object, outcome) = (finished.object, finished.outcome);
    let metrics = &provider.metrics;
    metrics.reconciled(
        finished.controller,
        outcome.error.is_some(),
        finished.started.elapsed(),
    );
    metrics.follow(
        lifecycle(&mut state),
        object,
        finished.is_ready,
        outcome.for_lifecycle(),
        Timestamp::now(),
    );
    let uid = object.uid().unwrap_or_default();
    if outcome.is_deleted {
        context.states().remove(&uid);
        return Ok(Action::await_change());
    }
    context.states().put(&uid, state);
    let timings = &provider.timings;
    let requeue = match outcome.requeue {
        Requeue::Poll => {
            let interval = requeue::poll_interval(object.annotations(), finished.counters, timings);
            Requeue::After(requeue::with_jitter(interval, requeue::chance(), timings))
        }
        requeue => requeue,
    };
    if let Some(message) = outcome.error {
        return Err(ReconcileError { message, requeue });
    }
    let retries = context.states().count_retries(&uid, requeue);
    Ok(action(requeue, retries, timings))
}

fn action(requeue: Requeue, retries: u32, timings: &Timings) -> Action {
    let wait = match requeue {
        Requeue::OnChange => return Action::await_change(),
        Requeue::After(wait) => wait,
        Requeue::Backoff => requeue::backoff(retries, timings),
        Requeue::Poll => timings.poll,
    };
    Action::requeue(wait.max(Duration::from_millis(1)))
}
