//! One queue of the service: what is seen of it, and the order of the calls that belong together.

use actor::queue::Location;
use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::attributes::{self, Attributes};
use super::calls::Standing;
use super::{Service, Wanted};
use crate::transport::{Depth, Drift, ExternalQueue, Fault, Found, Mark, Observation};

/// One queue of the service.
pub struct SqsExternal {
    pub(super) service: Service,
    pub(super) wanted: Wanted,
    /// The service in words, for messages.
    pub(super) place: String,
}

impl ExternalQueue for SqsExternal {
    fn location(&self) -> Location {
        Location {
            endpoint: self.service.endpoint.clone(),
            region: Some(self.service.region.clone()),
            ..Location::default()
        }
    }

    fn observe(&self, depth: Depth) -> BoxFuture<'_, Result<Observation, Fault>> {
        self.look(depth).boxed()
    }

    fn create(&self) -> BoxFuture<'_, Result<(), Fault>> {
        self.make().boxed()
    }

    fn update(&self) -> BoxFuture<'_, Result<(), Fault>> {
        self.write().boxed()
    }

    fn delete(&self) -> BoxFuture<'_, Result<(), Fault>> {
        self.remove().boxed()
    }
}

impl SqsExternal {
    async fn look(&self, depth: Depth) -> Result<Observation, Fault> {
        let Some(url) = self.find().await? else {
            return self.absent().await;
        };
        let Some(found) = self.attributes(&url).await? else {
            return self.absent().await;
        };
        let arn = attributes::arn(&found).map(str::to_owned);
        let account = arn.as_deref().and_then(attributes::account);
        if let Some(account) = account {
            self.service.is_of(account);
        }
        self.check_account(account)?;
        let letters = self.dead_letter_arn(arn.as_deref());
        let wanted = attributes::wanted(&self.wanted.queue, letters.as_deref());
        let mut seen = Found {
            mark: Mark::Unread,
            location: Location {
                account_id: account.map(str::to_owned),
                ..self.location()
            },
            counters: attributes::counters(&found),
            drift: attributes::differences(&wanted, &found, &self.wanted.name),
            url: Some(url.clone()),
            arn,
            ..Found::default()
        };
        if depth == Depth::Whole {
            let Some(mark) = self.mark(&url).await? else {
                return self.absent().await;
            };
            seen.mark = mark;
            let letters = self.standing(&self.dead_letter_name()).await?;
            seen.drift.extend(self.lack_of(&letters));
            let held_by_letters = self.held_by(&letters).await?;
            seen.held = match (held(&found), held_by_letters) {
                (Some(own), Some(letters)) => Some(own + letters),
                _ => None,
            };
            seen.count_letters(held_by_letters.filter(|_| self.are_dead_letters(&letters)));
        }
        if depth == Depth::Letters && self.wanted.queue.dead_letter.enabled {
            seen.count_letters(self.dead_lettered().await?);
        }
        Ok(Observation::Present(Box::new(seen)))
    }

    /// The queue is absent, unless it is only looked for in another account than its own.
    async fn absent(&self) -> Result<Observation, Fault> {
        self.forget();
        self.check_credentials().await?;
        Ok(Observation::Absent)
    }

    /// In what the dead-letter queue falls short, where there is to be one: what goes wrong with
    /// writing it says the rest.
    fn lack_of(&self, letters: &Standing) -> Option<Drift> {
        if !self.wanted.queue.dead_letter.enabled {
            return None;
        }
        let have = match letters {
            Standing::Ours(_) => return None,
            Standing::Absent => "absent".to_owned(),
            Standing::Hidden(_) => "not visible yet".to_owned(),
            Standing::NotOurs(owner) => {
                format!("of {:?}", owner.as_deref().unwrap_or("nobody"))
            }
        };
        let want = format!("queue {:?}", self.dead_letter_name());
        Some(Drift::settable("deadLetter", have, want))
    }

    /// Messages in our dead-letter queue; none where there is no such queue, and unknown where it
    /// cannot be seen.
    async fn held_by(&self, letters: &Standing) -> Result<Option<u64>, Fault> {
        match letters {
            Standing::Absent | Standing::NotOurs(_) => Ok(Some(0)),
            Standing::Hidden(_) => Ok(None),
            Standing::Ours(url) => Ok(self.attributes(url).await?.as_ref().and_then(held)),
        }
    }

    /// Whether what is in that queue are this queue's dead letters. Its URL is remembered if so.
    fn are_dead_letters(&self, letters: &Standing) -> bool {
        let name = self.dead_letter_name();
        match letters {
            Standing::Ours(url) if self.wanted.queue.dead_letter.enabled => {
                self.service.remember(&name, url.clone());
                true
            }
            _ => {
                self.service.forget(&name);
                false
            }
        }
    }

    /// Messages in the dead-letter queue, while there is one of ours; one call, once it was found.
    async fn dead_lettered(&self) -> Result<Option<u64>, Fault> {
        let name = self.dead_letter_name();
        let letters = match self.service.remembered(&name) {
            Some(url) => Standing::Ours(url),
            None => self.standing(&name).await?,
        };
        if !self.are_dead_letters(&letters) {
            return Ok(None);
        }
        let held = self.held_by(&letters).await?;
        if held.is_none() {
            self.service.forget(&name);
        }
        Ok(held)
    }

    async fn make(&self) -> Result<(), Fault> {
        self.check_credentials().await?;
        let letters = self.make_dead_letter_queue().await?;
        let wanted = attributes::wanted(&self.wanted.queue, letters.as_deref());
        let creation = attributes::for_creation(wanted, &self.wanted.name);
        if let Some(url) = self.make_queue(&self.wanted.name, creation).await? {
            self.service.remember(&self.wanted.name, url);
        }
        Ok(())
    }

    /// Makes the dead-letter queue where there is to be one, or takes ours; its ARN. It has none
    /// while it is not visible: it must be, before a queue may name it, and until then the next
    /// whole look finds that the queue does not.
    async fn make_dead_letter_queue(&self) -> Result<Option<String>, Fault> {
        if !self.wanted.queue.dead_letter.enabled {
            return Ok(None);
        }
        let name = self.dead_letter_name();
        let attributes = attributes::of_dead_letter_queue(&name);
        let Some(url) = self.make_queue(&name, attributes).await? else {
            return Ok(None);
        };
        let Some(found) = self.attributes(&url).await? else {
            return Ok(None);
        };
        match attributes::arn(&found) {
            Some(arn) => Ok(Some(arn.to_owned())),
            None => Err(Fault::Failed {
                endpoint: self.place.clone(),
                action: format!("read queue {name}"),
                cause: "the answer holds no QueueArn".to_owned(),
            }),
        }
    }

    /// Creates a queue with our mark, or takes ours; the URL, once it is visible.
    ///
    /// One that is there is not created: that would succeed for somebody
    /// else's too, and some services would even give it our tags. The mark is
    /// read back in any case, since another may have been faster; while it does
    /// not show, whose the queue is stays open until the next whole look.
    async fn make_queue(&self, name: &str, with: Attributes) -> Result<Option<String>, Fault> {
        let mut standing = self.standing(name).await?;
        if standing == Standing::Absent {
            let Some(url) = self.create_queue(name, with).await? else {
                return Ok(None);
            };
            standing = match self.mark(&url).await? {
                Some(Mark::Of(owner)) if owner == self.wanted.mark.as_str() => Standing::Ours(url),
                Some(Mark::Of(owner)) => Standing::NotOurs(Some(owner)),
                Some(Mark::None | Mark::Unread) | None => Standing::Hidden(url),
            };
        }
        match standing {
            Standing::Ours(url) => Ok(Some(url)),
            Standing::Hidden(_) | Standing::Absent => Ok(None),
            Standing::NotOurs(owner) => Err(Fault::Foreign {
                name: name.to_owned(),
                owner: owner.unwrap_or_else(|| "nobody".to_owned()),
            }),
        }
    }

    async fn write(&self) -> Result<(), Fault> {
        let Some(url) = self.find().await? else {
            return Ok(());
        };
        match self.mark(&url).await? {
            Some(Mark::None) => self.tag(&url).await?,
            Some(Mark::Of(_) | Mark::Unread) => {}
            None => return Ok(()),
        }
        let letters = self.make_dead_letter_queue().await?;
        let wanted = attributes::wanted(&self.wanted.queue, letters.as_deref());
        let Some(found) = self.attributes(&url).await? else {
            return Ok(());
        };
        let changes = attributes::to_write(&wanted, &found, &self.wanted.name);
        if changes.is_empty() {
            return Ok(());
        }
        self.set_attributes(&url, changes).await
    }

    /// The queue goes last: after a crash it is still there to be found, and
    /// with it its dead-letter queue.
    async fn remove(&self) -> Result<(), Fault> {
        let name = self.dead_letter_name();
        match self.standing(&name).await? {
            Standing::Ours(letters) => self.delete_queue(&letters).await?,
            Standing::Absent | Standing::NotOurs(_) => {}
            Standing::Hidden(_) => {
                return Err(Fault::Failed {
                    endpoint: self.place.clone(),
                    action: format!("read tags of queue {name}"),
                    cause: "it is listed, and its tags cannot be read yet".to_owned(),
                });
            }
        }
        match self.find().await? {
            Some(url) => self.delete_queue(&url).await,
            None => Ok(()),
        }
    }

    /// Refuses a queue of another account than the object names.
    fn check_account(&self, found: Option<&str>) -> Result<(), Fault> {
        match (self.wanted.queue.account_id.as_deref(), found) {
            (Some(wanted), Some(found)) if found != wanted => {
                Err(self.elsewhere(wanted, &format!("the one found is in account {found}")))
            }
            _ => Ok(()),
        }
    }

    /// Refuses credentials of another account than that where the queue is or
    /// was: there is none of that name, and a second one would be made, or the
    /// object let go while its queue stays.
    async fn check_credentials(&self) -> Result<(), Fault> {
        let own = self.wanted.queue.account_id.as_deref();
        let Some(wanted) = self.wanted.account_id.as_deref().or(own) else {
            return Ok(());
        };
        match self.account().await? {
            Some(account) if account != wanted => {
                let is = format!("the ProviderConfig's credentials are of account {account}");
                Err(self.elsewhere(wanted, &is))
            }
            _ => Ok(()),
        }
    }

    fn elsewhere(&self, wanted: &str, is: &str) -> Fault {
        Fault::Elsewhere(format!(
            "queue {:?} belongs into account {wanted}, and {is}: use credentials of {wanted}, or delete this \
             object and create another",
            self.wanted.name
        ))
    }

    fn dead_letter_name(&self) -> String {
        attributes::dead_letter_name(&self.wanted.name)
    }

    /// The dead-letter queue's ARN, which differs from the queue's in its name.
    fn dead_letter_arn(&self, arn: Option<&str>) -> Option<String> {
        let (place, _) = arn?.rsplit_once(':')?;
        Some(format!("{place}:{}", self.dead_letter_name()))
    }

    async fn find(&self) -> Result<Option<String>, Fault> {
        let name = &self.wanted.name;
        if let Some(url) = self.service.remembered(name) {
            return Ok(Some(url));
        }
        let url = self.url_of(name).await?;
        if let Some(url) = &url {
            self.service.remember(name, url.clone());
        }
        Ok(url)
    }

    fn forget(&self) {
        self.service.forget(&self.wanted.name);
    }
}

/// Messages in a queue, those that are being worked on included.
fn held(found: &Attributes) -> Option<u64> {
    attributes::counters(found).map(|counters| counters.queued + counters.processing)
}
