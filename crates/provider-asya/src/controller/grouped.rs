//! Objects of one kind as they are seen, by what they belong to.

use std::collections::{BTreeMap, BTreeSet};

use kube::runtime::watcher::Event;

/// What an object belongs to: a namespace, and a name in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) namespace: String,
    /// An actor, or a workload as `Kind/name`.
    pub(super) name: String,
}

/// An object, as far as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Kept<V> {
    pub(super) key: Key,
    /// Namespace and name of itself.
    pub(super) itself: (String, String),
    pub(super) view: V,
}

/// All objects of one kind, in groups.
#[derive(Debug)]
pub(super) struct Grouped<V> {
    groups: BTreeMap<Key, BTreeMap<String, V>>,
    /// The group of each object, by namespace and name.
    homes: BTreeMap<(String, String), Key>,
    /// While the kind is listed: the objects that were there before and have not come yet.
    unseen: BTreeSet<(String, String)>,
    is_complete: bool,
}

impl<V> Default for Grouped<V> {
    fn default() -> Self {
        Self {
            groups: BTreeMap::new(),
            homes: BTreeMap::new(),
            unseen: BTreeSet::new(),
            is_complete: false,
        }
    }
}

impl<V: PartialEq> Grouped<V> {
    /// Whether all objects were listed once.
    pub(super) fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// The objects of a group.
    pub(super) fn of(&self, key: &Key) -> impl Iterator<Item = &V> {
        self.groups.get(key).into_iter().flat_map(BTreeMap::values)
    }

    /// All objects, with their groups.
    pub(super) fn all(&self) -> impl Iterator<Item = (&Key, &V)> {
        let groups = self.groups.iter();
        groups.flat_map(|(key, group)| group.values().map(move |view| (key, view)))
    }

    /// The names of a group's objects.
    pub(super) fn names(&self, key: &Key) -> impl Iterator<Item = &String> {
        self.groups.get(key).into_iter().flat_map(BTreeMap::keys)
    }

    /// Takes an event in, and tells which groups it has changed.
    pub(super) fn take(&mut self, event: Event<Kept<V>>) -> BTreeSet<Key> {
        match event {
            Event::Apply(object) | Event::InitApply(object) => self.put(object),
            Event::Delete(object) => self.remove(&object.itself).into_iter().collect(),
            Event::Init => {
                self.unseen = self.homes.keys().cloned().collect();
                BTreeSet::new()
            }
            Event::InitDone => {
                self.is_complete = true;
                let gone = std::mem::take(&mut self.unseen);
                gone.iter().filter_map(|gone| self.remove(gone)).collect()
            }
        }
    }

    /// Forgets everything: the kind is no longer served, so nothing of it is there.
    pub(super) fn clear(&mut self) -> BTreeSet<Key> {
        let groups = std::mem::take(&mut self.groups);
        *self = Self {
            is_complete: true,
            ..Self::default()
        };
        groups.into_keys().collect()
    }

    fn put(&mut self, object: Kept<V>) -> BTreeSet<Key> {
        let Kept { key, itself, view } = object;
        self.unseen.remove(&itself);
        let mut changed = BTreeSet::new();
        if self.homes.get(&itself).is_some_and(|home| *home != key) {
            changed.extend(self.remove(&itself));
        }
        let group = self.groups.entry(key.clone()).or_default();
        if group.get(&itself.1) != Some(&view) {
            group.insert(itself.1.clone(), view);
            self.homes.insert(itself, key.clone());
            changed.insert(key);
        }
        changed
    }

    fn remove(&mut self, itself: &(String, String)) -> Option<Key> {
        let key = self.homes.remove(itself)?;
        if let Some(group) = self.groups.get_mut(&key) {
            group.remove(&itself.1);
            if group.is_empty() {
                self.groups.remove(&key);
            }
        }
        Some(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        Key {
            namespace: "team-a".to_owned(),
            name: name.to_owned(),
        }
    }

    fn kept(group: &str, name: &str, view: u8) -> Kept<u8> {
        Kept {
            key: key(group),
            itself: ("team-a".to_owned(), name.to_owned()),
            view,
        }
    }

    type Step<'a> = (&'a str, Event<Kept<u8>>, &'a [&'a str]);

    #[test]
    fn a_group_changes_when_one_of_its_objects_does() {
        let mut grouped = Grouped::default();
        let steps: [Step<'_>; 9] = [
            ("a list begins", Event::Init, &[]),
            ("an object", Event::InitApply(kept("one", "a", 1)), &["one"]),
            ("the list ends", Event::InitDone, &[]),
            ("nothing new", Event::Apply(kept("one", "a", 1)), &[]),
            ("another state", Event::Apply(kept("one", "a", 2)), &["one"]),
            ("a move", Event::Apply(kept("two", "a", 2)), &["one", "two"]),
            ("another list begins", Event::Init, &[]),
            (
                "with another object",
                Event::InitApply(kept("one", "b", 1)),
                &["one"],
            ),
            ("and ends without the first", Event::InitDone, &["two"]),
        ];
        for (reason, event, expected) in steps {
            let expected: BTreeSet<Key> = expected.iter().map(|name| key(name)).collect();
            assert_eq!(grouped.take(event), expected, "{reason}");
        }
        assert!(grouped.is_complete());
        assert_eq!(grouped.of(&key("one")).collect::<Vec<_>>(), [&1]);
        assert_eq!(grouped.of(&key("two")).count(), 0);
        let changed = grouped.take(Event::Delete(kept("one", "b", 1)));
        assert_eq!(changed, [key("one")].into());
        assert_eq!(grouped.names(&key("one")).count(), 0);
    }

    #[test]
    fn a_kind_that_is_no_longer_served_has_no_objects() {
        let mut grouped = Grouped::default();
        grouped.take(Event::Apply(kept("one", "a", 1)));
        assert!(!grouped.is_complete());
        assert_eq!(grouped.clear(), [key("one")].into());
        assert!(grouped.is_complete());
        assert_eq!(grouped.of(&key("one")).count(), 0);
    }
}
