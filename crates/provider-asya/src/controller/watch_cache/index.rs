//! An index of watched objects of one kind, by what they belong to.

use std::collections::{BTreeMap, BTreeSet};

use kube::runtime::watcher::Event;

/// Key of an index: a namespace, and the name of an actor or workload.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::controller) struct IndexKey {
    pub(in crate::controller) namespace: String,
    /// Name of an actor, or of a workload as `Kind/name`.
    pub(in crate::controller) name: String,
}

/// One indexed object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::controller) struct Entry<V> {
    pub(in crate::controller) key: IndexKey,
    /// Namespace and name of the object.
    pub(in crate::controller) object: (String, String),
    pub(in crate::controller) value: V,
}

/// All objects of one kind, by key.
#[derive(Debug)]
pub(in crate::controller) struct Index<V> {
    groups: BTreeMap<IndexKey, BTreeMap<String, V>>,
    /// Key of each object, by namespace and name.
    keys: BTreeMap<(String, String), IndexKey>,
    /// During a list: objects that were there before and are not listed yet.
    unlisted: BTreeSet<(String, String)>,
    is_complete: bool,
}

impl<V> Default for Index<V> {
    fn default() -> Self {
        Self {
            groups: BTreeMap::new(),
            keys: BTreeMap::new(),
            unlisted: BTreeSet::new(),
            is_complete: false,
        }
    }
}

impl<V: PartialEq> Index<V> {
    /// Returns whether the first list is complete.
    pub(in crate::controller) fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// The objects of a key.
    pub(in crate::controller) fn get(&self, key: &IndexKey) -> impl Iterator<Item = &V> {
        self.groups.get(key).into_iter().flat_map(BTreeMap::values)
    }

    /// All objects, with their keys.
    pub(in crate::controller) fn all(&self) -> impl Iterator<Item = (&IndexKey, &V)> {
        let groups = self.groups.iter();
        groups.flat_map(|(key, group)| group.values().map(move |value| (key, value)))
    }

    /// Namespace and name of every object.
    pub(in crate::controller) fn objects(&self) -> impl Iterator<Item = &(String, String)> {
        self.keys.keys()
    }

    /// The names of the objects of a key.
    pub(in crate::controller) fn names(&self, key: &IndexKey) -> impl Iterator<Item = &String> {
        self.groups.get(key).into_iter().flat_map(BTreeMap::keys)
    }

    /// Applies a watch event; the keys whose objects have changed.
    pub(in crate::controller) fn apply(&mut self, event: Event<Entry<V>>) -> BTreeSet<IndexKey> {
        match event {
            Event::Apply(object) | Event::InitApply(object) => self.put(object),
            Event::Delete(object) => self.remove(&object.object).into_iter().collect(),
            Event::Init => {
                self.unlisted = self.keys.keys().cloned().collect();
                BTreeSet::new()
            }
            Event::InitDone => {
                self.is_complete = true;
                let deleted = std::mem::take(&mut self.unlisted);
                deleted
                    .iter()
                    .filter_map(|deleted| self.remove(deleted))
                    .collect()
            }
        }
    }

    /// Removes everything, since the kind is no longer served; the keys whose objects have changed.
    pub(in crate::controller) fn clear(&mut self) -> BTreeSet<IndexKey> {
        let groups = std::mem::take(&mut self.groups);
        *self = Self {
            is_complete: true,
            ..Self::default()
        };
        groups.into_keys().collect()
    }

    fn put(&mut self, object: Entry<V>) -> BTreeSet<IndexKey> {
        let Entry { key, object, value } = object;
        self.unlisted.remove(&object);
        let mut changed = BTreeSet::new();
        if self.keys.get(&object).is_some_and(|old| *old != key) {
            changed.extend(self.remove(&object));
        }
        let group = self.groups.entry(key.clone()).or_default();
        if group.get(&object.1) != Some(&value) {
            group.insert(object.1.clone(), value);
            self.keys.insert(object, key.clone());
            changed.insert(key);
        }
        changed
    }

    fn remove(&mut self, object: &(String, String)) -> Option<IndexKey> {
        let key = self.keys.remove(object)?;
        if let Some(group) = self.groups.get_mut(&key) {
            group.remove(&object.1);
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

    fn key(name: &str) -> IndexKey {
        IndexKey {
            namespace: "team-a".to_owned(),
            name: name.to_owned(),
        }
    }

    fn entry(group: &str, name: &str, value: u8) -> Entry<u8> {
        Entry {
            key: key(group),
            object: ("team-a".to_owned(), name.to_owned()),
            value,
        }
    }

    type Step<'a> = (&'a str, Event<Entry<u8>>, &'a [&'a str]);

    #[test]
    fn a_key_changes_with_its_objects() {
        let mut index = Index::default();
        let steps: [Step<'_>; 9] = [
            ("a list begins", Event::Init, &[]),
            (
                "an object",
                Event::InitApply(entry("one", "a", 1)),
                &["one"],
            ),
            ("the list ends", Event::InitDone, &[]),
            ("unchanged", Event::Apply(entry("one", "a", 1)), &[]),
            (
                "another value",
                Event::Apply(entry("one", "a", 2)),
                &["one"],
            ),
            (
                "another key",
                Event::Apply(entry("two", "a", 2)),
                &["one", "two"],
            ),
            ("another list begins", Event::Init, &[]),
            (
                "with another object",
                Event::InitApply(entry("one", "b", 1)),
                &["one"],
            ),
            ("and ends without the first", Event::InitDone, &["two"]),
        ];
        for (reason, event, expected) in steps {
            let expected: BTreeSet<IndexKey> = expected.iter().map(|name| key(name)).collect();
            assert_eq!(index.apply(event), expected, "{reason}");
        }
        assert!(index.is_complete());
        assert_eq!(index.get(&key("one")).collect::<Vec<_>>(), [&1]);
        assert_eq!(index.get(&key("two")).count(), 0);
        let changed = index.apply(Event::Delete(entry("one", "b", 1)));
        assert_eq!(changed, [key("one")].into());
        assert_eq!(index.names(&key("one")).count(), 0);
    }

    #[test]
    fn clear_removes_all_objects_and_is_complete() {
        let mut index = Index::default();
        index.apply(Event::Apply(entry("one", "a", 1)));
        assert!(!index.is_complete());
        assert_eq!(index.clear(), [key("one")].into());
        assert!(index.is_complete());
        assert_eq!(index.get(&key("one")).count(), 0);
    }
}
