//! `ProviderConfig` and `ClusterProviderConfig`: where the provider connects to,
//! with whose credentials, and on whose behalf; and the record of who uses one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::managed::Condition;
use crate::queue::ProviderConfigRef;

/// Kind of the config that serves one namespace.
pub const KIND: &str = "ProviderConfig";
/// Kind of the config that serves many namespaces.
pub const CLUSTER_KIND: &str = "ClusterProviderConfig";
/// Kind of the record that an object uses a config.
pub const USAGE_KIND: &str = "ProviderConfigUsage";

/// `spec` of a ProviderConfig: exactly one of `rabbitmq` and `sqs`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ProviderConfigSpec {
    /// A RabbitMQ broker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rabbitmq: Option<RabbitMqConnection>,
    /// Amazon SQS, or a service that speaks its protocol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sqs: Option<SqsConnection>,
    /// First part of the mark by which queues are known as ours. The uid of this
    /// object unless given: give one to share queues between clusters, or to
    /// find them again after this object was made anew.
    #[serde(default, rename = "ownerID", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schemars(regex(pattern = r"^[A-Za-z0-9._-]{1,63}$"))
    )]
    pub owner_id: Option<String>,
    /// How often counters are read at most, as a Go duration; 60s unless given,
    /// and 0s means never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = 32)))]
    pub counters_interval: Option<String>,
}

/// `spec` of a ClusterProviderConfig: a connection, and what tenants may do with it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ClusterProviderConfigSpec {
    /// Where, with whose credentials, and on whose behalf.
    #[serde(flatten)]
    pub connection: ProviderConfigSpec,
    /// Namespaces whose objects may use this; all unless given. Labels other
    /// than `kubernetes.io/metadata.name` need the right to read namespaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_namespaces: Option<NamespaceSelector>,
    /// Names that queues may have; any unless given. `{namespace}` stands for
    /// the object's namespace, `*` for any text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(
        feature = "schema",
        schemars(length(max = 32), inner(length(min = 1, max = 255)))
    )]
    pub queue_names: Vec<String>,
    /// Whether objects may ask for queues that nobody owns.
    #[serde(default)]
    pub allow_adopt: bool,
}

/// Which namespaces; all conditions must hold, and none means every namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct NamespaceSelector {
    /// Labels that the namespace has.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
    /// Conditions on its labels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(max = 32)))]
    pub match_expressions: Vec<LabelExpression>,
}

/// A condition on one label.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LabelExpression {
    /// The label's key.
    pub key: String,
    /// How its value compares.
    pub operator: LabelOperator,
    /// The values of `In` and `NotIn`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}

/// How a label compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum LabelOperator {
    /// It is one of the values.
    In,
    /// It is absent or none of the values.
    NotIn,
    /// It is present.
    Exists,
    /// It is absent.
    DoesNotExist,
}

/// How a RabbitMQ broker is reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RabbitMqConnection {
    /// URL of the management API, such as `https://rabbitmq.queues.svc:15671`.
    #[cfg_attr(
        feature = "schema",
        schemars(length(max = 1024), regex(pattern = r"^https?://[^/?#@]+(/[^?#]*)?$"))
    )]
    pub endpoint: String,
    /// The user, who needs the tag `policymaker`.
    pub credentials: RabbitMqCredentials,
    /// Whom to trust.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<RabbitMqTls>,
    /// Priority of the policies that are written. Of several policies that
    /// match a queue only the one with the highest priority applies.
    #[serde(default)]
    pub policy_priority: i32,
}

/// A user of RabbitMQ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RabbitMqCredentials {
    /// The Secret's key with the name.
    pub username_secret_ref: SecretKeySelector,
    /// The Secret's key with the password.
    pub password_secret_ref: SecretKeySelector,
}

/// TLS to a RabbitMQ broker.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RabbitMqTls {
    /// The authorities to trust, as PEM; those of the provider's image unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_secret_ref: Option<SecretKeySelector>,
}

/// How SQS is reached.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SqsConnection {
    /// URL of the service, where it is not AWS's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schemars(length(max = 1024), regex(pattern = r"^https?://[^/?#@]+(/[^?#]*)?$"))
    )]
    pub endpoint: Option<String>,
    /// With whose credentials.
    #[serde(default)]
    pub credentials: SqsCredentials,
}

/// Credentials for AWS.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SqsCredentials {
    /// Where they come from.
    #[serde(default)]
    pub source: CredentialsSource,
    /// The Secret with the keys `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and
    /// optionally `AWS_SESSION_TOKEN`; with the source `Secret` alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretSelector>,
}

/// Where credentials come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum CredentialsSource {
    /// The provider's pod: IRSA, EKS Pod Identity, environment or instance.
    #[default]
    InjectedIdentity,
    /// A Secret.
    Secret,
}

/// A Secret.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SecretSelector {
    /// Its namespace; the provider's own unless given. A ProviderConfig reads
    /// Secrets of its own namespace alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = 63)))]
    pub namespace: Option<String>,
    /// Its name.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 253)))]
    pub name: String,
}

/// A key of a Secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SecretKeySelector {
    /// The Secret.
    #[serde(flatten)]
    pub secret: SecretSelector,
    /// The key.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 253)))]
    pub key: String,
}

/// `status` of both kinds of config.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ProviderConfigStatus {
    /// Objects that use this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub users: Option<i64>,
    /// Conditions of the object.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

/// What a ProviderConfigUsage says, at its top level.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// The config that is used.
    pub provider_config_ref: ProviderConfigRef,
    /// The object that uses it.
    pub resource_ref: ResourceReference,
}

/// An object in the namespace of the usage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ResourceReference {
    /// Its group and version.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
}
