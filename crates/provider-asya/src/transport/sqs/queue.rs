//! One queue of the service: each call, and the order of those that belong together.

use std::sync::{Mutex, PoisonError};

use actor::queue::Location;
use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_sqs::types::QueueAttributeName;
use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::attributes::{self, Attributes};
use super::errors::{self, Asked, Meaning};
use super::{OWNER_TAG, Service, Wanted};
use crate::transport::{Depth, ExternalQueue, Fault, Found, Mark, Observation};

/// One queue of the service.
pub struct SqsExternal {
    pub(super) service: Service,
    pub(super) wanted: Wanted,
    pub(super) url: Mutex<Option<String>>,
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
            return Ok(Observation::Absent);
        };
        let Some(found) = self.attributes(&url).await? else {
            self.remember(None);
            return Ok(Observation::Absent);
        };
        let arn = attributes::arn(&found).map(str::to_owned);
        let letters = self.dead_letter_arn(arn.as_deref());
        let wanted = attributes::wanted(&self.wanted.queue, letters.as_deref());
        let counters = attributes::counters(&found);
        let mut seen = Found {
            mark: Mark::Unread,
            location: Location {
                account_id: arn
                    .as_deref()
                    .and_then(attributes::account)
                    .map(str::to_owned),
                ..self.location()
            },
            counters,
            drift: attributes::differences(&wanted, &found, &self.wanted.name),
            url: Some(url.clone()),
            arn,
            ..Found::default()
        };
        if depth == Depth::Whole {
            seen.mark = self.mark(&url).await?;
            let own = counters.map(|counters| counters.queued + counters.processing);
            seen.held = match (own, self.dead_letters_held().await?) {
                (Some(own), Some(letters)) => Some(own + letters),
                _ => None,
            };
        }
        Ok(Observation::Present(Box::new(seen)))
    }

    /// Messages in our dead-letter queue; none where there is no such queue.
    async fn dead_letters_held(&self) -> Result<Option<u64>, Fault> {
        let Some(url) = self.url_of(&self.dead_letter_name()).await? else {
            return Ok(Some(0));
        };
        if self.mark(&url).await? != Mark::Of(self.wanted.mark.to_string()) {
            return Ok(Some(0));
        }
        let found = self.attributes(&url).await?.unwrap_or_default();
        Ok(attributes::counters(&found).map(|counters| counters.queued + counters.processing))
    }

    async fn make(&self) -> Result<(), Fault> {
        self.check_account().await?;
        let letters = if self.wanted.queue.dead_letter.enabled {
            Some(self.make_dead_letter_queue().await?)
        } else {
            None
        };
        let wanted = attributes::wanted(&self.wanted.queue, letters.as_deref());
        let creation = attributes::for_creation(wanted, &self.wanted.name);
        let url = self.make_queue(&self.wanted.name, creation).await?;
        self.remember(Some(url));
        Ok(())
    }

    /// Makes the dead-letter queue, or takes ours; its ARN.
    async fn make_dead_letter_queue(&self) -> Result<String, Fault> {
        let name = self.dead_letter_name();
        let url = self
            .make_queue(&name, attributes::of_dead_letter_queue(&name))
            .await?;
        let found = self.attributes(&url).await?.unwrap_or_default();
        attributes::arn(&found)
            .map(str::to_owned)
            .ok_or_else(|| Fault::Failed {
                endpoint: self.place.clone(),
                action: format!("read queue {name}"),
                cause: "the answer holds no QueueArn".to_owned(),
            })
    }

    /// Creates a queue with our mark, or takes ours; the URL.
    ///
    /// One that is there is not created: that would succeed for somebody
    /// else's too, and some services would even give it our tags. The mark is
    /// read back in any case, since another may have been faster.
    async fn make_queue(&self, name: &str, attributes: Attributes) -> Result<String, Fault> {
        let url = match self.url_of(name).await? {
            Some(url) => Some(url),
            None => self.create_queue(name, attributes).await?,
        };
        let Some(url) = url else {
            return Err(Fault::Failed {
                endpoint: self.place.clone(),
                action: format!("create queue {name}"),
                cause: "the answer holds no URL".to_owned(),
            });
        };
        let owner = match self.mark(&url).await? {
            Mark::Of(owner) if owner == self.wanted.mark.as_str() => return Ok(url),
            Mark::Of(owner) => owner,
            Mark::None | Mark::Unread => "nobody".to_owned(),
        };
        Err(Fault::Foreign {
            name: name.to_owned(),
            owner,
        })
    }

    async fn create_queue(
        &self,
        name: &str,
        attributes: Attributes,
    ) -> Result<Option<String>, Fault> {
        let mut tags = self.wanted.tags.clone();
        tags.insert(OWNER_TAG.to_owned(), self.wanted.mark.to_string());
        self.service.rate.turn().await;
        let answer = self
            .service
            .sqs
            .create_queue()
            .queue_name(name)
            .set_attributes(Some(named(attributes)))
            .set_tags(Some(tags.into_iter().collect()))
            .send()
            .await;
        match answer {
            Ok(output) => Ok(output.queue_url),
            Err(error) => match self.meaning(&error, "create queue", name) {
                // Another was faster: whose it is decides what comes next.
                Meaning::Exists => self.url_of(name).await,
                Meaning::Absent => Ok(None),
                Meaning::Fault(fault) => Err(fault),
            },
        }
    }

    async fn write(&self) -> Result<(), Fault> {
        let Some(url) = self.find().await? else {
            return Ok(());
        };
        if self.mark(&url).await? == Mark::None {
            self.service.rate.turn().await;
            let tag = self.service.sqs.tag_queue().queue_url(&url);
            self.done(
                tag.tags(OWNER_TAG, self.wanted.mark.as_str()).send().await,
                "tag queue",
            )?;
        }
        let letters = if self.wanted.queue.dead_letter.enabled {
            Some(self.make_dead_letter_queue().await?)
        } else {
            None
        };
        let wanted = attributes::wanted(&self.wanted.queue, letters.as_deref());
        let Some(found) = self.attributes(&url).await? else {
            return Ok(());
        };
        let changes = attributes::to_write(&wanted, &found, &self.wanted.name);
        if changes.is_empty() {
            return Ok(());
        }
        self.service.rate.turn().await;
        let set = self.service.sqs.set_queue_attributes().queue_url(&url);
        let answer = set.set_attributes(Some(named(changes))).send().await;
        self.done(answer, "set attributes of queue")
    }

    /// The queue goes last: after a crash it is still there to be found, and
    /// with it its dead-letter queue.
    async fn remove(&self) -> Result<(), Fault> {
        if let Some(letters) = self.url_of(&self.dead_letter_name()).await?
            && self.mark(&letters).await? == Mark::Of(self.wanted.mark.to_string())
        {
            self.delete_queue(&letters).await?;
        }
        match self.find().await? {
            Some(url) => self.delete_queue(&url).await,
            None => Ok(()),
        }
    }

    async fn delete_queue(&self, url: &str) -> Result<(), Fault> {
        self.service.rate.turn().await;
        let answer = self.service.sqs.delete_queue().queue_url(url).send().await;
        self.done(answer, "delete queue")
    }

    /// Refuses credentials of another account than that where the queue was:
    /// there is none of that name, and a second one would be made.
    async fn check_account(&self) -> Result<(), Fault> {
        let wanted = self
            .wanted
            .account_id
            .as_ref()
            .or(self.wanted.queue.account_id.as_ref());
        let Some(wanted) = wanted else {
            return Ok(());
        };
        self.service.rate.turn().await;
        let account = match self.service.sts.get_caller_identity().send().await {
            Ok(identity) => identity.account,
            // Not every service that stands in for SQS knows accounts.
            Err(_) if self.service.endpoint.is_some() => None,
            Err(error) => {
                return match self.meaning(&error, "ask STS for the account", &self.wanted.name) {
                    Meaning::Fault(fault) => Err(fault),
                    Meaning::Absent | Meaning::Exists => Ok(()),
                };
            }
        };
        match account {
            Some(account) if account != *wanted => Err(Fault::Elsewhere(format!(
                "queue {:?} belongs into account {wanted}, and the ProviderConfig's credentials are of account \
                 {account}: use credentials of {wanted}, or delete this object and create another",
                self.wanted.name
            ))),
            _ => Ok(()),
        }
    }

    fn dead_letter_name(&self) -> String {
        attributes::dead_letter_name(&self.wanted.name)
    }

    /// The dead-letter queue's ARN, which differs from the queue's in its name.
    fn dead_letter_arn(&self, arn: Option<&str>) -> Option<String> {
        if !self.wanted.queue.dead_letter.enabled {
            return None;
        }
        let (place, _) = arn?.rsplit_once(':')?;
        Some(format!("{place}:{}", self.dead_letter_name()))
    }

    async fn find(&self) -> Result<Option<String>, Fault> {
        let known = self
            .url
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        if known.is_some() {
            return Ok(known);
        }
        let url = self.url_of(&self.wanted.name).await?;
        self.remember(url.clone());
        Ok(url)
    }

    fn remember(&self, url: Option<String>) {
        *self.url.lock().unwrap_or_else(PoisonError::into_inner) = url;
    }

    async fn url_of(&self, name: &str) -> Result<Option<String>, Fault> {
        self.service.rate.turn().await;
        let answer = self
            .service
            .sqs
            .get_queue_url()
            .queue_name(name)
            .send()
            .await;
        let output = self.unless_absent(answer, "find queue", name)?;
        Ok(output.and_then(|output| output.queue_url))
    }

    async fn attributes(&self, url: &str) -> Result<Option<Attributes>, Fault> {
        self.service.rate.turn().await;
        let get = self.service.sqs.get_queue_attributes().queue_url(url);
        let answer = get.attribute_names(QueueAttributeName::All).send().await;
        let output = self.unless_absent(answer, "read queue", &self.wanted.name)?;
        Ok(output.map(|output| {
            let found = output.attributes.unwrap_or_default();
            found
                .into_iter()
                .map(|(key, value)| (key.as_str().to_owned(), value))
                .collect()
        }))
    }

    async fn mark(&self, url: &str) -> Result<Mark, Fault> {
        self.service.rate.turn().await;
        let answer = self
            .service
            .sqs
            .list_queue_tags()
            .queue_url(url)
            .send()
            .await;
        let output = self.unless_absent(answer, "read tags of queue", &self.wanted.name)?;
        let tags = output.and_then(|output| output.tags).unwrap_or_default();
        Ok(tags
            .get(OWNER_TAG)
            .map_or(Mark::None, |owner| Mark::Of(owner.clone())))
    }

    /// The answer, or nothing when the queue is absent.
    fn unless_absent<T, E, R>(
        &self,
        answer: Result<T, SdkError<E, R>>,
        action: &str,
        name: &str,
    ) -> Result<Option<T>, Fault>
    where
        E: ProvideErrorMetadata + std::error::Error + 'static,
        R: std::fmt::Debug,
    {
        match answer {
            Ok(output) => Ok(Some(output)),
            Err(error) => match self.meaning(&error, action, name) {
                Meaning::Absent => Ok(None),
                Meaning::Exists => Err(Fault::Refused {
                    endpoint: self.place.clone(),
                    action: format!("{action} {name}"),
                    cause: "it exists already".to_owned(),
                }),
                Meaning::Fault(fault) => Err(fault),
            },
        }
    }

    /// Success, also when the queue is gone meanwhile: the next look finds out.
    fn done<T, E, R>(&self, answer: Result<T, SdkError<E, R>>, action: &str) -> Result<(), Fault>
    where
        E: ProvideErrorMetadata + std::error::Error + 'static,
        R: std::fmt::Debug,
    {
        self.unless_absent(answer, action, &self.wanted.name)
            .map(drop)
    }

    fn meaning<E, R>(&self, error: &SdkError<E, R>, action: &str, name: &str) -> Meaning
    where
        E: ProvideErrorMetadata + std::error::Error + 'static,
        R: std::fmt::Debug,
    {
        let asked = Asked {
            endpoint: &self.place,
            action: &format!("{action} {name}"),
            name,
            deleted_recently: self.service.deleted_recently,
        };
        errors::meaning(error, asked)
    }
}

fn named(attributes: Attributes) -> std::collections::HashMap<QueueAttributeName, String> {
    let named = |(key, value): (String, String)| (QueueAttributeName::from(key.as_str()), value);
    attributes.into_iter().map(named).collect()
}
