//! The calls to the service, one by one, and what their answers mean for one queue.

use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_sqs::types::QueueAttributeName;

use super::attributes::Attributes;
use super::errors::{self, Asked, Meaning};
use super::queue::SqsExternal;
use super::{OWNER_TAG, ServiceFault};
use crate::transport::{Fault, Mark};

/// How a queue of some name stands to us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Standing {
    /// There is none.
    Absent,
    /// It is listed at this URL, and its tags cannot be read: it was made a moment ago, or is going.
    Hidden(String),
    /// It is ours, at this URL.
    Ours(String),
    /// It is another owner's, or nobody's.
    NotOurs(Option<String>),
}

impl SqsExternal {
    /// How the queue of this name stands to us; two calls.
    pub(super) async fn standing(&self, name: &str) -> Result<Standing, Fault> {
        let Some(url) = self.url_of(name).await? else {
            return Ok(Standing::Absent);
        };
        Ok(match self.mark(&url).await? {
            None => Standing::Hidden(url),
            Some(Mark::Of(owner)) if owner == self.wanted.mark.as_str() => Standing::Ours(url),
            Some(Mark::Of(owner)) => Standing::NotOurs(Some(owner)),
            Some(Mark::None | Mark::Unread) => Standing::NotOurs(None),
        })
    }

    /// The URL of the queue of this name, unless it is absent.
    pub(super) async fn url_of(&self, name: &str) -> Result<Option<String>, Fault> {
        self.service.turn().await;
        let get = self.service.sqs.get_queue_url().queue_name(name);
        let output = self.unless_absent(get.send().await, "find queue", name)?;
        Ok(output.and_then(|output| output.queue_url))
    }

    /// All attributes of a queue, unless it is absent.
    pub(super) async fn attributes(&self, url: &str) -> Result<Option<Attributes>, Fault> {
        self.service.turn().await;
        let get = self.service.sqs.get_queue_attributes().queue_url(url);
        let answer = get.attribute_names(QueueAttributeName::All).send().await;
        let output = self.unless_absent(answer, "read queue", name_in(url))?;
        Ok(output.map(|output| {
            let found = output.attributes.unwrap_or_default();
            found
                .into_iter()
                .map(|(key, value)| (key.as_str().to_owned(), value))
                .collect()
        }))
    }

    /// Whose a queue is by its tags, unless it is absent. Tags show later than the queue itself: of
    /// one that was made a moment ago they may be absent while its attributes are there.
    pub(super) async fn mark(&self, url: &str) -> Result<Option<Mark>, Fault> {
        self.service.turn_of_tags().await;
        let list = self.service.sqs.list_queue_tags().queue_url(url);
        let output = self.unless_absent(list.send().await, "read tags of queue", name_in(url))?;
        Ok(output.map(|output| {
            let tags = output.tags.unwrap_or_default();
            tags.get(OWNER_TAG)
                .map_or(Mark::None, |owner| Mark::Of(owner.clone()))
        }))
    }

    /// Creates a queue with our mark. Without a URL it exists already, and cannot be seen yet.
    pub(super) async fn create_queue(
        &self,
        name: &str,
        attributes: Attributes,
    ) -> Result<Option<String>, Fault> {
        let mut tags = self.wanted.tags.clone();
        tags.insert(OWNER_TAG.to_owned(), self.wanted.mark.to_string());
        self.service.turn_of_tags().await;
        let create = self.service.sqs.create_queue().queue_name(name);
        let answer = create
            .set_attributes(Some(named(attributes)))
            .set_tags(Some(tags.into_iter().collect()))
            .send()
            .await;
        match answer {
            Ok(output) => match output.queue_url {
                Some(url) => Ok(Some(url)),
                None => Err(Fault::Failed {
                    endpoint: self.place.clone(),
                    action: format!("create queue {name}"),
                    cause: "the answer holds no URL".to_owned(),
                }),
            },
            Err(error) => match self.meaning(&error, "create queue", name) {
                // Another was faster: whose it is decides what comes next.
                Meaning::Exists => self.url_of(name).await,
                Meaning::Absent => Ok(None),
                Meaning::Fault(fault) => Err(fault),
            },
        }
    }

    pub(super) async fn tag(&self, url: &str) -> Result<(), Fault> {
        self.service.turn_of_tags().await;
        let tag = self.service.sqs.tag_queue().queue_url(url);
        let answer = tag.tags(OWNER_TAG, self.wanted.mark.as_str()).send().await;
        self.done(answer, "tag queue", name_in(url))
    }

    pub(super) async fn set_attributes(&self, url: &str, to: Attributes) -> Result<(), Fault> {
        self.service.turn().await;
        let set = self.service.sqs.set_queue_attributes().queue_url(url);
        let answer = set.set_attributes(Some(named(to))).send().await;
        self.done(answer, "set attributes of queue", name_in(url))
    }

    pub(super) async fn delete_queue(&self, url: &str) -> Result<(), Fault> {
        self.service.turn().await;
        let answer = self.service.sqs.delete_queue().queue_url(url).send().await;
        self.done(answer, "delete queue", name_in(url))
    }

    /// The account of the credentials, where the service knows accounts; asked for once.
    pub(super) async fn account(&self) -> Result<Option<&str>, Fault> {
        let ask = || async {
            self.service.turn().await;
            match self.service.sts.get_caller_identity().send().await {
                Ok(identity) => Ok(identity.account),
                // Services that stand in for SQS need not know STS. One that is down, throttles
                // or denies is no such service.
                Err(error)
                    if self.service.endpoint.is_some() && errors::is_not_understood(&error) =>
                {
                    Ok(None)
                }
                Err(error) => Err(self.fault_of_sts(&error)),
            }
        };
        let account = self.service.account.get_or_try_init(ask).await?;
        Ok(account.as_deref())
    }

    fn fault_of_sts(&self, error: &ServiceFault) -> Fault {
        match self.meaning(
            error,
            "tell the account of its credentials for",
            &self.wanted.name,
        ) {
            Meaning::Fault(fault) => fault,
            Meaning::Absent | Meaning::Exists => Fault::Failed {
                endpoint: self.place.clone(),
                action: "tell the account of its credentials".to_owned(),
                cause: "the answer is one about a queue".to_owned(),
            },
        }
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
        R: std::fmt::Debug + 'static,
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
    fn done<T, E, R>(
        &self,
        answer: Result<T, SdkError<E, R>>,
        action: &str,
        name: &str,
    ) -> Result<(), Fault>
    where
        E: ProvideErrorMetadata + std::error::Error + 'static,
        R: std::fmt::Debug + 'static,
    {
        self.unless_absent(answer, action, name).map(drop)
    }

    fn meaning<E, R>(&self, error: &SdkError<E, R>, action: &str, name: &str) -> Meaning
    where
        E: ProvideErrorMetadata + std::error::Error + 'static,
        R: std::fmt::Debug + 'static,
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

/// The name at the end of a queue's URL.
fn name_in(url: &str) -> &str {
    url.rsplit_once('/').map_or(url, |(_, name)| name)
}

fn named(attributes: Attributes) -> std::collections::HashMap<QueueAttributeName, String> {
    let named = |(key, value): (String, String)| (QueueAttributeName::from(key.as_str()), value);
    attributes.into_iter().map(named).collect()
}
