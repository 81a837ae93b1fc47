//! `Queue`, the provider's object that owns one queue.

use serde::{Deserialize, Serialize};

use crate::managed::{Condition, LocalSecretReference};

/// Kind of the object.
pub const KIND: &str = "Queue";
/// Name of the composed resource.
pub const RESOURCE_NAME: &str = "queue";

/// Condition: settings of the queue differ from the spec and are not changed, because that could lose
/// messages.
pub const DRIFTED: &str = "Drifted";
/// Condition: another policy of the broker overrides the provider's.
pub const POLICY_SHADOWED: &str = "PolicyShadowed";
/// Condition: the provider's password contains characters that must be escaped in the URLs of actors.
pub const PASSWORD_NOT_URL_SAFE: &str = "PasswordNotURLSafe";
/// Condition: messages wait, and though pods of the actor are ready none of them consumes the queue.
pub const NO_CONSUMER: &str = "NoConsumer";
/// Conditions that are `True` when something is wrong that the queue works with all the same.
pub const FLAGS: [&str; 3] = [DRIFTED, POLICY_SHADOWED, PASSWORD_NOT_URL_SAFE];

/// `spec` of a Queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct QueueSpec {
    /// Settings of the queue.
    pub for_provider: ForProvider,
    /// Actions that the provider may take. Without `Delete`, the queue stays when the object is
    /// deleted. Default: all (`*`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub management_policies: Vec<String>,
    /// ProviderConfig whose endpoint and credentials are used. Default: ClusterProviderConfig
    /// `default`.
    pub provider_config_ref: ProviderConfigRef,
    /// Secret in the object's namespace to which the provider writes the address of the queue. It
    /// never contains credentials. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_connection_secret_to_ref: Option<LocalSecretReference>,
}

/// The settings of a queue: those common to all, and exactly one of
/// `rabbitmq` and `sqs`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ForProvider {
    /// If true, the provider adopts an existing queue without an ownership tag. Default: false.
    #[serde(default)]
    pub adopt: bool,
    /// If true, deletion waits until the queue is empty. Default: false.
    #[serde(default)]
    pub delete_only_if_empty: bool,
    /// A queue on RabbitMQ. Excludes `sqs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rabbitmq: Option<RabbitMqQueue>,
    /// A queue on SQS. Excludes `rabbitmq`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sqs: Option<SqsQueue>,
}

/// A queue of SQS. `region`, `accountId` and `endpoint` are its identity and
/// never change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SqsQueue {
    /// AWS region. Immutable.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 63)))]
    pub region: String,
    /// AWS account, 12 digits. Immutable.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(regex(pattern = r"^[0-9]{12}$")))]
    pub account_id: Option<String>,
    /// Endpoint. Default: AWS's own. Immutable.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = 1024)))]
    pub endpoint: Option<String>,
    /// Seconds for which a received message is hidden, 0 to 43200. Default: 600.
    #[cfg_attr(feature = "schema", schemars(range(max = 43_200)))]
    pub visibility_timeout_seconds: u32,
    /// Seconds for which a message is kept, 60 to 1209600. Default: 345600. Never lowered on a live
    /// queue.
    #[cfg_attr(feature = "schema", schemars(range(min = 60, max = 1_209_600)))]
    pub message_retention_seconds: u32,
    /// Seconds that a receive call waits for a message, 0 to 20. Default: 20.
    #[cfg_attr(feature = "schema", schemars(range(max = 20)))]
    pub receive_wait_time_seconds: u32,
    /// Dead-lettering of messages that are received too often. Default: off.
    pub dead_letter: DeadLetter,
}

/// A queue of RabbitMQ. `host`, `vhost` and `queueType` are its identity and
/// never change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RabbitMqQueue {
    /// Host of the broker. Immutable.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 253)))]
    pub host: String,
    /// Virtual host. Default: `/`. Immutable.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 255)))]
    pub vhost: String,
    /// Durable topic exchange to which sidecars publish. Default: `asya`.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 255)))]
    pub exchange: String,
    /// Routing keys of the queue's bindings: the actor's name and the queue's. Wildcards are
    /// refused, because the queue would receive the messages of others. Default: none.
    #[cfg_attr(
        feature = "schema",
        schemars(
            length(max = 16),
            inner(length(min = 1, max = 255), regex(pattern = r"^[^*#]+$"))
        )
    )]
    pub routing_keys: Vec<String>,
    /// Type of the queue. Default: `quorum`. Immutable.
    pub queue_type: QueueType,
    /// Milliseconds for which a consumer may hold a message, at least 60000. Default: the broker's
    /// limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 60_000)))]
    pub consumer_timeout_milliseconds: Option<u64>,
    /// Dead-lettering of messages that are delivered too often. Default: off.
    pub dead_letter: DeadLetter,
    /// Delays in seconds, ascending, for each of which the provider keeps a queue
    /// `<queue>-retry-<seconds>`: messages that the sidecar tries again wait there and return to the
    /// queue. Empty if no message is tried again. May change; a queue that is no longer listed is
    /// deleted once it is empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(
        feature = "schema",
        schemars(length(max = 8), inner(range(min = 1, max = 86_400)))
    )]
    pub retry_delays_seconds: Vec<u32>,
}

/// Type of a RabbitMQ queue. A queue's type never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum QueueType {
    /// Replicated over the nodes of the broker; the only type with a delivery limit.
    #[default]
    Quorum,
    /// On one node, without a delivery limit.
    Classic,
}

/// Dead-lettering of one queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DeadLetter {
    /// If true, messages are dead-lettered. Default: false.
    pub enabled: bool,
    /// Number of receives after which a message is dead-lettered, 1 to 1000. Default: 20 on RabbitMQ, 3
    /// on SQS.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 1000)))]
    pub max_receive_count: u32,
}

/// `status` of a Queue.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct QueueStatus {
    /// Observed state of the queue.
    #[serde(skip_serializing_if = "AtProvider::is_unknown")]
    pub at_provider: AtProvider,
    /// Conditions of the object: `Synced`, `Ready`, and conditions of problems.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Last value of the annotation `crossplane.io/reconcile-requested-at` that was handled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_handled_reconcile_at: Option<String>,
}

/// `status.atProvider` of a Queue. Unknown is absent, never 0.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct AtProvider {
    /// Name of the queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// URL of the queue, on SQS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// ARN of the queue, on SQS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arn: Option<String>,
    /// Location of the queue at first contact. A Queue never moves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,
    /// First part of the queue's ownership tag, recorded when the provider owned the queue first. While
    /// the ProviderConfig has another `ownerID`, nothing is changed or deleted.
    #[serde(rename = "ownerID", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = 63)))]
    pub owner_id: Option<String>,
    /// RabbitMQ policies that the provider wrote for the queue. It changes and deletes no others.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schemars(length(max = 8), inner(length(max = 300)))
    )]
    pub policies: Option<Vec<String>>,
    /// Delays in seconds whose RabbitMQ retry queues exist.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(max = 64)))]
    pub retry_delays_seconds: Vec<u32>,
    /// Number of waiting messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queued: Option<u64>,
    /// Number of messages that consumers hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processing: Option<u64>,
    /// Number of dead-lettered messages, if dead-lettering is on; counted every five minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dead_lettered: Option<u64>,
}

impl AtProvider {
    /// Returns whether nothing was observed yet.
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }
}

/// Location of a queue, recorded at first contact. Every later reconcile compares it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Location {
    /// URL of the management API, or of the service if it is not AWS's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// Virtual host of RabbitMQ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vhost: Option<String>,
    /// AWS region.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// AWS account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account_id: Option<String>,
}

/// Reference of an object to its ProviderConfig.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProviderConfigRef {
    /// `ProviderConfig`, in the object's namespace, or `ClusterProviderConfig`. Default:
    /// `ClusterProviderConfig`.
    #[serde(default = "cluster_provider_config")]
    pub kind: String,
    /// Name of the config.
    pub name: String,
}

fn cluster_provider_config() -> String {
    "ClusterProviderConfig".to_owned()
}

impl ProviderConfigRef {
    /// The ClusterProviderConfig called `name`.
    pub fn cluster(name: &str) -> Self {
        Self {
            kind: cluster_provider_config(),
            name: name.to_owned(),
        }
    }
}

/// Handling of the queue when its actor is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum DeletionPolicy {
    /// The queue is deleted with its messages.
    #[default]
    Delete,
    /// The queue is deleted when it has been empty for a minute; the object waits for that.
    DeleteIfEmpty,
    /// The queue stays; a later actor of the same namespace and name finds it by its ownership tag.
    Orphan,
}
