//! What the broker's answers say about one queue.

use std::sync::Arc;

use actor::queue::Location;
use serde_json::{Map, Value, json};

use super::document::{OWNER_ARGUMENT, Version, Wanted, policy_name};
use super::others::Other;
use crate::counters::Counters;
use crate::transport::{Drift, Found, Mark};

/// What surrounds a queue, as far as a whole look tells.
#[derive(Debug, Clone, Default)]
pub(super) struct Surroundings {
    /// The exchange, if it is there.
    pub(super) exchange: Option<Value>,
    /// Bindings from the exchange to the queue.
    pub(super) bindings: Vec<Value>,
    /// Its policy, if it is there.
    pub(super) policy: Option<Value>,
    /// Policies of somebody else's in the virtual host.
    pub(super) others: Arc<[Other]>,
    /// The dead-letter queue, if it is there.
    pub(super) dead_letter_queue: Option<Value>,
    /// Its policy, if it is there.
    pub(super) dead_letter_policy: Option<Value>,
    /// Bindings from its exchange to it.
    pub(super) dead_letter_bindings: Vec<Value>,
}

/// What a glance tells, and with `surroundings` a whole look.
pub(super) fn found(
    wanted: &Wanted,
    version: Version,
    location: Location,
    queue: &Value,
    surroundings: Option<&Surroundings>,
) -> Found {
    let mut found = Found {
        mark: mark(queue, surroundings),
        location,
        counters: counters(queue),
        unusable: unusable(queue),
        drift: fixed_differences(wanted, version, queue),
        ..Found::default()
    };
    let definition = wanted.definition(version);
    let applied = queue["policy"].as_str().unwrap_or_default();
    match surroundings {
        None => {
            // Which of several policies is in the way shows only a whole look.
            let is_as_wanted = if definition.is_empty() {
                applied != wanted.policy()
            } else {
                applied == wanted.policy() && effective(queue) == definition
            };
            if !is_as_wanted {
                found
                    .drift
                    .push(Drift::settable("policy", applied, wanted.policy()));
            }
        }
        Some(around) => {
            found.drift.extend(policy_difference(
                around.policy.as_ref(),
                wanted,
                &wanted.name,
                &definition,
            ));
            found.shadowed = shadow(wanted, applied, around);
            found
                .drift
                .extend(surrounding_differences(wanted, version, around));
            found.held = held(wanted, queue, around);
        }
    }
    found
}

/// The owner in a queue's arguments.
pub(super) fn owner(queue: &Value) -> Option<&str> {
    queue["arguments"][OWNER_ARGUMENT].as_str()
}

/// The queue's own mark; an adopted queue cannot get one any more, and so has it at its bindings.
fn mark(queue: &Value, surroundings: Option<&Surroundings>) -> Mark {
    if let Some(owner) = owner(queue) {
        return Mark::Of(owner.to_owned());
    }
    let Some(surroundings) = surroundings else {
        return Mark::Unread;
    };
    let of_binding = surroundings.bindings.iter().find_map(owner);
    of_binding.map_or(Mark::None, |owner| Mark::Of(owner.to_owned()))
}

/// The messages in a queue, once the broker has counted them.
pub(super) fn counters(queue: &Value) -> Option<Counters> {
    Some(Counters {
        queued: queue["messages_ready"].as_u64()?,
        processing: queue["messages_unacknowledged"].as_u64()?,
        dead_lettered: None,
    })
}

/// The messages in the dead-letter queue, where there is to be one and it is ours.
pub(super) fn dead_lettered(wanted: &Wanted, letters: Option<&Value>) -> Option<u64> {
    let letters = letters.filter(|_| wanted.queue.dead_letter.enabled)?;
    let is_ours = owner(letters) == Some(wanted.mark.as_str());
    letters["messages"].as_u64().filter(|_| is_ours)
}

fn unusable(queue: &Value) -> Option<String> {
    // Only queues with members list those that are online.
    if queue["online"].as_array().is_some_and(Vec::is_empty) {
        return Some("the broker says that no member of the queue is online".to_owned());
    }
    let state = queue["state"].as_str()?;
    ["down", "crashed", "stopped", "minority", "terminated"]
        .contains(&state)
        .then(|| format!("the broker says that the queue is {state}"))
}

/// What was decided when the queue was made.
fn fixed_differences(wanted: &Wanted, version: Version, queue: &Value) -> Vec<Drift> {
    let mut drift = Vec::new();
    if let Some(kind) = queue["type"].as_str()
        && kind != wanted.queue_type()
    {
        drift.push(Drift::fixed("queueType", kind, wanted.queue_type()));
    }
    for (what, want) in [("durable", true), ("auto_delete", false)] {
        if queue[what].as_bool().is_some_and(|have| have != want) {
            drift.push(Drift::fixed(what, !want, want));
        }
    }
    if let Some(timeout) = wanted.queue.consumer_timeout_milliseconds
        && !version.has_consumer_timeout()
    {
        let have =
            "the broker's own `consumer_timeout`, since it has none per queue before RabbitMQ 3.12";
        drift.push(Drift::fixed("consumerTimeoutMilliseconds", have, timeout));
    }
    drift
}

fn effective(queue: &Value) -> Map<String, Value> {
    // An empty definition is shown as an empty list.
    queue["effective_policy_definition"]
        .as_object()
        .cloned()
        .unwrap_or_default()
}

fn policy_difference(
    policy: Option<&Value>,
    wanted: &Wanted,
    queue: &str,
    definition: &Map<String, Value>,
) -> Option<Drift> {
    let body = wanted.policy_body(queue, definition);
    let what = format!("policy {:?}", policy_name(queue));
    let Some(policy) = policy else {
        let is_wanted = !definition.is_empty();
        return is_wanted.then(|| Drift::settable(&what, "absent", &body["definition"]));
    };
    if definition.is_empty() {
        return Some(Drift::settable(&what, &policy["definition"], "absent"));
    }
    let found = policy["definition"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    let is_equal = found == *definition
        && ["pattern", "priority", "apply-to"]
            .iter()
            .all(|key| policy[*key] == body[*key]);
    (!is_equal).then(|| Drift::settable(&what, &policy["definition"], &body["definition"]))
}

/// The policy that is in the way of ours, or that ours is in the way of.
fn shadow(wanted: &Wanted, applied: &str, around: &Surroundings) -> Option<String> {
    let own = wanted.policy();
    around.policy.as_ref()?;
    if !applied.is_empty() && applied != own {
        return Some(format!(
            "policy {applied:?} applies to queue {:?} in place of {own:?}: raise `policyPriority` in the \
             ProviderConfig, or lower the priority of {applied:?}",
            wanted.name
        ));
    }
    let others = around.others.iter();
    let mut others: Vec<&str> = others
        .filter(|other| other.matches(&wanted.name))
        .map(|other| other.name.as_str())
        .collect();
    others.sort_unstable();
    let other = others.first()?;
    Some(format!(
        "policy {own:?} applies to queue {:?} in place of {other:?}, of which nothing holds for it any more",
        wanted.name
    ))
}

fn surrounding_differences(wanted: &Wanted, version: Version, around: &Surroundings) -> Vec<Drift> {
    let mut drift = Vec::new();
    let exchange = format!("exchange {:?}", wanted.queue.exchange);
    match &around.exchange {
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
    for key in missing_keys(wanted, around) {
        drift.push(Drift::settable(
            "binding",
            "absent",
            format!("routing key {key:?}"),
        ));
    }
    if wanted.queue.dead_letter.enabled {
        let name = wanted.dead_letter_queue();
        if around.dead_letter_queue.is_none() {
            drift.push(Drift::settable(
                "deadLetter",
                "absent",
                format!("queue {name:?}"),
            ));
        } else if !is_bound(&around.dead_letter_bindings, &name, wanted) {
            drift.push(Drift::settable(
                "deadLetter",
                "unbound",
                format!(
                    "queue {name:?} bound to {:?}",
                    wanted.dead_letter_exchange()
                ),
            ));
        }
        let definition = wanted.dead_letter_definition(version);
        let policy = around.dead_letter_policy.as_ref();
        drift.extend(policy_difference(policy, wanted, &name, &definition));
    }
    drift
}

/// Routing keys by which nothing of ours leads to the queue yet.
pub(super) fn missing_keys<'a>(
    wanted: &'a Wanted,
    around: &'a Surroundings,
) -> impl Iterator<Item = &'a String> {
    wanted
        .queue
        .routing_keys
        .iter()
        .filter(|key| !is_bound(&around.bindings, key, wanted))
}

/// Whether a binding by this key is ours.
fn is_bound(bindings: &[Value], key: &str, wanted: &Wanted) -> bool {
    bindings.iter().any(|binding| {
        binding["routing_key"] == json!(key) && owner(binding) == Some(wanted.mark.as_str())
    })
}

/// Everything that deletion would lose; unknown while a part is.
fn held(wanted: &Wanted, queue: &Value, around: &Surroundings) -> Option<u64> {
    let own = queue["messages"].as_u64()?;
    let letters = match &around.dead_letter_queue {
        Some(letters) if owner(letters) == Some(wanted.mark.as_str()) => {
            letters["messages"].as_u64()?
        }
        _ => 0,
    };
    Some(own + letters)
}

#[cfg(test)]
#[path = "seen_tests.rs"]
mod tests;
