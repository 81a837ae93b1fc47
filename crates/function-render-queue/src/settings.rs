//! The settings of a queue that may change: visibility, retention, dead letters.

use actor::duration::seconds_up;
use actor::queue::QueueType;
use actor::queue::{DeadLetter, RESOURCE_NAME, RabbitMqQueue, SqsQueue};
use actor::retry_delays::delays_seconds;
use actor::status::ConditionType;
use actor::timeout::{VISIBILITY_MAX, consumer_timeout_milliseconds, visibility_timeout_seconds};
use actor::transport::{RabbitMq, Sqs, TransportError};
use function_kit::{Code, Diagnostic, Location, StepError, value};
use merge::{FieldPath, Segment};
use pbjson_types::Struct;

use crate::Wanted;

/// Seconds that SQS keeps a message: 4 days, its own default.
const RETENTION_SECONDS: u32 = 345_600;
/// Longest wait of a receive, in seconds. Source: Amazon SQS, attribute
/// `ReceiveMessageWaitTimeSeconds`.
const WAIT_MAX_SECONDS: u32 = 20;
/// Most receives before a message is dead-lettered. Source: Amazon SQS, attribute
/// `RedrivePolicy`; a Queue allows no more on RabbitMQ either.
const RECEIVE_COUNT_MAX: u32 = 1000;
/// Digits of an AWS account.
const ACCOUNT_DIGITS: usize = 12;

impl Wanted<'_> {
    /// The queue on SQS.
    pub(crate) fn sqs(
        &self,
        sqs: &Sqs,
        notes: &mut Vec<Diagnostic>,
    ) -> Result<SqsQueue, StepError> {
        let live = self.call.observed(RESOURCE_NAME);
        Ok(SqsQueue {
            region: sqs.region.clone(),
            account_id: self.account_id(sqs)?,
            endpoint: sqs.endpoint.clone(),
            visibility_timeout_seconds: self.visibility_timeout_seconds(sqs, notes)?,
            message_retention_seconds: retention_seconds(live, notes),
            receive_wait_time_seconds: self.at_most(
                "waitTimeSeconds",
                sqs.wait_time_seconds(),
                WAIT_MAX_SECONDS,
            )?,
            dead_letter: self.dead_letter()?,
        })
    }

    /// The queue on RabbitMQ.
    pub(crate) fn rabbitmq(
        &self,
        rabbitmq: &RabbitMq,
        notes: &mut Vec<Diagnostic>,
    ) -> Result<RabbitMqQueue, StepError> {
        let mut dead_letter = self.dead_letter()?;
        if dead_letter.enabled && rabbitmq.queue_type == QueueType::Classic {
            dead_letter.enabled = false;
            let message =
                "messages are not dead-lettered: RabbitMQ's classic queues have no delivery limit";
            notes.push(
                Diagnostic::warning(
                    Code::NoDeadLettering,
                    self.setting(&["config", "queueType"]),
                    message,
                )
                .help("disable deadLetter, or set queueType \"quorum\" for new actors"),
            );
        }
        let mut routing_keys = vec![self.identity.actor.to_string(), self.name.clone()];
        routing_keys.dedup();
        Ok(RabbitMqQueue {
            host: rabbitmq.host.clone(),
            vhost: rabbitmq.vhost().to_owned(),
            exchange: rabbitmq.exchange(&self.identity.namespace),
            routing_keys,
            queue_type: rabbitmq.queue_type,
            consumer_timeout_milliseconds: consumer_timeout_milliseconds(self.timeout),
            dead_letter,
            retry_delays_seconds: delays_seconds(&self.spec.resiliency),
        })
    }

    /// Seconds in which SQS hides a received message: the platform's, else derived.
    fn visibility_timeout_seconds(
        &self,
        sqs: &Sqs,
        notes: &mut Vec<Diagnostic>,
    ) -> Result<u32, StepError> {
        const FIELD: &str = "visibilityTimeoutSeconds";
        let max = u32::try_from(VISIBILITY_MAX).unwrap_or(u32::MAX);
        let setting = self.setting(&["config", FIELD]);
        let (seconds, origin, remedy) = match sqs.visibility_timeout_seconds {
            Some(seconds) => (
                self.at_most(FIELD, seconds, max)?,
                format!("{FIELD} of transport {:?}", self.transport.name),
                format!("raise it, or leave it out to have it derived (at most {max}s)"),
            ),
            None => (
                visibility_timeout_seconds(self.timeout),
                "the longest visibility timeout of SQS".to_owned(),
                "lower the timeout".to_owned(),
            ),
        };
        let timeout = seconds_up(self.timeout);
        if u64::from(seconds) < timeout {
            let message = format!(
                "messages in work could be delivered twice: {origin} is {seconds}s, below the runtime timeout of {timeout}s"
            );
            let diagnostic = Diagnostic::warning(Code::VisibilityTooShort, setting, message);
            notes.push(diagnostic.help(remedy));
        }
        Ok(seconds)
    }

    fn dead_letter(&self) -> Result<DeadLetter, StepError> {
        let of_actor = self.spec.queue.dead_letter;
        let dead_letter = self.transport.dead_letter(of_actor);
        let count = dead_letter.max_receive_count;
        if (1..=RECEIVE_COUNT_MAX).contains(&count) {
            return Ok(dead_letter);
        }
        let remedy = format!("set a number from 1 to {RECEIVE_COUNT_MAX}");
        if of_actor.max_receive_count.is_none() {
            let problem = format!("config.deadLetter.maxReceiveCount is {count}");
            let path = ["config", "deadLetter", "maxReceiveCount"];
            return Err(self.misconfigured(&path, problem, &remedy));
        }
        let field = ["queue", "deadLetter", "maxReceiveCount"];
        let location = self.call.locate(&FieldPath::from(field));
        let field = field.join(".");
        let message = format!("spec.{field} is {count} (set by {})", location.source);
        let error = Diagnostic::error(Code::InvalidValue, location, message).help(remedy);
        Err(StepError::config(error).on(ConditionType::TransportReady, "ConfigError"))
    }

    /// The AWS account, which would be refused in another form only when the object
    /// is applied.
    fn account_id(&self, sqs: &Sqs) -> Result<Option<String>, StepError> {
        let is_account =
            |id: &str| id.len() == ACCOUNT_DIGITS && id.bytes().all(|b| b.is_ascii_digit());
        match &sqs.account_id {
            Some(id) if !is_account(id) => Err(self.misconfigured(
                &["config", "accountId"],
                format!("config.accountId is {id:?}"),
                &format!("set the {ACCOUNT_DIGITS} digits of an AWS account, in quotes"),
            )),
            id => Ok(id.clone()),
        }
    }

    /// A setting of the platform that has an upper limit.
    fn at_most(&self, field: &str, seconds: u32, max: u32) -> Result<u32, StepError> {
        if seconds <= max {
            return Ok(seconds);
        }
        Err(self.misconfigured(
            &["config", field],
            format!("config.{field} is {seconds}"),
            &format!("set a number from 0 to {max}"),
        ))
    }

    /// A field of the transport's entry in the platform's settings.
    pub(crate) fn setting(&self, path: &[&str]) -> Location {
        let entry = ["transports", self.transport.name.as_str()];
        let path = entry.iter().chain(path).copied().map(Segment::from);
        self.call.locate_setting(&path.collect())
    }

    /// A setting of the transport at `path` of its entry that cannot be used.
    pub(crate) fn misconfigured(&self, path: &[&str], problem: String, help: &str) -> StepError {
        let location = self.setting(path);
        let path: FieldPath = path.iter().copied().collect();
        let error = TransportError::misconfigured(&self.transport.name, path, problem);
        let error = error.diagnostic(location.clone(), |_| location);
        StepError::transport(error.help(help))
    }
}

/// Seconds that SQS keeps a message. Lowering it could lose messages, so a live
/// queue's longer retention stays.
fn retention_seconds(live: Option<&Struct>, notes: &mut Vec<Diagnostic>) -> u32 {
    const PATH: [&str; 4] = ["spec", "forProvider", "sqs", "messageRetentionSeconds"];
    let of_live = live
        .and_then(|live| value::integer(live, &PATH))
        .and_then(|seconds| u32::try_from(seconds).ok())
        .filter(|seconds| *seconds > RETENTION_SECONDS);
    let Some(seconds) = of_live else {
        return RETENTION_SECONDS;
    };
    let message = format!(
        "the live queue keeps messages for {seconds}s, longer than the usual {RETENTION_SECONDS}s"
    );
    let location = Location::actor(["spec", "queue"]);
    notes.push(
        Diagnostic::info(Code::RetentionKept, location, message)
            .help("this is not lowered, because messages could be lost"),
    );
    seconds
}
