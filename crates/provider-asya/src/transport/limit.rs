//! A limit on the rate of calls, shared by all queues of one account or broker.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use tokio::time::Instant;

/// How many calls there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Calls per second, at least 1.
    pub per_second: u32,
    /// Calls that are let through at once after a time of rest.
    pub burst: u32,
}

/// Lets a burst of calls through at once, and after that one per interval.
#[derive(Debug)]
pub struct RateLimit {
    interval: Duration,
    burst: u32,
    /// When the budget would be whole again, if nobody called until then.
    whole_at: Mutex<Option<Instant>>,
    calls: Counter,
}

impl RateLimit {
    /// A limit of that rate.
    pub fn of(rate: Rate) -> Self {
        Self {
            interval: Duration::from_secs(1) / rate.per_second.max(1),
            burst: rate.burst,
            whole_at: Mutex::new(None),
            calls: Counter::default(),
        }
    }

    /// This limit, with its turns counted by `calls`.
    #[must_use]
    pub fn counted_by(self, calls: Counter) -> Self {
        Self { calls, ..self }
    }

    /// Waits until it is this call's turn. Turns are given in the order of the calls.
    pub async fn turn(&self) {
        self.calls.inc();
        let wait = self.reserve(Instant::now());
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
    }

    fn reserve(&self, now: Instant) -> Duration {
        let mut whole_at = self.whole_at.lock().unwrap_or_else(PoisonError::into_inner);
        let next = whole_at.map_or(now, |whole_at| whole_at.max(now)) + self.interval;
        *whole_at = Some(next);
        next.saturating_duration_since(now + self.interval * self.burst)
    }
}

/// The limits of all accounts, each the same one for whoever asks: configs that lead to one account
/// share it, and a client that is made anew begins with no new burst.
#[derive(Debug)]
pub struct Limits {
    rate: Rate,
    calls: Counter,
    by_account: Mutex<BTreeMap<String, Arc<RateLimit>>>,
}

impl Limits {
    /// Limits of that rate each, all counted by `calls`.
    pub fn of_each(rate: Rate, calls: Counter) -> Self {
        Self {
            rate,
            calls,
            by_account: Mutex::default(),
        }
    }

    /// The limit of this account.
    pub fn of(&self, account: &str) -> Arc<RateLimit> {
        let mut known = self
            .by_account
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(limit) = known.get(account) {
            return limit.clone();
        }
        let limit = RateLimit::of(self.rate).counted_by(self.calls.clone());
        let limit = Arc::new(limit);
        known.insert(account.to_owned(), limit.clone());
        limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_calls_an_account_shares_its_limit() {
        let rate = Rate {
            per_second: 1,
            burst: 10,
        };
        let limits = Limits::of_each(rate, Counter::default());
        let now = Instant::now();
        let waits = |account| limits.of(account).reserve(now).as_secs();
        let first: Vec<u64> = (0..11).map(|_| waits("east")).collect();
        assert_eq!(first, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(waits("east"), 2, "asked for anew, it is no new one");
        assert_eq!(waits("west"), 0, "another account's is another");
    }

    #[test]
    fn a_burst_passes_and_then_one_call_per_interval() {
        let limit = RateLimit::of(Rate {
            per_second: 2,
            burst: 20,
        });
        let now = Instant::now();
        let waits: Vec<u128> = (0..23).map(|_| limit.reserve(now).as_millis()).collect();
        assert!(waits[..20].iter().all(|wait| *wait == 0), "{waits:?}");
        assert_eq!(waits[20..], [500, 1000, 1500]);
        let later = now + Duration::from_mins(1);
        assert!(limit.reserve(later).is_zero(), "the budget comes back");
    }
}
