//! The environment variables of an actor's pod, and those by which our programs are set, as one
//! table.
//!
//! Variables that a flag of a program stands for are with that flag, in its `--help`.

/// Reader of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reader {
    /// The runtime script, in container `asya-runtime`.
    Runtime,
    /// Container `asya-sidecar`.
    Sidecar,
    /// A container `asya-state-proxy-<name>`.
    StateProxy,
    /// The step inject-sidecar, as a program.
    InjectSidecar,
}

impl Reader {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 4] = [
        Self::Runtime,
        Self::Sidecar,
        Self::StateProxy,
        Self::InjectSidecar,
    ];

    /// Name of the variable.
    pub fn name(self) -> &'static str {
        match self {
            Self::Runtime => "Container asya-runtime",
            Self::Sidecar => "Container asya-sidecar",
            Self::StateProxy => "Containers asya-state-proxy-…",
            Self::InjectSidecar => "The program function-inject-sidecar (and function-asya)",
        }
    }
}

/// An environment variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// Its reader.
    pub reader: Reader,
    /// Meaning.
    pub means: &'static str,
    /// Source of its value, or its default.
    pub value: &'static str,
}

impl Variable {
    /// Returns whether users may set it; see [`crate::pod::is_reserved_variable`].
    pub fn is_the_users(&self) -> bool {
        match self.reader {
            Reader::Runtime | Reader::Sidecar => !crate::pod::is_reserved_variable(self.name),
            Reader::StateProxy => self.name != crate::pod::CONNECTOR_SOCKET_VARIABLE,
            Reader::InjectSidecar => true,
        }
    }
}

macro_rules! variables {
    ($($reader:ident { $($name:literal: $means:literal, $value:literal;)* })*) => {
        &[$($(Variable {
            name: $name,
            reader: Reader::$reader,
            means: $means,
            value: $value,
        }),*),*]
    };
}

/// Every variable, by reader and name.
pub const VARIABLES: &[Variable] = variables! {
    Runtime {
        "ASYA_BINDING_STRATEGY": "where a REST adapter runs: `Adapter`, in a pod of its own, or `Inject`, next to its target", "`binding.strategy`, in mode Binding";
        "ASYA_ENABLE_VALIDATION": "whether messages are validated", "`true`; `false` for end actors";
        "ASYA_HANDLER": "`module.function` or `module.Class.method`", "`handler`";
        "ASYA_LOG_LEVEL": "how much is logged", "`info`";
        "ASYA_PREFETCH": "calls that run at once; the same value as in the sidecar", "`1`";
        "ASYA_PYTHONEXECUTABLE": "Python interpreter of the runtime; read when the pod is rendered, if `pythonExecutable` is not set", "`python3`";
        "ASYA_RUNTIME_HANG_GRACE": "how long a call may run after its client has left", "`10s`";
        "ASYA_RUNTIME_TIMEOUT": "timeout of a message; also read when the pod is rendered, if the sidecar's is not set", "the sidecar's; absent if that is the default of 5 minutes";
        "ASYA_SOCKET_CHMOD": "mode of the socket", "`0o666`";
        "ASYA_SOCKET_DIR": "folder of the socket", "`/var/run/asya`";
        "ASYA_STATE_PROXY_DIR": "folder of the sockets of state proxies", "`state` in `ASYA_SOCKET_DIR`";
        "ASYA_STATE_PROXY_MOUNTS": "`name:path:write=mode` of each state proxy, joined by `;`", "`stateProxy`";
        "ASYA_STATE_PROXY_TIMEOUT": "how long a state proxy may take to start, and to answer", "`60s`";
        "ASYA_TARGET_URL": "address of the target of a REST adapter", "`runtime.targetURL`, in mode Binding";
    }
    Sidecar {
        "ASYA_ACTOR_ERROR_END": "actor that receives failed messages, for sidecars with the older protocol", "`error-end`";
        "ASYA_ACTOR_HAPPY_END": "actor that receives finished messages, for sidecars with the older protocol", "`happy-end`";
        "ASYA_ACTOR_NAME": "the actor", "`actor`";
        "ASYA_ACTOR_SINK": "actor that receives finished messages", "platform `endActors.sink`";
        "ASYA_ACTOR_SUMP": "actor that receives failed messages", "platform `endActors.sump`";
        "ASYA_AWS_REGION": "region of the queue; SQS", "`config.region`";
        "ASYA_GATEWAY_URL": "URL of the gateway that receives progress events", "platform `gatewayURL`; absent unless set";
        "ASYA_IS_END_ACTOR": "whether routes end at this actor", "`true` on end actors, else absent";
        "ASYA_LOG_LEVEL": "how much is logged", "`info`";
        "ASYA_METRICS_ADDR": "address at which metrics and probes are served", "`0.0.0.0:9464`";
        "ASYA_NAMESPACE": "the actor's namespace", "the object's";
        "ASYA_PREFETCH": "messages that are processed at once, 1 to 1000; the runtime gets the same value", "`1`";
        "ASYA_PUBLISH_FRAMES": "when results are published: `complete`, when the call has ended, or `eager`, as they come", "`complete`";
        "ASYA_QUEUE_NAME": "name of the queue from which messages are consumed", "the Queue's external name";
        "ASYA_QUEUE_NAME_TEMPLATE": "names of the queues of other actors", "platform `queueNameTemplate`";
        "ASYA_QUEUE_RETRY_MAX_ATTEMPTS": "attempts of older sidecars to find a missing queue", "`1`: the kubelet restarts the container";
        "ASYA_QUEUE_URL": "the queue's URL; SQS", "if `config` determines it: `accountId` and `region`, or `endpoint`";
        "ASYA_RABBITMQ_CA_FILE": "certificate of the broker's authority", "`config.tls.caSecretRef`, mounted";
        "ASYA_RABBITMQ_EXCHANGE": "the exchange", "`config.exchange`";
        "ASYA_RABBITMQ_HOST": "the broker's host", "`config.host`";
        "ASYA_RABBITMQ_PASSWORD": "its user's password", "`config.passwordSecretRef`";
        "ASYA_RABBITMQ_PORT": "its AMQP port", "`config.port`";
        "ASYA_RABBITMQ_RETRY_DELAYS": "delays of the retry queues in seconds, joined by `,`", "from the retry policies of `resiliency`; absent without one";
        "ASYA_RABBITMQ_TLS": "whether AMQP uses TLS", "`true` if `config.tls.enabled`";
        "ASYA_RABBITMQ_URL": "host, port, user, password and virtual host as a URL", "`config.urlSecretRef`, else built from the others";
        "ASYA_RABBITMQ_USERNAME": "its user", "`config.usernameSecretRef` or `config.username`";
        "ASYA_RABBITMQ_VHOST": "virtual host, if `ASYA_RABBITMQ_URL` is not set", "absent";
        "ASYA_RESILIENCY_ACTOR_TIMEOUT": "timeout of a message", "the runtime timeout";
        "ASYA_RESILIENCY_NON_RETRYABLE_ERRORS": "errors that are not retried, joined by `,`", "`resiliency.nonRetryableErrors`";
        "ASYA_RESILIENCY_POLICIES": "policies, as JSON", "`resiliency.policies`";
        "ASYA_RESILIENCY_RETRY_BACKOFF_COEFFICIENT": "factor by which the retry delay grows", "`resiliency.retry.backoffCoefficient`";
        "ASYA_RESILIENCY_RETRY_INITIAL_INTERVAL": "first retry delay", "`resiliency.retry.initialInterval`";
        "ASYA_RESILIENCY_RETRY_JITTER": "whether retry delays are randomised", "`resiliency.retry.jitter`";
        "ASYA_RESILIENCY_RETRY_MAX_ATTEMPTS": "maximum number of attempts", "`resiliency.retry.maxAttempts`";
        "ASYA_RESILIENCY_RETRY_MAX_INTERVAL": "longest retry delay", "`resiliency.retry.maxInterval`";
        "ASYA_RESILIENCY_RETRY_POLICY": "`constant` or `exponential`", "`resiliency.retry.policy`";
        "ASYA_RESILIENCY_RULES": "policy for each kind of error, as JSON", "`resiliency.rules`";
        "ASYA_RUNTIME_TIMEOUT": "timeout of a message", "`resiliency.actorTimeout`, else 5 minutes";
        "ASYA_SOCKET_DIR": "folder of the runtime's socket", "`/var/run/asya`";
        "ASYA_SQS_ENDPOINT": "SQS endpoint, if not AWS's own", "`config.endpoint`";
        "ASYA_SQS_VISIBILITY_TIMEOUT": "time for which SQS hides a received message, in seconds", "twice the runtime timeout";
        "ASYA_SQS_WAIT_TIME_SECONDS": "long-poll duration of a receive call, in seconds; SQS", "`config.waitTimeSeconds`";
        "ASYA_TRANSPORT": "`sqs` or `rabbitmq`", "the transport's `type`";
        "OTEL_EXPORTER_OTLP_ENDPOINT": "URL of the collector that receives spans, with the other standard variables: [traces](../observability.md#traces)", "absent";
    }
    StateProxy {
        "ASYA_LOG_LEVEL": "how much is logged; our own connector", "`info`";
        "AWS_ENDPOINT_URL": "URL of the S3 service; also `AWS_ENDPOINT_URL_S3`", "AWS's own";
        "AWS_REGION": "region of the bucket", "`us-east-1`";
        "CONNECTOR_SOCKET": "the socket on which it serves", "`/var/run/asya/state/<name>.sock`";
        "STATE_BUCKET": "bucket of the values; our own connector, for S3", "absent";
        "STATE_DIRECTORY": "directory of the values, such as a mounted volume; our own connector, for files", "absent";
        "STATE_PATH_STYLE": "whether the bucket is in the path of URLs and not in their host", "`true` where an endpoint is set";
        "STATE_PREFIX": "what the keys of objects in the bucket begin with, before a `/`", "absent";
    }
    InjectSidecar {
        "ASYA_RUNTIME_SCRIPT_PATH": "file with a runtime script that replaces the embedded one", "absent";
        "ASYA_SIDECAR_IMAGE": "image of the sidecar, if neither actor nor platform nor input sets one", "`asya-sidecar:latest`";
    }
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order_and_has_no_variable_twice() {
        let keys: Vec<_> = VARIABLES
            .iter()
            .map(|variable| (variable.reader, variable.name))
            .collect();
        assert!(keys.is_sorted_by(|one, next| one < next), "{keys:?}");
    }

    #[test]
    fn identity_is_not_the_users() {
        let is_the_users = |name| {
            let mut variables = VARIABLES.iter();
            variables
                .find(|one| one.name == name)
                .map(Variable::is_the_users)
        };
        assert_eq!(is_the_users("ASYA_ACTOR_NAME"), Some(false));
        assert_eq!(is_the_users("ASYA_LOG_LEVEL"), Some(true));
        assert_eq!(is_the_users("CONNECTOR_SOCKET"), Some(false));
    }
}
