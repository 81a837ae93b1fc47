//! Slots of reconciles by ProviderConfig: a config whose endpoint hangs cannot occupy all reconciles.
//!
//! A config may use all slots but a reserve for others. Once one of its calls got no answer, it gets
//! a quarter of the slots until a call is answered, which its objects get in the order in which they
//! came, and all such configs together get half of the slots.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::ConfigKey;

/// Retry interval of a reconcile that waits for a slot.
pub const RETRY: Duration = Duration::from_millis(500);

/// Slots of all configs.
#[derive(Debug)]
pub struct Slots {
    total: AtomicUsize,
    configs: Mutex<BTreeMap<ConfigKey, Usage>>,
}

#[derive(Debug, Default)]
struct Usage {
    running: usize,
    is_unreachable: bool,
    /// Objects that wait while the config is unreachable, by uid: since when, and when they asked last.
    waiting: BTreeMap<String, (Instant, Instant)>,
}

/// The slot of one reconcile; it is free again when this value is dropped.
pub struct Slot<'a> {
    slots: &'a Slots,
    config: ConfigKey,
}

impl Default for Slots {
    fn default() -> Self {
        Self {
            total: AtomicUsize::new(1),
            configs: Mutex::default(),
        }
    }
}

impl Slots {
    /// Sets the number of concurrent reconciles, at least 1.
    pub fn set_total(&self, total: usize) {
        self.total.store(total.max(1), Ordering::Relaxed);
    }

    /// A slot for a reconcile of the object `uid` with this config; none while it has to wait and ask
    /// again after [`RETRY`].
    pub fn acquire(&self, config: &ConfigKey, uid: &str) -> Option<Slot<'_>> {
        let total = self.total.load(Ordering::Relaxed);
        let mut configs = self.lock();
        let unreachable = configs.values().filter(|usage| usage.is_unreachable);
        let running_unreachable: usize = unreachable.map(|usage| usage.running).sum();
        let usage = configs.entry(config.clone()).or_default();
        let is_free = if usage.is_unreachable {
            usage.is_first(uid)
                && usage.running < (total / 4).max(1)
                && running_unreachable < (total / 2).max(1)
        } else {
            usage.running < (total - total.div_ceil(4)).max(1)
        };
        if !is_free {
            return None;
        }
        usage.waiting.remove(uid);
        usage.running += 1;
        Some(Slot {
            slots: self,
            config: config.clone(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ConfigKey, Usage>> {
        self.configs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Usage {
    /// Whether no other object waits for longer. Objects that no longer ask do not count.
    fn is_first(&mut self, uid: &str) -> bool {
        let now = Instant::now();
        self.waiting
            .retain(|_, (_, asked)| now.duration_since(*asked) < 4 * RETRY);
        self.waiting
            .entry(uid.to_owned())
            .and_modify(|(_, asked)| *asked = now)
            .or_insert((now, now));
        let first = self.waiting.iter().min_by_key(|(_, (since, _))| *since);
        first.is_some_and(|(first, _)| first == uid)
    }
}

impl Slot<'_> {
    /// Records whether the endpoint of the config answers.
    pub fn report(&self, answers: bool) {
        let mut configs = self.slots.lock();
        if let Some(usage) = configs.get_mut(&self.config) {
            usage.is_unreachable = !answers;
            if answers {
                usage.waiting.clear();
            }
        }
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        let mut configs = self.slots.lock();
        if let Some(usage) = configs.get_mut(&self.config) {
            usage.running -= 1;
            if usage.running == 0 && !usage.is_unreachable {
                configs.remove(&self.config);
            }
        }
    }
}

impl Slots {
    /// Removes configs that no Queue uses.
    pub(super) fn retain(&self, is_used: impl Fn(&ConfigKey) -> bool) {
        self.lock()
            .retain(|config, usage| usage.running > 0 || is_used(config));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(name: &str) -> ConfigKey {
        ConfigKey {
            kind: "ClusterProviderConfig".to_owned(),
            namespace: None,
            name: name.to_owned(),
        }
    }

    fn slots() -> Slots {
        let slots = Slots::default();
        slots.set_total(10);
        slots
    }

    #[test]
    fn a_hanging_config_leaves_slots_to_others() {
        let slots = slots();
        let hanging: Vec<_> = (0..50)
            .filter_map(|index| slots.acquire(&config("hangs"), &format!("{index}")))
            .collect();
        assert_eq!(hanging.len(), 7, "three are reserved for others");
        assert!(slots.acquire(&config("healthy"), "a").is_some());
        hanging[0].report(false);
        drop(hanging);
        let one = slots.acquire(&config("hangs"), "a");
        let other = slots.acquire(&config("hangs"), "z");
        assert!(one.is_some() && other.is_some(), "a quarter of ten");
        assert!(slots.acquire(&config("hangs"), "b").is_none());
        assert!(slots.acquire(&config("hangs"), "c").is_none());
        drop((one, other));
        assert!(
            slots.acquire(&config("hangs"), "c").is_none(),
            "the other one came first"
        );
        let next = slots.acquire(&config("hangs"), "b");
        next.unwrap().report(true);
        let all: Vec<_> = (0..50)
            .filter_map(|index| slots.acquire(&config("hangs"), &format!("{index}")))
            .collect();
        assert_eq!(all.len(), 7, "it answers again");
    }

    #[test]
    fn many_hanging_configs_leave_half_of_the_slots() {
        let slots = slots();
        for index in 0..20 {
            let slot = slots.acquire(&config(&index.to_string()), "a").unwrap();
            slot.report(false);
        }
        let names: Vec<String> = (0..20).map(|index| index.to_string()).collect();
        let hanging: Vec<_> = names
            .iter()
            .filter_map(|name| slots.acquire(&config(name), "a"))
            .collect();
        assert_eq!(hanging.len(), 5);
        assert!(slots.acquire(&config("healthy"), "a").is_some());
    }
}
