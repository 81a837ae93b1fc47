//! Slots of reconciles by tenant: endpoints that hang cannot occupy the reconciles of others, and new objects come
//! before overdue polls.
//!
//! A namespace is one tenant with all its ProviderConfigs, however many it makes; a ClusterProviderConfig, which
//! an administrator makes, is one of its own. There are two pools. Configs whose calls are answered within
//! 2 s each share [`Slots::set_total`] slots. All others, whose endpoint has not been called yet, answers slowly or
//! does not answer, share four times as many, since waiting for an answer costs little; a quarter of these is for
//! configs that were never tried. Of either pool a namespace gets a quarter of the total, and a
//! ClusterProviderConfig a quarter, or three quarters if it answers. A config changes its pool with its calls
//! that run.
//!
//! A free slot is for the tenant that has the fewest. Of one tenant it is for the part that has the fewest, and else
//! for the one that waits the longest: parts are the configs of a namespace, and the namespaces of a
//! ClusterProviderConfig.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use super::{ConfigKey, Tenant};

/// Factor by which the pool of configs is larger whose endpoint does not answer in time.
const UNPROVEN_FACTOR: usize = 4;

/// Time of one call from which on its endpoint is slow. A creation makes some twenty calls.
pub const SLOW: Duration = Duration::from_secs(2);

/// Priority of a waiting reconcile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// The object is new, has changed, or is being deleted.
    Changed,
    /// A poll or a retry.
    Poll,
}

/// How the endpoint of a config answered when it was called last.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Answers {
    /// It was not called yet.
    #[default]
    Untried,
    /// Each call in time.
    InTime,
    /// Slowly.
    Slowly,
    /// Not at all.
    Never,
}

impl Answers {
    fn is_proven(self) -> bool {
        self == Self::InTime
    }
}

/// Slots of all configs. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Slots(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    total: usize,
    configs: BTreeMap<ConfigKey, Usage>,
    tenants: BTreeMap<Tenant, Parts>,
    /// Number of reconciles that ever waited, and of slots that were ever granted.
    count: u64,
    is_closed: bool,
}

#[derive(Debug, Default, Clone, Copy)]
struct Usage {
    running: usize,
    answers: Answers,
}

/// Parts of a tenant.
type Parts = BTreeMap<Part, OfPart>;

/// A config, and a namespace that uses it.
type Part = (ConfigKey, String);

#[derive(Debug, Default)]
struct OfPart {
    running: usize,
    /// Number of the last slot that was granted to it.
    granted: u64,
    /// Waiting reconciles, in the order in which they get slots.
    waiting: BTreeMap<(Priority, u64), oneshot::Sender<Slot>>,
}

/// Slots that are used.
#[derive(Debug, Default, Clone, Copy)]
struct Used {
    proven: usize,
    /// Not proven, but tried.
    tried: usize,
    untried: usize,
}

impl Used {
    fn add(&mut self, usage: Usage) {
        *match usage.answers {
            Answers::InTime => &mut self.proven,
            Answers::Untried => &mut self.untried,
            Answers::Slowly | Answers::Never => &mut self.tried,
        } += usage.running;
    }

    fn unproven(self) -> usize {
        self.tried + self.untried
    }
}

/// The slot of one reconcile; it is free again when this value is dropped.
#[derive(Debug)]
pub struct Slot {
    slots: Slots,
    part: Part,
    /// How the endpoint had answered when the slot was granted.
    answers: Answers,
    /// True if it counts as running.
    is_held: bool,
}

impl Slots {
    /// Sets the number of concurrent reconciles with configs that answer, at least 1.
    pub fn set_total(&self, total: usize) {
        self.lock().total = total.max(1);
    }

    /// Waits for a slot for a reconcile of an object in `namespace` with this config; none once
    /// [`Slots::close`] was called.
    pub async fn acquire(
        &self,
        config: &ConfigKey,
        namespace: &str,
        priority: Priority,
    ) -> Option<Slot> {
        let (sender, receiver) = oneshot::channel();
        {
            let mut state = self.lock();
            if state.is_closed {
                return None;
            }
            state.count += 1;
            let key = (priority, state.count);
            let parts = state.tenants.entry(config.tenant()).or_default();
            let part = (config.clone(), namespace.to_owned());
            parts.entry(part).or_default().waiting.insert(key, sender);
            self.grant(&mut state);
        }
        receiver.await.ok()
    }

    /// Gives no more slots: reconciles that wait end.
    pub fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        for part in state.tenants.values_mut().flat_map(BTreeMap::values_mut) {
            part.waiting.clear();
        }
    }

    /// Removes configs that no Queue uses.
    pub(super) fn retain(&self, is_used: impl Fn(&ConfigKey) -> bool) {
        let mut state = self.lock();
        state
            .configs
            .retain(|config, usage| usage.running > 0 || is_used(config));
        state.tenants.retain(|_, parts| {
            parts.retain(|(config, _), part| !part.is_idle() || is_used(config));
            !parts.is_empty()
        });
    }

    /// Gives free slots to waiting reconciles.
    fn grant(&self, state: &mut State) {
        while let Some((part, key)) = state.next() {
            state.count += 1;
            let granted = state.count;
            let parts = state.tenants.get_mut(&part.0.tenant());
            let Some(of_part) = parts.and_then(|parts| parts.get_mut(&part)) else {
                return;
            };
            let usage = state.configs.entry(part.0.clone()).or_default();
            let slot = Slot {
                slots: self.clone(),
                part,
                answers: usage.answers,
                is_held: true,
            };
            let sender = of_part.waiting.remove(&key);
            match sender.map(|sender| sender.send(slot)) {
                Some(Ok(())) => {
                    usage.running += 1;
                    of_part.running += 1;
                    of_part.granted = granted;
                }
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

impl OfPart {
    fn is_idle(&self) -> bool {
        self.running == 0 && self.waiting.is_empty()
    }
}

impl State {
    /// The reconcile that gets the next free slot.
    fn next(&self) -> Option<(Part, (Priority, u64))> {
        let mut used = Used::default();
        let mut by_tenant: BTreeMap<Tenant, Used> = BTreeMap::new();
        for (config, usage) in self.configs.iter().filter(|(_, usage)| usage.running > 0) {
            used.add(*usage);
            by_tenant.entry(config.tenant()).or_default().add(*usage);
        }
        let mut best = None;
        for (tenant, parts) in &self.tenants {
            let of_tenant = by_tenant.get(tenant).copied().unwrap_or_default();
            for (part, of_part) in parts {
                let Some((key, _)) = of_part.waiting.first_key_value() else {
                    continue;
                };
                let usage = self.configs.get(&part.0).copied().unwrap_or_default();
                if !self.is_free(usage.answers, tenant, of_tenant, used) {
                    continue;
                }
                let running = of_tenant.proven + of_tenant.unproven();
                let rank = (running, of_part.running, key.0, of_part.granted, key.1);
                if best.as_ref().is_none_or(|(least, _, _)| rank < *least) {
                    best = Some((rank, part, key));
                }
            }
        }
        best.map(|(_, part, key)| (part.clone(), *key))
    }

    fn is_free(&self, answers: Answers, tenant: &Tenant, of_tenant: Used, used: Used) -> bool {
        let total = self.total.max(1);
        let quarter = (total / 4).max(1);
        if answers.is_proven() {
            let share = match tenant {
                Tenant::Namespace(_) => quarter,
                Tenant::Config(_) => total - total / 4,
            };
            return of_tenant.proven < share && used.proven < total;
        }
        let pool = total * UNPROVEN_FACTOR;
        let has_place = match answers {
            Answers::Untried => true,
            _ => used.tried < pool - pool / 4,
        };
        of_tenant.unproven() < quarter && used.unproven() < pool && has_place
    }
}

impl Slot {
    /// How the endpoint of the config had answered before.
    pub fn answers(&self) -> Answers {
        self.answers
    }

    /// Records how the endpoint of the config answers.
    pub fn report(&self, answers: Answers) {
        let mut state = self.slots.lock();
        if let Some(usage) = state.configs.get_mut(&self.part.0)
            && usage.answers != answers
        {
            usage.answers = answers;
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
        if let Some(usage) = state.configs.get_mut(&self.part.0) {
            usage.running = usage.running.saturating_sub(1);
        }
        let parts = state.tenants.get_mut(&self.part.0.tenant());
        if let Some(part) = parts.and_then(|parts| parts.get_mut(&self.part)) {
            part.running = part.running.saturating_sub(1);
        }
        self.slots.grant(&mut state);
    }
}

#[cfg(test)]
mod tests;
