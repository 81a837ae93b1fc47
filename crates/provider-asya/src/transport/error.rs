//! Errors of brokers and services.

use std::time::Duration;

/// A failed call. Its message is one line and the same for the same cause: it becomes part of a
/// condition, which would change all the time if it contained request ids.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// There was no answer.
    #[error("cannot reach {endpoint}: {cause}")]
    Unreachable {
        /// Endpoint of the broker or service.
        endpoint: String,
        /// Cause, as far as it is known.
        cause: String,
    },
    /// The credentials are wrong or lack a right.
    #[error("{endpoint} denies {action}: {cause}")]
    Denied {
        /// Endpoint of the broker or service.
        endpoint: String,
        /// The request.
        action: String,
        /// The answer's message.
        cause: String,
    },
    /// Too many calls.
    #[error("{endpoint} throttles calls to {action}: it is retried")]
    Throttled {
        /// Endpoint of the broker or service.
        endpoint: String,
        /// The request.
        action: String,
    },
    /// The request was understood and refused.
    #[error("{endpoint} refuses to {action}: {cause}")]
    Refused {
        /// Endpoint of the broker or service.
        endpoint: String,
        /// The request.
        action: String,
        /// The answer's message.
        cause: String,
    },
    /// The server failed, or its answer cannot be understood.
    #[error("{endpoint} failed to {action}: {cause}")]
    Failed {
        /// Endpoint of the broker or service.
        endpoint: String,
        /// The request.
        action: String,
        /// The failure.
        cause: String,
    },
    /// SQS keeps a name for a minute after its queue was deleted.
    #[error(
        "a queue named {name:?} was deleted less than 60 seconds ago, and SQS keeps its name for that long: it is \
         retried after {} seconds",
        after.as_secs()
    )]
    DeletedRecently {
        /// The name.
        name: String,
        /// Delay until the retry.
        after: Duration,
    },
    /// The queue exists, and whether it works is not known yet.
    #[error(
        "queue {name:?} exists and its messages are not counted yet, so its declaration may be incomplete: it is \
         observed again"
    )]
    NotCountedYet {
        /// The queue.
        name: String,
        /// Delay until the next observation.
        after: Duration,
    },
    /// The queue exists and does not seem to work.
    #[error(
        "the messages of queue {name:?} are never counted: its declaration is incomplete, or its nodes are down; the \
         provider does not delete it, since it may hold messages: make sure that it has a leader, or delete it, \
         and the provider creates it again"
    )]
    NeverCounted {
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
        /// Owner tag of the other owner.
        owner: String,
    },
    /// The credentials lead to another location than the queue's.
    #[error("{0}")]
    WrongLocation(String),
    /// The request is invalid, before any call.
    #[error("{0}")]
    Invalid(String),
}

impl TransportError {
    /// Time until the retry, where it is known.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::DeletedRecently { after, .. } | Self::NotCountedYet { after, .. } => Some(*after),
            _ => None,
        }
    }

    /// Returns whether the same call will fail again: it was denied or refused, and not merely unanswered.
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Denied { .. } | Self::Refused { .. })
    }

    /// Returns whether the credentials were denied, and may have been replaced in their Secret.
    pub fn is_denied(&self) -> bool {
        matches!(self, Self::Denied { .. })
    }

    /// Reason of the condition `Synced`.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::DeletedRecently { .. } => "QueueDeletedRecently",
            Self::Foreign { .. } => "QueueOwnedByAnother",
            Self::WrongLocation(_) => "QueueLocationChanged",
            _ => "ReconcileError",
        }
    }
}
