//! Rights of the provider to annotate composite resources, by their kind.
//!
//! `install/` grants it for AsyncActors. A composite resource of another kind, which a platform team
//! defined for the same functions, is left alone unless the provider is given the right.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kube::api::ApiResource;
use kube::core::GroupVersionKind;
use kube::discovery::{self, Scope};
use kube::{Client, Error};
use tokio::time::Instant;

use super::announcements::Composite;
use crate::access;

/// Time for which a right that exists is cached.
const GRANTED: Duration = Duration::from_mins(10);

/// Largest number of cached kinds. Whoever may write an ActorHealth chooses the kind of its owner.
const CACHED_MAX: usize = 64;

/// Largest number of kinds without the right that are asked about again at one time.
pub(super) const RECHECKED_MAX: usize = 16;

/// A kind of composite resource.
#[derive(Debug, Clone)]
pub(super) struct CompositeKind {
    /// API resource of its objects.
    pub(super) resource: ApiResource,
    /// True if they are in a namespace; those of claims are not.
    pub(super) is_namespaced: bool,
}

/// Kind of composite resource, or why its objects cannot be annotated.
type Known = Result<CompositeKind, String>;

/// API version and kind of a composite resource.
pub(super) type KindKey = (String, String);

/// Cached rights, by API version and kind.
#[derive(Debug, Default)]
pub(super) struct Rights(Mutex<BTreeMap<KindKey, Entry>>);

#[derive(Debug)]
struct Entry {
    known: Known,
    expires: Instant,
}

impl Rights {
    /// The kind, or why its objects cannot be annotated. A missing right is cached for `denied_for`.
    ///
    /// # Errors
    /// The API server does not answer.
    pub(super) async fn of(
        &self,
        client: &Client,
        composite: &Composite,
        denied_for: Duration,
    ) -> kube::Result<Known> {
        let key = composite.kind_key();
        if let Some(known) = self.get(&key, Instant::now()) {
            return Ok(known);
        }
        // The lock is not held meanwhile: an API group that answers slowly delays no other.
        let known = find(client, composite).await?;
        self.put(key, known.clone(), denied_for, Instant::now());
        Ok(known)
    }

    /// Records that the API server refused a write of that kind.
    pub(super) fn deny(&self, composite: &Composite, cause: String, denied_for: Duration) {
        let key = composite.kind_key();
        self.put(key, Err(cause), denied_for, Instant::now());
    }

    /// Forgets that rights to annotate these kinds are missing.
    pub(super) fn forget_denied(&self, kinds: &BTreeSet<KindKey>) {
        self.lock()
            .retain(|key, entry| entry.known.is_ok() || !kinds.contains(key));
    }

    fn get(&self, key: &KindKey, now: Instant) -> Option<Known> {
        let entries = self.lock();
        let entry = entries.get(key).filter(|entry| now < entry.expires)?;
        Some(entry.known.clone())
    }

    /// Adds an entry in place of expired ones, or of those that expire first.
    fn put(&self, key: KindKey, known: Known, denied_for: Duration, now: Instant) {
        let expires = now + if known.is_ok() { GRANTED } else { denied_for };
        let mut entries = self.lock();
        entries.retain(|_, entry| now < entry.expires);
        entries.remove(&key);
        while entries.len() >= CACHED_MAX {
            let first = entries.iter().min_by_key(|(_, entry)| entry.expires);
            let Some(first) = first.map(|(key, _)| key.clone()) else {
                break;
            };
            entries.remove(&first);
        }
        entries.insert(key, Entry { known, expires });
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<KindKey, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The next kinds to ask about, at most [`RECHECKED_MAX`] of them: those after `last`, then from the
/// start. Each kind has its turn, however many there are.
pub(super) fn next_kinds(denied: &BTreeSet<KindKey>, last: Option<&KindKey>) -> Vec<KindKey> {
    let is_after = |key: &&KindKey| last.is_none_or(|last| *key > last);
    let after = denied.iter().filter(is_after);
    let before = denied.iter().filter(|key| !is_after(key));
    after.chain(before).take(RECHECKED_MAX).cloned().collect()
}

async fn find(client: &Client, composite: &Composite) -> kube::Result<Known> {
    let (group, version) = composite
        .api_version
        .split_once('/')
        .unwrap_or(("", composite.api_version.as_str()));
    let kind = composite.kind.as_str();
    // These become parts of a URL.
    if ![group, version, kind].into_iter().all(is_plain) {
        return Ok(Err(
            "the controller in its ownerReferences has an invalid apiVersion or kind".to_owned(),
        ));
    }
    let not_served = || Ok(Err(format!("the cluster does not serve {kind}")));
    let found = discovery::pinned_kind(client, &GroupVersionKind::gvk(group, version, kind)).await;
    let (resource, capabilities) = match found {
        Ok(found) => found,
        Err(Error::Discovery(_)) => return not_served(),
        Err(Error::Api(status)) if status.code == 404 => return not_served(),
        Err(error) => return Err(error),
    };
    Ok(
        if access::is_allowed(client, group, &resource.plural, "patch").await? {
            Ok(CompositeKind {
                is_namespaced: capabilities.scope == Scope::Namespaced,
                resource,
            })
        } else {
            Err(format!(
                "the provider may not patch {}.{group}: grant the verb \"patch\"",
                resource.plural
            ))
        },
    )
}

/// Returns whether a text may be an API group, version or kind; the core group is empty.
fn is_plain(text: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-');
    text.len() <= 253 && !text.starts_with('.') && text.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DENIED_FOR: Duration = Duration::from_mins(1);

    fn key(number: usize) -> KindKey {
        ("example.org/v1".to_owned(), format!("Kind{number:03}"))
    }

    fn granted() -> CompositeKind {
        CompositeKind {
            resource: ApiResource::from_gvk(&GroupVersionKind::gvk("example.org", "v1", "Kind")),
            is_namespaced: true,
        }
    }

    #[test]
    fn entries_expire_and_are_removed() {
        let (rights, start) = (Rights::default(), Instant::now());
        rights.put(key(0), Err("missing".to_owned()), DENIED_FOR, start);
        rights.put(key(1), Ok(granted()), DENIED_FOR, start);
        let known = |number, after| rights.get(&key(number), start + after).map(|it| it.is_ok());
        let cases = [
            ("denied", 0, Duration::from_secs(59), Some(false)),
            ("no longer known", 0, DENIED_FOR, None),
            ("granted", 1, Duration::from_secs(599), Some(true)),
            ("no longer known", 1, GRANTED, None),
            ("never known", 2, Duration::from_secs(1), None),
        ];
        for (reason, number, after, expected) in cases {
            assert_eq!(known(number, after), expected, "{reason}");
        }
        rights.put(key(2), Ok(granted()), DENIED_FOR, start + DENIED_FOR);
        let left: Vec<_> = rights.lock().keys().cloned().collect();
        assert_eq!(left, [key(1), key(2)], "the expired one is removed");
    }

    #[test]
    fn many_kinds_leave_a_bounded_cache() {
        let (rights, start) = (Rights::default(), Instant::now());
        rights.put(key(999), Ok(granted()), DENIED_FOR, start);
        for number in 0..300 {
            let now = start + Duration::from_millis(u64::try_from(number).unwrap());
            rights.put(key(number), Err("missing".to_owned()), DENIED_FOR, now);
        }
        assert_eq!(rights.lock().len(), CACHED_MAX);
        let now = start + Duration::from_secs(1);
        assert!(rights.get(&key(299), now).is_some(), "the newest");
        assert!(rights.get(&key(0), now).is_none(), "the oldest");
        assert!(
            rights.get(&key(999), now).is_some(),
            "one that lives longer"
        );
    }

    #[test]
    fn forgotten_denials_leave_granted_rights() {
        let (rights, now) = (Rights::default(), Instant::now());
        rights.put(key(0), Err("missing".to_owned()), DENIED_FOR, now);
        rights.put(key(1), Err("missing".to_owned()), DENIED_FOR, now);
        rights.put(key(2), Ok(granted()), DENIED_FOR, now);
        rights.forget_denied(&[key(0), key(2)].into());
        let left: Vec<_> = rights.lock().keys().cloned().collect();
        assert_eq!(left, [key(1), key(2)]);
    }

    #[test]
    fn each_of_many_kinds_is_rechecked_in_turn() {
        let denied: BTreeSet<KindKey> = (0..40).map(key).collect();
        let mut last = None;
        let mut seen = Vec::new();
        for _ in 0..3 {
            let next = next_kinds(&denied, last.as_ref());
            assert_eq!(next.len(), RECHECKED_MAX);
            last = next.last().cloned();
            seen.extend(next);
        }
        let expected: Vec<KindKey> = (0..40).chain(0..8).map(key).collect();
        assert_eq!(seen, expected);
        assert_eq!(next_kinds(&BTreeSet::new(), last.as_ref()), []);
        let few = [key(1), key(2)].into();
        assert_eq!(next_kinds(&few, Some(&key(1))), [key(2), key(1)]);
    }

    #[test]
    fn parts_of_a_url_are_checked() {
        let cases = [
            ("example.org", true),
            ("v1alpha1", true),
            ("AsyncActor", true),
            ("", true),
            ("..", false),
            ("a/../b", false),
            ("v1?watch=true", false),
            ("two words", false),
        ];
        for (text, expected) in cases {
            assert_eq!(is_plain(text), expected, "{text:?}");
        }
        assert!(!is_plain(&"a".repeat(254)));
    }
}
