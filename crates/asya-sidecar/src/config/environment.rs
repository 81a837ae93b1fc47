//! Reads the environment. Every problem is reported, not only the first.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr as _;
use std::time::Duration;

use actor::duration;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::names::{LONGEST_NAME, is_fifo};
use super::{
    Config, PublishFrames, QueueNames, RabbitMqConfig, SqsConfig, TransportConfig, WorkerConfig,
    resiliency, traces,
};

/// An environment variable with a value that is not allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The variable.
    pub variable: String,
    /// Its value, quoted; `not set`, or `***` where it may be secret.
    pub value: String,
    /// Description of the allowed values.
    pub allowed: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            variable,
            value,
            allowed,
        } = self;
        write!(formatter, "{variable} is {value}: expected {allowed}")
    }
}

/// Returns whether names of actors and queues may contain the character.
fn is_of_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "-_.".contains(letter)
}

/// Returns whether the file contains a certificate.
fn has_certificate(file: &Path) -> bool {
    let text = std::fs::read_to_string(file);
    text.is_ok_and(|text| text.contains("-----BEGIN CERTIFICATE-----"))
}

/// Environment variables, and what is wrong with them.
pub struct Variables<'a> {
    lookup: &'a dyn Fn(&str) -> Option<String>,
    problems: Vec<Problem>,
}

/// Characters that are percent-encoded: all but RFC 3986's unreserved ones.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

const TIMEOUT: &str = "ASYA_RUNTIME_TIMEOUT";
const DURATION: &str = "a duration such as \"90s\" or \"5m\", or whole seconds";
/// The longest that SQS hides a message: twelve hours.
const MAX_VISIBILITY: u32 = 43_200;

impl Config {
    /// Reads the environment by this lookup.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn read(lookup: &dyn Fn(&str) -> Option<String>) -> Result<Self, Vec<Problem>> {
        let mut variables = Variables {
            lookup,
            problems: Vec::new(),
        };
        let config = variables.config();
        if variables.problems.is_empty() {
            Ok(config)
        } else {
            Err(variables.problems)
        }
    }
}

impl Variables<'_> {
    fn config(&mut self) -> Config {
        let actor = self.required("ASYA_ACTOR_NAME", "the actor's name");
        if !actor.chars().all(is_of_name) {
            self.refuse("ASYA_ACTOR_NAME", "letters, digits, \"-\", \"_\" and \".\"");
        }
        let namespace = self.optional("ASYA_NAMESPACE").unwrap_or_default();
        let timeout = self.timeout();
        let queues = self.queues(&actor, &namespace);
        let transport = self.transport(timeout);
        let is_sqs = matches!(transport, TransportConfig::Sqs(_));
        if is_sqs && self.optional("ASYA_QUEUE_NAME").is_none() && is_fifo(&actor) {
            self.refuse(
                "ASYA_ACTOR_NAME",
                "a name whose queue is a standard one: FIFO queues are not supported",
            );
        }
        // Accepted because older sidecars wait by it; this one always looks again within a second.
        self.number("ASYA_QUEUE_RETRY_MAX_ATTEMPTS", 1, 0..=u32::MAX);
        Config {
            worker: WorkerConfig {
                actor,
                namespace,
                sink: self.end("ASYA_ACTOR_SINK", "ASYA_ACTOR_HAPPY_END", "x-sink"),
                sump: self.end("ASYA_ACTOR_SUMP", "ASYA_ACTOR_ERROR_END", "x-sump"),
                is_end_actor: self.switch("ASYA_IS_END_ACTOR"),
                timeout,
                prefetch: u16::try_from(self.number("ASYA_PREFETCH", 1, 1..=1000)).unwrap_or(1),
                publish: self.choice(
                    "ASYA_PUBLISH_FRAMES",
                    &[
                        ("complete", PublishFrames::Complete),
                        ("eager", PublishFrames::Eager),
                    ],
                    PublishFrames::Complete,
                ),
                retries: resiliency::read(self),
                unroutable_grace: Duration::from_secs(3),
            },
            transport,
            queues,
            socket_dir: self.socket_dir(),
            metrics_address: self.address("ASYA_METRICS_ADDR"),
            log_level: self.choice(
                "ASYA_LOG_LEVEL",
                &[
                    ("error", tracing::Level::ERROR),
                    ("warn", tracing::Level::WARN),
                    ("warning", tracing::Level::WARN),
                    ("info", tracing::Level::INFO),
                    ("debug", tracing::Level::DEBUG),
                ],
                tracing::Level::INFO,
            ),
            gateway_url: self.http_url("ASYA_GATEWAY_URL"),
            traces: traces::read(self),
        }
    }

    /// A problem, with the value as it stands in the environment.
    pub(super) fn refuse(&mut self, variable: &str, allowed: impl Into<String>) {
        let value = (self.lookup)(variable)
            .map_or_else(|| "not set".to_owned(), |text| format!("{text:?}"));
        self.problems.push(Problem {
            variable: variable.to_owned(),
            value,
            allowed: allowed.into(),
        });
    }

    /// A problem of a variable that may hold a secret.
    fn refuse_secret(&mut self, variable: &str, allowed: impl Into<String>) {
        self.problems.push(Problem {
            variable: variable.to_owned(),
            value: "***".to_owned(),
            allowed: allowed.into(),
        });
    }

    /// A value; none where it is not set or empty.
    pub(super) fn optional(&self, variable: &str) -> Option<String> {
        (self.lookup)(variable).filter(|value| !value.trim().is_empty())
    }

    fn required(&mut self, variable: &str, allowed: &str) -> String {
        self.optional(variable).unwrap_or_else(|| {
            self.refuse(variable, allowed);
            String::new()
        })
    }

    fn socket_dir(&mut self) -> PathBuf {
        const DIR: &str = "ASYA_SOCKET_DIR";
        let folder = self.optional(DIR).map(PathBuf::from);
        let folder = folder.unwrap_or_else(|| "/var/run/asya".into());
        if !folder.is_absolute() {
            self.refuse(DIR, "an absolute path such as \"/var/run/asya\"");
        }
        folder
    }

    fn end(&self, variable: &str, older: &str, default: &str) -> String {
        let given = self.optional(variable).or_else(|| self.optional(older));
        given.unwrap_or_else(|| default.to_owned())
    }

    pub(super) fn number(
        &mut self,
        variable: &str,
        default: u32,
        allowed: std::ops::RangeInclusive<u32>,
    ) -> u32 {
        let Some(text) = self.optional(variable) else {
            return default;
        };
        match text.trim().parse() {
            Ok(number) if allowed.contains(&number) => number,
            _ => {
                let range = format!(
                    "a whole number from {} to {}",
                    allowed.start(),
                    allowed.end()
                );
                self.refuse(variable, range);
                default
            }
        }
    }

    pub(super) fn switch(&mut self, variable: &str) -> bool {
        let choices = [("true", true), ("false", false), ("1", true), ("0", false)];
        self.choice(variable, &choices, false)
    }

    pub(super) fn choice<T: Copy>(
        &mut self,
        variable: &str,
        choices: &[(&str, T)],
        default: T,
    ) -> T {
        let Some(text) = self.optional(variable) else {
            return default;
        };
        let wanted = text.trim().to_ascii_lowercase();
        if let Some((_, value)) = choices.iter().find(|(name, _)| *name == wanted) {
            return *value;
        }
        let names: Vec<String> = choices
            .iter()
            .map(|(name, _)| format!("{name:?}"))
            .collect();
        self.refuse(variable, format!("one of {}", names.join(", ")));
        default
    }

    pub(super) fn duration(&mut self, variable: &str) -> Option<Duration> {
        let text = self.optional(variable)?;
        let duration = duration::parse_or_seconds(text.trim()).ok();
        if duration.is_none() {
            self.refuse(variable, DURATION);
        }
        duration
    }

    fn timeout(&mut self) -> Duration {
        let mut timeout = None;
        for variable in [TIMEOUT, "ASYA_RESILIENCY_ACTOR_TIMEOUT"] {
            let given = self.duration(variable);
            if given.is_some_and(|given| given.is_zero()) {
                self.refuse(variable, format!("{DURATION}, longer than 0"));
            }
            timeout = timeout.or(given);
        }
        timeout.unwrap_or(Duration::from_mins(5))
    }

    fn queues(&mut self, actor: &str, namespace: &str) -> QueueNames {
        const TEMPLATE: &str = "ASYA_QUEUE_NAME_TEMPLATE";
        let template = self.optional(TEMPLATE);
        let template = template.unwrap_or_else(|| "asya-{actor}".to_owned());
        let unknown = template.replace("{actor}", "").replace("{namespace}", "");
        if !template.contains("{actor}") || unknown.contains(['{', '}']) {
            self.refuse(
                TEMPLATE,
                "a name with {actor}, and {namespace} where wanted, such as \"asya-{actor}\"",
            );
        }
        if template.contains("{namespace}") && namespace.is_empty() {
            self.refuse("ASYA_NAMESPACE", "the actor's namespace, for queue names");
        }
        let mut queues = QueueNames {
            own: String::new(),
            template,
            namespace: namespace.to_owned(),
        };
        let own = self.optional("ASYA_QUEUE_NAME");
        if own
            .as_ref()
            .is_some_and(|own| !own.chars().all(|letter| letter.is_ascii_graphic()))
        {
            self.refuse("ASYA_QUEUE_NAME", "the name of a queue, without spaces");
        }
        queues.own = own.unwrap_or_else(|| queues.of(actor));
        self.check_length("ASYA_QUEUE_NAME", &queues.own);
        queues
    }

    /// Refuses a name that AMQP has no room for.
    fn check_length(&mut self, variable: &'static str, name: &str) {
        if name.len() > LONGEST_NAME {
            self.refuse(variable, format!("a name of at most {LONGEST_NAME} bytes"));
        }
    }

    fn transport(&mut self, timeout: Duration) -> TransportConfig {
        match self.optional("ASYA_TRANSPORT").as_deref() {
            Some("sqs") => TransportConfig::Sqs(self.sqs(timeout)),
            Some("rabbitmq") => TransportConfig::RabbitMq(self.rabbitmq()),
            _ => {
                self.refuse("ASYA_TRANSPORT", "\"rabbitmq\" or \"sqs\"");
                TransportConfig::Sqs(SqsConfig {
                    region: String::new(),
                    endpoint: None,
                    queue_url: None,
                    visibility_seconds: 0,
                    wait_seconds: 0,
                })
            }
        }
    }

    fn rabbitmq(&mut self) -> RabbitMqConfig {
        const URL: &str = "ASYA_RABBITMQ_URL";
        let url = match self.optional(URL) {
            Some(url) => self.with_encoded_login(url),
            None => self.rabbitmq_url(),
        };
        let scheme = url
            .split_once("://")
            .map(|(scheme, rest)| (scheme, rest.is_empty()));
        if !matches!(scheme, Some(("amqp" | "amqps", false))) {
            self.refuse_secret(URL, "amqp[s]://<user>:<password>@<host>:<port>/<vhost>");
        }
        let ca_file = self.optional("ASYA_RABBITMQ_CA_FILE").map(PathBuf::from);
        if ca_file
            .as_deref()
            .is_some_and(|file| !has_certificate(file))
        {
            self.refuse("ASYA_RABBITMQ_CA_FILE", "a file with certificates in PEM");
        }
        let exchange = self.optional("ASYA_RABBITMQ_EXCHANGE");
        let exchange = exchange.unwrap_or_else(|| "asya".to_owned());
        self.check_length("ASYA_RABBITMQ_EXCHANGE", &exchange);
        RabbitMqConfig {
            url,
            ca_file,
            exchange,
            retry_delays: self.retry_delays(),
        }
    }

    /// The URL with its login percent-encoded: the kubelet, which puts user and password into the
    /// rendered URL, does not encode them.
    fn with_encoded_login(&self, url: String) -> String {
        let parts = ["ASYA_RABBITMQ_USERNAME", "ASYA_RABBITMQ_PASSWORD"];
        let [Some(user), Some(password)] = parts.map(|part| (self.lookup)(part)) else {
            return url;
        };
        let login = format!("://{user}:{password}@");
        let encoded = [user, password].map(|part| utf8_percent_encode(&part, ENCODED).to_string());
        url.replacen(&login, &format!("://{}@", encoded.join(":")), 1)
    }

    /// The URL, of the variables that have its parts.
    fn rabbitmq_url(&mut self) -> String {
        let host = self.required(
            "ASYA_RABBITMQ_HOST",
            "the broker's host, where ASYA_RABBITMQ_URL is not set",
        );
        let tls = self.switch("ASYA_RABBITMQ_TLS");
        let (scheme, port) = if tls { ("amqps", 5671) } else { ("amqp", 5672) };
        let port = self.number("ASYA_RABBITMQ_PORT", port, 1..=65_535);
        let encoded = |variable: &str| {
            let text = self
                .optional(variable)
                .unwrap_or_else(|| "guest".to_owned());
            utf8_percent_encode(&text, ENCODED).to_string()
        };
        let user = encoded("ASYA_RABBITMQ_USERNAME");
        let password = encoded("ASYA_RABBITMQ_PASSWORD");
        let vhost = self.optional("ASYA_RABBITMQ_VHOST");
        let vhost = vhost.unwrap_or_else(|| "/".to_owned());
        let vhost = utf8_percent_encode(&vhost, ENCODED);
        format!("{scheme}://{user}:{password}@{host}:{port}/{vhost}")
    }

    fn retry_delays(&mut self) -> Vec<u32> {
        const DELAYS: &str = "ASYA_RABBITMQ_RETRY_DELAYS";
        let Some(text) = self.optional(DELAYS) else {
            return Vec::new();
        };
        let delays: Result<Vec<u32>, _> = text.split(',').map(|part| part.trim().parse()).collect();
        match delays {
            Ok(delays) if delays.is_sorted_by(|a, b| a < b) && !delays.starts_with(&[0]) => delays,
            _ => {
                self.refuse(DELAYS, "whole seconds from 1, ascending, joined by \",\"");
                Vec::new()
            }
        }
    }

    fn sqs(&mut self, timeout: Duration) -> SqsConfig {
        const REGION: &str = "ASYA_AWS_REGION";
        let region = self
            .optional(REGION)
            .or_else(|| self.optional("AWS_REGION"));
        let region = region.unwrap_or_else(|| {
            self.refuse(REGION, "an AWS region such as \"eu-central-1\"");
            String::new()
        });
        let is_of_region = |letter: char| matches!(letter, 'a'..='z' | '0'..='9' | '-');
        if !region.chars().all(is_of_region) {
            self.refuse(REGION, "an AWS region such as \"eu-central-1\"");
        }
        let twice = duration::seconds_up(timeout * 2);
        let twice = u32::try_from(twice)
            .unwrap_or(MAX_VISIBILITY)
            .clamp(1, MAX_VISIBILITY);
        // 0 leaves the choice to the sidecar.
        let visibility = match self.seconds("ASYA_SQS_VISIBILITY_TIMEOUT", MAX_VISIBILITY) {
            None | Some(0) => twice,
            Some(seconds) => seconds,
        };
        let queue_url = self.http_url("ASYA_QUEUE_URL");
        let name = queue_url
            .clone()
            .or_else(|| self.optional("ASYA_QUEUE_NAME"));
        if name.as_deref().is_some_and(is_fifo) {
            let variable = if queue_url.is_some() {
                "ASYA_QUEUE_URL"
            } else {
                "ASYA_QUEUE_NAME"
            };
            self.refuse(variable, "a standard queue: FIFO queues are not supported");
        }
        if self
            .optional("ASYA_QUEUE_NAME_TEMPLATE")
            .is_some_and(|template| is_fifo(&template))
        {
            self.refuse(
                "ASYA_QUEUE_NAME_TEMPLATE",
                "names of standard queues: FIFO queues are not supported",
            );
        }
        SqsConfig {
            region,
            endpoint: self.http_url("ASYA_SQS_ENDPOINT"),
            queue_url,
            visibility_seconds: visibility,
            wait_seconds: self.seconds("ASYA_SQS_WAIT_TIME_SECONDS", 20).unwrap_or(20),
        }
    }

    /// Whole seconds or a duration, up to a limit.
    fn seconds(&mut self, variable: &str, limit: u32) -> Option<u32> {
        let duration = self.duration(variable)?;
        let seconds = u32::try_from(duration::seconds_up(duration)).ok();
        let seconds = seconds.filter(|seconds| *seconds <= limit);
        if seconds.is_none() {
            self.refuse(variable, format!("{DURATION}, up to {limit} s"));
        }
        seconds
    }

    pub(super) fn http_url(&mut self, variable: &str) -> Option<String> {
        let url = self.optional(variable)?;
        let is_http = hyper::Uri::from_str(&url).is_ok_and(|url| {
            url.host().is_some() && matches!(url.scheme_str(), Some("http" | "https"))
        });
        let allowed = "a URL such as \"http://host:8080\"";
        if !is_http && url.contains('@') {
            self.refuse_secret(variable, allowed);
        } else if !is_http {
            self.refuse(variable, allowed);
        }
        Some(url.trim_end_matches('/').to_owned())
    }

    fn address(&mut self, variable: &str) -> SocketAddr {
        let text = self.optional(variable);
        let text = text.unwrap_or_else(|| "0.0.0.0:9464".to_owned());
        // `:9464`, as Go programs write it.
        let whole = if text.starts_with(':') {
            format!("0.0.0.0{text}")
        } else {
            text
        };
        whole.parse().unwrap_or_else(|_| {
            self.refuse(variable, "an address and a port such as \"0.0.0.0:9464\"");
            SocketAddr::from(([0, 0, 0, 0], 9464))
        })
    }
}
