//! The environment variables of an actor's pod, and those by which our programs are set, as one
//! table.
//!
//! Variables that a flag of a program stands for are with that flag, in its `--help`.

/// Who reads a variable.
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

    /// What it is called.
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
    /// Who reads it.
    pub reader: Reader,
    /// What it is.
    pub means: &'static str,
    /// Where its value comes from, or what it is unless given.
    pub value: &'static str,
}

impl Variable {
    /// Whether users may set it; see [`crate::pod::is_reserved_variable`].
    pub fn is_the_users(&self) -> bool {
        match self.reader {
            Reader::Runtime | Reader::Sidecar => !crate::pod::is_reserved_variable(self.name),
            Reader::StateProxy => false,
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
        "ASYA_ENABLE_VALIDATION": "whether a message's shape is checked", "`true`; `false` for end actors";
        "ASYA_HANDLER": "`module.function` or `module.Class.method`", "`handler`";
        "ASYA_LOG_LEVEL": "how much is logged", "`info`";
        "ASYA_PREFETCH": "calls that run at once; the same value as in the sidecar", "`1`";
        "ASYA_PYTHONEXECUTABLE": "the interpreter that runs the script; read when the pod is rendered, where `pythonExecutable` is not set", "`python3`";
        "ASYA_RUNTIME_HANG_GRACE": "how long a call may run after its client has left", "`10s`";
        "ASYA_RUNTIME_TIMEOUT": "how long a message may take; read when the pod is rendered, where the sidecar's is not set", "`resiliency.actorTimeout`";
        "ASYA_SOCKET_CHMOD": "mode of the socket", "`0o666`";
        "ASYA_SOCKET_DIR": "folder of the socket", "`/var/run/asya`";
        "ASYA_STATE_PROXY_DIR": "folder of the sockets of state proxies", "`state` in `ASYA_SOCKET_DIR`";
        "ASYA_STATE_PROXY_MOUNTS": "`name:path:write=mode` of each state proxy, joined by `;`", "`stateProxy`";
        "ASYA_STATE_PROXY_TIMEOUT": "how long a state proxy may take to start, and to answer", "`60s`";
        "ASYA_TARGET_URL": "where a REST adapter sends its requests", "`runtime.targetURL`, in mode Binding";
    }
    Sidecar {
        "ASYA_ACTOR_ERROR_END": "the actor to which failed messages go, for sidecars of the older protocol", "`error-end`";
        "ASYA_ACTOR_HAPPY_END": "the actor to which finished messages go, for sidecars of the older protocol", "`happy-end`";
        "ASYA_ACTOR_NAME": "the actor", "`actor`";
        "ASYA_ACTOR_SINK": "the actor to which finished messages go", "platform `endActors.sink`";
        "ASYA_ACTOR_SUMP": "the actor to which failed messages go", "platform `endActors.sump`";
        "ASYA_AWS_REGION": "region of the queue; SQS", "`config.region`";
        "ASYA_GATEWAY_URL": "where progress is reported", "platform `gatewayURL`; absent unless set";
        "ASYA_IS_END_ACTOR": "that messages end here", "`true` on end actors, else absent";
        "ASYA_LOG_LEVEL": "how much is logged", "`info`";
        "ASYA_NAMESPACE": "the actor's namespace", "the object's";
        "ASYA_QUEUE_URL": "the queue's URL; SQS", "where `config` determines it: `accountId` and `region`, or `endpoint`";
        "ASYA_RABBITMQ_CA_FILE": "certificate of the broker's authority", "`config.tls.caSecretRef`, mounted";
        "ASYA_RABBITMQ_EXCHANGE": "the exchange", "`config.exchange`";
        "ASYA_RABBITMQ_HOST": "the broker's host", "`config.host`";
        "ASYA_RABBITMQ_PASSWORD": "its user's password", "`config.passwordSecretRef`";
        "ASYA_RABBITMQ_PORT": "its AMQP port", "`config.port`";
        "ASYA_RABBITMQ_TLS": "that AMQP is spoken over TLS", "`true` where `config.tls.enabled`";
        "ASYA_RABBITMQ_URL": "all of it in one URL", "`config.urlSecretRef`, else built of the others";
        "ASYA_RABBITMQ_USERNAME": "its user", "`config.usernameSecretRef` or `config.username`";
        "ASYA_RESILIENCY_ACTOR_TIMEOUT": "how long a message may take", "the runtime timeout";
        "ASYA_RESILIENCY_NON_RETRYABLE_ERRORS": "errors after which there is no other try, joined by `,`", "`resiliency.nonRetryableErrors`";
        "ASYA_RESILIENCY_POLICIES": "policies, as JSON", "`resiliency.policies`";
        "ASYA_RESILIENCY_RETRY_BACKOFF_COEFFICIENT": "by how much the pause grows", "`resiliency.retry.backoffCoefficient`";
        "ASYA_RESILIENCY_RETRY_INITIAL_INTERVAL": "the first pause", "`resiliency.retry.initialInterval`";
        "ASYA_RESILIENCY_RETRY_JITTER": "whether pauses are moved at random", "`resiliency.retry.jitter`";
        "ASYA_RESILIENCY_RETRY_MAX_ATTEMPTS": "how many tries there are", "`resiliency.retry.maxAttempts`";
        "ASYA_RESILIENCY_RETRY_MAX_INTERVAL": "the longest pause", "`resiliency.retry.maxInterval`";
        "ASYA_RESILIENCY_RETRY_POLICY": "`constant` or `exponential`", "`resiliency.retry.policy`";
        "ASYA_RESILIENCY_RULES": "which policy is for which errors, as JSON", "`resiliency.rules`";
        "ASYA_RUNTIME_TIMEOUT": "how long a message may take", "`resiliency.actorTimeout`, else 5 minutes";
        "ASYA_SOCKET_DIR": "folder of the runtime's socket", "`/var/run/asya`";
        "ASYA_SQS_ENDPOINT": "where SQS is, if not at AWS", "`config.endpoint`";
        "ASYA_SQS_VISIBILITY_TIMEOUT": "how long a message that was received is hidden, in seconds; SQS", "twice the runtime timeout";
        "ASYA_SQS_WAIT_TIME_SECONDS": "how long a look at an empty queue lasts; SQS", "`config.waitTimeSeconds`";
        "ASYA_TRANSPORT": "`sqs` or `rabbitmq`", "the transport's `type`";
    }
    StateProxy {
        "CONNECTOR_SOCKET": "the socket on which it serves", "`/var/run/asya/state/<name>.sock`";
    }
    InjectSidecar {
        "ASYA_RUNTIME_SCRIPT_PATH": "a file with the runtime script, in place of the embedded one", "absent";
        "ASYA_SIDECAR_IMAGE": "image of the sidecar, where neither actor nor platform nor input names one", "`asya-sidecar:latest`";
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
