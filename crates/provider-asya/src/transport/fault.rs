//! Why a call to a broker or service did not do what it should.

use std::time::Duration;

/// A call that failed. One line, the same for the same cause: it ends up in a
/// condition, which would change for ever if it held request ids.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// No answer came.
    #[error("cannot reach {endpoint}: {cause}")]
    Unreachable {
        /// Where to.
        endpoint: String,
        /// Why not, as far as it is known.
        cause: String,
    },
    /// The credentials are wrong, or they do not suffice.
    #[error("{endpoint} denies {action}: {cause}")]
    Denied {
        /// Who said so.
        endpoint: String,
        /// What was asked for.
        action: String,
        /// In which words.
        cause: String,
    },
    /// Too many calls.
    #[error("{endpoint} asks for fewer calls while asked to {action}: it is tried again")]
    Throttled {
        /// Who said so.
        endpoint: String,
        /// What was asked for.
        action: String,
    },
    /// The request was understood and refused.
    #[error("{endpoint} refuses to {action}: {cause}")]
    Refused {
        /// Who said so.
        endpoint: String,
        /// What was asked for.
        action: String,
        /// In which words.
        cause: String,
    },
    /// The answer makes no sense, or it is an error of the server's own.
    #[error("{endpoint} failed to {action}: {cause}")]
    Failed {
        /// Who failed.
        endpoint: String,
        /// What was asked for.
        action: String,
        /// How.
        cause: String,
    },
    /// SQS keeps a name for a minute after its queue was deleted.
    #[error(
        "a queue named {name:?} was deleted less than 60 seconds ago, and SQS does not give its name \
         away before: it is tried again after {} seconds",
        after.as_secs()
    )]
    DeletedRecently {
        /// The name.
        name: String,
        /// When it is tried again.
        after: Duration,
    },
    /// The queue is listed, and whether it works is not known yet.
    #[error(
        "queue {name:?} is listed and not counted yet, and its declaration may have been cut off: it is \
         looked at again"
    )]
    NotWholeYet {
        /// The queue.
        name: String,
        /// When it is looked at again.
        after: Duration,
    },
    /// The queue is listed, and does not seem to work.
    #[error(
        "queue {name:?} is listed and not counted, and is left alone since it may hold messages all the same: \
         where this lasts its declaration was cut off, or its nodes are down; see that it has a leader, or \
         delete it, upon which it is made anew"
    )]
    NeverWhole {
        /// The queue.
        name: String,
    },
    /// The queue belongs to another owner.
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
    /// What is asked for is not where the credentials lead.
    #[error("{0}")]
    Elsewhere(String),
    /// What is asked for cannot be.
    #[error("{0}")]
    Invalid(String),
}

impl Fault {
    /// When to try again, where that is known.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::DeletedRecently { after, .. } | Self::NotWholeYet { after, .. } => Some(*after),
            _ => None,
        }
    }

    /// Whether the credentials may have been replaced meanwhile.
    pub fn is_denied(&self) -> bool {
        matches!(self, Self::Denied { .. })
    }

    /// The word for the condition's reason.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::DeletedRecently { .. } => "QueueDeletedRecently",
            Self::Foreign { .. } => "QueueOwnedByAnother",
            Self::Elsewhere(_) => "QueueLocationChanged",
            _ => "ReconcileError",
        }
    }
}
