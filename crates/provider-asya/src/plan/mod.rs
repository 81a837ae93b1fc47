//! The next step for one Queue, decided from desired and observed state.
//!
//! Pure: no clock, no connection. The order of the decisions is that of Crossplane's managed
//! reconciler, from "does it exist" to "has it drifted"; ownership is decided before any change.

use std::time::Duration;

use actor::queue::Location;

use crate::owner::OwnerTag;
use crate::policies::Policies;
use crate::transport::{Drift, DriftKind, Observation, ObservedQueue, Ownership};

/// Inputs of the decision.
#[derive(Debug)]
pub struct PlanInput<'a> {
    /// Name of the queue.
    pub name: &'a str,
    /// Observed state.
    pub observation: &'a Observation,
    /// The owner tag of this object.
    pub owner_tag: &'a OwnerTag,
    /// The object's management policies.
    pub policies: &'a Policies,
    /// Rule for a queue without an owner tag.
    pub adoption: Adoption,
    /// True if it was created a moment ago and may not be visible yet.
    pub is_new: bool,
    /// True if a creation was begun and no success was recorded.
    pub is_incomplete: bool,
    /// Blockers of the deletion, if the object is being deleted.
    pub deletion: Option<Deletion>,
    /// Time since settings were written; none where this process wrote none.
    pub since_update: Option<Duration>,
    /// Time that settings have to take effect.
    pub settling: Duration,
}

impl PlanInput<'_> {
    /// Returns whether settings were written a moment ago and may not be visible yet.
    fn is_settling(&self) -> bool {
        self.since_update.is_some_and(|since| since < self.settling)
    }

    /// Returns whether quick observations suffice for a while after `step`, which was decided after a full
    /// one. A quick observation reads no owner tag and no binding: after a refusal, or while
    /// something is still to be done, it would wrongly find the queue in sync.
    pub fn settles(&self, step: &Step) -> bool {
        *step == Step::NoOp && !self.is_incomplete && !self.is_settling()
    }
}

/// Rule for adopting a queue without an owner tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Adoption {
    /// The object does not request it.
    NotRequested,
    /// The object requests it and its ClusterProviderConfig does not allow it.
    Forbidden,
    /// It may be adopted.
    Allowed,
}

/// Blockers of the deletion of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deletion {
    /// True if the object has finalizers of other programs.
    pub has_other_finalizers: bool,
    /// True if scalers of the actor exist.
    pub scalers_remain: bool,
    /// True if the queue must be empty first and has not been empty for long enough.
    pub waits_for_empty: bool,
}

/// The next step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The queue is in sync, or its drift must not be corrected.
    NoOp,
    /// Create the queue, or finish its creation.
    Create,
    /// Correct this drift.
    Update(Vec<Drift>),
    /// Delete the queue.
    Delete,
    /// Remove the finalizer and leave the queue as it is.
    Release,
    /// Wait and observe again.
    Wait(Waiting),
    /// Change nothing and report the reason.
    Refuse(Refusal),
}

/// Events that a reconcile waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Waiting {
    /// Visibility of a new queue.
    Visibility,
    /// Removal of other finalizers.
    OtherFinalizers,
    /// Deletion of the actor's scalers.
    Scalers,
    /// An empty queue; the number of messages in it, where known.
    Empty(Option<u64>),
}

/// Reason for which nothing is changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The queue is missing, and the object only observes.
    #[error("observe failed: external resource does not exist")]
    NothingToObserve,
    /// The queue belongs to another owner.
    #[error(
        "queue {name:?} belongs to {owner:?}: choose another name with the annotation \
         crossplane.io/external-name, or delete the object that owns it"
    )]
    Foreign {
        /// The queue.
        name: String,
        /// Owner tag of the other owner.
        owner: String,
    },
    /// The queue has no owner tag, and adoption was not requested.
    #[error(
        "queue {name:?} exists and has no owner tag: set `spec.forProvider.adopt: true` (an actor's \
         `spec.queue.adopt`) to take it over with its messages"
    )]
    Unowned {
        /// The queue.
        name: String,
    },
    /// The queue has no owner tag, and adoption is not allowed.
    #[error(
        "queue {name:?} exists and has no owner tag, and the ClusterProviderConfig does not allow its \
         adoption: set `allowAdopt: true` there"
    )]
    AdoptionForbidden {
        /// The queue.
        name: String,
    },
}

/// Decides the next step.
pub fn decide(input: &PlanInput) -> Step {
    if let Some(deletion) = input.deletion {
        return decide_deletion(input, deletion);
    }
    let Observation::Present(observed) = input.observation else {
        return match input.policies {
            policies if policies.only_observe() => Step::Refuse(Refusal::NothingToObserve),
            _ if input.is_new => Step::Wait(Waiting::Visibility),
            policies if policies.may_create() => Step::Create,
            _ => Step::Refuse(Refusal::NothingToObserve),
        };
    };
    if input.policies.only_observe() {
        // Observing the queue of another owner changes nothing.
        return Step::NoOp;
    }
    if input.is_new && observed.owner == Ownership::Unowned {
        // The owner tag was set when the queue was created, and may be visible later than the queue.
        return Step::Wait(Waiting::Visibility);
    }
    if let Some(refusal) = refusal(input, observed) {
        return Step::Refuse(refusal);
    }
    if input.is_incomplete
        && observed.owner == Ownership::OwnedBy(input.owner_tag.to_string())
        && input.policies.may_create()
    {
        return Step::Create;
    }
    let mut settable: Vec<Drift> = observed
        .drift
        .iter()
        .filter(|drift| drift.kind == DriftKind::Settable)
        .cloned()
        .collect();
    if observed.owner == Ownership::Unowned {
        settable.push(Drift::settable("owner", "none", input.owner_tag));
    }
    if settable.is_empty() || input.is_settling() || !input.policies.may_update() {
        return Step::NoOp;
    }
    Step::Update(settable)
}

fn decide_deletion(input: &PlanInput, deletion: Deletion) -> Step {
    if deletion.has_other_finalizers {
        return Step::Wait(Waiting::OtherFinalizers);
    }
    let Observation::Present(observed) = input.observation else {
        // A queue that is not visible yet would never be deleted.
        return if input.is_new {
            Step::Wait(Waiting::Visibility)
        } else {
            Step::Release
        };
    };
    let is_ours = match &observed.owner {
        Ownership::OwnedBy(owner) => owner == input.owner_tag.as_str(),
        Ownership::Unread => true,
        Ownership::Unowned if input.is_new && input.policies.may_delete() => {
            return Step::Wait(Waiting::Visibility);
        }
        Ownership::Unowned => false,
    };
    if !is_ours || !input.policies.may_delete() {
        return Step::Release;
    }
    if deletion.scalers_remain {
        return Step::Wait(Waiting::Scalers);
    }
    if deletion.waits_for_empty {
        return Step::Wait(Waiting::Empty(observed.held));
    }
    Step::Delete
}

fn refusal(input: &PlanInput, observed: &ObservedQueue) -> Option<Refusal> {
    let name = input.name.to_owned();
    match (&observed.owner, input.adoption) {
        (Ownership::OwnedBy(owner), _) if owner != input.owner_tag.as_str() => {
            Some(Refusal::Foreign {
                name,
                owner: owner.clone(),
            })
        }
        (Ownership::Unowned, Adoption::NotRequested) => Some(Refusal::Unowned { name }),
        (Ownership::Unowned, Adoption::Forbidden) => Some(Refusal::AdoptionForbidden { name }),
        _ => None,
    }
}

/// The differences between the recorded location of a queue and its present one, as a message; none
/// where they are equal. An unknown value equals any other. For a service with regions a missing
/// endpoint is AWS's own.
pub fn moved(recorded: &Location, now: &Location) -> Option<String> {
    let endpoint = |location: &Location| {
        let own = location.region.as_ref().map(|_| "AWS's own".to_owned());
        location.endpoint.clone().or(own)
    };
    let pairs = [
        ("endpoint", &endpoint(recorded), &endpoint(now)),
        ("vhost", &recorded.vhost, &now.vhost),
        ("region", &recorded.region, &now.region),
        ("account", &recorded.account_id, &now.account_id),
    ];
    let differences: Vec<String> = pairs
        .into_iter()
        .filter_map(|(what, was, is)| match (was, is) {
            (Some(was), Some(is)) if was != is => Some(format!("{what} {was:?} is now {is:?}")),
            _ => None,
        })
        .collect();
    (!differences.is_empty()).then(|| differences.join(", "))
}

#[cfg(test)]
mod tests;
