//! Queues at brokers and services: one module per system behind the trait [`ExternalQueue`].
//!
//! An implementation decides nothing: it observes, and executes what [`crate::plan`] decides.

pub mod call_times;
mod error;
pub mod limit;
pub mod rabbitmq;
pub mod sqs;

use std::fmt;

use actor::provider_config::SharedPolicyRecord;
use actor::queue::Location;
use futures::future::BoxFuture;

pub use self::error::TransportError;
use crate::counters::Counters;
use crate::text;

/// One queue at a broker or service.
///
/// # Guarantees
/// Every method is idempotent and may be called again after a crash: creation takes what exists, and
/// deletion of what is missing succeeds.
pub trait ExternalQueue: Send + Sync {
    /// Location at which the queue would be created now, as far as it is known without a call.
    fn location(&self) -> Location;

    /// Returns whether an observation shows each change at once. SQS shows a new queue later.
    fn shows_changes_at_once(&self) -> bool;

    /// Observes the queue and changes nothing.
    fn observe(&self, depth: Depth) -> BoxFuture<'_, Result<Observation, TransportError>>;

    /// Names of policies that a creation or an update may write. They are recorded before, so that after a
    /// crash it is known who wrote them.
    fn names_to_record(&self) -> BoxFuture<'_, Result<Vec<String>, TransportError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    /// Those of these policies that do not exist: after a creation that was refused they are not recorded any more,
    /// since whoever writes them next is not the provider.
    fn absent_policies(
        &self,
        _names: Vec<String>,
    ) -> BoxFuture<'_, Result<Vec<String>, TransportError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    /// Shared policies whose origin is known since the last call, and not recorded yet. They are recorded in the
    /// ProviderConfig before the next call.
    fn shared_policies_to_record(&self) -> Vec<SharedPolicyRecord> {
        Vec::new()
    }

    /// Takes the records that the ProviderConfig has now.
    fn shared_policies_recorded(&self, _records: &[SharedPolicyRecord]) {}

    /// Creates the queue with everything that belongs to it.
    fn create(&self) -> BoxFuture<'_, Result<(), TransportError>>;

    /// Writes settings that may change, and creates missing objects that belong to the queue.
    fn update(&self) -> BoxFuture<'_, Result<(), TransportError>>;

    /// Deletes the queue with its messages, and everything that belongs to it.
    fn delete(&self) -> BoxFuture<'_, Result<(), TransportError>>;
}

/// Extent of an observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// One API call: counters and visible drift; reads no bindings and no owner tags of SQS.
    Quick,
    /// [`Depth::Quick`], and the dead letters: one more call where dead-lettering is on.
    WithDeadLetters,
    /// Everything: at first contact, before every change, and each
    /// [`resync_interval`](crate::timings::Timings::resync_interval).
    Full,
}

/// Result of an observation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Observation {
    /// The queue does not exist.
    Missing,
    /// The queue exists.
    Present(Box<ObservedQueue>),
}

/// A queue that exists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObservedQueue {
    /// Its owner.
    pub owner: Ownership,
    /// URL, on SQS.
    pub url: Option<String>,
    /// ARN, on SQS.
    pub arn: Option<String>,
    /// Location in which it was found.
    pub location: Location,
    /// Numbers of messages; unknown while the broker has not counted them. A quick observation
    /// counts no dead letters.
    pub counters: Option<Counters>,
    /// Number of its consumers, on RabbitMQ; unknown while the broker has not counted them.
    pub consumers: Option<u64>,
    /// Messages that would be lost with it, dead letters included; known after a full observation.
    pub held: Option<u64>,
    /// Differences between desired and observed state.
    pub drift: Vec<Drift>,
    /// Drift among it that a quick observation finds.
    pub quick_drift: Vec<Drift>,
    /// Names of the policies that the provider wrote, on RabbitMQ; known after a full observation.
    pub policies: Option<Vec<String>>,
    /// Delays in seconds whose retry queues exist, on RabbitMQ; known after a full observation.
    pub retry_delays: Option<Vec<u32>>,
    /// True if retry queues of former delays exist, which are deleted once they are empty.
    pub has_former_retry_queues: bool,
    /// Reason for which it cannot be used, if it cannot.
    pub unusable: Option<String>,
    /// The policy that shadows ours, or that ours shadows, as a message.
    pub shadowed: Option<String>,
}

impl ObservedQueue {
    /// Returns whether there is drift that can be corrected.
    pub fn has_settable_drift(&self) -> bool {
        let mut drift = self.drift.iter();
        drift.any(|drift| drift.kind == DriftKind::Settable)
    }

    /// Sets the number of dead letters, where the broker counts messages.
    fn set_dead_letters(&mut self, count: Option<u64>) {
        if let Some(counters) = &mut self.counters {
            counters.dead_lettered = count;
        }
    }
}

/// Owner of a queue.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Ownership {
    /// The observation has not read the owner.
    #[default]
    Unread,
    /// None.
    Unowned,
    /// The owner with this tag.
    OwnedBy(String),
}

/// An owner tag for messages and statuses. One that is not `ours` is cleaned and cut, and never becomes equal to
/// it by that.
fn owner_in_message(tag: String, ours: &str) -> String {
    if tag == ours {
        return tag;
    }
    let mut cleaned = text::clean(&tag, text::FOREIGN_MAX);
    if cleaned == ours {
        cleaned.push('…');
    }
    cleaned
}

/// One difference between desired and observed state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drift {
    /// Field of `forProvider` that differs, or a description of the difference.
    pub what: String,
    /// Observed value.
    pub have: String,
    /// Desired value.
    pub want: String,
    /// Can it be corrected?
    pub kind: DriftKind,
}

/// Kinds of difference, by how they can be corrected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DriftKind {
    /// It is corrected.
    Settable,
    /// It was decided when the queue was created.
    Fixed,
    /// Correcting it could lose messages.
    Withheld,
}

impl Drift {
    /// A difference that is corrected.
    pub fn settable(what: &str, have: impl fmt::Display, want: impl fmt::Display) -> Self {
        Self::new(
            DriftKind::Settable,
            what,
            &have.to_string(),
            want.to_string(),
        )
    }

    /// A difference that cannot be corrected.
    pub fn fixed(what: &str, have: impl fmt::Display, want: impl fmt::Display) -> Self {
        Self::new(DriftKind::Fixed, what, &have.to_string(), want.to_string())
    }

    /// A difference that is kept, since correcting it could lose messages.
    pub fn withheld(what: &str, have: impl fmt::Display, want: impl fmt::Display) -> Self {
        Self::new(
            DriftKind::Withheld,
            what,
            &have.to_string(),
            want.to_string(),
        )
    }

    fn new(kind: DriftKind, what: &str, have: &str, want: String) -> Self {
        let what = what.to_owned();
        let have = text::clean(have, text::FOREIGN_MAX);
        Self {
            what,
            have,
            want,
            kind,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owner_tags_of_others_are_cut_and_never_equal_to_ours() {
        let ours = "east/shop/cart";
        for (tag, expected) in [
            (ours, ours),
            ("west/shop/cart", "west/shop/cart"),
            ("east/shop/cart\n", "east/shop/cart…"),
            ("\u{1b}[31mwest", "[31mwest"),
        ] {
            assert_eq!(owner_in_message(tag.to_owned(), ours), expected, "{tag:?}");
        }
        let long = owner_in_message("x".repeat(100_000), ours);
        assert_eq!(long.chars().count(), text::FOREIGN_MAX + 1);
    }
}
