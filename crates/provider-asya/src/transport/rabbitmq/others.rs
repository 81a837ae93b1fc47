//! Policies that are none of ours. One of them may be in the way of ours, or ours of it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use regex::Regex;
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::api::{Answer, Api};
use super::document::{exact_pattern, policy_name};
use crate::transport::Fault;

/// How long a list is believed. It has every policy of the virtual host, one for each queue
/// among them, so a look at a queue cannot ask for it each time. What is in the way of ours
/// shows at the queue itself at once.
const BELIEVED: Duration = Duration::from_mins(1);

/// A policy of somebody else's for queues.
#[derive(Debug, Clone)]
pub(super) struct Other {
    /// Its name.
    pub(super) name: String,
    pattern: Regex,
}

impl Other {
    /// The policy, if it is for queues and its pattern can be read here.
    pub(super) fn read(policy: &Value) -> Option<Self> {
        let (name, pattern) = (policy["name"].as_str()?, policy["pattern"].as_str()?);
        let is_for_queues = policy["apply-to"].as_str()? != "exchanges";
        let pattern = Regex::new(pattern).ok().filter(|_| is_for_queues)?;
        let name = name.to_owned();
        Some(Self { name, pattern })
    }

    /// Whether it is for this queue.
    pub(super) fn matches(&self, queue: &str) -> bool {
        self.pattern.is_match(queue)
    }
}

/// Whether a policy is of the form of ours: for one queue, by whose name it is called.
fn is_ours(policy: &Value) -> bool {
    let name = policy["name"].as_str().unwrap_or_default();
    let queue = name.strip_prefix(&policy_name("")).unwrap_or_default();
    policy["pattern"] == exact_pattern(queue)
}

/// The policies of others on a broker, by virtual host. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Others(Arc<Mutex<BTreeMap<String, Listed>>>);

struct Listed {
    at: Instant,
    policies: Arc<[Other]>,
}

impl Others {
    /// Those of a virtual host. Whoever asks while they are listed waits for the one list.
    pub(super) async fn of(&self, api: &Api, vhost: &str) -> Result<Arc<[Other]>, Fault> {
        let mut known = self.0.lock().await;
        if let Some(listed) = known.get(vhost)
            && listed.at.elapsed() < BELIEVED
        {
            return Ok(listed.policies.clone());
        }
        let all = match api.get(&["policies", vhost]).await? {
            Answer::Done(Value::Array(all)) => all,
            _ => Vec::new(),
        };
        let others = all.iter().filter(|policy| !is_ours(policy));
        let policies: Arc<[Other]> = others.filter_map(Other::read).collect();
        let at = Instant::now();
        let listed = Listed {
            at,
            policies: policies.clone(),
        };
        known.insert(vhost.to_owned(), listed);
        Ok(policies)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_policy_for_one_queue_by_its_name_is_ours() {
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
    fn what_is_not_for_queues_or_cannot_be_read_is_in_nobodys_way() {
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
            let matches = Other::read(&policy).is_some_and(|other| other.matches("asya-cart"));
            assert_eq!(matches, expected, "{policy}");
        }
    }
}
