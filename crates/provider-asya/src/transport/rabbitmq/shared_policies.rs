//! Policies that the queues of one ProviderConfig share.
//!
//! RabbitMQ matches all policies of a virtual host with all its queues whenever one policy is written or
//! deleted, so that a policy for each queue costs the square of their number. What is particular to a
//! queue, its dead-letter exchange and key, is in arguments of new queues. What remains is the delivery
//! limit: one shared policy sets it for all queues, and another one for their dead-letter queues. A queue
//! with other settings has a policy of its own, whose priority is higher by one.
//!
//! The shared policies contain only settings of the ProviderConfig. A Queue cannot change them, because
//! they apply to queues of other namespaces. A policy that the ProviderConfig does not record as the
//! provider's is never changed, whatever its name.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use actor::provider_config::PolicyOrigin;
use serde_json::{Map, Value, json};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::RabbitMqExternal;
use super::api::{Answer, Search};
use super::definition::{NO_DELIVERY_LIMIT, OUR_KEYS, QueueDefinition, Version};
use super::listed_queue::ListedQueue;
use super::shared_policy::{Kind, SharedPolicy};
use super::shared_record::SharedRecords;
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
pub(super) struct SharedPolicies {
    cached: Arc<Mutex<BTreeMap<(String, Kind), Cached>>>,
    pub(super) records: SharedRecords,
}

/// Purpose for which it is asked whether a shared policy is in effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Nothing is written.
    Observe,
    /// It is found out whether it will be written, so that it can be recorded before.
    Plan,
    /// It is written where it is recorded.
    Write,
}

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
    /// nothing if the shared policy has it. `queue_object` is the queue as it was read.
    pub(super) async fn own_policy(
        &self,
        queue: &str,
        desired: &Map<String, Value>,
        queue_object: Option<&Value>,
        version: Version,
        purpose: Purpose,
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
            is_alone && !is_other && self.is_in_effect(shared, kind, version, purpose).await?;
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
        purpose: Purpose,
    ) -> Result<bool, TransportError> {
        // Queues that are created at the same time wait for the first one to write it.
        let mut all = self.broker.shared_policies.cached.lock().await;
        let key = (self.vhost().to_owned(), kind);
        if let Some(cached) = all.get(&key)
            && cached.is_fresh()
            && (cached.is_in_effect || purpose == Purpose::Observe || !cached.may_write)
        {
            return Ok(cached.is_in_effect);
        }
        let body = self.definition.shared_body(shared, kind, version);
        let name = shared.name(kind);
        let origin = self.shared_origin(shared, &name);
        let is_recorded = origin == Some(PolicyOrigin::Provider);
        let path = ["policies", self.vhost(), name.as_str()];
        let cached = match self.api().read(&path).await? {
            Answer::Ok(found)
                if is_equal(&found, &body)
                    && (is_recorded || (origin.is_none() && shared.may_predate_records)) =>
            {
                if !is_recorded {
                    self.propose_record(&name, PolicyOrigin::Provider);
                }
                Cached::new(true, true)
            }
            Answer::Ok(found) if !is_recorded || !has_form(&found, &body) => {
                if origin.is_none() {
                    self.propose_record(&name, PolicyOrigin::Foreign);
                }
                Cached::new(false, false)
            }
            Answer::Ok(_) if purpose == Purpose::Write => {
                self.written(self.api().put(&path, &body).await?)?;
                Cached::new(true, true)
            }
            Answer::Ok(_) => Cached::new(false, true),
            Answer::Created | Answer::NotFound => match purpose {
                Purpose::Observe => Cached::new(false, true),
                Purpose::Plan => {
                    let may_write = is_recorded || self.accept_all(shared, kind).await?;
                    if may_write && !is_recorded {
                        self.propose_record(&name, PolicyOrigin::Provider);
                    }
                    Cached::new(false, may_write)
                }
                Purpose::Write => {
                    let may_write = is_recorded && self.accept_all(shared, kind).await?;
                    if may_write {
                        self.written(self.api().put(&path, &body).await?)?;
                        tracing::info!(
                            policy = name,
                            vhost = self.vhost(),
                            "wrote a shared policy"
                        );
                    }
                    Cached::new(may_write, may_write || !is_recorded)
                }
            },
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
        let is_searched = |queue: &ListedQueue| !queue.accepts(shared, kind);
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

/// Returns whether a recorded policy still is for the same queues: only its settings differ.
fn has_form(found: &Value, body: &Value) -> bool {
    let keys = found["definition"].as_object();
    ["pattern", "apply-to"]
        .into_iter()
        .all(|key| found[key] == body[key])
        && keys.is_some_and(|keys| keys.keys().all(|key| OUR_KEYS.contains(&&**key)))
}

#[cfg(test)]
mod tests {
    use super::*;

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
