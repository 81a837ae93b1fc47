//! Interprets the broker's answers about one queue.

use actor::queue::Location;
use serde_json::{Map, Value, json};

use super::bindings::Bindings;
use super::definition::{
    DEAD_LETTER_EXCHANGE, DEAD_LETTER_KEY, QueueDefinition, Version, owner, policy_name,
};
use super::policies::PolicySlot;
use super::retry_queues::RetryQueue;
use crate::counters::Counters;
use crate::transport::{Drift, ObservedQueue, Ownership, owner_in_message};

/// Objects of a queue that a full observation reads.
#[derive(Debug, Clone, Default)]
pub(super) struct RelatedObjects {
    /// The exchange, where it exists.
    pub(super) exchange: Option<Value>,
    /// Bindings from the exchange to the queue.
    pub(super) bindings: Bindings,
    /// The policy of its own.
    pub(super) policy: PolicySlot,
    /// Settings that this policy must have: empty if a shared policy has them.
    pub(super) own_policy: Map<String, Value>,
    /// Name of the first foreign policy that matches the queue.
    pub(super) foreign_policy: Option<String>,
    /// The dead-letter queue, where it exists.
    pub(super) dead_letter_queue: Option<Value>,
    /// The policy of its own.
    pub(super) dead_letter_policy: PolicySlot,
    /// Settings that this policy must have: empty if a shared policy has them.
    pub(super) dead_letter_own_policy: Map<String, Value>,
    /// Bindings from its exchange to it.
    pub(super) dead_letter_bindings: Bindings,
    /// Retry queues that are desired or recorded.
    pub(super) retry_queues: Vec<RetryQueue>,
}

/// The observed queue; without `related` that of a quick observation.
pub(super) fn observed(
    definition: &QueueDefinition,
    version: Version,
    location: Location,
    queue: &Value,
    related: Option<&RelatedObjects>,
) -> ObservedQueue {
    let mut observed = ObservedQueue {
        owner: ownership(definition, queue, related),
        location,
        counters: counters(queue),
        consumers: queue["consumers"].as_u64(),
        unusable: unusable(queue),
        drift: fixed_differences(definition, version, queue),
        ..ObservedQueue::default()
    };
    let desired = definition.policy_definition(version, queue);
    let mut quick_drift = observed.drift.clone();
    quick_drift.extend(applied_policy_drift(definition, &desired, queue));
    observed.quick_drift = quick_drift;
    match related {
        None => observed.drift.clone_from(&observed.quick_drift),
        Some(related) => {
            let applied = queue["policy"].as_str().unwrap_or_default();
            observed.drift.extend(policy_drift(
                &related.policy,
                definition,
                &definition.name,
                &related.own_policy,
            ));
            observed.policies = Some(written_policies(related));
            let delays = definition.existing_delays(&related.retry_queues);
            observed.has_former_retry_queues = delays
                .iter()
                .any(|delay| !definition.queue.retry_delays_seconds.contains(delay));
            observed.retry_delays = Some(delays);
            let retry_drift = definition.retry_drift(&related.retry_queues);
            observed.drift.extend(retry_drift);
            observed.shadowed = shadow(definition, applied, related);
            observed.drift.extend(related_drift(definition, related));
            observed.held = held(definition, queue, related);
        }
    }
    observed
}

/// Owner of a queue. An adopted queue cannot get an argument any more, so its bindings have the tag.
fn ownership(
    definition: &QueueDefinition,
    queue: &Value,
    related: Option<&RelatedObjects>,
) -> Ownership {
    if let Some(owner) = owner(queue) {
        let ours = definition.owner_tag.as_str();
        return Ownership::OwnedBy(owner_in_message(owner.to_owned(), ours));
    }
    let Some(related) = related else {
        return Ownership::Unread;
    };
    let of_binding = related.bindings.owner.clone();
    of_binding.map_or(Ownership::Unowned, Ownership::OwnedBy)
}

/// Messages in a queue; none while the broker has not counted them.
pub(super) fn counters(queue: &Value) -> Option<Counters> {
    Some(Counters {
        queued: queue["messages_ready"].as_u64()?,
        processing: queue["messages_unacknowledged"].as_u64()?,
        dead_lettered: None,
    })
}

/// Messages in the dead-letter queue; none unless dead-lettering is on and the queue is ours.
pub(super) fn dead_lettered(
    definition: &QueueDefinition,
    dead_letter_queue: Option<&Value>,
) -> Option<u64> {
    let queue = dead_letter_queue.filter(|_| definition.queue.dead_letter.enabled)?;
    let is_ours = owner(queue) == Some(definition.owner_tag.as_str());
    queue["messages"].as_u64().filter(|_| is_ours)
}

fn unusable(queue: &Value) -> Option<String> {
    // Only queues with members have this field.
    if queue["online"].as_array().is_some_and(Vec::is_empty) {
        return Some("the broker reports that no member of the queue is online".to_owned());
    }
    let state = queue["state"].as_str()?;
    ["down", "crashed", "stopped", "minority", "terminated"]
        .contains(&state)
        .then(|| format!("the broker reports that the queue is {state}"))
}

/// Drift of what was decided when the queue was created.
fn fixed_differences(definition: &QueueDefinition, version: Version, queue: &Value) -> Vec<Drift> {
    let mut drift = Vec::new();
    if let Some(kind) = queue["type"].as_str()
        && kind != definition.queue_type()
    {
        drift.push(Drift::fixed("queueType", kind, definition.queue_type()));
    }
    for (what, want) in [("durable", true), ("auto_delete", false)] {
        if queue[what].as_bool().is_some_and(|have| have != want) {
            drift.push(Drift::fixed(what, !want, want));
        }
    }
    drift.extend(dead_letter_arguments_drift(definition, queue));
    if let Some(timeout) = definition.queue.consumer_timeout_milliseconds
        && !version.has_consumer_timeout()
    {
        let have =
            "the broker's own `consumer_timeout`, since it has none per queue before RabbitMQ 3.12";
        drift.push(Drift::fixed("consumerTimeoutMilliseconds", have, timeout));
    }
    drift
}

/// Drift of the dead-letter arguments of a queue that has them and is ours. Those of an adopted queue are
/// its former owner's.
fn dead_letter_arguments_drift(definition: &QueueDefinition, queue: &Value) -> Option<Drift> {
    let arguments = &queue["arguments"];
    let exchange = arguments[DEAD_LETTER_EXCHANGE].as_str()?;
    if owner(queue) != Some(definition.owner_tag.as_str()) {
        return None;
    }
    let key = arguments[DEAD_LETTER_KEY].as_str().unwrap_or_default();
    let (want_exchange, want_key) = (
        definition.dead_letter_exchange(),
        definition.dead_letter_queue(),
    );
    let have = format!("messages go to exchange {exchange:?} with key {key:?}");
    if !definition.queue.dead_letter.enabled {
        return Some(Drift::fixed("deadLetter", have, "disabled"));
    }
    let is_equal = exchange == want_exchange && key == want_key;
    let want = format!("exchange {want_exchange:?} with key {want_key:?}");
    (!is_equal).then(|| Drift::fixed("deadLetter", have, want))
}

/// Drift of the policy that applies to a queue, by the queue alone. Which policy shadows ours is found by
/// a full observation.
///
/// Only keys of ours are compared: the broker merges those of operator policies into the effective
/// definition. If both set a number, the lower one applies, which no policy of ours can change. A broker without statistics may report neither policy nor definition, so nothing is known.
fn applied_policy_drift(
    definition: &QueueDefinition,
    desired: &Map<String, Value>,
    queue: &Value,
) -> Option<Drift> {
    let names = definition.policy_names(&definition.name);
    let applied = queue.get("policy")?.as_str().unwrap_or_default();
    let is_own = names.iter().any(|name| name == applied);
    let shared = definition.shared.as_ref();
    let is_ours = is_own || shared.is_some_and(|shared| shared.is_name(applied));
    let effective = &queue["effective_policy_definition"];
    let operator_policy = queue["operator_policy"].as_str();
    let has_operator_policy = operator_policy.is_some_and(|name| !name.is_empty());
    let is_in_sync = if desired.is_empty() {
        !is_own
    } else {
        is_ours
            && desired.iter().all(|(key, value)| {
                let have = &effective[key];
                have == value || (has_operator_policy && is_lower(have, value))
            })
    };
    (!is_in_sync).then(|| Drift::settable("policy", applied, &names[0]))
}

fn is_lower(have: &Value, want: &Value) -> bool {
    have.as_u64()
        .zip(want.as_u64())
        .is_some_and(|(have, want)| have < want)
}

/// Names of the policies that the provider wrote.
fn written_policies(related: &RelatedObjects) -> Vec<String> {
    let slots = [&related.policy, &related.dead_letter_policy];
    let ours = slots.into_iter().filter(|slot| slot.ours.is_some());
    ours.filter_map(|slot| slot.name.clone()).collect()
}

fn policy_drift(
    slot: &PolicySlot,
    definition: &QueueDefinition,
    queue: &str,
    desired: &Map<String, Value>,
) -> Option<Drift> {
    let name = slot.name.clone().unwrap_or_else(|| policy_name(queue));
    let body = definition.policy_body(queue, &name, desired);
    let what = format!("policy {name:?}");
    let Some(policy) = &slot.ours else {
        return match (&slot.name, desired.is_empty() || slot.is_satisfied) {
            (_, true) => None,
            (Some(_), false) => Some(Drift::settable(&what, "absent", &body["definition"])),
            (None, false) => Some(Drift::fixed(&what, "another one", &body["definition"])),
        };
    };
    if desired.is_empty() {
        return Some(Drift::settable(&what, &policy["definition"], "absent"));
    }
    let found = policy["definition"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    let is_equal = found == *desired
        && ["pattern", "priority", "apply-to"]
            .iter()
            .all(|key| policy[*key] == body[*key]);
    (!is_equal).then(|| Drift::settable(&what, &policy["definition"], &body["definition"]))
}

/// The policy that shadows ours, or that ours shadows, as a message.
fn shadow(definition: &QueueDefinition, applied: &str, related: &RelatedObjects) -> Option<String> {
    related.policy.ours.as_ref()?;
    let own = related.policy.name.as_deref()?;
    let shared = definition.shared.as_ref();
    if shared.is_some_and(|shared| shared.is_name(applied)) {
        // The broker shows a new policy with its next statistics.
        return None;
    }
    if !applied.is_empty() && applied != own {
        return Some(format!(
            "policy {applied:?} applies to queue {:?} in place of {own:?}: raise `policyPriority` in the \
             ProviderConfig, or lower the priority of {applied:?}",
            definition.name
        ));
    }
    let in_our_names = related.policy.foreign.iter();
    let other = in_our_names.chain(&related.foreign_policy).min()?;
    Some(format!(
        "policy {own:?} applies to queue {:?} in place of {other:?}, whose settings do not apply to it",
        definition.name
    ))
}

fn related_drift(definition: &QueueDefinition, related: &RelatedObjects) -> Vec<Drift> {
    let mut drift = Vec::new();
    let exchange = format!("exchange {:?}", definition.queue.exchange);
    match &related.exchange {
        None => drift.push(Drift::settable(
            &exchange,
            "absent",
            "a durable topic exchange",
        )),
        Some(found) if found["type"] != json!("topic") || found["durable"] != json!(true) => {
            let have = format!("{} (durable: {})", found["type"], found["durable"]);
            drift.push(Drift::fixed(&exchange, have, "a durable topic exchange"));
        }
        Some(_) => {}
    }
    for key in missing_keys(definition, related) {
        drift.push(Drift::settable(
            "binding",
            "absent",
            format!("routing key {key:?}"),
        ));
    }
    if definition.queue.dead_letter.enabled {
        let name = definition.dead_letter_queue();
        if related.dead_letter_queue.is_none() {
            drift.push(Drift::settable(
                "deadLetter",
                "absent",
                format!("queue {name:?}"),
            ));
        } else if !related.dead_letter_bindings.our_keys.contains(&name) {
            drift.push(Drift::settable(
                "deadLetter",
                "unbound",
                format!(
                    "queue {name:?} bound to {:?}",
                    definition.dead_letter_exchange()
                ),
            ));
        }
        let (policy, desired) = (&related.dead_letter_policy, &related.dead_letter_own_policy);
        drift.extend(policy_drift(policy, definition, &name, desired));
    }
    drift
}

/// Routing keys without a binding of ours.
pub(super) fn missing_keys<'a>(
    definition: &'a QueueDefinition,
    related: &'a RelatedObjects,
) -> impl Iterator<Item = &'a String> {
    definition
        .queue
        .routing_keys
        .iter()
        .filter(|key| !related.bindings.our_keys.contains(*key))
}

/// Messages that deletion would lose; none while a part is unknown.
fn held(definition: &QueueDefinition, queue: &Value, related: &RelatedObjects) -> Option<u64> {
    let own = queue["messages"].as_u64()?;
    let dead_letters = match &related.dead_letter_queue {
        Some(queue) if owner(queue) == Some(definition.owner_tag.as_str()) => {
            queue["messages"].as_u64()?
        }
        _ => 0,
    };
    Some(own + dead_letters + definition.held_for_retry(&related.retry_queues)?)
}

#[cfg(test)]
mod tests;
