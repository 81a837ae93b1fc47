//! Policies of single queues: which ones the provider wrote, and which name it writes next.
//!
//! A policy carries no owner tag: RabbitMQ refuses definition keys that it does not know. So the provider
//! records in the Queue's status which policies it writes, before it does, and never changes or deletes
//! another one, whatever its name. Where a foreign policy has our name, the next name is used, unless it is
//! equal to what would be written.

use std::collections::BTreeSet;
use std::sync::{MutexGuard, PoisonError};

use serde_json::{Map, Value};

use super::RabbitMqExternal;
use super::api::Answer;
use super::definition::{OUR_KEYS, PolicyRecord, QueueDefinition, Version, exact_pattern};
use super::foreign_policies;
use super::shared_policies::Purpose;
use crate::transport::TransportError;

/// The policy of a queue, and foreign policies that have names of ours.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct PolicySlot {
    /// The first name that is free or has a policy of ours; none where all are taken.
    pub(super) name: Option<String>,
    /// The policy of ours.
    pub(super) ours: Option<Value>,
    /// Names of ours under which foreign policies match the queue.
    pub(super) foreign: Vec<String>,
    /// True if a foreign policy under a name of ours is equal to what would be written.
    pub(super) is_satisfied: bool,
}

impl QueueDefinition {
    /// Returns whether the provider wrote a policy of `queue` that has the name `name`: it is recorded, and
    /// still is for this queue only.
    ///
    /// For a queue from before records existed, the content must have the form of what earlier versions
    /// wrote.
    pub(super) fn wrote(&self, queue: &str, name: &str, policy: &Value) -> bool {
        let has_form = policy["pattern"] == exact_pattern(queue) && policy["apply-to"] == "queues";
        has_form
            && match &self.policies {
                PolicyRecord::New => false,
                PolicyRecord::Unrecorded => {
                    let keys = policy["definition"].as_object();
                    keys.is_some_and(|keys| keys.keys().all(|key| OUR_KEYS.contains(&&**key)))
                }
                PolicyRecord::Recorded(names) => names.contains(name),
            }
    }
}

impl RabbitMqExternal {
    /// Reads the policy of `queue`.
    pub(super) async fn policy_slot(
        &self,
        queue: &str,
        desired: &Map<String, Value>,
    ) -> Result<PolicySlot, TransportError> {
        let mut slot = PolicySlot::default();
        for name in self.definition.policy_names(queue) {
            let path = ["policies", self.vhost(), name.as_str()];
            let Answer::Ok(policy) = self.api().read(&path).await? else {
                slot.name = Some(name);
                return Ok(slot);
            };
            let is_written = self.lock_written().contains(&name);
            if is_written || self.definition.wrote(queue, &name, &policy) {
                slot.name = Some(name);
                slot.ours = Some(policy);
                return Ok(slot);
            }
            let body = self.definition.policy_body(queue, &name, desired);
            slot.is_satisfied = is_equal(&policy, &body);
            if foreign_policies::is_matched(&policy, queue).await {
                slot.foreign.push(name);
            }
            if slot.is_satisfied {
                return Ok(slot);
            }
        }
        Ok(slot)
    }

    /// Makes policies set what is desired for `queue`: the shared one, else one of its own, which is
    /// deleted where it is not needed; never a foreign one. `found` is the queue as it was read.
    pub(super) async fn put_policies(
        &self,
        queue: &str,
        desired: &Map<String, Value>,
        found: Option<&Value>,
        version: Version,
    ) -> Result<(), TransportError> {
        let slot = self.policy_slot(queue, desired).await?;
        // The shared policy is written first, so that the queue never has none.
        let own = self
            .own_policy(queue, desired, found, version, Purpose::Write)
            .await?;
        self.put_policy(queue, &own, slot).await
    }

    /// Names of policies that a creation or an update may write: they must be recorded before.
    pub(super) async fn policies_to_write(&self) -> Result<Vec<String>, TransportError> {
        let version = self.broker.version().await?;
        let (name, dead_letters) = (&self.definition.name, self.definition.dead_letter_queue());
        let found = super::found(self.read_queue(name).await?);
        let body = self.definition.queue_body(found.as_ref());
        let desired = self
            .definition
            .policy_definition(version, found.as_ref().unwrap_or(&body));
        let mut names = self
            .policy_to_write(name, &desired, found.as_ref(), version)
            .await?;
        if self.definition.queue.dead_letter.enabled {
            let found = super::found(self.read_queue(&dead_letters).await?);
            let desired = self.definition.dead_letter_policy_definition(version);
            let of_letters = self
                .policy_to_write(&dead_letters, &desired, found.as_ref(), version)
                .await?;
            names.extend(of_letters);
        }
        Ok(names)
    }

    /// Those of these policies that do not exist.
    pub(super) async fn missing_policies(
        &self,
        names: Vec<String>,
    ) -> Result<Vec<String>, TransportError> {
        let mut missing = Vec::new();
        for name in names {
            let path = ["policies", self.vhost(), name.as_str()];
            if self.api().read(&path).await? == Answer::NotFound {
                missing.push(name);
            }
        }
        Ok(missing)
    }

    async fn policy_to_write(
        &self,
        queue: &str,
        desired: &Map<String, Value>,
        found: Option<&Value>,
        version: Version,
    ) -> Result<Vec<String>, TransportError> {
        let own = self
            .own_policy(queue, desired, found, version, Purpose::Plan)
            .await?;
        if own.is_empty() && self.definition.policies == PolicyRecord::New {
            return Ok(Vec::new());
        }
        let slot = self.policy_slot(queue, desired).await?;
        let is_used = slot.ours.is_some() || !(own.is_empty() || slot.is_satisfied);
        Ok(slot.name.into_iter().filter(|_| is_used).collect())
    }

    async fn put_policy(
        &self,
        queue: &str,
        desired: &Map<String, Value>,
        slot: PolicySlot,
    ) -> Result<(), TransportError> {
        if desired.is_empty() {
            // The broker refuses an empty policy.
            return self.delete_policy(slot).await;
        }
        if slot.is_satisfied {
            return Ok(());
        }
        let Some(name) = slot.name else {
            return Err(TransportError::Refused {
                endpoint: self.api().endpoint().to_owned(),
                action: format!("write a policy for queue {queue:?}"),
                cause: format!(
                    "policies {:?} exist and were not written by this provider: rename or delete one of them",
                    self.definition.policy_names(queue)
                ),
            });
        };
        let body = self.definition.policy_body(queue, &name, desired);
        if slot
            .ours
            .as_ref()
            .is_some_and(|policy| is_equal(policy, &body))
        {
            return Ok(());
        }
        let path = ["policies", self.vhost(), name.as_str()];
        self.written(self.api().put(&path, &body).await?)?;
        self.lock_written().insert(name);
        Ok(())
    }

    fn lock_written(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.written_policies
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Deletes the policy of ours, where there is one.
    pub(super) async fn delete_policy(&self, slot: PolicySlot) -> Result<(), TransportError> {
        match (slot.name, slot.ours) {
            (Some(name), Some(_)) => {
                self.api()
                    .delete(&["policies", self.vhost(), name.as_str()])
                    .await
            }
            _ => Ok(()),
        }
    }
}

/// Returns whether a policy is equal to the body of one.
fn is_equal(policy: &Value, body: &Value) -> bool {
    let keys = ["pattern", "definition", "priority", "apply-to"];
    keys.into_iter().all(|key| policy[key] == body[key])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::owner::OwnerTag;

    fn definition(policies: PolicyRecord) -> QueueDefinition {
        let queue = json!({
            "host": "broker", "vhost": "/", "exchange": "asya", "routingKeys": ["cart"], "queueType": "quorum",
            "deadLetter": {"enabled": true, "maxReceiveCount": 5},
        });
        QueueDefinition {
            name: "asya-cart".to_owned(),
            queue: serde_json::from_value(queue).unwrap(),
            owner_tag: OwnerTag::new("east", "shop", "cart").unwrap(),
            priority: 0,
            shared: None,
            policies,
            recorded_delays: BTreeSet::new(),
        }
    }

    #[test]
    fn only_written_policies_are_ours() {
        let names = definition(PolicyRecord::New).policy_names("asya-cart");
        let recorded = || PolicyRecord::Recorded(BTreeSet::from([names[0].clone()]));
        let desired = json!({"delivery-limit": 5});
        let edited = json!({"delivery-limit": 6});
        let foreign = json!({"max-length": 10});
        let (exact, wide) = (&*exact_pattern("asya-cart"), "^asya-");
        let cases = [
            (
                "equal, no record",
                PolicyRecord::New,
                exact,
                &desired,
                false,
            ),
            ("equal, recorded", recorded(), exact, &desired, true),
            (
                "equal, another record",
                PolicyRecord::Recorded(BTreeSet::new()),
                exact,
                &desired,
                false,
            ),
            (
                "our name, no record",
                PolicyRecord::New,
                exact,
                &edited,
                false,
            ),
            (
                "our name, for other queues too",
                recorded(),
                wide,
                &desired,
                false,
            ),
            (
                "our name, another record",
                PolicyRecord::Recorded(BTreeSet::new()),
                exact,
                &edited,
                false,
            ),
            ("written, then edited", recorded(), exact, &edited, true),
            (
                "written, then other keys",
                recorded(),
                exact,
                &foreign,
                true,
            ),
            (
                "from before records",
                PolicyRecord::Unrecorded,
                exact,
                &edited,
                true,
            ),
            (
                "foreign keys, from before records",
                PolicyRecord::Unrecorded,
                exact,
                &foreign,
                false,
            ),
            (
                "foreign pattern, from before records",
                PolicyRecord::Unrecorded,
                wide,
                &edited,
                false,
            ),
        ];
        for (reason, record, pattern, content, expected) in cases {
            let policy = json!({"name": names[0], "pattern": pattern, "definition": content,
                "priority": 0, "apply-to": "queues"});
            let found = definition(record).wrote("asya-cart", &names[0], &policy);
            assert_eq!(found, expected, "{reason}");
        }
        assert_ne!(names[0], names[1]);
    }
}
