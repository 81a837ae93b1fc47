//! Actors whose EnvironmentConfigs have changed, and when each of them is annotated next.
//!
//! Pure: the time is a parameter.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use super::rights::KindKey;

/// Number of announcements of one change to an actor that still uses the former version: Crossplane's
/// cache may have been behind. An actor with a conflict never uses the new one.
const ATTEMPTS: u32 = 3;
/// Time until the second attempt; each further one takes four times as long.
const SECOND: Duration = Duration::from_secs(15);

/// Namespace and name of an ActorHealth.
pub(super) type Key = (String, String);

/// The composite resource of an actor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Composite {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) uid: String,
}

impl Composite {
    /// Its API version and kind.
    pub(super) fn kind_key(&self) -> KindKey {
        (self.api_version.clone(), self.kind.clone())
    }
}

/// One change to be announced to one actor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Announcement {
    pub(super) composite: Composite,
    /// Hash of the present versions of all EnvironmentConfigs of the actor.
    pub(super) versions: String,
    /// Completed attempts.
    pub(super) attempts: u32,
    /// Time of the next attempt; none after the last one.
    due: Option<Instant>,
}

impl Announcement {
    /// Value of the annotation: each attempt has another one, because Crossplane acts on changes only.
    pub(super) fn value(&self) -> String {
        match self.attempts {
            0 => self.versions.clone(),
            attempts => format!("{}-{}", self.versions, attempts + 1),
        }
    }
}

/// Next announcement.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// This, now.
    Now(Key, Announcement),
    /// The next announcement is due then.
    At(Instant),
    /// No announcement is pending.
    Never,
}

/// All changes that are not known to have reached their actors.
#[derive(Debug, Default)]
pub(super) struct Announcements(BTreeMap<Key, Announcement>);

impl Announcements {
    /// Adds a change. One that is announced already keeps its attempts.
    pub(super) fn add(&mut self, key: Key, composite: Composite, versions: String, now: Instant) {
        let known = self.0.get(&key);
        let is_known =
            known.is_some_and(|known| known.versions == versions && known.composite == composite);
        if !is_known {
            let announcement = Announcement {
                composite,
                versions,
                attempts: 0,
                due: Some(now),
            };
            self.0.insert(key, announcement);
        }
    }

    /// Removes an actor: it uses the present versions, or was deleted.
    pub(super) fn remove(&mut self, key: &Key) {
        self.0.remove(key);
    }

    /// Returns the announcement that is due, or the time at which the next one is.
    pub(super) fn next(&self, now: Instant) -> Next {
        let pending = self.0.iter();
        let pending = pending.filter_map(|(key, found)| Some((found.due?, key, found)));
        match pending.min_by_key(|(due, ..)| *due) {
            None => Next::Never,
            Some((due, key, found)) if due <= now => Next::Now(key.clone(), found.clone()),
            Some((due, ..)) => Next::At(due),
        }
    }

    /// Records an attempt.
    pub(super) fn sent(&mut self, key: &Key, now: Instant) {
        if let Some(found) = self.0.get_mut(key) {
            found.attempts += 1;
            found.due =
                (found.attempts < ATTEMPTS).then(|| now + SECOND * 4_u32.pow(found.attempts - 1));
        }
    }

    /// Postpones an attempt that the API server did not answer.
    pub(super) fn postpone(&mut self, key: &Key, until: Instant) {
        if let Some(found) = self.0.get_mut(key) {
            found.due = Some(until);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn composite(uid: &str) -> Composite {
        Composite {
            api_version: "asya.sh/v1alpha1".to_owned(),
            kind: "AsyncActor".to_owned(),
            name: "cart".to_owned(),
            uid: uid.to_owned(),
        }
    }

    fn key(name: &str) -> Key {
        ("shop".to_owned(), name.to_owned())
    }

    fn value(next: Next) -> Option<String> {
        match next {
            Next::Now(_, announcement) => Some(announcement.value()),
            _ => None,
        }
    }

    #[test]
    fn a_change_is_announced_three_times_at_most() {
        let (start, mut all) = (Instant::now(), Announcements::default());
        let add = |all: &mut Announcements, versions: &str| {
            all.add(key("cart"), composite("1"), versions.to_owned(), start);
        };
        add(&mut all, "v1");
        let mut found = Vec::new();
        for second in 0..1000 {
            let now = start + Duration::from_secs(second);
            if let Some(value) = value(all.next(now)) {
                found.push((second, value));
                all.sent(&key("cart"), now);
            }
            add(&mut all, "v1");
        }
        let values: Vec<_> = found
            .iter()
            .map(|(at, value)| (*at, value.as_str()))
            .collect();
        assert_eq!(values, [(0, "v1"), (15, "v1-2"), (75, "v1-3")]);
        assert_eq!(all.next(start + Duration::from_hours(1)), Next::Never);
        add(&mut all, "v2");
        assert_eq!(
            value(all.next(start)).as_deref(),
            Some("v2"),
            "another change"
        );
    }

    #[test]
    fn an_actor_that_uses_the_change_gets_no_second_announcement() {
        let (now, mut all) = (Instant::now(), Announcements::default());
        all.add(key("cart"), composite("1"), "v1".to_owned(), now);
        all.sent(&key("cart"), now);
        assert_eq!(all.next(now), Next::At(now + SECOND));
        all.remove(&key("cart"));
        assert_eq!(all.next(now + SECOND), Next::Never);
    }

    #[test]
    fn an_actor_that_was_created_again_is_another_one() {
        let (now, mut all) = (Instant::now(), Announcements::default());
        all.add(key("cart"), composite("1"), "v1".to_owned(), now);
        all.sent(&key("cart"), now);
        all.add(key("cart"), composite("2"), "v1".to_owned(), now);
        assert_eq!(value(all.next(now)).as_deref(), Some("v1"));
    }

    #[test]
    fn an_attempt_without_an_answer_is_repeated() {
        let (now, mut all) = (Instant::now(), Announcements::default());
        all.add(key("cart"), composite("1"), "v1".to_owned(), now);
        let later = now + Duration::from_secs(5);
        all.postpone(&key("cart"), later);
        assert_eq!(all.next(now), Next::At(later));
        assert_eq!(value(all.next(later)).as_deref(), Some("v1"));
    }
}
