//! Transports: the queueing systems that the platform settings configure.

use merge::{FieldPath, Segment};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::decode::{DecodeError, decode};
use crate::diagnostic::{Code, Diagnostic, Location};
use crate::queue::{DeadLetter, ProviderConfigRef, QueueType};
use crate::spec::DeadLetterOptions;

/// One entry of the platform's transports, read and checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Transport {
    /// Its name, which actors write in `spec.transport`.
    pub name: String,
    /// Type and location of the broker.
    pub config: Config,
    /// ProviderConfig whose endpoint and credentials the provider uses.
    pub provider_config_ref: ProviderConfigRef,
    /// KEDA's credentials, where the platform team manages them.
    pub trigger_authentication_ref: Option<TriggerAuthenticationRef>,
}

/// Credentials of KEDA that the platform team manages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TriggerAuthenticationRef {
    /// `TriggerAuthentication`, in each actor's namespace, or `ClusterTriggerAuthentication`.
    /// Default: `TriggerAuthentication`.
    #[serde(default)]
    pub kind: TriggerAuthenticationKind,
    /// Name of the object.
    pub name: String,
}

/// Kinds of objects from which KEDA takes credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum TriggerAuthenticationKind {
    /// In the namespace of the actor.
    #[default]
    TriggerAuthentication,
    /// For the whole cluster.
    ClusterTriggerAuthentication,
}

/// Type and settings of a transport.
#[derive(Debug, Clone, PartialEq)]
pub enum Config {
    /// Amazon SQS, or a service that speaks its protocol.
    Sqs(Sqs),
    /// RabbitMQ.
    RabbitMq(RabbitMq),
}

/// Amazon SQS.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Sqs {
    /// AWS region of new queues. Required. A live queue stays in its region.
    pub region: String,
    /// AWS account of new queues, 12 digits. With it the queue URL is known before the queue exists.
    /// Default: the account of the provider's credentials.
    pub account_id: Option<String>,
    /// URL of the service. Default: AWS's endpoint of the region. A live queue keeps its endpoint.
    pub endpoint: Option<String>,
    /// ARN of an IAM role for the actors' pods; `{namespace}` and `{actor}` are expanded. Each actor
    /// gets a ServiceAccount with this role. Default: none; pods use the ServiceAccount that the actor
    /// names.
    pub actor_role_arn: Option<String>,
    /// Dead-lettering of actors that do not set it. Default: off; with `enabled: true` after 3
    /// receives.
    pub dead_letter: DeadLetterOptions,
    /// Seconds for which a received message is hidden, 0 to 43200. Default: twice the timeout of the
    /// actor.
    pub visibility_timeout_seconds: Option<u32>,
    /// Seconds that a receive call waits for a message, 0 to 20. Default: 20.
    pub wait_time_seconds: Option<u32>,
    /// Secret in the actor's namespace with the keys `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and
    /// optionally `AWS_SESSION_TOKEN`, for sidecars and KEDA. Default: none; they use the identity of
    /// their pods.
    pub credentials_secret_ref: Option<SecretName>,
}

/// RabbitMQ.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct RabbitMq {
    /// Host of the broker. Required. A live queue stays on its host.
    pub host: String,
    /// AMQP port. Default: 5672, or 5671 with TLS.
    pub port: Option<u16>,
    /// Virtual host of new queues. Default: `/`. A live queue stays in its virtual host.
    pub vhost: Option<String>,
    /// Host of the management API. With it KEDA also counts messages that are being processed, so that
    /// a busy actor is not scaled in. Default: none; KEDA counts waiting messages over AMQP.
    pub management_host: Option<String>,
    /// Port of the management API. Default: 15672, or 15671 with TLS.
    pub management_port: Option<u16>,
    /// User name of sidecars and KEDA. Default: `guest`.
    pub username: Option<String>,
    /// Key of a Secret in the actor's namespace with the user name, instead of `username`. Default:
    /// none.
    pub username_secret_ref: Option<SecretKeyRef>,
    /// Key of a Secret in the actor's namespace with the password. Default: key `password` of
    /// `rabbitmq-secret`.
    pub password_secret_ref: Option<SecretKeyRef>,
    /// Key of a Secret in the actor's namespace with the AMQP URL, user and password included; it
    /// replaces host, port, user and password. Default: none.
    pub url_secret_ref: Option<SecretKeyRef>,
    /// Topic exchange to which sidecars publish; `{namespace}` is expanded. Default: `asya`, or
    /// `asya-{namespace}` if `queueNameTemplate` contains `{namespace}`. A live queue keeps its
    /// exchange.
    pub exchange: Option<String>,
    /// Type of new queues. Default: `quorum`. A live queue keeps its type.
    pub queue_type: QueueType,
    /// Dead-lettering of actors that do not set it. Default: on for quorum queues, after 20
    /// deliveries.
    pub dead_letter: DeadLetterOptions,
    /// TLS of connections from sidecars and KEDA to the broker. Default: off.
    pub tls: Tls,
}

/// A Secret by name.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SecretName {
    /// Name of the Secret. Empty: none.
    pub name: String,
}

/// One key of a Secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SecretKeyRef {
    /// Name of the Secret.
    pub name: String,
    /// Key in the Secret.
    pub key: String,
}

/// TLS towards RabbitMQ.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Tls {
    /// If true, connections use TLS. Default: false.
    pub enabled: bool,
    /// Key of a Secret in the actor's namespace with certificate authorities, as PEM. Default: those
    /// of the image.
    pub ca_secret_ref: Option<SecretKeyRef>,
}

/// Reason for which an actor has no usable transport.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// The platform has no entry of that name.
    #[error("transport {name:?} is not among the platform's transports ({known})")]
    Unknown {
        /// The name.
        name: String,
        /// The existing entries.
        known: String,
    },
    /// The entry is disabled.
    #[error("transport {name:?} is disabled in the platform's settings")]
    Disabled {
        /// The name.
        name: String,
    },
    /// The entry lacks a required field, or has an invalid one.
    #[error("transport {name:?} is misconfigured in the platform's settings: {problem}")]
    Misconfigured {
        /// The name.
        name: String,
        /// Path in its entry.
        path: FieldPath,
        /// The problem, with its path.
        problem: String,
    },
    /// No entry is enabled.
    #[error("the platform's settings enable no transport")]
    NoneEnabled,
    /// Several are enabled, and none is the default.
    #[error(
        "the platform's settings enable several transports ({enabled}) and no defaultTransport"
    )]
    Ambiguous {
        /// The enabled entries.
        enabled: String,
    },
}

impl TransportError {
    /// A transport that is misconfigured at `path` of its entry.
    pub fn misconfigured(
        name: &str,
        path: impl Into<FieldPath>,
        problem: impl Into<String>,
    ) -> Self {
        Self::Misconfigured {
            name: name.to_owned(),
            path: path.into(),
            problem: problem.into(),
        }
    }

    /// The error as a diagnostic. `named_at` is the field that names the transport, or could;
    /// `setting` locates a path of the platform's settings.
    pub fn diagnostic(
        &self,
        named_at: Location,
        setting: impl FnOnce(FieldPath) -> Location,
    ) -> Diagnostic {
        let message = self.to_string();
        let error = |code, location| Diagnostic::error(code, location, message);
        let transports = "transports";
        match self {
            Self::Unknown { .. } => error(Code::UnknownTransport, named_at)
                .related([setting([transports].into())])
                .help("name one of them in spec.transport, or add it to the platform's settings"),
            Self::Disabled { name } => error(Code::TransportDisabled, named_at)
                .related([setting([transports, name, "enabled"].into())])
                .help("enable it there or name another in spec.transport"),
            Self::Misconfigured { name, path, .. } => {
                let entry = [transports, name].map(Segment::from).into_iter();
                let path = entry.chain(path.segments().iter().cloned()).collect();
                error(Code::TransportMisconfigured, setting(path))
            }
            Self::NoneEnabled => error(Code::NoTransport, setting([transports].into()))
                .help("add one with type \"sqs\" or \"rabbitmq\" under transports"),
            Self::Ambiguous { .. } => error(Code::NoDefaultTransport, named_at)
                .related([setting(["defaultTransport"].into())])
                .help("set it there or name one in spec.transport"),
        }
    }
}

/// One queueing system.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Entry {
    /// If true, actors may use the transport. Default: true.
    #[serde(default = "yes")]
    enabled: bool,
    /// Type of the transport: `sqs` or `rabbitmq`. Required.
    #[cfg_attr(
        feature = "schema",
        schemars(schema_with = "crate::schema::platform::transport_type")
    )]
    r#type: Option<String>,
    /// Location, credentials and defaults of the queues. `host` (rabbitmq) or `region` (sqs) is
    /// required.
    #[serde(default)]
    #[cfg_attr(
        feature = "schema",
        schemars(schema_with = "crate::schema::platform::transport_config")
    )]
    config: Value,
    /// ProviderConfig whose endpoint and credentials the provider uses for new queues. Default: the
    /// ClusterProviderConfig with the name of the transport.
    provider_config_ref: Option<ProviderConfigRef>,
    /// The credentials with which KEDA reads all queues of this transport. With it no
    /// TriggerAuthentication is composed for each actor. The object must supply what the scaler
    /// `aws-sqs-queue` or `rabbitmq` needs: for RabbitMQ `username` and `password`, or `host`; for
    /// SQS keys or a pod identity. Default: each actor has a TriggerAuthentication of its own.
    trigger_authentication_ref: Option<TriggerAuthenticationRef>,
}

fn yes() -> bool {
    true
}

impl Transport {
    /// Reads one entry. `queue_name_template` decides the default exchange: one
    /// for each namespace where queues are named by namespace too, for one
    /// exchange would deliver to every namespace's actor of that name.
    pub(crate) fn parse(
        name: &str,
        document: Value,
        queue_name_template: &str,
    ) -> Result<Self, TransportError> {
        let misconfigured = |path: &[&str], problem: String| {
            let path: FieldPath = path.iter().copied().collect();
            TransportError::misconfigured(name, path, problem)
        };
        let decoded = |error: DecodeError| {
            let problem = error.to_string();
            TransportError::misconfigured(name, error.path, problem)
        };
        let entry: Entry = decode(document).map_err(decoded)?;
        if !entry.enabled {
            return Err(TransportError::Disabled {
                name: name.to_owned(),
            });
        }
        let config = if entry.config.is_null() {
            Value::Object(serde_json::Map::default())
        } else {
            entry.config
        };
        let under_config = |error: DecodeError| decoded(error.under("config"));
        let config = match entry.r#type.as_deref() {
            Some("sqs") => Config::Sqs(decode::<Sqs>(config).map_err(under_config)?),
            Some("rabbitmq") => {
                let mut rabbitmq: RabbitMq = decode(config).map_err(under_config)?;
                rabbitmq.exchange.get_or_insert_with(|| {
                    let by_namespace = queue_name_template.contains("{namespace}");
                    if by_namespace {
                        "asya-{namespace}"
                    } else {
                        "asya"
                    }
                    .to_owned()
                });
                Config::RabbitMq(rabbitmq)
            }
            Some(other) => {
                let problem = format!("type {other:?} is neither \"sqs\" nor \"rabbitmq\"");
                return Err(misconfigured(&["type"], problem));
            }
            None => {
                let problem = "type is missing: set \"sqs\" or \"rabbitmq\"";
                return Err(misconfigured(&["type"], problem.to_owned()));
            }
        };
        let missing =
            |field: &str| misconfigured(&["config", field], format!("config.{field} is missing"));
        match &config {
            Config::Sqs(sqs) if sqs.region.is_empty() => return Err(missing("region")),
            Config::RabbitMq(rabbitmq) if rabbitmq.host.is_empty() => return Err(missing("host")),
            Config::Sqs(sqs) => {
                let role = sqs.actor_role_arn.as_deref().unwrap_or_default();
                if let Some(unknown) = unknown_placeholder(role) {
                    let problem = format!(
                        "config.actorRoleArn contains {unknown:?}: only {{namespace}} and {{actor}} are expanded"
                    );
                    return Err(misconfigured(&["config", "actorRoleArn"], problem));
                }
            }
            Config::RabbitMq(_) => {}
        }
        let provider_config_ref = entry
            .provider_config_ref
            .unwrap_or_else(|| ProviderConfigRef::cluster(name));
        Ok(Self {
            name: name.to_owned(),
            config,
            provider_config_ref,
            trigger_authentication_ref: entry.trigger_authentication_ref,
        })
    }

    /// `sqs` or `rabbitmq`, as sidecars know it.
    pub fn r#type(&self) -> &'static str {
        match self.config {
            Config::Sqs(_) => "sqs",
            Config::RabbitMq(_) => "rabbitmq",
        }
    }

    /// Dead-lettering of an actor's queue: the actor's setting, else the platform's, else the
    /// transport's default.
    pub fn dead_letter(&self, of_actor: DeadLetterOptions) -> DeadLetter {
        let (of_platform, enabled, count) = match &self.config {
            Config::Sqs(sqs) => (sqs.dead_letter, false, 3),
            Config::RabbitMq(rabbitmq) => (rabbitmq.dead_letter, true, 20),
        };
        DeadLetter {
            enabled: of_actor.enabled.or(of_platform.enabled).unwrap_or(enabled),
            max_receive_count: of_actor
                .max_receive_count
                .or(of_platform.max_receive_count)
                .unwrap_or(count),
        }
    }
}

/// The first placeholder of a role that is not expanded, or a single brace: no ARN contains one.
fn unknown_placeholder(role: &str) -> Option<&str> {
    let mut rest = role;
    loop {
        rest = &rest[rest.find(['{', '}'])?..];
        let known = ["{namespace}", "{actor}"];
        match known.iter().find_map(|known| rest.strip_prefix(known)) {
            Some(after) => rest = after,
            None => return Some(rest.find('}').map_or(rest, |end| &rest[..=end])),
        }
    }
}

impl Sqs {
    /// Seconds that a receive waits for a message: 20 by default.
    pub fn wait_time_seconds(&self) -> u32 {
        self.wait_time_seconds.unwrap_or(20)
    }

    /// The URL of a queue, where configuration alone determines it: account
    /// and region, or an endpoint with an account.
    pub fn queue_url(&self, queue: &str) -> Option<String> {
        let account = self.account_id.as_deref()?;
        let base = match &self.endpoint {
            Some(endpoint) => endpoint.trim_end_matches('/').to_owned(),
            None => format!("https://sqs.{}.{}", self.region, dns_suffix(&self.region)),
        };
        Some(format!("{base}/{account}/{queue}"))
    }
}

/// The domain of AWS's endpoints in a region. Source: AWS partitions.
fn dns_suffix(region: &str) -> &'static str {
    if region.starts_with("cn-") {
        "amazonaws.com.cn"
    } else {
        "amazonaws.com"
    }
}

impl RabbitMq {
    /// AMQP port: 5672, or 5671 with TLS.
    pub fn port(&self) -> u16 {
        self.port
            .unwrap_or(if self.tls.enabled { 5671 } else { 5672 })
    }

    /// Virtual host: `/` by default.
    pub fn vhost(&self) -> &str {
        self.vhost.as_deref().unwrap_or("/")
    }

    /// The virtual host as a segment of a URL's path: `/` is `%2F`. What stands for
    /// itself is what RFC 3986 calls unreserved.
    pub fn encoded_vhost(&self) -> String {
        const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
            .remove(b'-')
            .remove(b'.')
            .remove(b'_')
            .remove(b'~');
        utf8_percent_encode(self.vhost(), ENCODED).to_string()
    }

    /// Port of the management API: 15672, or 15671 with TLS.
    pub fn management_port(&self) -> u16 {
        self.management_port
            .unwrap_or(if self.tls.enabled { 15671 } else { 15672 })
    }

    /// The literal user: `guest` by default. Not used where
    /// `usernameSecretRef` gives it.
    pub fn username(&self) -> &str {
        self.username.as_deref().unwrap_or("guest")
    }

    /// The password: key `password` of Secret `rabbitmq-secret` by default.
    pub fn password_secret_ref(&self) -> SecretKeyRef {
        self.password_secret_ref
            .clone()
            .unwrap_or_else(|| SecretKeyRef {
                name: "rabbitmq-secret".to_owned(),
                key: "password".to_owned(),
            })
    }

    /// The exchange in `namespace`.
    pub fn exchange(&self, namespace: &str) -> String {
        self.exchange
            .as_deref()
            .unwrap_or("asya")
            .replace("{namespace}", namespace)
    }
}
