//! Policies that the provider did not write. One of them may shadow ours, or ours may shadow it.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::api::Api;
use super::definition::{exact_pattern, policy_name};
use super::shared_policy::SharedPolicy;
use crate::text;
use crate::transport::TransportError;

/// Time for which a list is cached. It contains every policy of the virtual host, so an observation
/// cannot read it each time. The queue itself shows at once which policy applies.
const CACHED: Duration = Duration::from_mins(1);
/// Most virtual hosts whose lists are cached.
const VHOSTS_MAX: usize = 64;
/// Most foreign policies of a virtual host whose patterns are compiled.
const PATTERNS_MAX: usize = 200;
/// Longest pattern that is compiled, in bytes.
const PATTERN_MAX: usize = 1024;
/// Largest compiled pattern, in bytes.
const COMPILED_MAX: usize = 64 << 10;

/// A foreign policy for queues.
#[derive(Debug, Clone)]
pub(super) struct ForeignPolicy {
    /// Its name.
    pub(super) name: String,
    /// None where it is too large, or not supported here.
    pattern: Option<Regex>,
}

/// The fields of a policy that are read.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
struct Listed {
    name: String,
    pattern: String,
    apply_to: String,
}

impl Listed {
    /// This policy without texts that are too long: a long pattern counts as one that may match.
    fn cut(mut self) -> Self {
        if self.name.len() > PATTERN_MAX {
            self.name = text::clean(&self.name, text::FOREIGN_MAX);
        }
        if self.pattern.len() > PATTERN_MAX {
            self.pattern = "x".repeat(PATTERN_MAX + 1);
        }
        self
    }
}

impl ForeignPolicy {
    /// Reads a policy; none where it is not for queues.
    pub(super) fn read(policy: &Value) -> Option<Self> {
        let text = |key: &str| policy[key].as_str().map(str::to_owned);
        Self::compile(&Listed {
            name: text("name")?,
            pattern: text("pattern")?,
            apply_to: text("apply-to")?,
        })
    }

    fn compile(policy: &Listed) -> Option<Self> {
        if policy.apply_to == "exchanges" {
            return None;
        }
        let mut pattern = RegexBuilder::new(&policy.pattern);
        pattern
            .size_limit(COMPILED_MAX)
            .dfa_size_limit(COMPILED_MAX);
        let is_short = policy.pattern.len() <= PATTERN_MAX;
        Some(Self {
            name: policy.name.clone(),
            pattern: is_short.then(|| pattern.build().ok()).flatten(),
        })
    }

    /// Returns whether it is known to match a queue.
    pub(super) fn matches(&self, queue: &str) -> bool {
        let pattern = self.pattern.as_ref();
        pattern.is_some_and(|pattern| pattern.is_match(queue))
    }

    /// Returns whether it is known not to match a queue.
    fn cannot_match(&self, queue: &str) -> bool {
        let pattern = self.pattern.as_ref();
        pattern.is_some_and(|pattern| !pattern.is_match(queue))
    }
}

/// Returns whether a policy has the form of ours: for one queue, whose name it has.
fn is_ours(policy: &Listed) -> bool {
    let queue = policy.name.strip_prefix(&policy_name(""));
    let queue = queue.unwrap_or_default();
    let other = queue.rsplit_once('-').map_or("", |(queue, _)| queue);
    [queue, other]
        .into_iter()
        .any(|queue| policy.pattern == exact_pattern(queue))
}

/// Cache of foreign policies of a broker, by virtual host. Clones share it.
#[derive(Clone, Default)]
pub(super) struct ForeignPolicies(Arc<Mutex<BTreeMap<String, Cached>>>);

struct Cached {
    at: Instant,
    listed: Arc<ListedPolicies>,
}

/// Foreign policies of a virtual host.
#[derive(Debug, Default)]
struct ListedPolicies {
    policies: Vec<ForeignPolicy>,
    /// True if there are more than [`PATTERNS_MAX`], of which nothing is known.
    is_truncated: bool,
}

impl ListedPolicies {
    /// Returns whether no policy but shared ones of ours can match a queue.
    fn none_can_match(&self, queue: &str, shared: &SharedPolicy) -> bool {
        let mut foreign = self
            .policies
            .iter()
            .filter(|policy| !shared.is_name(&policy.name));
        !self.is_truncated && foreign.all(|policy| policy.cannot_match(queue))
    }
}

impl ForeignPolicies {
    /// Returns whether no policy but shared ones of ours can match a queue.
    pub(super) async fn is_matched_by_none(
        &self,
        api: &Api,
        vhost: &str,
        queue: &str,
        shared: &SharedPolicy,
    ) -> Result<bool, TransportError> {
        let listed = self.list(api, vhost).await?;
        let (queue, shared) = (queue.to_owned(), shared.clone());
        let none = tokio::task::spawn_blocking(move || listed.none_can_match(&queue, &shared));
        Ok(none.await.unwrap_or_default())
    }

    /// Names of the foreign policies that match a queue. Patterns are compiled and matched on a thread
    /// for blocking work, since their authors decide how long that takes.
    pub(super) async fn matching(
        &self,
        api: &Api,
        vhost: &str,
        queue: &str,
    ) -> Result<Vec<String>, TransportError> {
        let listed = self.list(api, vhost).await?;
        if listed.policies.is_empty() {
            return Ok(Vec::new());
        }
        let queue = queue.to_owned();
        let matching = tokio::task::spawn_blocking(move || {
            let policies = listed.policies.iter();
            let matching = policies.filter(|policy| policy.matches(&queue));
            matching.map(|policy| policy.name.clone()).collect()
        });
        Ok(matching.await.unwrap_or_default())
    }

    /// Foreign policies of a virtual host. Concurrent callers share one list.
    async fn list(&self, api: &Api, vhost: &str) -> Result<Arc<ListedPolicies>, TransportError> {
        let mut cached = self.0.lock().await;
        if let Some(found) = cached.get(vhost)
            && found.at.elapsed() < CACHED
        {
            return Ok(found.listed.clone());
        }
        let (mut foreign, mut is_truncated) = (Vec::new(), false);
        let visit = |policy: Listed| {
            if is_ours(&policy) || policy.apply_to == "exchanges" {
                return ControlFlow::Continue(());
            }
            is_truncated = foreign.len() == PATTERNS_MAX;
            if is_truncated {
                return ControlFlow::Break(());
            }
            foreign.push(policy.cut());
            ControlFlow::Continue(())
        };
        api.visit_list(&["policies", vhost], visit).await?;
        let compiled = tokio::task::spawn_blocking(move || {
            let policies = foreign.iter().filter_map(ForeignPolicy::compile);
            policies.collect::<Vec<_>>()
        });
        let compiled = compiled.await;
        let listed = Arc::new(ListedPolicies {
            is_truncated: is_truncated || compiled.is_err(),
            policies: compiled.unwrap_or_default(),
        });
        cached.retain(|_, found| found.at.elapsed() < CACHED);
        if cached.len() < VHOSTS_MAX {
            let found = Cached {
                at: Instant::now(),
                listed: listed.clone(),
            };
            cached.insert(vhost.to_owned(), found);
        }
        Ok(listed)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_policy_for_one_queue_with_its_name_is_ours() {
        let cases = [
            ("asya-cart", "^cart$", true),
            ("asya-a.b", r"^a\.b$", true),
            ("asya-cart", "^cart", false),
            ("asya-all", ".*", false),
            ("ops", "^ops$", false),
        ];
        for (name, pattern, expected) in cases {
            let policy = Listed {
                name: name.to_owned(),
                pattern: pattern.to_owned(),
                apply_to: "queues".to_owned(),
            };
            assert_eq!(is_ours(&policy), expected, "{name} {pattern}");
        }
    }

    #[test]
    fn only_readable_policies_for_queues_match() {
        let cases = [
            (
                json!({"name": "p", "pattern": "^asya-", "apply-to": "queues"}),
                true,
            ),
            (
                json!({"name": "p", "pattern": "^asya-", "apply-to": "all"}),
                true,
            ),
            (
                json!({"name": "p", "pattern": "^asya-", "apply-to": "exchanges"}),
                false,
            ),
            (
                json!({"name": "p", "pattern": "^other-", "apply-to": "all"}),
                false,
            ),
            (
                json!({"name": "p", "pattern": "(?!x)", "apply-to": "all"}),
                false,
            ),
        ];
        for (policy, expected) in cases {
            let matches =
                ForeignPolicy::read(&policy).is_some_and(|policy| policy.matches("asya-cart"));
            assert_eq!(matches, expected, "{policy}");
        }
    }

    #[test]
    fn policies_that_were_not_read_may_match() {
        let policy = json!({"name": "ops", "pattern": "^other$", "apply-to": "queues"});
        let shared = SharedPolicy {
            owner_id: "east".to_owned(),
            queue_names: "asya-*".to_owned(),
            max_receive_count: 20,
            records: BTreeMap::new(),
        };
        for is_truncated in [false, true] {
            let listed = ListedPolicies {
                policies: ForeignPolicy::read(&policy).into_iter().collect(),
                is_truncated,
            };
            let none = listed.none_can_match("asya-cart", &shared);
            assert_eq!(none, !is_truncated);
        }
    }

    #[test]
    fn huge_patterns_are_not_compiled() {
        let long = "a".repeat(PATTERN_MAX + 1);
        for pattern in [long.as_str(), "(a{1,1000}){1,1000}", "[\\w]{5000}"] {
            let policy = json!({"name": "p", "pattern": pattern, "apply-to": "queues"});
            let policy = ForeignPolicy::read(&policy).unwrap();
            assert!(policy.pattern.is_none(), "{pattern}");
            assert!(!policy.cannot_match("asya-cart"), "nothing is known");
        }
    }
}
