//! Queues in a list of a virtual host, as far as they decide whether a shared policy may be written.

use std::fmt;

use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::definition::policy_name;
use super::limited_json::Text;
use super::shared_policy::{Kind, SharedPolicy};

/// A queue of the virtual host.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ListedQueue {
    pub(super) name: String,
    #[serde(rename = "type")]
    kind: String,
    policy: Option<String>,
    arguments: Arguments,
}

/// The arguments of a listed queue or binding.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    pub(super) owner: Option<String>,
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

impl ListedQueue {
    /// Returns whether the shared policy would change nothing that this queue needs: it has a policy of its own,
    /// or is ours and is made for the shared one.
    pub(super) fn accepts(&self, shared: &SharedPolicy, kind: Kind) -> bool {
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::super::definition::{DEAD_LETTER_EXCHANGE, OWNER_ARGUMENT};
    use super::*;

    fn shared() -> SharedPolicy {
        SharedPolicy {
            owner_id: "east".to_owned(),
            queue_names: "asya-*".to_owned(),
            max_receive_count: 20,
            records: BTreeMap::new(),
            may_predate_records: false,
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
            let queue: ListedQueue = serde_json::from_value(queue).unwrap();
            assert_eq!(queue.accepts(&shared(), Kind::Queues), expected, "{reason}");
        }
    }
}
