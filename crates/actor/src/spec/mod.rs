//! The spec of an actor, read once into types.
//!
//! [`Spec`] is what comes out of the merge of flavors and the actor's own
//! fields. No field has a default in the API server's schema, because one would
//! silently beat every flavor; defaults are the accessors here.

use std::collections::BTreeMap;

use merge::{FieldPath, Segment};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::decode::{DecodeError, decode};
use crate::entry::{EnvVar, Named, VolumeMount};

mod aliases;
mod binding;
mod fields;
mod form;
mod precedence;
mod resiliency;
mod resiliency_problems;
mod scaling;
mod workload;

pub use crate::binding::targets::BindingStrategy;
pub use aliases::{ALIASES, AliasError, as_written, normalise_aliases};
pub use binding::{Binding, RuntimeAdapter, WorkloadRef};
pub use fields::{
    INFRASTRUCTURE, INLINE_POD_FIELDS, KNOWN_FIELDS, KNOWN_INSIDE, LEGACY_MACHINERY, MACHINERY,
    unknown_fields, without_machinery,
};
#[cfg(feature = "schema")]
pub(crate) use form::{BINDING_FIELDS, EXCLUSIVE};
pub use form::{Form, FormError, beside_exclusive};
pub use precedence::{Lost, Yielded, is_set_by_template, keys_without_effect, yield_to_actor};
pub use resiliency::{Resiliency, Retry};
pub use resiliency_problems::Problem as ResiliencyProblem;
pub use scaling::{Advanced, Scaling};
pub use workload::{Workload, WorkloadKind};

/// The resolved spec of an actor: its flavors' fields and its own.
///
/// The descriptions of these fields are also what `kubectl explain` shows.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transform = crate::schema::rules::of_spec))]
#[serde(rename_all = "camelCase", default)]
pub struct Spec {
    /// Name of the actor, a DNS label of 1 to 63 characters; the queue is named after it. Default:
    /// the object's name. Immutable.
    #[cfg_attr(
        feature = "schema",
        schemars(schema_with = "crate::schema::fields::actor_name")
    )]
    pub actor: Option<String>,
    /// Transport of the queue: an entry of `transports` in the platform settings. Default: that of
    /// the live queue, else the platform's default. Cannot change while the queue exists.
    pub transport: Option<String>,
    /// Names of flavors, merged from left to right: at most 8, each once.
    #[cfg_attr(
        feature = "schema",
        schemars(schema_with = "crate::schema::fields::flavors")
    )]
    pub flavors: Vec<String>,

    /// Image of the container `asya-runtime`, which contains the handler. Required in the actor or
    /// a flavor.
    pub image: Option<String>,
    /// Python handler: `module.function` or `module.Class.method`. Required in the actor or a
    /// flavor.
    pub handler: Option<String>,
    /// When the kubelet pulls `image`. Default: `IfNotPresent`.
    pub image_pull_policy: Option<PullPolicy>,
    /// Python interpreter in the image. Default: `ASYA_PYTHONEXECUTABLE` of `env`, else `python3`.
    pub python_executable: Option<String>,
    /// Number of pods while `scaling.enabled` is false; no effect otherwise. Default: the current
    /// number, else 1.
    pub replicas: Option<u32>,
    /// Environment variables of `asya-runtime`. Names are unique; variables that Asya sets itself
    /// are refused.
    #[cfg_attr(
        feature = "schema",
        schemars(schema_with = "crate::schema::items::environment")
    )]
    pub env: Vec<EnvVar>,
    /// Keys of Secrets that become environment variables of `asya-runtime`.
    pub secret_refs: Vec<SecretRef>,
    /// Resource requests and limits of `asya-runtime`.
    #[cfg_attr(
        feature = "schema",
        schemars(schema_with = "crate::schema::fields::resources")
    )]
    pub resources: Option<Map<String, Value>>,
    /// Tolerations of the pods.
    pub tolerations: Vec<Map<String, Value>>,
    /// Labels that nodes must have to run the pods.
    pub node_selector: BTreeMap<String, String>,
    /// Volumes of the pods.
    pub volumes: Vec<Named>,
    /// Volume mounts of `asya-runtime`.
    pub volume_mounts: Vec<VolumeMount>,

    /// Autoscaling by KEDA.
    pub scaling: Scaling,
    /// Timeout and retries of messages.
    pub resiliency: Resiliency,
    /// Settings of the injected sidecar.
    pub sidecar: Sidecar,
    /// State proxies: directories whose files a connector container keeps in a store.
    pub state_proxy: Vec<StateProxy>,
    /// Settings of the actor's queue.
    pub queue: QueueOptions,

    /// Affinity of the pods.
    pub affinity: Option<Map<String, Value>>,
    /// Topology spread constraints of the pods.
    pub topology_spread_constraints: Vec<Map<String, Value>>,
    /// Secrets with which the kubelet pulls images.
    pub image_pull_secrets: Vec<Named>,
    /// ServiceAccount of the pods; it must exist. Default: the namespace's default, or one that is
    /// rendered for the platform's `actorRoleArn`.
    pub service_account_name: Option<String>,
    /// Priority class of the pods.
    pub priority_class_name: Option<String>,
    /// Runtime class of the pods.
    pub runtime_class_name: Option<String>,
    /// Seconds between SIGTERM and SIGKILL. Default: the actor's timeout plus 30, at most the
    /// platform's `maxGracePeriodSeconds`.
    pub termination_grace_period_seconds: Option<u32>,
    /// Security context of the pods.
    pub security_context: Option<Map<String, Value>>,
    /// Security context of `asya-runtime`.
    pub container_security_context: Option<Map<String, Value>>,
    /// Init containers of the pods.
    #[cfg_attr(
        feature = "schema",
        schemars(schema_with = "crate::schema::items::init_containers")
    )]
    pub init_containers: Vec<Named>,
    /// Arguments after the runtime script.
    pub args: Vec<String>,
    /// Lifecycle hooks of `asya-runtime`.
    pub lifecycle: Option<Map<String, Value>>,
    /// Liveness probe of `asya-runtime`. Replaces the injected one.
    pub liveness_probe: Option<Map<String, Value>>,
    /// Readiness probe of `asya-runtime`. Replaces the injected one.
    pub readiness_probe: Option<Map<String, Value>>,
    /// Startup probe of `asya-runtime`. Replaces the injected one, which allows 5 minutes.
    pub startup_probe: Option<Map<String, Value>>,
    /// Update strategy of the Deployment.
    pub strategy: Option<Map<String, Value>>,
    /// Additional labels of the pods.
    pub pod_labels: BTreeMap<String, String>,
    /// Annotations of the pods.
    pub pod_annotations: BTreeMap<String, String>,

    /// Your own pod template, instead of the inline fields. Excludes `workloadRef`.
    pub workload: Option<Workload>,
    /// Workload of another owner to bind to. Excludes `workload`.
    pub workload_ref: Option<WorkloadRef>,
    /// Adapter of a bound workload. Requires `workloadRef`.
    pub runtime: Option<RuntimeAdapter>,
    /// Options of the binding. Requires `workloadRef`.
    pub binding: Binding,
}

/// When the kubelet pulls an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum PullPolicy {
    /// At every start of a container.
    Always,
    /// If the node does not have the image.
    #[default]
    IfNotPresent,
    /// The node must have the image.
    Never,
}

/// Keys of one Secret that become environment variables.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SecretRef {
    /// Name of the Secret, in the actor's namespace.
    pub secret_name: String,
    /// Keys of the Secret.
    pub keys: Vec<SecretKey>,
}

/// One key of a Secret and the variable it fills.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SecretKey {
    /// Key of the Secret.
    pub key: String,
    /// Name of the environment variable.
    pub env_var: String,
}

/// An actor's settings of the injected sidecar.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Sidecar {
    /// Image of the sidecar. Default: the platform's `sidecar.image`.
    pub image: Option<String>,
    /// When the kubelet pulls the image. Default: the platform's, else `IfNotPresent`.
    pub image_pull_policy: Option<PullPolicy>,
    /// Additional environment variables. Replaces injected variables of the same name, except those
    /// for the actor's identity and wiring, which are refused.
    pub env: Vec<EnvVar>,
    /// Resource requests and limits. Default: the platform's.
    #[cfg_attr(
        feature = "schema",
        schemars(schema_with = "crate::schema::fields::resources")
    )]
    pub resources: Option<Map<String, Value>>,
    /// Security context of the container, as in Kubernetes. Its keys replace those of the platform's
    /// settings and of the default, which Pod Security *restricted* accepts.
    pub security_context: Option<Map<String, Value>>,
}

/// A directory whose files a connector container keeps in a store.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct StateProxy {
    /// Name, part of the names of container and socket.
    #[cfg_attr(
        feature = "schema",
        schemars(schema_with = "crate::schema::fields::state_proxy_name")
    )]
    pub name: String,
    /// Mount of the files in the handler's container.
    pub mount: StateMount,
    /// When writes reach the store. Default: `buffered`.
    #[serde(default)]
    pub write_mode: WriteMode,
    /// Container that connects to the store.
    pub connector: Connector,
    /// Security context of the container, as in Kubernetes. Its keys replace those of the default,
    /// which Pod Security *restricted* accepts.
    #[serde(default)]
    pub security_context: Option<Map<String, Value>>,
}

/// Mount of a state proxy's files.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StateMount {
    /// Absolute path in `asya-runtime`.
    #[cfg_attr(
        feature = "schema",
        schemars(schema_with = "crate::schema::fields::state_path")
    )]
    pub path: String,
}

/// When writes reach the store behind a state proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum WriteMode {
    /// When the file is closed.
    #[default]
    Buffered,
    /// With each write.
    Passthrough,
}

impl WriteMode {
    /// The mode as the runtime reads it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Buffered => "buffered",
            Self::Passthrough => "passthrough",
        }
    }
}

/// The container behind a state proxy.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Connector {
    /// Image of the connector. That of asya-sidecar has connectors for S3 and for directories.
    pub image: String,
    /// Environment variables of the connector. The connectors of asya-sidecar are chosen by them:
    /// `STATE_BUCKET` selects S3, `STATE_DIRECTORY` a directory.
    #[serde(default)]
    pub env: Vec<EnvVar>,
    /// Resource requests and limits of the connector.
    #[serde(default)]
    #[cfg_attr(
        feature = "schema",
        schemars(schema_with = "crate::schema::fields::resources")
    )]
    pub resources: Option<Map<String, Value>>,
    /// Volume mounts of the connector, such as that of a PersistentVolumeClaim in `volumes`.
    #[serde(default)]
    pub volume_mounts: Vec<VolumeMount>,
}

/// An actor's settings of its queue.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct QueueOptions {
    /// Deletion policy of the queue when the actor is deleted. Default: the platform's
    /// `queueDeletionPolicy`. Cannot be set in a flavor.
    pub deletion_policy: Option<crate::queue::DeletionPolicy>,
    /// If true, an existing queue without an owner is adopted. Default: false. Cannot be set in a
    /// flavor.
    pub adopt: Option<bool>,
    /// Dead-lettering of messages that are received too often.
    pub dead_letter: DeadLetterOptions,
}

/// Dead-lettering settings of an actor, a flavor or the platform.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct DeadLetterOptions {
    /// If true, messages are dead-lettered. Default: true on RabbitMQ quorum queues, false on SQS.
    pub enabled: Option<bool>,
    /// Number of receives after which a message is dead-lettered, at least 1. Default: 20 on
    /// RabbitMQ, 3 on SQS.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub max_receive_count: Option<u32>,
}

impl Spec {
    /// Reads a resolved spec. Aliases must have been normalised before
    /// ([`normalise_aliases`]); keys that the API does not know are passed over.
    ///
    /// # Errors
    /// The first field that does not have its type, with its path.
    pub fn parse(document: Value) -> Result<Self, DecodeError> {
        decode(document)
    }

    /// The pull policy of `asya-runtime`.
    pub fn image_pull_policy(&self) -> PullPolicy {
        self.image_pull_policy.unwrap_or_default()
    }

    /// The Python that runs the handler: `pythonExecutable`, else
    /// `ASYA_PYTHONEXECUTABLE` of [`Spec::runtime_env`], else `python3`. An empty
    /// text is none.
    pub fn python_executable(&self) -> String {
        let is_set = |python: &String| !python.is_empty();
        let in_env = || value_of(&self.runtime_env(), "ASYA_PYTHONEXECUTABLE").map(str::to_owned);
        let field = self.python_executable.clone().filter(is_set);
        field
            .or_else(|| in_env().filter(is_set))
            .unwrap_or_else(|| "python3".to_owned())
    }
}

impl Spec {
    /// The user's environment of `asya-runtime`, whatever the form: that of the
    /// inline fields or the adapter, or that of the template's container followed
    /// by what flavors give and the template does not.
    pub fn runtime_env(&self) -> Vec<EnvVar> {
        let own = match (&self.workload, &self.runtime) {
            (Some(workload), _) => workload.runtime_env(),
            (None, Some(runtime)) => runtime.env.clone(),
            (None, None) => return self.env.clone(),
        };
        let given = self
            .env
            .iter()
            .filter(|given| own.iter().all(|own| own.name() != given.name()))
            .cloned();
        own.iter().cloned().chain(given).collect()
    }

    /// Returns the path in the spec of the last variable called `name` of [`Spec::runtime_env`].
    pub fn path_in_runtime_env(&self, name: &str) -> FieldPath {
        let in_list = |list: &[&str], env: &[EnvVar]| {
            let index = env.iter().rposition(|variable| variable.name() == name)?;
            let list = list.iter().copied().map(Segment::from);
            Some(list.chain([index.into()]).collect())
        };
        let own = match (&self.workload, &self.runtime) {
            (Some(workload), _) => workload.path_in_runtime_env(name),
            (None, Some(runtime)) => in_list(&["runtime", "env"], &runtime.env),
            (None, None) => None,
        };
        own.or_else(|| in_list(&["env"], &self.env))
            .unwrap_or_else(|| ["env"].into())
    }
}

/// The literal value of the last variable called `name`.
pub fn value_of<'a>(env: &'a [EnvVar], name: &str) -> Option<&'a str> {
    env.iter()
        .rev()
        .find(|variable| variable.name() == name)?
        .value()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn errors_name_their_path() {
        let cases = [
            (
                json!({"scaling": {"minReplicaCount": "1"}}),
                "scaling.minReplicaCount",
                "a text",
            ),
            (json!({"replicas": -1}), "replicas", "negative"),
            (
                json!({"env": [{"value": "x"}]}),
                "env[0]",
                "a variable without a name",
            ),
            (
                json!({"imagePullPolicy": "Sometimes"}),
                "imagePullPolicy",
                "not a policy",
            ),
            (
                json!({"nodeSelector": {"a": true}}),
                "nodeSelector.a",
                "labels are texts",
            ),
            (
                json!({"stateProxy": [{"name": "a"}]}),
                "stateProxy[0]",
                "no mount",
            ),
        ];
        for (document, path, reason) in cases {
            assert_eq!(
                Spec::parse(document).unwrap_err().path.to_string(),
                path,
                "{reason}"
            );
        }
    }

    #[test]
    fn a_value_of_the_wrong_type_is_not_shown_where_it_may_be_secret() {
        let error = Spec::parse(json!({"env": [{"name": "PIN", "value": 4711}]})).unwrap_err();
        assert!(!error.to_string().contains("4711"), "{error}");
    }

    #[test]
    fn nulls_and_unknown_keys_do_not_disturb() {
        let spec = Spec::parse(json!({"image": null, "env": null, "colour": "red"})).unwrap();
        assert_eq!(spec, Spec::default());
    }

    #[test]
    fn the_python_comes_from_the_field_then_the_environment() {
        let env = json!([{"name": "ASYA_PYTHONEXECUTABLE", "value": "/venv/python"}]);
        let none = json!([{"name": "ASYA_PYTHONEXECUTABLE", "value": ""}]);
        let containers = json!([{"name": "asya-runtime", "env": env}]);
        let cases = [
            (json!({}), "python3", "the default"),
            (json!({"env": env}), "/venv/python", "the environment"),
            (
                json!({"env": env, "pythonExecutable": "pypy3"}),
                "pypy3",
                "the field goes first",
            ),
            (
                json!({"env": none, "pythonExecutable": ""}),
                "python3",
                "an empty text would start nothing",
            ),
            (
                json!({"workload": {"template": {"spec": {"containers": containers}}}}),
                "/venv/python",
                "the environment of the template's container",
            ),
        ];
        for (document, python, reason) in cases {
            let spec = Spec::parse(document).unwrap();
            assert_eq!(spec.python_executable(), python, "{reason}");
        }
    }
}
