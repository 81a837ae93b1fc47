//! A limit on the rate of calls, shared by all queues of one account or broker.

use std::sync::Mutex;
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use tokio::time::Instant;

/// Lets `burst` calls through at once, and after that one per `interval`.
#[derive(Debug)]
pub struct RateLimit {
    interval: Duration,
    burst: u32,
    /// When the budget would be whole again, if nobody called until then.
    whole_at: Mutex<Option<Instant>>,
    calls: Counter,
}

impl RateLimit {
    /// A limit of `per_second` calls, with ten seconds' worth of them at once.
    pub fn per_second(per_second: u32) -> Self {
        let per_second = per_second.max(1);
        Self {
            interval: Duration::from_secs(1) / per_second,
            burst: per_second.saturating_mul(10),
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
        let mut whole_at = self
            .whole_at
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let next = whole_at.map_or(now, |whole_at| whole_at.max(now)) + self.interval;
        *whole_at = Some(next);
        next.saturating_duration_since(now + self.interval * self.burst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_and_then_one_call_per_interval() {
        let limit = RateLimit::per_second(2);
        let now = Instant::now();
        let waits: Vec<u128> = (0..23).map(|_| limit.reserve(now).as_millis()).collect();
        assert!(waits[..20].iter().all(|wait| *wait == 0), "{waits:?}");
        assert_eq!(waits[20..], [500, 1000, 1500]);
        let later = now + Duration::from_mins(1);
        assert!(limit.reserve(later).is_zero(), "the budget comes back");
    }
}
