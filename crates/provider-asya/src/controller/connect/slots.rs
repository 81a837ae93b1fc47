//! Slots of reconciles by ProviderConfig: endpoints that hang cannot occupy the reconciles of others,
//! and new objects come before overdue polls.
//!
//! There are two pools. Configs whose last calls were answered within 5 s share [`Slots::set_total`]
//! slots, of which one config may use three quarters. All others, whose endpoint has not answered yet, answers
//! slowly or no longer answers, share four times as many, since waiting for an answer costs little, and
//! each of them gets a quarter of the total. A config changes its pool with its calls that run.
//!
//! A free slot is for the config that has the fewest, so that configs with many objects do not delay others.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use super::ConfigKey;

/// Factor by which the pool of configs is larger whose endpoint does not answer.
const UNPROVEN_FACTOR: usize = 4;

/// Time of the calls of one step, such as an observation, from which on their endpoint is slow. A
/// creation makes some twenty calls.
const SLOW: Duration = Duration::from_secs(5);

/// Priority of a waiting reconcile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// The object is new, has changed, or is being deleted.
    Changed,
    /// A poll or a retry.
    Poll,
}

/// Slots of all configs. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Slots(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    total: usize,
    configs: BTreeMap<ConfigKey, Usage>,
    /// Waiting reconciles of each config, in the order in which they get slots.
    waiting: BTreeMap<ConfigKey, BTreeMap<(Priority, u64), oneshot::Sender<Slot>>>,
    /// Number of reconciles that ever waited.
    count: u64,
    is_closed: bool,
}

#[derive(Debug, Default, Clone, Copy)]
struct Usage {
    running: usize,
    /// True if the last calls were answered in time.
    is_proven: bool,
}

/// The slot of one reconcile; it is free again when this value is dropped.
#[derive(Debug)]
pub struct Slot {
    slots: Slots,
    config: ConfigKey,
    /// True if it counts as running.
    is_held: bool,
}

impl Slots {
    /// Sets the number of concurrent reconciles with configs that answer, at least 1.
    pub fn set_total(&self, total: usize) {
        self.lock().total = total.max(1);
    }

    /// Waits for a slot for a reconcile with this config; none once [`Slots::close`] was called.
    pub async fn acquire(&self, config: &ConfigKey, priority: Priority) -> Option<Slot> {
        let (sender, receiver) = oneshot::channel();
        {
            let mut state = self.lock();
            if state.is_closed {
                return None;
            }
            state.count += 1;
            let key = (priority, state.count);
            let waiting = state.waiting.entry(config.clone()).or_default();
            waiting.insert(key, sender);
            self.grant(&mut state);
        }
        receiver.await.ok()
    }

    /// Gives no more slots: reconciles that wait end.
    pub fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        state.waiting.clear();
    }

    /// Removes configs that no Queue uses.
    pub(super) fn retain(&self, is_used: impl Fn(&ConfigKey) -> bool) {
        let configs = &mut self.lock().configs;
        configs.retain(|config, usage| usage.running > 0 || is_used(config));
    }

    /// Gives free slots to waiting reconciles.
    fn grant(&self, state: &mut State) {
        while let Some((config, key)) = state.next() {
            let Some(waiting) = state.waiting.get_mut(&config) else {
                return;
            };
            let sender = waiting.remove(&key);
            if waiting.is_empty() {
                state.waiting.remove(&config);
            }
            let slot = Slot {
                slots: self.clone(),
                config: config.clone(),
                is_held: true,
            };
            match sender.map(|sender| sender.send(slot)) {
                Some(Ok(())) => state.configs.entry(config).or_default().running += 1,
                // The reconcile has ended.
                Some(Err(mut unused)) => unused.is_held = false,
                None => return,
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The reconcile that gets the next free slot: one of the config that has the fewest.
    fn next(&self) -> Option<(ConfigKey, (Priority, u64))> {
        let running_with = |is_proven: bool| -> usize {
            let alike = self.configs.values();
            let alike = alike.filter(|usage| usage.is_proven == is_proven);
            alike.map(|usage| usage.running).sum()
        };
        let (proven, unproven) = (running_with(true), running_with(false));
        let total = self.total.max(1);
        let is_free = |usage: Usage| {
            if usage.is_proven {
                usage.running < total - total / 4 && proven < total
            } else {
                usage.running < (total / 4).max(1) && unproven < total * UNPROVEN_FACTOR
            }
        };
        let waiting = self.waiting.iter().filter_map(|(config, waiting)| {
            let usage = self.configs.get(config).copied().unwrap_or_default();
            let (key, _) = waiting.first_key_value()?;
            is_free(usage).then_some((usage.running, *key, config))
        });
        let (_, key, config) = waiting.min_by_key(|(running, key, _)| (*running, *key))?;
        Some((config.clone(), key))
    }
}

impl Slot {
    /// Records the time in which the endpoint of the config answered, [`Duration::MAX`] if it did not.
    pub fn report(&self, answered: Duration) {
        let answers = answered < SLOW;
        let mut state = self.slots.lock();
        if let Some(usage) = state.configs.get_mut(&self.config)
            && usage.is_proven != answers
        {
            usage.is_proven = answers;
            self.slots.grant(&mut state);
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if !self.is_held {
            return;
        }
        let mut state = self.slots.lock();
        if let Some(usage) = state.configs.get_mut(&self.config) {
            usage.running = usage.running.saturating_sub(1);
        }
        self.slots.grant(&mut state);
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    fn config(name: &str) -> ConfigKey {
        ConfigKey {
            kind: "ProviderConfig".to_owned(),
            namespace: Some("shop".to_owned()),
            name: name.to_owned(),
        }
    }

    fn slots() -> Slots {
        let slots = Slots::default();
        slots.set_total(10);
        slots
    }

    /// A slot that is free at once.
    fn try_acquire(slots: &Slots, name: &str) -> Option<Slot> {
        let config = config(name);
        let acquired = slots.acquire(&config, Priority::Poll);
        acquired.now_or_never().flatten()
    }

    fn prove(slots: &Slots, name: &str) {
        try_acquire(slots, name).unwrap().report(Duration::ZERO);
    }

    fn all_free(slots: &Slots, name: &str) -> Vec<Slot> {
        std::iter::from_fn(|| try_acquire(slots, name)).collect()
    }

    #[test]
    fn a_config_that_answers_leaves_a_quarter_of_the_slots() {
        let slots = slots();
        prove(&slots, "busy");
        prove(&slots, "other");
        let busy = all_free(&slots, "busy");
        assert_eq!(busy.len(), 8);
        assert_eq!(all_free(&slots, "other").len(), 2);
        drop(busy);
        assert!(try_acquire(&slots, "busy").is_some());
    }

    #[test]
    fn a_config_that_stops_to_answer_gives_its_slots_back_at_once() {
        let slots = slots();
        prove(&slots, "hangs");
        prove(&slots, "other");
        let hanging = all_free(&slots, "hangs");
        hanging[0].report(Duration::MAX);
        assert!(try_acquire(&slots, "hangs").is_none());
        assert_eq!(all_free(&slots, "other").len(), 8);
        drop(hanging);
        assert_eq!(all_free(&slots, "hangs").len(), 2, "a quarter of ten");
    }

    #[test]
    fn a_slow_endpoint_takes_no_slot_of_those_that_answer_in_time() {
        let slots = slots();
        for name in ["slow", "slower", "healthy"] {
            prove(&slots, name);
        }
        for name in ["slow", "slower"] {
            try_acquire(&slots, name).unwrap().report(SLOW);
            assert_eq!(all_free(&slots, name).len(), 2, "a quarter of ten");
        }
        let slow: Vec<Slot> = ["slow", "slower"]
            .into_iter()
            .flat_map(|name| all_free(&slots, name))
            .collect();
        assert_eq!(slow.len(), 4);
        assert_eq!(all_free(&slots, "healthy").len(), 8);
    }

    #[test]
    fn a_free_slot_is_for_the_config_that_has_the_fewest() {
        let slots = slots();
        for name in ["busy", "other", "new"] {
            prove(&slots, name);
        }
        let mut busy = all_free(&slots, "busy");
        let others = all_free(&slots, "other");
        assert_eq!((busy.len(), others.len()), (8, 2));
        let (first, last) = (config("busy"), config("new"));
        let mut waiting: Vec<_> = (0..20)
            .map(|_| Box::pin(slots.acquire(&first, Priority::Changed)))
            .collect();
        for waiting in &mut waiting {
            assert!(waiting.now_or_never().is_none());
        }
        let mut new = Box::pin(slots.acquire(&last, Priority::Poll));
        assert!((&mut new).now_or_never().is_none());
        busy.pop();
        assert!(new.now_or_never().flatten().is_some(), "before the others");
    }

    #[test]
    fn configs_that_never_answered_take_no_slot_of_those_that_do() {
        let slots = slots();
        prove(&slots, "healthy");
        let names: Vec<String> = (0..50).map(|index| format!("hanging-{index}")).collect();
        let hanging: Vec<Slot> = names
            .iter()
            .filter_map(|name| try_acquire(&slots, name))
            .collect();
        assert_eq!(hanging.len(), 40);
        assert_eq!(all_free(&slots, "healthy").len(), 8);
    }

    #[test]
    fn changed_objects_come_before_polls() {
        let slots = slots();
        let running = all_free(&slots, "broker");
        let poll = config("broker");
        let mut polls: Vec<_> = (0..20)
            .map(|_| Box::pin(slots.acquire(&poll, Priority::Poll)))
            .collect();
        for waiting in &mut polls {
            assert!(waiting.now_or_never().is_none());
        }
        let mut new = Box::pin(slots.acquire(&poll, Priority::Changed));
        assert!((&mut new).now_or_never().is_none());
        drop(running.into_iter().next());
        assert!(new.now_or_never().flatten().is_some(), "before the polls");
    }

    #[test]
    fn reconciles_that_ended_while_they_waited_take_no_slot() {
        let slots = slots();
        let running = all_free(&slots, "broker");
        let broker = config("broker");
        let mut waiting = Box::pin(slots.acquire(&broker, Priority::Poll));
        assert!((&mut waiting).now_or_never().is_none());
        drop(waiting);
        let count = running.len();
        drop(running);
        assert_eq!(all_free(&slots, "broker").len(), count);
    }

    #[test]
    fn closed_slots_end_what_waits() {
        let slots = slots();
        let _running = all_free(&slots, "broker");
        let broker = config("broker");
        let mut waiting = Box::pin(slots.acquire(&broker, Priority::Poll));
        assert!((&mut waiting).now_or_never().is_none());
        slots.close();
        assert!(waiting.now_or_never().unwrap().is_none());
        assert!(try_acquire(&slots, "broker").is_none());
    }
}
