//! The environment, under the names that the rendered container has.

use std::env;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use tests::amqp::Login;

/// What the rendered container says.
pub(crate) struct Settings {
    pub(crate) actor: String,
    pub(crate) happy_end: String,
    pub(crate) error_end: String,
    pub(crate) is_end_actor: bool,
    pub(crate) socket_dir: PathBuf,
    /// How long the runtime may take for one message.
    pub(crate) timeout: Duration,
    pub(crate) transport: Transport,
}

/// Where queues are. Their names are those of the default `queueNameTemplate`.
pub(crate) enum Transport {
    RabbitMq {
        login: Login,
        exchange: String,
        confirms: bool,
    },
    Sqs {
        region: String,
        endpoint: Option<String>,
        visibility: Duration,
        wait: Duration,
    },
}

impl Settings {
    pub(crate) fn from_environment() -> Result<Self> {
        Ok(Self {
            actor: required("ASYA_ACTOR_NAME")?,
            happy_end: required("ASYA_ACTOR_HAPPY_END")?,
            error_end: required("ASYA_ACTOR_ERROR_END")?,
            is_end_actor: optional("ASYA_IS_END_ACTOR").as_deref() == Some("true"),
            socket_dir: required("ASYA_SOCKET_DIR")?.into(),
            timeout: duration("ASYA_RUNTIME_TIMEOUT")?,
            transport: Transport::from_environment()?,
        })
    }
}

impl Transport {
    fn from_environment() -> Result<Self> {
        match required("ASYA_TRANSPORT")?.as_str() {
            "rabbitmq" => Ok(Self::RabbitMq {
                login: login(&required("ASYA_RABBITMQ_URL")?)?,
                exchange: required("ASYA_RABBITMQ_EXCHANGE")?,
                confirms: optional("DOUBLE_CONFIRMS").as_deref() == Some("true"),
            }),
            "sqs" => Ok(Self::Sqs {
                region: required("ASYA_AWS_REGION")?,
                endpoint: optional("ASYA_SQS_ENDPOINT"),
                visibility: duration("ASYA_SQS_VISIBILITY_TIMEOUT")?,
                wait: duration("ASYA_SQS_WAIT_TIME_SECONDS")?,
            }),
            other => bail!("ASYA_TRANSPORT is {other:?}, expected \"rabbitmq\" or \"sqs\""),
        }
    }
}

fn required(name: &str) -> Result<String> {
    env::var(name).with_context(|| format!("{name} is not set"))
}

fn optional(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

fn duration(name: &str) -> Result<Duration> {
    let text = required(name)?;
    actor::duration::parse_or_seconds(&text).with_context(|| format!("{name} is {text:?}"))
}

/// Reads `amqp://user:password@host:port/%2F`. Tests have no other virtual host, and nothing encoded.
fn login(url: &str) -> Result<Login> {
    let parts = || {
        let rest = url.strip_prefix("amqp://")?.strip_suffix("/%2F")?;
        let (who, place) = rest.split_once('@')?;
        let (username, password) = who.split_once(':')?;
        let (host, port) = place.split_once(':')?;
        Some(Login {
            host: host.to_owned(),
            port: port.parse().ok()?,
            username: username.to_owned(),
            password: password.to_owned(),
        })
    };
    parts().context("ASYA_RABBITMQ_URL is not amqp://<user>:<password>@<host>:<port>/%2F")
}
