//! Calls of one reconcile to its broker: the time that they have together, and how the endpoint answers.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

use crate::controller::connect::{Answers, SLOW, Slot};
use crate::timings::Timings;
use crate::transport::TransportError;
use crate::transport::call_times::CallTimes;

/// Interval at which it is checked whether a call that runs is slow.
const CHECKED: Duration = Duration::from_millis(250);

/// Calls of one reconcile, within its slot.
pub(super) struct Calls {
    slot: Option<Slot>,
    times: CallTimes,
    limit: Duration,
    deadline: Instant,
    is_called: AtomicBool,
    /// True if the last calls were not answered.
    is_unreachable: AtomicBool,
}

impl Calls {
    /// Calls that begin now. An endpoint that never answered gets less time.
    pub(super) fn new(slot: Slot, timings: &Timings) -> Self {
        let limit = match slot.answers() {
            Answers::InTime | Answers::Slowly => timings.external_calls,
            Answers::Untried | Answers::Never => timings.untried_calls,
        };
        Self {
            slot: Some(slot),
            times: CallTimes::default(),
            limit,
            deadline: Instant::now() + limit,
            is_called: AtomicBool::new(false),
            is_unreachable: AtomicBool::new(false),
        }
    }

    /// Makes calls within the time that is left. A slow one is reported while it runs.
    pub(super) async fn make<T>(
        &self,
        calls: impl Future<Output = Result<T, TransportError>>,
    ) -> Result<T, TransportError> {
        self.is_called.store(true, Ordering::Relaxed);
        let made = tokio::select! {
            made = timeout_at(self.deadline, self.times.of(calls)) => made,
            () = self.report_slow_calls() => std::future::pending().await,
        };
        let result = made.unwrap_or_else(|_| {
            Err(TransportError::Unreachable {
                endpoint: "the broker".to_owned(),
                cause: format!("not done within {} s", self.limit.as_secs()),
            })
        });
        let is_unreachable = matches!(result, Err(TransportError::Unreachable { .. }));
        self.is_unreachable.store(is_unreachable, Ordering::Relaxed);
        result
    }

    /// Never returns.
    async fn report_slow_calls(&self) {
        while self.times.longest() < SLOW {
            sleep(CHECKED).await;
        }
        self.report(Answers::Slowly);
        std::future::pending::<()>().await;
    }

    /// Gives the slot back, and reports how the endpoint answered.
    pub(super) fn end(&mut self) {
        if self.is_called.load(Ordering::Relaxed) {
            let is_unreachable = self.is_unreachable.load(Ordering::Relaxed);
            self.report(match (is_unreachable, self.times.is_answered()) {
                (true, false) => Answers::Never,
                (true, true) => Answers::Slowly,
                (false, _) if self.times.longest() >= SLOW => Answers::Slowly,
                (false, _) => Answers::InTime,
            });
        }
        self.slot = None;
    }

    fn report(&self, answers: Answers) {
        if let Some(slot) = &self.slot {
            slot.report(answers);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::connect::{ConfigKey, Priority, Slots};
    use crate::kinds::Queue;

    fn config() -> ConfigKey {
        let queue: Queue = serde_json::from_value(serde_json::json!({
            "metadata": {"name": "cart", "namespace": "shop"},
            "spec": {"forProvider": {}, "providerConfigRef": {"kind": "ProviderConfig", "name": "main"}},
        }))
        .unwrap();
        ConfigKey::of(&queue)
    }

    /// How the endpoint answers after calls, by the next slot.
    async fn answers_after(
        timings: &Timings,
        calls: impl Future<Output = Result<(), TransportError>>,
    ) -> Answers {
        let (slots, config) = (Slots::default(), config());
        slots.set_total(1);
        let slot = slots.acquire(&config, "shop", Priority::Poll).await;
        let mut made = Calls::new(slot.unwrap(), timings);
        drop(made.make(calls).await);
        made.end();
        let next = slots.acquire(&config, "shop", Priority::Poll).await;
        next.unwrap().answers()
    }

    #[tokio::test]
    async fn an_endpoint_is_known_by_its_answers() {
        let timings = Timings {
            untried_calls: Duration::from_millis(50),
            ..Timings::default()
        };
        let refused = async {
            Err(TransportError::Unreachable {
                endpoint: "broker".to_owned(),
                cause: "refused".to_owned(),
            })
        };
        assert_eq!(answers_after(&timings, refused).await, Answers::Never);
        let hangs = std::future::pending();
        assert_eq!(answers_after(&timings, hangs).await, Answers::Never);
        assert_eq!(
            answers_after(&timings, async { Ok(()) }).await,
            Answers::InTime
        );
        let denied = async { Err(TransportError::Invalid("denied".to_owned())) };
        assert_eq!(answers_after(&timings, denied).await, Answers::InTime);
    }

    #[tokio::test]
    async fn all_calls_of_a_reconcile_share_one_deadline() {
        let timings = Timings {
            untried_calls: Duration::from_millis(60),
            ..Timings::default()
        };
        let slots = Slots::default();
        slots.set_total(1);
        let slot = slots.acquire(&config(), "shop", Priority::Poll).await;
        let calls = Calls::new(slot.unwrap(), &timings);
        let start = Instant::now();
        for _ in 0..10 {
            drop(calls.make(std::future::pending::<Result<(), _>>()).await);
        }
        assert!(start.elapsed() < Duration::from_millis(300));
    }
}
