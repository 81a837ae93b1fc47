//! What a queueing system must be able to do for a Queue, and what is seen there.
//!
//! One implementation per system, [`rabbitmq`] and [`sqs`], behind the trait
//! [`ExternalQueue`]. An implementation decides nothing: it looks, and does as
//! it is told by [`crate::plan`].

pub mod fault;
pub mod limit;
pub mod rabbitmq;
pub mod sqs;

use std::fmt;

use actor::queue::Location;
use futures::future::BoxFuture;

pub use self::fault::Fault;
use crate::counters::Counters;

/// One queue at a broker or service, and the way to it.
///
/// # Guarantees
/// Every method may be called again after any crash: creation takes what is
/// there, and deletion of what is gone succeeds.
pub trait ExternalQueue: Send + Sync {
    /// Where the queue would be made now, as far as that is known without asking.
    fn location(&self) -> Location;

    /// Looks at the queue and changes nothing.
    fn observe(&self, depth: Depth) -> BoxFuture<'_, Result<Observation, Fault>>;

    /// Makes the queue with everything that belongs to it.
    fn create(&self) -> BoxFuture<'_, Result<(), Fault>>;

    /// Writes the settings that may change, and whatever of the queue's surroundings is missing.
    fn update(&self) -> BoxFuture<'_, Result<(), Fault>>;

    /// Deletes the queue with whatever it holds, and its dead-letter queue.
    fn delete(&self) -> BoxFuture<'_, Result<(), Fault>>;
}

/// How much is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// What one call tells.
    Glance,
    /// That, and the dead letters: where dead-lettering is on, one call more.
    Letters,
    /// Everything: at first contact, before every change, and hourly.
    Whole,
}

/// What is seen of a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Observation {
    /// It is not there.
    Absent,
    /// It is there.
    Present(Box<Found>),
}

/// A queue that is there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// Whose it is.
    pub mark: Mark,
    /// Its URL, on SQS.
    pub url: Option<String>,
    /// Its ARN, on SQS.
    pub arn: Option<String>,
    /// Where it was found.
    pub location: Location,
    /// Messages in it; unknown while the broker has not counted them. Dead letters are among
    /// them only where more than a glance was taken.
    pub counters: Option<Counters>,
    /// Everything that would be lost with it, dead letters included; known
    /// after a whole look.
    pub held: Option<u64>,
    /// In what it differs from what is wanted.
    pub drift: Vec<Drift>,
    /// Why it cannot be used, where it cannot.
    pub unusable: Option<String>,
    /// The policy that stands in the way of ours, in words.
    pub shadowed: Option<String>,
}

impl Found {
    /// Whether something differs that could be written.
    pub fn has_settable_drift(&self) -> bool {
        let mut drift = self.drift.iter();
        drift.any(|drift| drift.kind == DriftKind::Settable)
    }

    /// Adds this count of dead letters, where the broker counts at all.
    fn count_letters(&mut self, letters: Option<u64>) {
        if let Some(counters) = &mut self.counters {
            counters.dead_lettered = letters;
        }
    }

    /// Whether glances may show a difference although nothing is to be done.
    pub fn may_look_different(&self) -> bool {
        self.shadowed.is_some() || self.has_settable_drift()
    }
}

/// Whose a queue is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Mark {
    /// Not looked at this time.
    #[default]
    Unread,
    /// Nobody's.
    None,
    /// The owner with this mark.
    Of(String),
}

/// One difference between a queue and what is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drift {
    /// What differs, in the words of `forProvider` where it has one.
    pub what: String,
    /// As it is.
    pub have: String,
    /// As it should be.
    pub want: String,
    /// Whether anything can be done.
    pub kind: DriftKind,
}

/// What can be done about a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DriftKind {
    /// It is written.
    Settable,
    /// It was decided when the queue was made.
    Fixed,
    /// Writing it could lose messages.
    Withheld,
}

impl Drift {
    /// A difference that is written.
    pub fn settable(what: &str, have: impl fmt::Display, want: impl fmt::Display) -> Self {
        Self::of(
            DriftKind::Settable,
            what,
            have.to_string(),
            want.to_string(),
        )
    }

    /// A difference for good.
    pub fn fixed(what: &str, have: impl fmt::Display, want: impl fmt::Display) -> Self {
        Self::of(DriftKind::Fixed, what, have.to_string(), want.to_string())
    }

    /// A difference that is left alone for the messages' sake.
    pub fn withheld(what: &str, have: impl fmt::Display, want: impl fmt::Display) -> Self {
        Self::of(
            DriftKind::Withheld,
            what,
            have.to_string(),
            want.to_string(),
        )
    }

    fn of(kind: DriftKind, what: &str, have: String, want: String) -> Self {
        let what = what.to_owned();
        Self {
            what,
            have,
            want,
            kind,
        }
    }
}
