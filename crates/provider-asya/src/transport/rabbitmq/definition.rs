//! Definition of one queue on RabbitMQ: names and request bodies, by the broker's version.
//!
//! Arguments of a queue never change, so they contain type, owner tag and where dead letters go;
//! settings that may change are in a policy. Queues of earlier versions have no dead-letter arguments, and
//! their policies contain them.

use std::collections::BTreeSet;

use actor::queue::{QueueType, RabbitMqQueue};
use serde_json::{Map, Value, json};

use super::shared_policy::SharedPolicy;
use crate::owner::OwnerTag;
use crate::transport::TransportError;

/// Argument of queues and bindings with the owner tag. The broker stores arguments that it does not
/// know, and does not compare them.
pub const OWNER_ARGUMENT: &str = "x-asya-owner";

/// Owner tag in the arguments of a queue or binding.
pub(super) fn owner(queue: &Value) -> Option<&str> {
    queue["arguments"][OWNER_ARGUMENT].as_str()
}

/// Permission: whether a partially declared queue may be repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repair {
    /// It is created again: its creation never ended.
    Allowed,
    /// It is left alone: it may have been in use for long.
    Forbidden,
}

/// Definition keys of policies that the provider writes.
pub(super) const OUR_KEYS: [&str; 4] = [
    "delivery-limit",
    "dead-letter-exchange",
    "dead-letter-routing-key",
    "consumer-timeout",
];

/// Delivery limit of queues without one. Never `-1`: until patch releases of August 2025 (4.0 and 4.1)
/// such a queue applies its policy again every 5 s, and its log grows without end.
pub(super) const NO_DELIVERY_LIMIT: u32 = 1_000_000;

/// Argument: exchange of dead letters. It takes precedence over policies.
pub(super) const DEAD_LETTER_EXCHANGE: &str = "x-dead-letter-exchange";
/// Argument: routing key of dead letters.
pub(super) const DEAD_LETTER_KEY: &str = "x-dead-letter-routing-key";

/// Longest name of a queue or exchange, in bytes.
const NAME_MAX: usize = 255;

/// Version of a broker: major and minor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32);

impl Version {
    /// Parses a version such as `3.10.8`; two leading numbers suffice.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(['.', '-', '+']);
        Some(Self(
            parts.next()?.parse().ok()?,
            parts.next()?.parse().ok()?,
        ))
    }

    /// Returns whether quorum queues have a delivery limit of 20 by default.
    pub(super) fn limits_deliveries(self) -> bool {
        self >= Self(4, 0)
    }

    /// Returns whether messages of quorum queues can expire.
    pub(super) fn expires_in_quorum_queues(self) -> bool {
        self >= Self(3, 10)
    }

    /// Returns whether a policy can set `consumer-timeout`.
    pub fn has_consumer_timeout(self) -> bool {
        self >= Self(3, 12)
    }
}

/// Policies that the provider has written for a queue, by its record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum PolicyRecord {
    /// None: the queue was never observed.
    #[default]
    New,
    /// The queue was observed by a version that recorded no policies.
    Unrecorded,
    /// Policies with these names.
    Recorded(BTreeSet<String>),
}

/// Desired state of one queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueDefinition {
    /// Its name.
    pub name: String,
    /// Its settings.
    pub queue: RabbitMqQueue,
    /// Its owner tag.
    pub owner_tag: OwnerTag,
    /// Priority of its policies.
    pub priority: i32,
    /// Settings of the policies that it shares with other queues; none where it shares none.
    pub shared: Option<SharedPolicy>,
    /// Its policies that the provider has written.
    pub policies: PolicyRecord,
    /// Delays in seconds whose retry queues existed when they were observed last.
    pub recorded_delays: BTreeSet<u32>,
}

impl QueueDefinition {
    /// Checks the names, before any call.
    ///
    /// # Errors
    /// The broker would refuse a name.
    pub fn check(&self) -> Result<(), TransportError> {
        let delays = self.queue.retry_delays_seconds.iter();
        let retry_queues = delays.map(|delay| self.retry_queue(*delay));
        let names = retry_queues.chain([self.dead_letter_queue()]);
        let longest = names.max_by_key(String::len).unwrap_or_default();
        if longest.len() > NAME_MAX {
            return Err(TransportError::Invalid(format!(
                "the queue name {:?} has {} characters, and with the suffix of its dead-letter and retry queues it may \
                 have {NAME_MAX}",
                self.name,
                self.name.len()
            )));
        }
        for (what, name) in [
            ("queue name", &self.name),
            ("exchange", &self.queue.exchange),
        ] {
            if name.starts_with("amq.") {
                return Err(TransportError::Invalid(format!(
                    "the {what} {name:?} begins with \"amq.\", which RabbitMQ reserves"
                )));
            }
        }
        self.check_routing_keys()
    }

    /// Refuses routing keys that would be patterns. A queue that is adopted without routing keys is bound by its
    /// name.
    fn check_routing_keys(&self) -> Result<(), TransportError> {
        let keys = &self.queue.routing_keys;
        if let Some(key) = keys.iter().find(|key| key.contains(['*', '#'])) {
            return Err(TransportError::Invalid(format!(
                "the routing key {key:?} has \"*\" or \"#\": the queue would receive messages of others"
            )));
        }
        if keys.is_empty() && self.name.split('.').any(|word| word == "*" || word == "#") {
            return Err(TransportError::Invalid(format!(
                "the queue name {:?} has the word \"*\" or \"#\", and without `routingKeys` it becomes a routing key: \
                 the queue would receive messages of others",
                self.name
            )));
        }
        Ok(())
    }

    /// Name of the dead-letter queue.
    pub fn dead_letter_queue(&self) -> String {
        format!("{}-dlq", self.name)
    }

    /// Name of the dead-letter exchange.
    pub fn dead_letter_exchange(&self) -> String {
        format!("{}-dlx", self.queue.exchange)
    }

    /// Names that the policy of `queue` may have, the preferred one first.
    pub fn policy_names(&self, queue: &str) -> [String; 2] {
        let preferred = policy_name(queue);
        let other = format!("{preferred}-{}", short_hash(self.owner_tag.as_str()));
        [preferred, other]
    }

    /// Body of a durable exchange of this type.
    pub fn exchange_body(kind: &str) -> Value {
        json!({"type": kind, "durable": true, "auto_delete": false, "internal": false, "arguments": {}})
    }

    /// Body of the queue. A queue that exists is declared again with the arguments that it has: others
    /// would be refused.
    pub fn queue_body(&self, existing: Option<&Value>) -> Value {
        let mut body = self.dead_letter_body();
        let arguments = &mut body["arguments"];
        match existing {
            None if self.queue.dead_letter.enabled => {
                arguments[DEAD_LETTER_EXCHANGE] = json!(self.dead_letter_exchange());
                arguments[DEAD_LETTER_KEY] = json!(self.dead_letter_queue());
            }
            None => {}
            Some(existing) => {
                for key in [DEAD_LETTER_EXCHANGE, DEAD_LETTER_KEY] {
                    if let Some(value) = existing["arguments"].get(key) {
                        arguments[key] = value.clone();
                    }
                }
            }
        }
        body
    }

    /// Body of the dead-letter queue.
    pub fn dead_letter_body(&self) -> Value {
        json!({
            "durable": true,
            "auto_delete": false,
            "arguments": {
                "x-queue-type": self.queue_type(),
                OWNER_ARGUMENT: self.owner_tag.as_str(),
            },
        })
    }

    /// Type of the queue, as the broker names it.
    pub fn queue_type(&self) -> &'static str {
        match self.queue.queue_type {
            QueueType::Quorum => "quorum",
            QueueType::Classic => "classic",
        }
    }

    /// Body of a binding with this routing key.
    pub fn binding_body(&self, key: &str) -> Value {
        json!({"routing_key": key, "arguments": {OWNER_ARGUMENT: self.owner_tag.as_str()}})
    }

    /// Returns the settings that the queue gets by policies. `queue` is the queue as it was read, or the
    /// body with which it is declared: what its arguments contain is in no policy.
    pub fn policy_definition(&self, version: Version, queue: &Value) -> Map<String, Value> {
        let mut definition = Map::new();
        let dead_letter = self.queue.dead_letter;
        if self.queue.queue_type == QueueType::Quorum {
            if dead_letter.enabled {
                definition.insert(
                    "delivery-limit".to_owned(),
                    json!(dead_letter.max_receive_count),
                );
            } else if version.limits_deliveries() || self.shares(&self.name) {
                // The limit of the shared policy would drop messages.
                definition.insert("delivery-limit".to_owned(), json!(NO_DELIVERY_LIMIT));
            }
        }
        if dead_letter.enabled && queue["arguments"].get(DEAD_LETTER_EXCHANGE).is_none() {
            let exchange = json!(self.dead_letter_exchange());
            definition.insert("dead-letter-exchange".to_owned(), exchange);
            let key = json!(self.dead_letter_queue());
            definition.insert("dead-letter-routing-key".to_owned(), key);
        }
        if let Some(timeout) = self.queue.consumer_timeout_milliseconds
            && version.has_consumer_timeout()
        {
            definition.insert("consumer-timeout".to_owned(), json!(timeout));
        }
        definition
    }

    /// Definition of the dead-letter queue's policy: reading dead letters does not drop them.
    pub fn dead_letter_policy_definition(&self, version: Version) -> Map<String, Value> {
        let mut definition = Map::new();
        if self.queue.queue_type == QueueType::Quorum && version.limits_deliveries() {
            definition.insert("delivery-limit".to_owned(), json!(NO_DELIVERY_LIMIT));
        }
        definition
    }

    /// Body of the policy called `name` for exactly this queue. Under the other name its priority is higher by
    /// one: a foreign policy has the preferred name then, such as the one of a queue that was kept when its
    /// object was deleted, and which of two policies of the same priority applies is random.
    pub fn policy_body(&self, queue: &str, name: &str, definition: &Map<String, Value>) -> Value {
        let is_preferred = name == policy_name(queue);
        json!({
            "pattern": exact_pattern(queue),
            "definition": definition,
            "priority": self.priority.saturating_add(i32::from(!is_preferred)),
            "apply-to": "queues",
        })
    }
}

/// FNV-1a of a text, as eight hexadecimal digits: stable between releases.
fn short_hash(text: &str) -> String {
    let hash = text.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    format!("{hash:08x}")
}

/// Preferred name of the policy for a queue.
pub(super) fn policy_name(queue: &str) -> String {
    format!("asya-{queue}")
}

/// Pattern of a policy for exactly this queue.
pub(super) fn exact_pattern(queue: &str) -> String {
    format!("^{}$", regex::escape(queue))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(queue: Value) -> QueueDefinition {
        QueueDefinition {
            name: "asya-cart".to_owned(),
            queue: serde_json::from_value(queue).unwrap(),
            owner_tag: OwnerTag::new("east", "shop", "cart").unwrap(),
            priority: 0,
            shared: None,
            policies: PolicyRecord::New,
            recorded_delays: BTreeSet::new(),
        }
    }

    fn queue(kind: &str, dead_letter: bool, timeout: Option<u64>) -> Value {
        let mut queue = json!({
            "host": "broker", "vhost": "/", "exchange": "asya", "routingKeys": ["cart"], "queueType": kind,
            "deadLetter": {"enabled": dead_letter, "maxReceiveCount": 5},
        });
        if let Some(timeout) = timeout {
            queue["consumerTimeoutMilliseconds"] = json!(timeout);
        }
        queue
    }

    #[test]
    fn versions_of_brokers_are_parsed() {
        for (text, expected) in [
            ("3.10.8", Some(Version(3, 10))),
            ("4.2.0-rc.1", Some(Version(4, 2))),
            ("4.3+17", Some(Version(4, 3))),
            ("next", None),
        ] {
            assert_eq!(Version::parse(text), expected, "{text}");
        }
    }

    #[test]
    fn the_policy_depends_on_the_version() {
        let dead_letter = json!({"delivery-limit": 5});
        let cases = [
            (
                "3.x has no delivery limit",
                queue("quorum", false, None),
                Version(3, 10),
                json!({}),
            ),
            (
                "4.x has a default delivery limit of 20",
                queue("quorum", false, None),
                Version(4, 0),
                json!({"delivery-limit": 1_000_000}),
            ),
            (
                "dead letters on 3.x",
                queue("quorum", true, None),
                Version(3, 10),
                dead_letter.clone(),
            ),
            (
                "dead letters on 4.x",
                queue("quorum", true, None),
                Version(4, 3),
                dead_letter,
            ),
            (
                "classic queues count nothing",
                queue("classic", true, None),
                Version(4, 3),
                json!({}),
            ),
            (
                "3.10 has one consumer timeout for all queues",
                queue("quorum", false, Some(7_200_000)),
                Version(3, 10),
                json!({}),
            ),
            (
                "3.12 has one per queue",
                queue("quorum", false, Some(7_200_000)),
                Version(3, 12),
                json!({"consumer-timeout": 7_200_000}),
            ),
        ];
        for (reason, queue, version, expected) in cases {
            let definition = definition(queue);
            let body = definition.queue_body(None);
            let found = Value::Object(definition.policy_definition(version, &body));
            assert_eq!(found, expected, "{reason}");
        }
    }

    #[test]
    fn a_queue_of_an_earlier_version_has_dead_letters_by_policy() {
        let definition = definition(queue("quorum", true, None));
        let existing = json!({"arguments": {"x-queue-type": "quorum"}});
        let policy = definition.policy_definition(Version(3, 10), &existing);
        assert_eq!(
            Value::Object(policy),
            json!({"delivery-limit": 5, "dead-letter-exchange": "asya-dlx",
                "dead-letter-routing-key": "asya-cart-dlq"})
        );
        let arguments = &definition.queue_body(Some(&existing))["arguments"];
        assert_eq!(
            arguments.get(DEAD_LETTER_EXCHANGE),
            None,
            "not declared again"
        );
        let arguments = &definition.queue_body(None)["arguments"];
        assert_eq!(arguments[DEAD_LETTER_EXCHANGE], "asya-dlx");
        assert_eq!(arguments[DEAD_LETTER_KEY], "asya-cart-dlq");
    }

    #[test]
    fn a_policy_matches_one_queue_only() {
        let definition = definition(queue("quorum", false, None));
        let names = definition.policy_names("asya.cart+1");
        for (name, priority) in names.iter().zip([0, 1]) {
            let body = definition.policy_body("asya.cart+1", name, &Map::new());
            assert_eq!(body["pattern"], json!(r"^asya\.cart\+1$"));
            assert_eq!(body["priority"], json!(priority), "{name}");
        }
    }

    #[test]
    fn names_that_the_broker_would_refuse_are_refused() {
        let mut definition = definition(queue("quorum", false, None));
        assert_eq!(definition.check(), Ok(()));
        for name in ["amq.cart".to_owned(), "q".repeat(252)] {
            definition.name = name;
            assert!(definition.check().is_err(), "{}", definition.name);
        }
    }

    #[test]
    fn bindings_that_would_receive_messages_of_others_are_refused() {
        let cases = [
            ("cart", "asya", Some("cart"), true),
            ("a.*.b", "asya", Some("cart"), true),
            ("a.*.b", "asya", None, false),
            ("#", "asya", None, false),
            ("a*b", "asya", None, true),
            ("cart", "asya", Some("shop.*"), false),
            ("cart", "asya", Some("#"), false),
            ("cart", "amq.topic", Some("cart"), false),
        ];
        for (name, exchange, key, expected) in cases {
            let mut definition = definition(queue("quorum", false, None));
            name.clone_into(&mut definition.name);
            exchange.clone_into(&mut definition.queue.exchange);
            definition.queue.routing_keys = key.map(str::to_owned).into_iter().collect();
            let found = definition.check();
            let case = format!("{name} {exchange} {key:?}: {found:?}");
            assert_eq!(found.is_ok(), expected, "{case}");
        }
    }
}
