//! Bindings of a queue: as much of them as decides what to do. There may be thousands, of which one at a time is
//! in memory.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use serde::Deserialize;

use super::RabbitMqExternal;
use super::limited_json::Text;
use super::listed_queue::Arguments;
use crate::transport::{TransportError, owner_in_message};

/// A binding, as it is listed.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Listed {
    source: Text,
    routing_key: Text,
    arguments: Arguments,
}

/// Bindings of a queue.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Bindings {
    /// Owner tag of the first one that has one.
    pub(super) owner: Option<String>,
    /// True if one has our owner tag.
    pub(super) has_ours: bool,
    /// Those of the desired routing keys that have a binding with our owner tag.
    pub(super) our_keys: BTreeSet<String>,
    /// True if the queue is bound to another exchange than the default one, to which every queue is bound.
    pub(super) is_bound: bool,
}

impl Bindings {
    fn add(&mut self, binding: Listed, owner: &str, desired: &[String]) {
        self.is_bound |= binding.source.0.is_some_and(|source| !source.is_empty());
        let Some(found) = binding.arguments.owner else {
            return;
        };
        if found == owner {
            self.has_ours = true;
            let key = binding.routing_key.0;
            self.our_keys
                .extend(key.filter(|key| desired.contains(key)));
        }
        if self.owner.is_none() {
            self.owner = Some(owner_in_message(found, owner));
        }
    }
}

impl RabbitMqExternal {
    /// Reads the bindings at a path; none where it does not exist. `desired` are the routing keys of interest.
    pub(super) async fn read_bindings(
        &self,
        path: &[&str],
        desired: &[String],
    ) -> Result<Bindings, TransportError> {
        let mut bindings = Bindings::default();
        let owner = self.definition.owner_tag.as_str();
        let add = |binding: Listed| {
            bindings.add(binding, owner, desired);
            ControlFlow::Continue(())
        };
        self.api().visit_list(path, add).await?;
        Ok(bindings)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn bindings_of_other_owners_are_not_ours() {
        let ours = "east/shop/cart";
        let long = "x".repeat(10_000);
        let desired = ["cart".to_owned(), "asya-cart".to_owned()];
        let cases = [
            ("none", json!([]), None, false, &[] as &[&str], false),
            (
                "the default exchange",
                json!([{"source": "", "routing_key": "cart"}]),
                None,
                false,
                &[],
                false,
            ),
            (
                "without a tag",
                json!([{"source": "asya", "routing_key": "cart", "arguments": []}]),
                None,
                false,
                &[],
                true,
            ),
            (
                "ours",
                json!([{"source": "asya", "routing_key": "cart", "arguments": {"x-asya-owner": ours}}]),
                Some(ours),
                true,
                &["cart"],
                true,
            ),
            (
                "ours, another key",
                json!([{"source": "asya", "routing_key": long, "arguments": {"x-asya-owner": ours}}]),
                Some(ours),
                true,
                &[],
                true,
            ),
            (
                "theirs before ours",
                json!([
                    {"source": "asya", "routing_key": "cart", "arguments": {"x-asya-owner": "west"}},
                    {"source": "asya", "routing_key": "cart", "arguments": {"x-asya-owner": ours}},
                ]),
                Some("west"),
                true,
                &["cart"],
                true,
            ),
        ];
        for (reason, list, owner, has_ours, keys, is_bound) in cases {
            let mut bindings = Bindings::default();
            for binding in serde_json::from_value::<Vec<Listed>>(list).unwrap() {
                bindings.add(binding, ours, &desired);
            }
            let expected = Bindings {
                owner: owner.map(str::to_owned),
                has_ours,
                our_keys: keys.iter().map(|key| (*key).to_owned()).collect(),
                is_bound,
            };
            assert_eq!(bindings, expected, "{reason}");
        }
    }
}
