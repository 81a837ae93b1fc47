//! Policies that the provider did not write. One of them may shadow ours, or ours may shadow it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use regex::Regex;
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::api::{Answer, Api};
use super::definition::{exact_pattern, policy_name};
use crate::transport::TransportError;

/// How long a list is cached. It contains every policy of the virtual host, so an observation cannot read
/// it each time. The queue itself shows at once which policy applies.
const CACHED: Duration = Duration::from_mins(1);

/// A foreign policy for queues.
#[derive(Debug, Clone)]
pub(super) struct ForeignPolicy {
    /// Its name.
    pub(super) name: String,
    pattern: Regex,
}

impl ForeignPolicy {
    /// Reads a policy; none where it is not for queues, or its pattern is not supported here.
    pub(super) fn read(policy: &Value) -> Option<Self> {
        let (name, pattern) = (policy["name"].as_str()?, policy["pattern"].as_str()?);
        let is_for_queues = policy["apply-to"].as_str()? != "exchanges";
        let pattern = Regex::new(pattern).ok().filter(|_| is_for_queues)?;
        let name = name.to_owned();
        Some(Self { name, pattern })
    }

    /// Whether it matches a queue.
    pub(super) fn matches(&self, queue: &str) -> bool {
        self.pattern.is_match(queue)
    }
}

/// Whether a policy has the form of ours: for one queue, whose name it has.
fn is_ours(policy: &Value) -> bool {
    let name = policy["name"].as_str().unwrap_or_default();
    let queue = name.strip_prefix(&policy_name("")).unwrap_or_default();
    policy["pattern"] == exact_pattern(queue)
}

/// Cache of foreign policies of a broker, by virtual host. Clones share it.
#[derive(Clone, Default)]
pub(super) struct ForeignPolicies(Arc<Mutex<BTreeMap<String, Listed>>>);

struct Listed {
    at: Instant,
    policies: Arc<[ForeignPolicy]>,
}

impl ForeignPolicies {
    /// Foreign policies of a virtual host. Concurrent callers share one list.
    pub(super) async fn list(
        &self,
        api: &Api,
        vhost: &str,
    ) -> Result<Arc<[ForeignPolicy]>, TransportError> {
        let mut cached = self.0.lock().await;
        if let Some(listed) = cached.get(vhost)
            && listed.at.elapsed() < CACHED
        {
            return Ok(listed.policies.clone());
        }
        let all = match api.get(&["policies", vhost]).await? {
            Answer::Ok(Value::Array(all)) => all,
            _ => Vec::new(),
        };
        let foreign = all.iter().filter(|policy| !is_ours(policy));
        let policies: Arc<[ForeignPolicy]> = foreign.filter_map(ForeignPolicy::read).collect();
        let at = Instant::now();
        let listed = Listed {
            at,
            policies: policies.clone(),
        };
        cached.insert(vhost.to_owned(), listed);
        Ok(policies)
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
            let policy = json!({"name": name, "pattern": pattern});
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
}
