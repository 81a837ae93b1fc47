//! Policies that the provider did not write. One of them may shadow ours, or ours may shadow it.
//!
//! Their authors decide how much memory and time a pattern takes. So patterns are kept as texts, in a cache with
//! one limit for the whole process, and one at a time is compiled, matched and dropped, on a thread for blocking
//! work.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use regex::bytes::RegexBuilder;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::api::Api;
use super::definition::{exact_pattern, policy_name};
use super::shared_policy::SharedPolicy;
use crate::text;
use crate::transport::TransportError;

/// Time for which a list is cached. It contains every policy of the virtual host, so an observation
/// cannot read it each time. The queue itself shows at once which policy applies.
const CACHED: Duration = Duration::from_mins(1);
/// Most bytes of the cached lists of all brokers.
const CACHE_MAX: usize = 2 << 20;
/// Most bytes of the cached lists of one broker.
const OF_BROKER_MAX: usize = 256 << 10;
/// Most bytes of the list of one virtual host. Of what does not fit, nothing is known.
const LIST_MAX: usize = 64 << 10;
/// Most foreign policies of a virtual host that are matched.
const POLICIES_MAX: usize = 200;
/// Longest pattern that is compiled, in bytes.
const PATTERN_MAX: usize = 1024;
/// Largest compiled pattern, in bytes.
const COMPILED_MAX: usize = 32 << 10;

/// Held while patterns are compiled and matched, by one list of the process at a time.
static COMPILING: Semaphore = Semaphore::const_new(1);

/// A foreign policy for queues.
#[derive(Debug, Clone)]
struct ForeignPolicy {
    name: String,
    /// None where it is too long to be compiled.
    pattern: Option<String>,
}

/// The fields of a policy that are read.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
struct Listed {
    name: String,
    pattern: String,
    apply_to: String,
}

impl ForeignPolicy {
    fn new(policy: Listed) -> Self {
        let is_short = policy.pattern.len() <= PATTERN_MAX;
        Self {
            name: text::clean(&policy.name, text::FOREIGN_MAX),
            pattern: is_short.then_some(policy.pattern),
        }
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.name.len() + self.pattern.as_ref().map_or(0, String::len)
    }

    /// Returns whether it matches a queue; none where that is not known.
    ///
    /// RabbitMQ matches bytes: `\w` is a letter of ASCII there.
    fn matches(&self, queue: &str) -> Option<bool> {
        let pattern = self.pattern.as_deref()?;
        if pattern == exact_pattern(queue) {
            return Some(true);
        }
        let mut builder = RegexBuilder::new(pattern);
        builder
            .unicode(false)
            .size_limit(COMPILED_MAX)
            .dfa_size_limit(COMPILED_MAX);
        let compiled = builder.build().ok()?;
        Some(compiled.is_match(queue.as_bytes()))
    }
}

/// Returns whether a policy under a name of ours matches a queue.
pub(super) async fn is_matched(policy: &Value, queue: &str) -> bool {
    let text = |key: &str| policy[key].as_str().unwrap_or_default().to_owned();
    if text("apply-to") == "exchanges" {
        return false;
    }
    let policy = ForeignPolicy::new(Listed {
        name: text("name"),
        pattern: text("pattern"),
        apply_to: text("apply-to"),
    });
    let listed = ListedPolicies {
        policies: vec![policy],
        is_truncated: false,
    };
    let matches = Arc::new(listed).matches(queue).await;
    matches.first() == Some(&Some(true))
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

/// Foreign policies of a virtual host.
#[derive(Debug, Default)]
struct ListedPolicies {
    policies: Vec<ForeignPolicy>,
    /// True if there are more, of which nothing is known.
    is_truncated: bool,
}

impl ListedPolicies {
    /// Adds a policy; breaks where there is no place for it.
    fn add(&mut self, policy: Listed) -> ControlFlow<()> {
        if is_ours(&policy) || policy.apply_to == "exchanges" {
            return ControlFlow::Continue(());
        }
        let policy = ForeignPolicy::new(policy);
        let has_place =
            self.policies.len() < POLICIES_MAX && self.bytes() + policy.bytes() <= LIST_MAX;
        if !has_place {
            self.is_truncated = true;
            return ControlFlow::Break(());
        }
        self.policies.push(policy);
        ControlFlow::Continue(())
    }

    fn bytes(&self) -> usize {
        self.policies.iter().map(ForeignPolicy::bytes).sum()
    }

    /// For each policy, whether it matches a queue, where that is known.
    async fn matches(self: Arc<Self>, queue: &str) -> Vec<Option<bool>> {
        if self.policies.is_empty() {
            return Vec::new();
        }
        let unknown = vec![None; self.policies.len()];
        let Ok(compiling) = COMPILING.acquire().await else {
            return unknown;
        };
        let queue = queue.to_owned();
        let matches = tokio::task::spawn_blocking(move || {
            // Also held when nobody waits for the result any more.
            let _compiling = compiling;
            let policies = self.policies.iter();
            policies.map(|policy| policy.matches(&queue)).collect()
        });
        matches.await.unwrap_or(unknown)
    }

    /// Returns whether no policy but shared ones of ours can match a queue.
    async fn none_can_match(self: Arc<Self>, queue: &str, shared: &SharedPolicy) -> bool {
        if self.is_truncated {
            return false;
        }
        let matches = self.clone().matches(queue).await;
        let mut foreign = self.policies.iter().zip(matches);
        foreign.all(|(policy, matches)| shared.is_name(&policy.name) || matches == Some(false))
    }
}

/// Lists by broker and virtual host.
#[derive(Debug)]
struct Cache {
    lists: BTreeMap<(u64, String), Cached>,
}

#[derive(Debug)]
struct Cached {
    at: Instant,
    bytes: usize,
    listed: Arc<ListedPolicies>,
}

/// Lists of all brokers.
static CACHE: Mutex<Cache> = Mutex::new(Cache::new());

impl Cache {
    const fn new() -> Self {
        Self {
            lists: BTreeMap::new(),
        }
    }

    fn get(&mut self, broker: u64, vhost: &str) -> Option<Arc<ListedPolicies>> {
        let found = self.lists.get(&(broker, vhost.to_owned()))?;
        (found.at.elapsed() < CACHED).then(|| found.listed.clone())
    }

    /// Stores a list in place of expired ones, and of the oldest ones where there is no place.
    fn insert(&mut self, broker: u64, vhost: &str, listed: Arc<ListedPolicies>) {
        self.lists.retain(|_, found| found.at.elapsed() < CACHED);
        let key = (broker, vhost.to_owned());
        let cached = Cached {
            at: Instant::now(),
            bytes: size_of::<Cached>() + vhost.len() + listed.bytes(),
            listed,
        };
        self.lists.insert(key, cached);
        self.shrink(|found| found == broker, OF_BROKER_MAX);
        self.shrink(|_| true, CACHE_MAX);
    }

    /// Removes the oldest lists of some brokers, as long as these have more than `max` bytes.
    fn shrink(&mut self, is_concerned: impl Fn(u64) -> bool, max: usize) {
        let of_them = |lists: &BTreeMap<(u64, String), Cached>| {
            let lists = lists.iter();
            let lists = lists.filter(|((broker, _), _)| is_concerned(*broker));
            lists
                .map(|(key, cached)| (cached.at, cached.bytes, key.clone()))
                .collect::<Vec<_>>()
        };
        let mut lists = of_them(&self.lists);
        let mut bytes: usize = lists.iter().map(|(_, bytes, _)| bytes).sum();
        lists.sort();
        for (_, of_list, key) in lists {
            if bytes <= max {
                return;
            }
            self.lists.remove(&key);
            bytes -= of_list;
        }
    }

    fn forget(&mut self, broker: u64) {
        self.lists.retain(|(of, _), _| *of != broker);
    }
}

fn cache() -> MutexGuard<'static, Cache> {
    CACHE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Foreign policies of a broker. Clones share what is cached.
#[derive(Debug, Clone)]
pub(super) struct ForeignPolicies(Arc<OfBroker>);

#[derive(Debug)]
struct OfBroker {
    /// Number of the broker in the cache.
    number: u64,
    /// Held while a list is read: others wait for it.
    reading: tokio::sync::Mutex<()>,
}

impl Default for ForeignPolicies {
    fn default() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        Self(Arc::new(OfBroker {
            number: COUNT.fetch_add(1, Ordering::Relaxed),
            reading: tokio::sync::Mutex::default(),
        }))
    }
}

impl Drop for OfBroker {
    fn drop(&mut self) {
        cache().forget(self.number);
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
        Ok(listed.none_can_match(queue, shared).await)
    }

    /// The first foreign policy that matches a queue, in the order of their names.
    pub(super) async fn first_match(
        &self,
        api: &Api,
        vhost: &str,
        queue: &str,
    ) -> Result<Option<String>, TransportError> {
        let listed = self.list(api, vhost).await?;
        let matches = listed.clone().matches(queue).await;
        let matching = listed.policies.iter().zip(matches);
        let matching = matching.filter(|(_, matches)| *matches == Some(true));
        Ok(matching.map(|(policy, _)| policy.name.clone()).min())
    }

    /// Foreign policies of a virtual host. Concurrent callers share one list.
    async fn list(&self, api: &Api, vhost: &str) -> Result<Arc<ListedPolicies>, TransportError> {
        let _reading = self.0.reading.lock().await;
        if let Some(found) = cache().get(self.0.number, vhost) {
            return Ok(found);
        }
        let mut listed = ListedPolicies::default();
        let visit = |policy: Listed| listed.add(policy);
        api.visit_list(&["policies", vhost], visit).await?;
        let listed = Arc::new(listed);
        cache().insert(self.0.number, vhost, listed.clone());
        Ok(listed)
    }
}

#[cfg(test)]
mod tests;
