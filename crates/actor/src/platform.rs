//! The platform's settings: one EnvironmentConfig that the platform team writes.
//!
//! `""` and `null` mean not set everywhere. A transport is read only when an
//! actor uses it, so that a problem in one does not stop the actors of another.

use std::collections::BTreeMap;

use merge::FieldPath;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::decode::{DecodeError, decode};
use crate::queue::DeletionPolicy;
use crate::spec::PullPolicy;
use crate::transport::{Transport, TransportError};

/// The platform's settings.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Platform {
    /// Transport of actors that set none. Default: the only enabled transport.
    pub default_transport: Option<String>,
    /// Template of queue names with `{actor}` and optionally `{namespace}`. Applies to new queues.
    /// Default: `asya-{actor}`.
    pub queue_name_template: Option<String>,
    /// Handling of the queue of a deleted actor that sets no policy. Default: `Delete`.
    pub queue_deletion_policy: DeletionPolicy,
    /// Longest grace period of pods, in seconds. Default: 3600.
    pub max_grace_period_seconds: Option<u32>,
    /// If true, flavors must have the label `asya.sh/flavor: <name>`. Default: false.
    pub require_flavor_label: bool,
    /// Transports that actors can use, by name.
    #[cfg_attr(
        feature = "schema",
        schemars(schema_with = "crate::schema::platform::transports")
    )]
    pub transports: BTreeMap<String, Value>,
    /// Defaults of the injected sidecar.
    pub sidecar: SidecarDefaults,
    /// Runtime files and the image of adapters.
    pub runtime: RuntimeDefaults,
    /// URL of the gateway that receives progress events. Default: none.
    #[serde(rename = "gatewayURL")]
    pub gateway_url: Option<String>,
    /// Actors at which routes end.
    pub end_actors: EndActors,
    /// Names of each `ClusterTriggerAuthentication` that `scaling.additionalTriggers` of actors may
    /// use. Default: none, because they hold credentials of the whole cluster.
    pub allowed_cluster_trigger_authentications: Vec<String>,
}

/// Default settings of actors' sidecars.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct SidecarDefaults {
    /// Image of the sidecar, for actors that set none. Default: `sidecarImage` of the step's input,
    /// else `ASYA_SIDECAR_IMAGE` of the function, else `asya-sidecar:latest`. A change restarts
    /// pods.
    pub image: Option<String>,
    /// When the kubelet pulls the image. Default: `IfNotPresent`.
    pub image_pull_policy: Option<PullPolicy>,
    /// Resource requests and limits. Default: requests of 10m CPU and 32Mi memory.
    #[cfg_attr(
        feature = "schema",
        schemars(schema_with = "crate::schema::fields::resources")
    )]
    pub resources: Option<Map<String, Value>>,
    /// Security context of the sidecars, as in Kubernetes. Its keys replace those of the default,
    /// which Pod Security *restricted* accepts.
    pub security_context: Option<Map<String, Value>>,
}

/// Delivery of the runtime files to pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Delivery {
    /// Init container `asya-runtime-files` copies them from the sidecar's image.
    Image,
    /// A ConfigMap of each actor holds the runtime script.
    ConfigMap,
}

/// The runtime script, for all actors.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct RuntimeDefaults {
    /// Delivery of the runtime files to pods: `Image` (an init container copies them from the
    /// sidecar's image) or `ConfigMap`. Default: `Image` if the sidecar's image is called
    /// `asya-sidecar` and none of `configMap`, `script` and `version` is set. Pods that a target of
    /// mode Binding owns (strategy Inject) always get a ConfigMap. A change restarts pods.
    pub delivery: Option<Delivery>,
    /// Name of an existing ConfigMap with the runtime script in each actor's namespace.
    pub config_map: Option<String>,
    /// Text of a runtime script that replaces the released ones.
    pub script: Option<String>,
    /// Released version of the runtime script. Default: the newest that the function contains.
    pub version: Option<String>,
    /// Image of the adapter in mode Binding, if neither the actor nor a flavor sets one. Without
    /// any, the actor has status `ConfigError`.
    pub adapter_image: Option<String>,
}

/// The actors at which routes end.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct EndActors {
    /// Actor that receives finished messages. Default: `x-sink`.
    pub sink: String,
    /// Actor that receives failed messages. Default: `x-sump`.
    pub sump: String,
}

impl Default for EndActors {
    fn default() -> Self {
        Self {
            sink: "x-sink".to_owned(),
            sump: "x-sump".to_owned(),
        }
    }
}

impl EndActors {
    /// Returns whether `actor` ends routes: it then forwards nothing.
    pub fn is_end(&self, actor: &str) -> bool {
        ["happy-end", "error-end"].contains(&actor) || actor == self.sink || actor == self.sump
    }
}

impl Platform {
    /// Reads the settings.
    ///
    /// # Errors
    /// The first setting outside `transports` that does not have its type, or a
    /// `queueNameTemplate` that names all queues alike.
    pub fn parse(document: Value) -> Result<Self, DecodeError> {
        let platform: Self = decode(without_empty(document))?;
        if platform.queue_name_template().contains("{actor}") {
            return Ok(platform);
        }
        Err(DecodeError {
            path: FieldPath::from(["queueNameTemplate"]),
            problem: "has no {actor}, so all actors would share one queue".to_owned(),
        })
    }

    /// Returns the template of queue names: `asya-{actor}` by default. `{actor}` and `{namespace}` are
    /// filled in.
    pub fn queue_name_template(&self) -> &str {
        self.queue_name_template
            .as_deref()
            .unwrap_or("asya-{actor}")
    }

    /// Longest grace period of a pod, in seconds: 3600 by default.
    pub fn max_grace_period_seconds(&self) -> u32 {
        self.max_grace_period_seconds.unwrap_or(3600)
    }

    /// The transport of actors that name none: `defaultTransport`, else the
    /// only enabled one.
    ///
    /// # Errors
    /// When there is none, or more than one and no default.
    pub fn default_transport(&self) -> Result<&str, TransportError> {
        if let Some(name) = &self.default_transport {
            return Ok(name);
        }
        let enabled = self.enabled_transports();
        match enabled[..] {
            [] => Err(TransportError::NoneEnabled),
            [only] => Ok(only),
            _ => Err(TransportError::Ambiguous {
                enabled: enabled.join(", "),
            }),
        }
    }

    /// The transport called `name`, read and checked.
    ///
    /// # Errors
    /// When it is not there, disabled or misconfigured.
    pub fn transport(&self, name: &str) -> Result<Transport, TransportError> {
        let Some(document) = self.transports.get(name) else {
            return Err(TransportError::Unknown {
                name: name.to_owned(),
                known: self
                    .transports
                    .keys()
                    .cloned()
                    .collect::<Vec<_>>()
                    .join(", "),
            });
        };
        Transport::parse(name, document.clone(), self.queue_name_template())
    }

    /// The names of the transports that are not disabled, sorted.
    fn enabled_transports(&self) -> Vec<&str> {
        let disabled = |document: &Value| document.get("enabled") == Some(&Value::Bool(false));
        self.transports
            .iter()
            .filter(|(_, document)| !disabled(document))
            .map(|(name, _)| name.as_str())
            .collect()
    }
}

/// `value` without the entries that mean not set: empty texts, nulls, and maps that
/// hold nothing but such entries, as a reference to a Secret without a name does.
fn without_empty(value: Value) -> Value {
    let Value::Object(map) = value else {
        return value;
    };
    let is_set = |value: &Value| !value.is_null() && value.as_str() != Some("");
    let entries = map.into_iter().filter_map(|(key, value)| {
        let was_empty = value.as_object().is_some_and(Map::is_empty);
        let value = without_empty(value);
        let is_empty = value.as_object().is_some_and(Map::is_empty);
        (is_set(&value) && is_empty == was_empty).then_some((key, value))
    });
    Value::Object(entries.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_template_without_the_actors_name_is_refused() {
        let parse = |template: &str| Platform::parse(json!({"queueNameTemplate": template}));
        assert!(parse("{namespace}-{actor}").is_ok());
        assert!(parse("").is_ok(), "not set");
        assert_eq!(
            parse("asya-{namespace}").unwrap_err().to_string(),
            "queueNameTemplate: has no {actor}, so all actors would share one queue"
        );
    }

    #[test]
    fn empty_settings_count_as_not_set() {
        let cases = [
            (
                json!({"a": "", "b": null, "c": 0}),
                json!({"c": 0}),
                "texts and nulls",
            ),
            (
                json!({"secretRef": {"name": "", "key": null}, "b": 1}),
                json!({"b": 1}),
                "a map of nothing else",
            ),
            (json!({"config": {}}), json!({"config": {}}), "an empty map"),
            (
                json!({"a": [""]}),
                json!({"a": [""]}),
                "lists keep their items",
            ),
        ];
        for (settings, expected, reason) in cases {
            assert_eq!(without_empty(settings), expected, "{reason}");
        }
    }

    #[test]
    fn a_reference_to_a_secret_without_a_name_is_none() {
        let sqs = json!({"type": "sqs", "config": {
            "region": "us-east-1", "credentialsSecretRef": {"name": ""},
        }});
        let platform = Platform::parse(json!({"transports": {"sqs": sqs}})).unwrap();
        assert!(platform.transport("sqs").is_ok());
    }
}
