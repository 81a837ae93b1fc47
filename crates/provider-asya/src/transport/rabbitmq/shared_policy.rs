//! A policy that the queues of one ProviderConfig share: its settings, name and pattern.

use std::collections::BTreeMap;

use actor::provider_config::PolicyOrigin;

use crate::wildcard::is_match;

/// Suffix of dead-letter queues.
const DEAD_LETTERS: &str = "-dlq";

/// Settings of the shared policies of a ProviderConfig.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedPolicy {
    /// Owner of the policies: `ownerID` of the ProviderConfig.
    pub owner_id: String,
    /// Names of the queues; `*` is any text.
    pub queue_names: String,
    /// Delivery limit.
    pub max_receive_count: u32,
    /// Recorded policies of the virtual host, by name.
    pub records: BTreeMap<String, PolicyOrigin>,
    /// True if a Queue of the config was observed by a version that recorded no policies: an equal policy without
    /// a record is the provider's then, and foreign otherwise.
    pub may_predate_records: bool,
}

/// Queues to which a policy applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Queues of actors.
    Queues,
    /// Their dead-letter queues.
    DeadLetters,
}

impl SharedPolicy {
    /// Name of the policy.
    pub(super) fn name(&self, kind: Kind) -> String {
        let kind = match kind {
            Kind::Queues => "queues",
            Kind::DeadLetters => "dead-letters",
        };
        format!("asya:{}:{kind}", self.owner_id)
    }

    /// Returns whether the name is that of a policy of ours: not of one that is recorded as foreign.
    pub(super) fn is_name(&self, name: &str) -> bool {
        let names = [Kind::Queues, Kind::DeadLetters].map(|kind| self.name(kind));
        names.iter().any(|own| own == name)
            && self.records.get(name) != Some(&PolicyOrigin::Foreign)
    }

    /// The kind of a queue by its name; none where its name is another one.
    pub(super) fn kind_of(&self, queue: &str) -> Option<Kind> {
        let (name, kind) = match queue.strip_suffix(DEAD_LETTERS) {
            Some(name) => (name, Kind::DeadLetters),
            None => (queue, Kind::Queues),
        };
        is_match(&self.queue_names, name).then_some(kind)
    }

    /// Pattern of the policy: what [`Self::kind_of`] finds, for the broker.
    pub(super) fn pattern(&self, kind: Kind) -> String {
        let parts = self.queue_names.split('*').map(regex::escape);
        let names = parts.collect::<Vec<_>>().join(".*");
        match kind {
            Kind::Queues => format!("^(?!.*{DEAD_LETTERS}$){names}$"),
            Kind::DeadLetters => format!("^{names}{DEAD_LETTERS}$"),
        }
    }
}

#[cfg(test)]
mod tests {
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
    fn queues_and_their_dead_letter_queues_are_distinguished() {
        let cases = [
            ("asya-cart", Some(Kind::Queues)),
            ("asya-cart-dlq", Some(Kind::DeadLetters)),
            ("asya-cart-retry-5", Some(Kind::Queues)),
            ("asya", None),
            ("orders", None),
            ("orders-dlq", None),
        ];
        for (queue, expected) in cases {
            assert_eq!(shared().kind_of(queue), expected, "{queue}");
        }
        assert_eq!(shared().pattern(Kind::Queues), r"^(?!.*-dlq$)asya\-.*$");
        assert_eq!(shared().pattern(Kind::DeadLetters), r"^asya\-.*-dlq$");
    }

    #[test]
    fn templates_match_with_any_text() {
        for (template, text, expected) in [
            ("asya-*", "asya-cart", true),
            ("asya-*", "basya-cart", false),
            ("asya-*-x", "asya-cart-x", true),
            ("asya-*-x", "asya-cart-y", false),
            ("asya", "asya", true),
            ("asya", "asya-", false),
        ] {
            assert_eq!(is_match(template, text), expected, "{template} {text}");
        }
    }
}
