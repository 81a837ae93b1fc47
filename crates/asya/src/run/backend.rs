//! Backend of a run's queues.

use std::sync::Arc;

use asya_sidecar::transport::Transport;
use asya_sidecar::transport::memory::Broker;

use super::messages::Ids;
use super::plan::Plan;

/// Backend of queues.
#[derive(Clone)]
pub enum Backend {
    /// In this process. They end with it.
    Memory(Broker),
    /// Queues of a RabbitMQ broker, by its URL.
    RabbitMq(String),
}

/// Reason for which an actor is not connected to its queue.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BackendError {
    /// This program was built without the client.
    #[error("this program was built without RabbitMQ: build it with `--features rabbitmq`")]
    NotBuilt,
    /// The URL is none of a broker. It may hold a password.
    #[error("the URL of --transport is none of a RabbitMQ broker: expected {0}")]
    Url(String),
    /// The broker cannot be used.
    #[error("actor {actor:?}: {problem}")]
    Broker {
        /// The actor.
        actor: String,
        /// The problem.
        problem: String,
        /// The remedy, if there is one.
        help: Option<String>,
    },
    /// The form of the argument.
    #[error(
        "expected memory, or rabbitmq=URL such as rabbitmq=amqp://guest:guest@localhost:5672/%2F"
    )]
    Form,
}

impl BackendError {
    /// Returns the remedy, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Broker { help, .. } => help.clone(),
            _ => None,
        }
    }
}

impl std::str::FromStr for Backend {
    type Err = BackendError;

    fn from_str(text: &str) -> Result<Self, BackendError> {
        match text.split_once('=') {
            None if text == "memory" => Ok(Self::Memory(Broker::default())),
            Some(("rabbitmq", url)) if cfg!(feature = "rabbitmq") => {
                Ok(Self::RabbitMq(url.to_owned()))
            }
            Some(("rabbitmq", _)) => Err(BackendError::NotBuilt),
            _ => Err(BackendError::Form),
        }
    }
}

// The URL holds a password.
impl std::fmt::Debug for Backend {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Memory(_) => "Memory",
            Self::RabbitMq(_) => "RabbitMq",
        })
    }
}

impl Backend {
    /// The actor's connection, through which messages can be sent at once.
    pub(super) async fn connect(&self, plan: &Plan) -> Result<Arc<dyn Transport>, BackendError> {
        match self {
            Self::Memory(broker) => Ok(Arc::new(broker.connect(&plan.name))),
            Self::RabbitMq(url) => rabbitmq(url, plan).await,
        }
    }

    /// Name in metrics.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Memory(_) => "memory",
            Self::RabbitMq(_) => "rabbitmq",
        }
    }

    /// Ids of messages without one.
    pub(super) fn ids(&self) -> Ids {
        if self.is_shared() {
            Ids::Random
        } else {
            Ids::Counted
        }
    }

    /// Returns whether messages wait for an actor; unknown for queues of a broker.
    pub(super) fn has_waiting(&self, actor: &str) -> bool {
        match self {
            Self::Memory(broker) => !broker.waiting(actor).is_empty(),
            Self::RabbitMq(_) => false,
        }
    }

    /// Returns whether messages can come from elsewhere.
    pub fn is_shared(&self) -> bool {
        matches!(self, Self::RabbitMq(_))
    }
}

#[cfg(feature = "rabbitmq")]
async fn rabbitmq(url: &str, plan: &Plan) -> Result<Arc<dyn Transport>, BackendError> {
    use asya_sidecar::config::{Config, TransportConfig};
    use asya_sidecar::transport::rabbitmq::{CheckError, RabbitMq};

    let lookup = |name: &str| match name {
        "ASYA_RABBITMQ_URL" => Some(url.to_owned()),
        name => plan.sidecar.get(name).cloned(),
    };
    let config = Config::read(&lookup).map_err(|problems| {
        let problem = problems.into_iter().next();
        BackendError::Url(problem.map_or_else(String::new, |problem| problem.allowed))
    })?;
    let TransportConfig::RabbitMq(rabbitmq) = &config.transport else {
        return Err(BackendError::Form);
    };
    // Two crates could each bring a default; it may be installed by an actor before this one.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let transport = RabbitMq::new(rabbitmq, &config.queues.own, config.worker.prefetch);
    let transport = transport.map_err(BackendError::Url)?;
    transport.check().await.map_err(|error| {
        let help = matches!(error, CheckError::NoQueue { .. }).then(|| {
            format!(
                "the provider creates it for the actor's Queue object; on a broker of your own, create \
                 topic exchange {:?}, the queue, and a binding of both with routing key {:?}",
                rabbitmq.exchange, plan.name
            )
        });
        BackendError::Broker {
            actor: plan.name.clone(),
            problem: error.to_string(),
            help,
        }
    })?;
    Ok(Arc::new(transport))
}

#[cfg(not(feature = "rabbitmq"))]
#[expect(clippy::unused_async, reason = "the one with the feature awaits")]
async fn rabbitmq(_: &str, _: &Plan) -> Result<Arc<dyn Transport>, BackendError> {
    Err(BackendError::NotBuilt)
}
