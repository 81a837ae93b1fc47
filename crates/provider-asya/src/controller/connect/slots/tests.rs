//! Who gets a slot.

use std::pin::Pin;

use futures::FutureExt as _;

use super::*;

/// The ProviderConfig of a namespace.
fn config_in(namespace: &str, name: &str) -> ConfigKey {
    ConfigKey {
        kind: "ProviderConfig".to_owned(),
        namespace: Some(namespace.to_owned()),
        name: name.to_owned(),
    }
}

/// A ClusterProviderConfig.
fn cluster(name: &str) -> ConfigKey {
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

/// A slot that is free at once.
fn try_acquire(slots: &Slots, config: &ConfigKey) -> Option<Slot> {
    let namespace = config.namespace.as_deref().unwrap_or("shop");
    let acquired = slots.acquire(config, namespace, Priority::Poll);
    acquired.now_or_never().flatten()
}

fn prove(slots: &Slots, config: &ConfigKey) {
    let slot = try_acquire(slots, config).unwrap();
    slot.report(Answers::InTime);
}

fn all_free(slots: &Slots, config: &ConfigKey) -> Vec<Slot> {
    std::iter::from_fn(|| try_acquire(slots, config)).collect()
}

type Waiting<'a> = Pin<Box<dyn Future<Output = Option<Slot>> + 'a>>;

/// Reconciles that wait for a slot.
fn wait<'a>(
    slots: &'a Slots,
    config: &'a ConfigKey,
    namespace: &'a str,
    priority: Priority,
    count: usize,
) -> Vec<Waiting<'a>> {
    let mut all = Vec::new();
    for _ in 0..count {
        let mut waiting: Waiting = Box::pin(slots.acquire(config, namespace, priority));
        assert!((&mut waiting).now_or_never().is_none());
        all.push(waiting);
    }
    all
}

/// Slots that were granted, which wait no longer.
fn take_granted(waiting: &mut Vec<Waiting>) -> Vec<Slot> {
    let mut granted = Vec::new();
    waiting.retain_mut(|waiting| match waiting.now_or_never() {
        Some(slot) => {
            granted.extend(slot);
            false
        }
        None => true,
    });
    granted
}

#[test]
fn a_config_that_answers_leaves_a_quarter_of_the_slots() {
    let (slots, busy, other) = (slots(), cluster("busy"), cluster("other"));
    prove(&slots, &busy);
    prove(&slots, &other);
    let running = all_free(&slots, &busy);
    assert_eq!(running.len(), 8);
    assert_eq!(all_free(&slots, &other).len(), 2);
    drop(running);
    assert!(try_acquire(&slots, &busy).is_some());
}

#[test]
fn all_configs_of_a_namespace_together_get_a_quarter_of_either_pool() {
    let (slots, other) = (slots(), config_in("other", "broker"));
    let configs: Vec<ConfigKey> = (0..60)
        .map(|index| config_in("hostile", &index.to_string()))
        .collect();
    let untried: Vec<Slot> = configs
        .iter()
        .flat_map(|config| all_free(&slots, config))
        .collect();
    assert_eq!(untried.len(), 2);
    drop(untried);
    for config in &configs[..30] {
        prove(&slots, config);
    }
    let running: Vec<Slot> = configs
        .iter()
        .flat_map(|config| all_free(&slots, config))
        .collect();
    assert_eq!(running.len(), 4, "two of each pool");
    assert_eq!(all_free(&slots, &other).len(), 2);
}

#[test]
fn a_config_that_stops_to_answer_gives_its_slots_back_at_once() {
    let (slots, hangs, other) = (slots(), cluster("hangs"), cluster("other"));
    prove(&slots, &hangs);
    prove(&slots, &other);
    let hanging = all_free(&slots, &hangs);
    hanging[0].report(Answers::Never);
    assert!(try_acquire(&slots, &hangs).is_none());
    assert_eq!(all_free(&slots, &other).len(), 8);
    drop(hanging);
    assert_eq!(all_free(&slots, &hangs).len(), 2, "a quarter of ten");
}

#[test]
fn a_slow_endpoint_takes_no_slot_of_those_that_answer_in_time() {
    let (slots, healthy) = (slots(), cluster("healthy"));
    let slow = [cluster("slow"), cluster("slower")];
    for config in slow.iter().chain([&healthy]) {
        prove(&slots, config);
    }
    for config in &slow {
        try_acquire(&slots, config).unwrap().report(Answers::Slowly);
    }
    let running: Vec<Slot> = slow
        .iter()
        .flat_map(|config| all_free(&slots, config))
        .collect();
    assert_eq!(running.len(), 4);
    assert_eq!(running[0].answers(), Answers::Slowly);
    assert_eq!(all_free(&slots, &healthy).len(), 8);
}

#[test]
fn a_quarter_of_the_unproven_pool_is_for_configs_that_were_never_tried() {
    let slots = slots();
    let tenants: Vec<ConfigKey> = (0..50)
        .map(|index| config_in(&format!("hangs-{index}"), "broker"))
        .collect();
    for config in &tenants {
        try_acquire(&slots, config).unwrap().report(Answers::Never);
    }
    let hanging: Vec<Slot> = tenants
        .iter()
        .flat_map(|config| all_free(&slots, config))
        .collect();
    assert_eq!(hanging.len(), 30);
    let new: Vec<Slot> = (0..20)
        .filter_map(|index| try_acquire(&slots, &config_in(&format!("new-{index}"), "broker")))
        .collect();
    assert_eq!(new.len(), 10);
}

#[test]
fn a_free_slot_is_for_the_tenant_that_has_the_fewest() {
    let slots = slots();
    let [busy, other, new] = ["busy", "other", "new"].map(cluster);
    for config in [&busy, &other, &new] {
        prove(&slots, config);
    }
    let mut running = all_free(&slots, &busy);
    let others = all_free(&slots, &other);
    assert_eq!((running.len(), others.len()), (8, 2));
    let _waiting = wait(&slots, &busy, "shop", Priority::Changed, 20);
    let mut last = wait(&slots, &new, "shop", Priority::Poll, 1);
    running.pop();
    assert_eq!(take_granted(&mut last).len(), 1, "before the others");
}

#[test]
fn namespaces_of_a_shared_config_take_turns() {
    let (slots, shared) = (slots(), cluster("shared"));
    prove(&slots, &shared);
    let mut running = all_free(&slots, &shared);
    let mut first = wait(&slots, &shared, "a", Priority::Changed, 1000);
    let mut second = wait(&slots, &shared, "b", Priority::Changed, 3);
    let mut polls = wait(&slots, &shared, "c", Priority::Poll, 1);
    let mut granted = Vec::new();
    for _ in 0..4 {
        running.pop();
        for waiting in [&mut first, &mut second, &mut polls] {
            granted.extend(take_granted(waiting));
        }
    }
    let namespaces: Vec<&str> = granted.iter().map(|slot| slot.part.1.as_str()).collect();
    assert_eq!(namespaces, ["a", "b", "c", "a"]);
}

#[test]
fn configs_that_never_answered_take_no_slot_of_those_that_do() {
    let (slots, healthy) = (slots(), cluster("healthy"));
    prove(&slots, &healthy);
    let hanging: Vec<Slot> = (0..50)
        .filter_map(|index| try_acquire(&slots, &config_in(&index.to_string(), "broker")))
        .collect();
    assert_eq!(hanging.len(), 40);
    assert_eq!(all_free(&slots, &healthy).len(), 8);
}

#[test]
fn changed_objects_come_before_polls() {
    let (slots, broker) = (slots(), cluster("broker"));
    let running = all_free(&slots, &broker);
    let _polls = wait(&slots, &broker, "shop", Priority::Poll, 20);
    let mut new = wait(&slots, &broker, "shop", Priority::Changed, 1);
    drop(running.into_iter().next());
    assert_eq!(take_granted(&mut new).len(), 1, "before the polls");
}

#[test]
fn reconciles_that_ended_while_they_waited_take_no_slot() {
    let (slots, broker) = (slots(), cluster("broker"));
    let running = all_free(&slots, &broker);
    drop(wait(&slots, &broker, "shop", Priority::Poll, 1));
    let count = running.len();
    drop(running);
    assert_eq!(all_free(&slots, &broker).len(), count);
}

#[test]
fn state_of_unused_configs_is_removed() {
    let (slots, used, unused) = (slots(), cluster("used"), cluster("unused"));
    for config in [&used, &unused] {
        prove(&slots, config);
    }
    slots.retain(|config| *config == used);
    let state = slots.lock();
    assert_eq!(state.configs.keys().collect::<Vec<_>>(), [&used]);
    assert_eq!(state.tenants.len(), 1);
}

#[test]
fn closed_slots_end_what_waits() {
    let (slots, broker) = (slots(), cluster("broker"));
    let _running = all_free(&slots, &broker);
    let mut waiting = wait(&slots, &broker, "shop", Priority::Poll, 1);
    slots.close();
    assert!((&mut waiting[0]).now_or_never().unwrap().is_none());
    assert!(try_acquire(&slots, &broker).is_none());
}
