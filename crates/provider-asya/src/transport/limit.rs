//! Rate limits of calls, shared by all queues of one account or broker.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use tokio::time::Instant;

/// A rate of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Calls per second, at least 1.
    pub per_second: u32,
    /// Calls that need not wait after a pause.
    pub burst: u32,
}

/// A token bucket: a burst of calls at once, then one per interval.
#[derive(Debug)]
pub struct RateLimit {
    interval: Duration,
    burst: u32,
    /// Time at which the bucket is full again without further calls.
    full_at: Mutex<Option<Instant>>,
    calls: Counter,
}

impl RateLimit {
    /// A limit of this rate.
    pub fn new(rate: Rate) -> Self {
        Self {
            interval: Duration::from_secs(1) / rate.per_second.max(1),
            burst: rate.burst,
            full_at: Mutex::new(None),
            calls: Counter::default(),
        }
    }

    /// This limit, with its calls counted by `calls`.
    #[must_use]
    pub fn counted_by(self, calls: Counter) -> Self {
        Self { calls, ..self }
    }

    /// Waits until this call may be made; calls are made in order of arrival.
    pub async fn acquire(&self) {
        self.calls.inc();
        let wait = self.reserve(Instant::now());
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
    }

    /// Returns whether no call was made for as long as it takes to fill the bucket.
    fn is_full(&self, now: Instant) -> bool {
        let full_at = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        full_at.is_none_or(|full_at| full_at <= now)
    }

    fn reserve(&self, now: Instant) -> Duration {
        let mut full_at = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        let next = full_at.map_or(now, |full_at| full_at.max(now)) + self.interval;
        *full_at = Some(next);
        next.saturating_duration_since(now + self.interval * self.burst)
    }
}

/// Rate limits by account. All ProviderConfigs of one account share its limit, and a new client gets
/// no new burst.
#[derive(Debug)]
pub struct Limits {
    rate: Rate,
    calls: Counter,
    by_account: Mutex<BTreeMap<String, Arc<RateLimit>>>,
}

impl Limits {
    /// Limits of this rate each, all counted by `calls`.
    pub fn new(rate: Rate, calls: Counter) -> Self {
        Self {
            rate,
            calls,
            by_account: Mutex::default(),
        }
    }

    /// Limit of an account.
    pub fn for_account(&self, account: &str) -> Arc<RateLimit> {
        let mut limits = self
            .by_account
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(limit) = limits.get(account) {
            return limit.clone();
        }
        // A bucket that is full is like a new one.
        let now = Instant::now();
        limits.retain(|_, limit| Arc::strong_count(limit) > 1 || !limit.is_full(now));
        let limit = RateLimit::new(self.rate).counted_by(self.calls.clone());
        let limit = Arc::new(limit);
        limits.insert(account.to_owned(), limit.clone());
        limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_of_an_account_share_its_limit() {
        let rate = Rate {
            per_second: 1,
            burst: 10,
        };
        let limits = Limits::new(rate, Counter::default());
        let now = Instant::now();
        let waits = |account| limits.for_account(account).reserve(now).as_secs();
        let first: Vec<u64> = (0..11).map(|_| waits("east")).collect();
        assert_eq!(first, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(waits("east"), 2, "the same limit each time");
        assert_eq!(waits("west"), 0, "another account has its own");
    }

    #[test]
    fn limits_of_accounts_without_calls_are_removed() {
        let rate = Rate {
            per_second: 1000,
            burst: 10,
        };
        let limits = Limits::new(rate, Counter::default());
        for account in 0..1000 {
            limits.for_account(&account.to_string());
        }
        assert_eq!(limits.by_account.lock().unwrap().len(), 1);
        let used = limits.for_account("used");
        for _ in 0..100_000 {
            used.reserve(Instant::now());
        }
        drop(used);
        limits.for_account("another");
        assert_eq!(limits.by_account.lock().unwrap().len(), 2, "calls wait");
    }

    #[test]
    fn after_a_burst_there_is_one_call_per_interval() {
        let limit = RateLimit::new(Rate {
            per_second: 2,
            burst: 20,
        });
        let now = Instant::now();
        let waits: Vec<u128> = (0..23).map(|_| limit.reserve(now).as_millis()).collect();
        assert!(waits[..20].iter().all(|wait| *wait == 0), "{waits:?}");
        assert_eq!(waits[20..], [500, 1000, 1500]);
        let later = now + Duration::from_mins(1);
        assert!(limit.reserve(later).is_zero(), "the bucket is full again");
    }
}
