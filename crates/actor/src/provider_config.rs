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
    /// First part of the ownership tag of queues. Default: the uid of this object. Set it to find
    /// the queues again after this object was recreated, or to share queues between clusters.
    #[serde(default, rename = "ownerID", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schemars(regex(pattern = r"^[A-Za-z0-9._-]{1,63}$"))
    )]
    pub owner_id: Option<String>,
    /// Minimum time between counts of messages, as a Go duration. Default: `60s`. `0s`: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = 32)))]
    pub counters_interval: Option<String>,
}

/// `spec` of a ClusterProviderConfig: a connection, and what tenants may do with it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ClusterProviderConfigSpec {
    /// Connection, credentials and owner.
    #[serde(flatten)]
    pub connection: ProviderConfigSpec,
    /// Namespaces whose objects can use this config. Default: all. Labels other than
    /// `kubernetes.io/metadata.name` require permission to read namespaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_namespaces: Option<NamespaceSelector>,
    /// Patterns of allowed queue names. `{namespace}` is the object's namespace, `*` any text. A name
    /// that also matches for a longer namespace belongs to that one: `asya-shop-eu-cart` to
    /// `shop-eu`, not to `shop`. Default: all names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(
        feature = "schema",
        schemars(length(max = 32), inner(length(min = 1, max = 255)))
    )]
    pub queue_names: Vec<String>,
    /// Patterns of allowed virtual hosts of RabbitMQ. `{namespace}` is the object's namespace, `*` any
    /// text. A virtual host that also matches for a longer namespace belongs to that one: with
    /// `{namespace}*`, `shop-eu` belongs to namespace `shop-eu`, not to `shop`. Default: only `/`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(
        feature = "schema",
        schemars(length(max = 32), inner(length(min = 1, max = 255)))
    )]
    pub allowed_vhosts: Vec<String>,
    /// Patterns of allowed exchanges of RabbitMQ. `{namespace}` is the object's namespace, `*` any text.
    /// An exchange that also matches for a longer namespace belongs to that one: with
    /// `asya-{namespace}*`, `asya-shop-eu` belongs to namespace `shop-eu`, not to `shop`. Names that end with `-dlx` are always refused: they are dead-letter exchanges. Default:
    /// `asya-{namespace}`, and `asya` unless every pattern in `queueNames` contains `{namespace}`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(
        feature = "schema",
        schemars(length(max = 32), inner(length(min = 1, max = 255)))
    )]
    pub allowed_exchanges: Vec<String>,
    /// Patterns of allowed AWS regions. `{namespace}` is the object's namespace, `*` any text. A region that
    /// also matches for a longer namespace belongs to that one. Default: none, and all where
    /// `sqs.endpoint` is set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(
        feature = "schema",
        schemars(length(max = 64), inner(length(min = 1, max = 63)))
    )]
    pub regions: Vec<String>,
    /// If true, objects can adopt queues without an owner. Default: false.
    #[serde(default)]
    pub allow_adopt: bool,
}

/// Selector of namespaces; all conditions must hold, and none means every namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct NamespaceSelector {
    /// Labels of the namespace.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
    /// Conditions on labels of the namespace.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(max = 32)))]
    pub match_expressions: Vec<LabelExpression>,
}

/// A condition on one label.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LabelExpression {
    /// Key of the label.
    pub key: String,
    /// Comparison.
    pub operator: LabelOperator,
    /// Values for `In` and `NotIn`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}

/// Operator of a label expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum LabelOperator {
    /// The label has one of the values.
    In,
    /// The label is absent or has another value.
    NotIn,
    /// The label is present.
    Exists,
    /// The label is absent.
    DoesNotExist,
}

/// Connection to a RabbitMQ broker.
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
    /// User of the management API; requires the tag `policymaker`.
    pub credentials: RabbitMqCredentials,
    /// Trusted certificate authorities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<RabbitMqTls>,
    /// Priority of the policies that the provider writes for single queues. Shared policies have a
    /// priority that is lower by 1. If several policies match a queue, only the one with the highest
    /// priority applies. Default: 0.
    #[serde(default)]
    pub policy_priority: i32,
    /// Policies that all queues of this config share.
    #[serde(default)]
    pub shared_policy: SharedPolicySettings,
}

/// Policies that all queues of a config share: one for queues, one for their dead-letter queues.
///
/// A broker matches all policies with all queues whenever one policy is written, so that a policy for
/// each queue costs the square of their number. Queues with other settings, and adopted ones, have a
/// policy of their own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct SharedPolicySettings {
    /// True if queues share policies. They also have policies of their own while the virtual host
    /// has queues of other owners that `queueNames` matches. Default: true.
    pub enabled: bool,
    /// Names of the queues; `*` is any text. Default: `asya-*`.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 200)))]
    pub queue_names: String,
    /// Number of deliveries after which a message is dead-lettered. Set it to the
    /// `deadLetter.maxReceiveCount` of the platform's settings, so that few queues need a policy of
    /// their own. 1 to 1000. Default: 20.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 1000)))]
    pub max_receive_count: u32,
}

impl Default for SharedPolicySettings {
    fn default() -> Self {
        Self {
            enabled: true,
            queue_names: "asya-*".to_owned(),
            max_receive_count: 20,
        }
    }
}

/// A user of RabbitMQ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RabbitMqCredentials {
    /// Key of a Secret with the user name.
    pub username_secret_ref: SecretKeySelector,
    /// Key of a Secret with the password.
    pub password_secret_ref: SecretKeySelector,
}

/// TLS to a RabbitMQ broker.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RabbitMqTls {
    /// Key of a Secret with certificate authorities, as PEM. Default: those of the provider's
    /// image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_secret_ref: Option<SecretKeySelector>,
}

/// Connection to SQS.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SqsConnection {
    /// URL of the service. Default: AWS's endpoint of the region.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schemars(length(max = 1024), regex(pattern = r"^https?://[^/?#@]+(/[^?#]*)?$"))
    )]
    pub endpoint: Option<String>,
    /// Credentials of the provider.
    #[serde(default)]
    pub credentials: SqsCredentials,
}

/// Credentials for AWS.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SqsCredentials {
    /// Source of the credentials. Default: `InjectedIdentity`.
    #[serde(default)]
    pub source: CredentialsSource,
    /// Secret with `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and optionally `AWS_SESSION_TOKEN`.
    /// Only with source `Secret`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretSelector>,
}

/// Source of credentials.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum CredentialsSource {
    /// Identity of the provider's pod: IRSA, EKS Pod Identity, environment or instance role.
    #[default]
    InjectedIdentity,
    /// A Secret.
    Secret,
}

/// A Secret.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SecretSelector {
    /// Namespace of the Secret. Default: the provider's own. A ProviderConfig reads Secrets of its
    /// own namespace only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = 63)))]
    pub namespace: Option<String>,
    /// Name of the Secret.
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
    /// Number of objects that use this config.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub users: Option<i64>,
    /// Shared policies on RabbitMQ, and who wrote them. The provider records one before it writes it, and
    /// never changes a policy that somebody else wrote.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(max = 1024)))]
    pub shared_policies: Vec<SharedPolicyRecord>,
    /// Conditions of the object.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

/// Most shared policies that a config records. Further virtual hosts have a policy for each queue.
pub const SHARED_POLICIES_MAX: usize = 1024;

/// The record of one shared policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SharedPolicyRecord {
    /// Virtual host.
    #[cfg_attr(feature = "schema", schemars(length(max = 255)))]
    pub vhost: String,
    /// Name of the policy.
    #[cfg_attr(feature = "schema", schemars(length(max = 255)))]
    pub name: String,
    /// Who wrote it.
    pub origin: PolicyOrigin,
}

/// Who wrote a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum PolicyOrigin {
    /// The provider. A policy that existed before there was a record counts as its own if it is exactly what
    /// the provider would write.
    Provider,
    /// Somebody else: the provider never changes it.
    Foreign,
}

/// Top-level fields of a ProviderConfigUsage.
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
    /// Group and version.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Name.
    pub name: String,
}
