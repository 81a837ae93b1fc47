//! Policies that the queues of one ProviderConfig share.
//!
//! RabbitMQ matches all policies of a virtual host with all its queues whenever one policy is written or
//! deleted, so that a policy for each queue costs the square of their number. What is particular to a
//! queue, its dead-letter exchange and key, is in arguments of new queues. What remains is the delivery
//! limit: one shared policy sets it for all queues, and another one for their dead-letter queues. A queue
//! with other settings has a policy of its own, whose priority is higher by one.
//!
//! The shared policies contain only settings of the ProviderConfig. A Queue cannot change them, because
//! they apply to queues of other namespaces.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::RabbitMqExternal;
use super::api::{Answer, Search};
use super::definition::{NO_DELIVERY_LIMIT, OUR_KEYS, QueueDefinition, Version, policy_name};
use super::limited_json::Text;
use super::shared_policy::{Kind, SharedPolicy};
use crate::text;
use crate::transport::TransportError;

/// Time for which it is cached that a shared policy is in effect.
const CACHED: Duration = Duration::from_mins(1);
/// Time for which it is cached that there must be none. Finding out takes a list of all queues.
const REFUSED: Duration = Duration::from_mins(10);

/// Most entries of the cache: two for each virtual host.
const CACHED_MAX: usize = 128;

/// Definition of the shared policy of a kind; empty where none is needed.
fn definition(shared: &SharedPolicy, kind: Kind, version: Version) -> Map<String, Value> {
    let limit = match kind {
        Kind::Queues => shared.max_receive_count,
        Kind::DeadLetters if version.limits_deliveries() => NO_DELIVERY_LIMIT,
        Kind::DeadLetters => return Map::new(),
    };
    Map::from_iter([("delivery-limit".to_owned(), json!(limit))])
}

/// Cache of the shared policies of a broker. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct SharedPolicies(Arc<Mutex<BTreeMap<(String, Kind), Cached>>>);

#[derive(Debug, Clone, Copy)]
struct Cached {
    is_in_effect: bool,
    /// True if it may be written if it is missing.
    may_write: bool,
    at: Instant,
}

impl Cached {
    fn is_fresh(self) -> bool {
        self.at.elapsed() < if self.may_write { CACHED } else { REFUSED }
    }
}

/// A queue of the virtual host, as far as it decides whether a shared policy may be written.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Listed {
    name: String,
    #[serde(rename = "type")]
    kind: String,
    policy: Option<String>,
    arguments: Arguments,
}

/// The arguments of a listed queue.
#[derive(Debug, Default)]
struct Arguments {
    owner: Option<String>,
    has_dead_letter_exchange: bool,
}

impl<'de> Deserialize<'de> for Arguments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ArgumentsVisitor)
    }
}

/// Keeps the two arguments that are read. The broker writes none as an empty list.
struct ArgumentsVisitor;

/// Arguments that are read.
#[derive(Deserialize)]
#[serde(field_identifier)]
enum Argument {
    #[serde(rename = "x-asya-owner")]
    Owner,
    #[serde(rename = "x-dead-letter-exchange")]
    DeadLetterExchange,
    #[serde(other)]
    Other,
}

impl<'de> Visitor<'de> for ArgumentsVisitor {
    type Value = Arguments;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("arguments of a queue")
    }

    fn visit_unit<E>(self) -> Result<Arguments, E> {
        Ok(Arguments::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Arguments, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Arguments::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Arguments, A::Error> {
        let mut arguments = Arguments::default();
        while let Some(argument) = entries.next_key()? {
            match argument {
                Argument::Owner => arguments.owner = entries.next_value::<Text>()?.0,
                Argument::DeadLetterExchange => {
                    arguments.has_dead_letter_exchange = entries.next_value::<Text>()?.0.is_some();
                }
                Argument::Other => {
                    entries.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(arguments)
    }
}

impl Listed {
    /// Returns whether the shared policy would change nothing that this queue needs: it has a policy of its own,
    /// or is ours and is made for the shared one.
    fn accepts(&self, shared: &SharedPolicy, kind: Kind) -> bool {
        if shared.kind_of(&self.name) != Some(kind) {
            return true;
        }
        let policy = self.policy.as_deref().unwrap_or_default();
        if policy.starts_with(&policy_name(&self.name)) {
            return true;
        }
        let owner = self.arguments.owner.as_deref();
        let is_ours = owner
            .and_then(|owner| owner.strip_prefix(shared.owner_id.as_str()))
            .is_some_and(|rest| rest.starts_with('/'));
        let is_made_for_it = self.kind == "classic"
            || kind == Kind::DeadLetters
            || self.arguments.has_dead_letter_exchange;
        is_ours && is_made_for_it
    }
}

impl QueueDefinition {
    /// Returns whether a shared policy may apply to `queue`, one of this definition's.
    pub(super) fn shares(&self, queue: &str) -> bool {
        let shared = self.shared.as_ref();
        shared.is_some_and(|shared| shared.kind_of(queue).is_some())
    }

    /// Returns whether the shared policy gives `queue` all that is desired.
    fn is_covered(
        &self,
        queue: &str,
        desired: &Map<String, Value>,
        version: Version,
    ) -> Option<Kind> {
        let shared = self.shared.as_ref()?;
        let kind = shared.kind_of(queue)?;
        let settings = definition(shared, kind, version);
        let is_covered = !desired.is_empty()
            && desired
                .iter()
                .all(|(key, value)| settings.get(key) == Some(value));
        is_covered.then_some(kind)
    }

    /// Body of a shared policy.
    fn shared_body(&self, shared: &SharedPolicy, kind: Kind, version: Version) -> Value {
        json!({
            "pattern": shared.pattern(kind),
            "definition": definition(shared, kind, version),
            "priority": self.priority.saturating_sub(1),
            "apply-to": "queues",
        })
    }
}

impl RabbitMqExternal {
    /// Returns the settings that `queue` needs in a policy of its own: everything that is desired, or
    /// nothing if the shared policy has it. `queue_object` is the queue as it was read. With `write`, a
    /// missing shared policy is written.
    pub(super) async fn own_policy(
        &self,
        queue: &str,
        desired: &Map<String, Value>,
        queue_object: Option<&Value>,
        version: Version,
        write: bool,
    ) -> Result<Map<String, Value>, TransportError> {
        let (Some(kind), Some(shared)) = (
            self.definition.is_covered(queue, desired, version),
            &self.definition.shared,
        ) else {
            return Ok(desired.clone());
        };
        // A foreign policy may have a higher priority than the shared one.
        let foreign = &self.broker.foreign_policies;
        let is_alone = foreign
            .is_matched_by_none(self.api(), self.vhost(), queue, shared)
            .await?;
        let applied = queue_object.and_then(|queue| queue["policy"].as_str());
        let own_names = self.definition.policy_names(queue);
        let is_other = applied.is_some_and(|applied| {
            !applied.is_empty()
                && !shared.is_name(applied)
                && !own_names.contains(&applied.to_owned())
        });
        let is_shared =
            is_alone && !is_other && self.is_in_effect(shared, kind, version, write).await?;
        Ok(if is_shared {
            Map::new()
        } else {
            desired.clone()
        })
    }

    /// Returns whether the shared policy exists as desired.
    async fn is_in_effect(
        &self,
        shared: &SharedPolicy,
        kind: Kind,
        version: Version,
        write: bool,
    ) -> Result<bool, TransportError> {
        // Queues that are created at the same time wait for the first one to write it.
        let mut all = self.broker.shared_policies.0.lock().await;
        let key = (self.vhost().to_owned(), kind);
        if let Some(cached) = all.get(&key)
            && cached.is_fresh()
            && (cached.is_in_effect || !write || !cached.may_write)
        {
            return Ok(cached.is_in_effect);
        }
        let body = self.definition.shared_body(shared, kind, version);
        let name = shared.name(kind);
        let path = ["policies", self.vhost(), name.as_str()];
        let cached = match self.api().get(&path).await? {
            Answer::Ok(found) if is_equal(&found, &body) => Cached::new(true, true),
            Answer::Ok(found) if !has_form(&found, &body) => Cached::new(false, false),
            _ if !write => Cached::new(false, true),
            Answer::Ok(_) => {
                self.written(self.api().put(&path, &body).await?)?;
                Cached::new(true, true)
            }
            Answer::Created | Answer::NotFound => {
                let may_write = self.accept_all(shared, kind).await?;
                if may_write {
                    self.written(self.api().put(&path, &body).await?)?;
                    tracing::info!(policy = name, vhost = self.vhost(), "wrote a shared policy");
                }
                Cached::new(may_write, may_write)
            }
        };
        all.retain(|_, cached| cached.is_fresh());
        if all.len() < CACHED_MAX {
            all.insert(key, cached);
        }
        Ok(cached.is_in_effect)
    }

    /// Returns whether the shared policy takes nothing from any queue of the virtual host.
    async fn accept_all(&self, shared: &SharedPolicy, kind: Kind) -> Result<bool, TransportError> {
        let columns = "name,type,policy,arguments";
        let is_searched = |queue: &Listed| !queue.accepts(shared, kind);
        let found = self.api().find_queue(self.vhost(), columns, is_searched);
        let queue = match found.await? {
            Search::NotFound => return Ok(true),
            Search::Found(queue) => text::clean(&queue.name, text::FOREIGN_MAX),
            Search::TooMany => "unknown, the virtual host has too many".to_owned(),
        };
        tracing::info!(
            queue,
            vhost = self.vhost(),
            queue_names = shared.queue_names,
            "no shared policy: it would apply to a queue of another owner, or to one without a policy"
        );
        Ok(false)
    }
}

impl Cached {
    fn new(is_in_effect: bool, may_write: bool) -> Self {
        Self {
            is_in_effect,
            may_write,
            at: Instant::now(),
        }
    }
}

fn is_equal(found: &Value, body: &Value) -> bool {
    ["pattern", "definition", "priority", "apply-to"]
        .into_iter()
        .all(|key| found[key] == body[key])
}

/// Returns whether a policy of the name may be one that the provider wrote: only its settings differ.
fn has_form(found: &Value, body: &Value) -> bool {
    let keys = found["definition"].as_object();
    ["pattern", "apply-to"]
        .into_iter()
        .all(|key| found[key] == body[key])
        && keys.is_some_and(|keys| keys.keys().all(|key| OUR_KEYS.contains(&&**key)))
}

#[cfg(test)]
mod tests {
    use super::super::definition::{DEAD_LETTER_EXCHANGE, OWNER_ARGUMENT};
    use super::*;

    fn shared() -> SharedPolicy {
        SharedPolicy {
            owner_id: "east".to_owned(),
            queue_names: "asya-*".to_owned(),
            max_receive_count: 20,
        }
    }

    #[test]
    fn a_shared_policy_takes_nothing_from_other_queues() {
        let dead_letters =
            json!({OWNER_ARGUMENT: "east/shop/cart", DEAD_LETTER_EXCHANGE: "asya-dlx"});
        let ours = json!({OWNER_ARGUMENT: "east/shop/cart"});
        let theirs = json!({OWNER_ARGUMENT: "west/shop/cart", DEAD_LETTER_EXCHANGE: "asya-dlx"});
        let longer = json!({OWNER_ARGUMENT: "eastern/shop/cart", DEAD_LETTER_EXCHANGE: "asya-dlx"});
        let cases = [
            ("new", "asya-cart", "quorum", "", &dead_letters, true),
            (
                "older, with a policy",
                "asya-cart",
                "quorum",
                "asya-asya-cart",
                &ours,
                true,
            ),
            (
                "older, without dead letters",
                "asya-cart",
                "quorum",
                "",
                &ours,
                false,
            ),
            ("classic", "asya-cart", "classic", "", &ours, true),
            ("another owner's", "asya-cart", "quorum", "", &theirs, false),
            (
                "a longer owner's",
                "asya-cart",
                "quorum",
                "",
                &longer,
                false,
            ),
            ("nobody's", "asya-cart", "classic", "", &json!([]), false),
            ("of another name", "orders", "quorum", "", &json!([]), true),
            (
                "dead letters, another policy",
                "asya-cart-dlq",
                "quorum",
                "",
                &theirs,
                true,
            ),
        ];
        for (reason, name, kind, policy, arguments, expected) in cases {
            let queue =
                json!({"name": name, "type": kind, "policy": policy, "arguments": arguments});
            let queue: Listed = serde_json::from_value(queue).unwrap();
            assert_eq!(queue.accepts(&shared(), Kind::Queues), expected, "{reason}");
        }
    }

    #[test]
    fn only_settings_of_our_form_are_changed() {
        let body = json!({"pattern": "^asya", "definition": {"delivery-limit": 20}, "priority": -1,
            "apply-to": "queues"});
        let with = |key: &str, value: Value| {
            let mut found = body.clone();
            found[key] = value;
            found
        };
        let cases = [
            (
                "another limit",
                with("definition", json!({"delivery-limit": 5})),
                true,
            ),
            ("another priority", with("priority", json!(3)), true),
            ("another pattern", with("pattern", json!(".*")), false),
            (
                "a foreign key",
                with("definition", json!({"max-length": 5})),
                false,
            ),
        ];
        for (reason, found, expected) in cases {
            assert!(!is_equal(&found, &body), "{reason}");
            assert_eq!(has_form(&found, &body), expected, "{reason}");
        }
    }
}
