//! Time that the calls of one reconcile take, so that a slow endpoint is noticed while it is called.
//!
//! Waits of the provider's own, for its rate limit or for memory, are not part of it.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

tokio::task_local! {
    static CURRENT: CallTimes;
}

/// Times of the calls of one reconcile, which are made one after another. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct CallTimes(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// Start of the call that runs.
    started: Option<Instant>,
    /// Time of the longest call that has ended.
    longest: Duration,
    /// True once a call has ended with an answer.
    is_answered: bool,
}

impl CallTimes {
    /// Does what calls, with its calls timed.
    pub async fn of<T>(&self, calls: impl Future<Output = T>) -> T {
        CURRENT.scope(self.clone(), calls).await
    }

    /// Time of the longest call, the one that runs included.
    pub fn longest(&self) -> Duration {
        let state = self.lock();
        let running = state.started.map(|started| started.elapsed());
        running.unwrap_or_default().max(state.longest)
    }

    /// Returns whether any call was answered.
    pub fn is_answered(&self) -> bool {
        self.lock().is_answered
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes a call, which is timed where the times of calls are of interest.
pub(super) async fn timed<T, E>(call: impl Future<Output = Result<T, E>>) -> Result<T, E> {
    let times = CURRENT.try_with(CallTimes::clone).ok();
    if let Some(times) = &times {
        times.lock().started = Some(Instant::now());
    }
    let answer = call.await;
    if let Some(times) = &times {
        let mut state = times.lock();
        if let Some(started) = state.started.take() {
            state.longest = state.longest.max(started.elapsed());
        }
        state.is_answered |= answer.is_ok();
    }
    answer
}

/// Waits in the middle of a call for something else than its answer.
pub(super) async fn paused<T>(wait: impl Future<Output = T>) -> T {
    let start = Instant::now();
    let done = wait.await;
    let shift = |times: &CallTimes| {
        if let Some(started) = &mut times.lock().started {
            *started += start.elapsed();
        }
    };
    // An error means that calls are not timed.
    CURRENT.try_with(shift).unwrap_or_default();
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(1);
    const LONG: Duration = Duration::from_millis(20);
    /// Wait of the provider's own.
    const OWN: Duration = Duration::from_millis(400);

    async fn sleep(time: Duration) -> Result<(), ()> {
        tokio::time::sleep(time).await;
        Ok(())
    }

    #[tokio::test]
    async fn the_longest_call_counts_without_own_waits() {
        let times = CallTimes::default();
        assert!(!times.is_answered());
        let calls = async {
            timed(sleep(SHORT)).await?;
            sleep(OWN).await?;
            timed(async {
                paused(sleep(OWN)).await?;
                sleep(LONG).await
            })
            .await
        };
        assert_eq!(times.of(calls).await, Ok(()));
        let longest = times.longest();
        assert!(longest >= LONG && longest < OWN, "{longest:?}");
        assert!(times.is_answered());
    }

    #[tokio::test]
    async fn a_call_that_runs_counts() {
        let times = CallTimes::default();
        let hanging = timed(std::future::pending::<Result<(), ()>>());
        let ended = tokio::time::timeout(LONG, times.of(hanging)).await;
        assert!(ended.is_err());
        assert!(times.longest() >= LONG && !times.is_answered());
    }
}
