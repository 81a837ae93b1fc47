//! Signs of life of the controllers, by which `/healthz` finds those that are stuck.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior};

/// Limits after which a controller counts as stuck.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Interval of the beats of a controller.
    pub interval: Duration,
    /// Time without a beat after which a controller is stuck.
    pub silence: Duration,
    /// Time after which a reconcile is stuck: longer than all its calls may take together.
    pub reconcile: Duration,
}

/// Beats of the controllers, and their running reconciles. Clones share them.
#[derive(Debug, Clone)]
pub struct Heartbeat {
    limits: Limits,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// The last beat of each running controller.
    beats: BTreeMap<&'static str, Instant>,
    /// Controller and start of each running reconcile.
    reconciles: BTreeMap<u64, (&'static str, Instant)>,
    count: u64,
}

/// A running reconcile.
#[derive(Debug)]
pub struct Running {
    heartbeat: Heartbeat,
    number: u64,
}

impl Heartbeat {
    /// A heartbeat without controllers.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            state: Arc::default(),
        }
    }

    /// Runs a controller, which beats from the same task: while it does not return from a call, there
    /// is no beat.
    pub async fn watch<F: Future>(&self, controller: &'static str, run: F) -> F::Output {
        let mut run = pin!(run);
        self.beat(controller);
        let mut ticks = tokio::time::interval(self.limits.interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                output = &mut run => {
                    self.lock().beats.remove(controller);
                    return output;
                }
                _ = ticks.tick() => self.beat(controller),
            }
        }
    }

    fn beat(&self, controller: &'static str) {
        self.lock().beats.insert(controller, Instant::now());
    }

    /// Records that a reconcile runs until the value is dropped.
    pub fn begin(&self, controller: &'static str) -> Running {
        let mut state = self.lock();
        state.count += 1;
        let number = state.count;
        state
            .reconciles
            .insert(number, (controller, Instant::now()));
        drop(state);
        Running {
            heartbeat: self.clone(),
            number,
        }
    }

    /// Returns which controller is stuck, as a message; none if all work.
    pub fn problem(&self) -> Option<String> {
        self.problem_at(Instant::now())
    }

    fn problem_at(&self, now: Instant) -> Option<String> {
        let state = self.lock();
        let since = |at: &Instant| now.saturating_duration_since(*at);
        let silent = state
            .beats
            .iter()
            .find(|(_, at)| since(at) > self.limits.silence);
        if let Some((controller, at)) = silent {
            let seconds = since(at).as_secs();
            return Some(format!(
                "the controller {controller} has not run for {seconds} s"
            ));
        }
        let mut reconciles = state.reconciles.values();
        let (controller, at) = reconciles.find(|(_, at)| since(at) > self.limits.reconcile)?;
        let seconds = since(at).as_secs();
        Some(format!(
            "a reconcile of the controller {controller} has not ended for {seconds} s"
        ))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.heartbeat.lock().reconciles.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    const LIMITS: Limits = Limits {
        interval: Duration::from_secs(5),
        silence: Duration::from_mins(1),
        reconcile: Duration::from_mins(15),
    };

    fn in_seconds(seconds: u64) -> Instant {
        Instant::now() + Duration::from_secs(seconds)
    }

    #[tokio::test]
    async fn a_controller_that_does_not_run_is_a_problem() {
        let heartbeat = Heartbeat::new(LIMITS);
        assert_eq!(heartbeat.problem_at(in_seconds(1000)), None, "none runs");
        let mut controller = Box::pin(heartbeat.watch("queue", std::future::pending::<()>()));
        assert!((&mut controller).now_or_never().is_none());
        assert_eq!(heartbeat.problem_at(in_seconds(30)), None);
        let problem = heartbeat.problem_at(in_seconds(100)).unwrap_or_default();
        assert!(
            problem.starts_with("the controller queue has not run for"),
            "{problem}"
        );
    }

    #[tokio::test]
    async fn a_controller_that_has_ended_is_none() {
        let heartbeat = Heartbeat::new(LIMITS);
        heartbeat.watch("queue", std::future::ready(())).await;
        assert_eq!(heartbeat.problem_at(in_seconds(100)), None);
    }

    #[test]
    fn a_reconcile_that_does_not_end_is_a_problem() {
        let heartbeat = Heartbeat::new(LIMITS);
        let running = heartbeat.begin("actorhealth");
        assert_eq!(heartbeat.problem_at(in_seconds(800)), None);
        let problem = heartbeat.problem_at(in_seconds(1000)).unwrap_or_default();
        assert!(
            problem.contains("of the controller actorhealth has not ended"),
            "{problem}"
        );
        drop(running);
        assert_eq!(heartbeat.problem_at(in_seconds(1000)), None);
    }
}
