//! What to do next about one Queue, decided from what is wanted and what is seen.
//!
//! Pure: no clock, no connection. The order of the questions is that of every
//! managed resource of Crossplane's, from "was it seen at all" to "does it
//! differ"; questions of whose the queue is come before any change.

use std::time::Duration;

use actor::queue::Location;

use crate::owner::OwnerMark;
use crate::policies::Policies;
use crate::transport::{Drift, DriftKind, Found, Mark, Observation};

/// Everything that the decision depends on.
#[derive(Debug)]
pub struct Facts<'a> {
    /// Name of the queue.
    pub name: &'a str,
    /// What is seen of it.
    pub observation: &'a Observation,
    /// Our mark.
    pub mark: &'a OwnerMark,
    /// What the object lets us do.
    pub policies: &'a Policies,
    /// Whether a queue without a mark may be taken.
    pub adoption: Adoption,
    /// Whether it was made just now, and may not be visible yet.
    pub is_new: bool,
    /// Whether its creation was begun and never seen to end.
    pub is_in_doubt: bool,
    /// How deletion goes, where the object is being deleted.
    pub deletion: Option<Deletion>,
    /// How long ago settings were written, where they were.
    pub since_update: Option<Duration>,
    /// Time that settings have to take effect.
    pub settling: Duration,
}

impl Facts<'_> {
    /// Whether settings were written a moment ago and may not show yet.
    fn is_settling(&self) -> bool {
        self.since_update.is_some_and(|since| since < self.settling)
    }

    /// Whether `step`, decided after a whole look, settles that glances will do
    /// for a while. A glance reads no mark and no binding: after a refusal, or
    /// while something is still to be done, it would find that all is well.
    pub fn settles(&self, step: &Step) -> bool {
        *step == Step::Rest && !self.is_in_doubt && !self.is_settling()
    }
}

/// Whether a queue without a mark may be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Adoption {
    /// The object does not ask for it.
    NotAsked,
    /// The object asks, and its ClusterProviderConfig does not allow it.
    Forbidden,
    /// It may.
    Allowed,
}

/// How the deletion of an object stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deletion {
    /// Whether somebody else's finalizer is on the object.
    pub others_hold_it: bool,
    /// Whether scalers of the actor's are still there.
    pub scalers_remain: bool,
    /// Whether the queue must be empty first, and has not been for long enough.
    pub waits_for_empty: bool,
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Nothing: all is well, or what differs may not be written.
    Rest,
    /// Make the queue, or finish its creation.
    Create,
    /// Write these differences.
    Update(Vec<Drift>),
    /// Delete the queue.
    Delete,
    /// Let the object go.
    Release,
    /// Wait for something that shows itself; the text says for what.
    Wait(Waiting),
    /// Do nothing and say why.
    Refuse(Refusal),
}

/// What is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Waiting {
    /// A new queue to become visible.
    Visibility,
    /// Other finalizers to go.
    OtherFinalizers,
    /// The actor's scalers to go.
    Scalers,
    /// The queue to become empty; the number of messages in it, where known.
    Empty(Option<u64>),
}

/// Why nothing is done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The queue is absent, and the object only observes.
    #[error("observe failed: external resource does not exist")]
    NothingToObserve,
    /// The queue is somebody else's.
    #[error(
        "queue {name:?} belongs to {owner:?}: choose another name with the annotation \
         crossplane.io/external-name, or delete the object that owns it"
    )]
    Foreign {
        /// The queue.
        name: String,
        /// The owner's mark.
        owner: String,
    },
    /// The queue is nobody's, and adoption was not asked for.
    #[error(
        "queue {name:?} exists and carries no owner's mark: set `spec.forProvider.adopt: true` (an actor's \
         `spec.queue.adopt`) to take it over with its messages"
    )]
    Unmarked {
        /// The queue.
        name: String,
    },
    /// The queue is nobody's, and adoption is not allowed.
    #[error(
        "queue {name:?} exists and carries no owner's mark, and the ClusterProviderConfig does not allow its \
         adoption: set `allowAdopt: true` there"
    )]
    AdoptionForbidden {
        /// The queue.
        name: String,
    },
}

/// The next step.
pub fn decide(facts: &Facts) -> Step {
    if let Some(deletion) = facts.deletion {
        return decide_deletion(facts, deletion);
    }
    let Observation::Present(found) = facts.observation else {
        return match facts.policies {
            policies if policies.only_observe() => Step::Refuse(Refusal::NothingToObserve),
            _ if facts.is_new => Step::Wait(Waiting::Visibility),
            policies if policies.may_create() => Step::Create,
            _ => Step::Refuse(Refusal::NothingToObserve),
        };
    };
    if facts.policies.only_observe() {
        // Looking at somebody else's queue takes nothing away from them.
        return Step::Rest;
    }
    if facts.is_new && found.mark == Mark::None {
        // The mark was given when the queue was made, and may show later than the queue.
        return Step::Wait(Waiting::Visibility);
    }
    if let Some(refusal) = refusal(facts, found) {
        return Step::Refuse(refusal);
    }
    if facts.is_in_doubt
        && found.mark == Mark::Of(facts.mark.to_string())
        && facts.policies.may_create()
    {
        return Step::Create;
    }
    let mut settable: Vec<Drift> = found
        .drift
        .iter()
        .filter(|drift| drift.kind == DriftKind::Settable)
        .cloned()
        .collect();
    if found.mark == Mark::None {
        settable.push(Drift::settable("owner", "nobody", facts.mark));
    }
    if settable.is_empty() || facts.is_settling() || !facts.policies.may_update() {
        return Step::Rest;
    }
    Step::Update(settable)
}

fn decide_deletion(facts: &Facts, deletion: Deletion) -> Step {
    if deletion.others_hold_it {
        return Step::Wait(Waiting::OtherFinalizers);
    }
    let Observation::Present(found) = facts.observation else {
        // A queue that is not visible yet would stay behind for ever.
        return if facts.is_new {
            Step::Wait(Waiting::Visibility)
        } else {
            Step::Release
        };
    };
    let is_ours = match &found.mark {
        Mark::Of(owner) => owner == facts.mark.as_str(),
        Mark::Unread => true,
        Mark::None if facts.is_new && facts.policies.may_delete() => {
            return Step::Wait(Waiting::Visibility);
        }
        Mark::None => false,
    };
    if !is_ours || !facts.policies.may_delete() {
        return Step::Release;
    }
    if deletion.scalers_remain {
        return Step::Wait(Waiting::Scalers);
    }
    if deletion.waits_for_empty {
        return Step::Wait(Waiting::Empty(found.held));
    }
    Step::Delete
}

fn refusal(facts: &Facts, found: &Found) -> Option<Refusal> {
    let name = facts.name.to_owned();
    match (&found.mark, facts.adoption) {
        (Mark::Of(owner), _) if owner != facts.mark.as_str() => Some(Refusal::Foreign {
            name,
            owner: owner.clone(),
        }),
        (Mark::None, Adoption::NotAsked) => Some(Refusal::Unmarked { name }),
        (Mark::None, Adoption::Forbidden) => Some(Refusal::AdoptionForbidden { name }),
        _ => None,
    }
}

/// What differs between where a queue was and where it would be looked for now,
/// in words; what either side does not know differs from nothing. Of a service with
/// regions no endpoint is its own one, which is as good as any other.
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
#[path = "plan_tests.rs"]
mod tests;
