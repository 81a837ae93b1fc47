//! One queue of the service: observation, and the order of calls of each operation.

use actor::queue::Location;
use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::attributes::{self, Attributes};
use super::calls::{Lookup, SqsExternal};
use crate::transport::{
    Depth, Drift, ExternalQueue, Observation, ObservedQueue, Ownership, TransportError,
};

impl ExternalQueue for SqsExternal {
    fn location(&self) -> Location {
        Location {
            endpoint: self.service.endpoint.clone(),
            region: Some(self.service.region.clone()),
            ..Location::default()
        }
    }

    fn shows_changes_at_once(&self) -> bool {
        false
    }

    fn observe(&self, depth: Depth) -> BoxFuture<'_, Result<Observation, TransportError>> {
        self.observe_queue(depth).boxed()
    }

    fn create(&self) -> BoxFuture<'_, Result<(), TransportError>> {
        self.create_queues().boxed()
    }

    fn update(&self) -> BoxFuture<'_, Result<(), TransportError>> {
        self.update_queue().boxed()
    }

    fn delete(&self) -> BoxFuture<'_, Result<(), TransportError>> {
        self.delete_queues().boxed()
    }
}

impl SqsExternal {
    async fn observe_queue(&self, depth: Depth) -> Result<Observation, TransportError> {
        let Some(url) = self.find().await? else {
            return self.missing().await;
        };
        let Some(found) = self.attributes(&url).await? else {
            return self.missing().await;
        };
        let arn = attributes::arn(&found).map(str::to_owned);
        let account = arn.as_deref().and_then(attributes::account);
        if let Some(account) = account {
            self.service.set_account(account);
        }
        self.check_account(account)?;
        let letters = self.dead_letter_arn(arn.as_deref());
        let desired = attributes::desired(&self.definition.queue, letters.as_deref());
        let mut observed = ObservedQueue {
            owner: Ownership::Unread,
            location: Location {
                account_id: account.map(str::to_owned),
                ..self.location()
            },
            counters: attributes::counters(&found),
            drift: attributes::differences(&desired, &found, &self.definition.name),
            url: Some(url.clone()),
            arn,
            ..ObservedQueue::default()
        };
        observed.quick_drift.clone_from(&observed.drift);
        if depth == Depth::Full {
            observed.owner = if self.service.take_confirmed(&self.definition.name) {
                Ownership::OwnedBy(self.definition.owner_tag.to_string())
            } else {
                let Some(owner) = self.read_owner(&url).await? else {
                    return self.missing().await;
                };
                owner
            };
            let letters = self.look_up(&self.dead_letter_name()).await?;
            observed.drift.extend(self.dead_letter_drift(&letters));
            let held_dead_letters = self.dead_letters_held(&letters).await?;
            observed.held = match (held(&found), held_dead_letters) {
                (Some(own), Some(letters)) => Some(own + letters),
                _ => None,
            };
            observed.set_dead_letters(
                held_dead_letters.filter(|_| self.are_our_dead_letters(&letters)),
            );
        }
        if depth == Depth::WithDeadLetters && self.definition.queue.dead_letter.enabled {
            observed.set_dead_letters(self.dead_lettered().await?);
        }
        Ok(Observation::Present(Box::new(observed)))
    }

    /// The queue is missing, unless the credentials are those of another account.
    async fn missing(&self) -> Result<Observation, TransportError> {
        self.forget();
        self.check_credentials().await?;
        Ok(Observation::Missing)
    }

    /// Drift of the dead-letter queue, where dead-lettering is on. The error of its creation explains
    /// the rest.
    fn dead_letter_drift(&self, letters: &Lookup) -> Option<Drift> {
        if !self.definition.queue.dead_letter.enabled {
            return None;
        }
        let have = match letters {
            Lookup::Ours(_) => return None,
            Lookup::Missing => "missing".to_owned(),
            Lookup::Hidden(_) => "not visible yet".to_owned(),
            Lookup::Foreign(owner) => {
                format!("of {:?}", owner.as_deref().unwrap_or("nobody"))
            }
        };
        let want = format!("queue {:?}", self.dead_letter_name());
        Some(Drift::settable("deadLetter", have, want))
    }

    /// Messages in our dead-letter queue: 0 where there is none, unknown where it is not visible.
    async fn dead_letters_held(&self, letters: &Lookup) -> Result<Option<u64>, TransportError> {
        match letters {
            Lookup::Missing | Lookup::Foreign(_) => Ok(Some(0)),
            Lookup::Hidden(_) => Ok(None),
            Lookup::Ours(url) => Ok(self.attributes(url).await?.as_ref().and_then(held)),
        }
    }

    /// Returns whether that queue is our dead-letter queue. If so its URL is cached.
    fn are_our_dead_letters(&self, letters: &Lookup) -> bool {
        let name = self.dead_letter_name();
        match letters {
            Lookup::Ours(url) if self.definition.queue.dead_letter.enabled => {
                self.service.cache_url(&name, url.clone());
                true
            }
            _ => {
                self.service.forget_url(&name);
                false
            }
        }
    }

    /// Messages in our dead-letter queue, where there is one; one call once its URL is cached.
    async fn dead_lettered(&self) -> Result<Option<u64>, TransportError> {
        let name = self.dead_letter_name();
        let letters = match self.service.cached_url(&name) {
            Some(url) => Lookup::Ours(url),
            None => self.look_up(&name).await?,
        };
        if !self.are_our_dead_letters(&letters) {
            return Ok(None);
        }
        let held = self.dead_letters_held(&letters).await?;
        if held.is_none() {
            self.service.forget_url(&name);
        }
        Ok(held)
    }

    /// Creates both queues. The dead-letter queue is first, because the other one names it; it is created only once it
    /// is known that the other one does not belong to another owner, and deleted again if that was faster.
    async fn create_queues(&self) -> Result<(), TransportError> {
        self.check_credentials().await?;
        let name = self.definition.name.as_str();
        let look_up = self.look_up(name).await?;
        if let Lookup::Foreign(owner) = look_up {
            return Err(foreign(name, owner));
        }
        let letters = self.create_dead_letter_queue().await?;
        let arn = letters.as_ref().map(|letters| letters.arn.as_str());
        let desired = attributes::desired(&self.definition.queue, arn);
        let creation = attributes::for_creation(desired, name);
        let created = self.create_or_find(name, look_up, creation).await;
        if let (Err(TransportError::Foreign { .. }), Some(letters)) = (&created, &letters)
            && letters.is_created
        {
            self.delete_if_empty(&letters.url).await;
        }
        if let Some(found) = created? {
            self.service.cache_url(name, found.url);
            self.service.confirm(name);
        }
        Ok(())
    }

    /// Deletes a queue that was created in vain.
    async fn delete_if_empty(&self, url: &str) {
        let deleted = async {
            let found = self.attributes(url).await?;
            if found.as_ref().and_then(held) == Some(0) {
                self.delete_queue(url).await?;
            }
            Ok::<_, TransportError>(())
        };
        if let Err(error) = deleted.await {
            tracing::info!(url, %error, "cannot delete a dead-letter queue that was created in vain");
        }
    }

    /// Creates or finds the dead-letter queue, where dead-lettering is on. None while it is not visible, which it
    /// must be before a queue may name it; the next full observation finds that drift.
    async fn create_dead_letter_queue(&self) -> Result<Option<DeadLetters>, TransportError> {
        if !self.definition.queue.dead_letter.enabled {
            return Ok(None);
        }
        let name = self.dead_letter_name();
        let attributes = attributes::for_dead_letter_queue(&name);
        let look_up = self.look_up(&name).await?;
        let Some(Found { url, is_created }) =
            self.create_or_find(&name, look_up, attributes).await?
        else {
            return Ok(None);
        };
        let Some(found) = self.attributes(&url).await? else {
            return Ok(None);
        };
        match attributes::arn(&found) {
            Some(arn) => Ok(Some(DeadLetters {
                arn: arn.to_owned(),
                url,
                is_created,
            })),
            None => Err(TransportError::Failed {
                endpoint: self.endpoint.clone(),
                action: format!("read queue {name}"),
                cause: "the answer holds no QueueArn".to_owned(),
            }),
        }
    }

    /// Creates a queue with our owner tag where it is missing by `look_up`, or takes ours, once it is visible.
    ///
    /// An existing queue is not created again: that would succeed for another owner's queue too, and some
    /// services would even overwrite its tags. The owner tag is read back in any case, since another
    /// client may have been faster; while it is not visible, the next full observation decides.
    async fn create_or_find(
        &self,
        name: &str,
        mut look_up: Lookup,
        with: Attributes,
    ) -> Result<Option<Found>, TransportError> {
        let is_created = look_up == Lookup::Missing;
        if is_created {
            let Some(url) = self.create_queue(name, with).await? else {
                return Ok(None);
            };
            look_up = match self.read_owner(&url).await? {
                Some(Ownership::OwnedBy(owner)) if owner == self.definition.owner_tag.as_str() => {
                    Lookup::Ours(url)
                }
                Some(Ownership::OwnedBy(owner)) => Lookup::Foreign(Some(owner)),
                Some(Ownership::Unowned | Ownership::Unread) | None => Lookup::Hidden(url),
            };
        }
        match look_up {
            Lookup::Ours(url) => Ok(Some(Found { url, is_created })),
            Lookup::Hidden(_) | Lookup::Missing => Ok(None),
            Lookup::Foreign(owner) => Err(foreign(name, owner)),
        }
    }

    async fn update_queue(&self) -> Result<(), TransportError> {
        let Some(url) = self.find().await? else {
            return Ok(());
        };
        match self.read_owner(&url).await? {
            Some(Ownership::Unowned) => self.tag(&url).await?,
            Some(Ownership::OwnedBy(_) | Ownership::Unread) => {}
            None => return Ok(()),
        }
        let letters = self.create_dead_letter_queue().await?;
        let arn = letters.as_ref().map(|letters| letters.arn.as_str());
        let desired = attributes::desired(&self.definition.queue, arn);
        let Some(found) = self.attributes(&url).await? else {
            return Ok(());
        };
        let changes = attributes::to_write(&desired, &found, &self.definition.name);
        if changes.is_empty() {
            return Ok(());
        }
        self.set_attributes(&url, changes).await
    }

    /// Deletes the queue last: after a crash it still exists, and with it its dead-letter queue is found.
    async fn delete_queues(&self) -> Result<(), TransportError> {
        let name = self.dead_letter_name();
        match self.look_up(&name).await? {
            Lookup::Ours(letters) => self.delete_queue(&letters).await?,
            Lookup::Missing | Lookup::Foreign(_) => {}
            Lookup::Hidden(_) => {
                return Err(TransportError::Failed {
                    endpoint: self.endpoint.clone(),
                    action: format!("read tags of queue {name}"),
                    cause: "it exists, and its tags cannot be read yet".to_owned(),
                });
            }
        }
        match self.find().await? {
            Some(url) => self.delete_queue(&url).await,
            None => Ok(()),
        }
    }

    /// Refuses a queue of another account than the object names.
    fn check_account(&self, found: Option<&str>) -> Result<(), TransportError> {
        match (self.definition.queue.account_id.as_deref(), found) {
            (Some(wanted), Some(found)) if found != wanted => {
                Err(self.wrong_location(wanted, &format!("the one found is in account {found}")))
            }
            _ => Ok(()),
        }
    }

    /// Refuses credentials of another account than the queue's: the queue would seem missing, and a second
    /// one would be created, or the object deleted while its queue stays.
    async fn check_credentials(&self) -> Result<(), TransportError> {
        let own = self.definition.queue.account_id.as_deref();
        let Some(wanted) = self.definition.account_id.as_deref().or(own) else {
            return Ok(());
        };
        match self.account().await? {
            Some(account) if account != wanted => {
                let is = format!("the ProviderConfig's credentials are of account {account}");
                Err(self.wrong_location(wanted, &is))
            }
            _ => Ok(()),
        }
    }

    fn wrong_location(&self, wanted: &str, is: &str) -> TransportError {
        TransportError::WrongLocation(format!(
            "queue {:?} belongs to account {wanted}, and {is}: use credentials of {wanted}, or delete this \
             object and create another",
            self.definition.name
        ))
    }

    fn dead_letter_name(&self) -> String {
        attributes::dead_letter_name(&self.definition.name)
    }

    /// ARN of the dead-letter queue, which differs from the queue's in the name.
    fn dead_letter_arn(&self, arn: Option<&str>) -> Option<String> {
        let (place, _) = arn?.rsplit_once(':')?;
        Some(format!("{place}:{}", self.dead_letter_name()))
    }

    async fn find(&self) -> Result<Option<String>, TransportError> {
        let name = &self.definition.name;
        if let Some(url) = self.service.cached_url(name) {
            return Ok(Some(url));
        }
        let url = self.url_of(name).await?;
        if let Some(url) = &url {
            self.service.cache_url(name, url.clone());
        }
        Ok(url)
    }

    fn forget(&self) {
        self.service.forget_url(&self.definition.name);
    }
}

/// A queue of ours.
struct Found {
    url: String,
    /// True if it was missing before.
    is_created: bool,
}

/// Our dead-letter queue.
struct DeadLetters {
    arn: String,
    url: String,
    /// True if it was missing before.
    is_created: bool,
}

fn foreign(name: &str, owner: Option<String>) -> TransportError {
    TransportError::Foreign {
        name: name.to_owned(),
        owner: owner.unwrap_or_else(|| "nobody".to_owned()),
    }
}

/// Messages in a queue, unacknowledged ones included.
fn held(found: &Attributes) -> Option<u64> {
    attributes::counters(found).map(|counters| counters.queued + counters.processing)
}
