//! Calls to the service, and how their answers are interpreted for one queue.

use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_sqs::types::QueueAttributeName;

use super::attributes::{self, Attributes};
use super::errors::{self, CallContext, CallError};
use super::{OWNER_TAG, QueueDefinition, Service, StsError};
use crate::transport::call_times::timed;
use crate::transport::{Ownership, TransportError, owner_in_message};

/// Longest URL or ARN, in bytes.
const TEXT_MAX: usize = 1024;

/// One queue of the service.
pub struct SqsExternal {
    pub(super) service: Service,
    pub(super) definition: QueueDefinition,
    /// Name of the service in messages.
    pub(super) endpoint: String,
}

/// Result of looking up a queue by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Lookup {
    /// It does not exist.
    Missing,
    /// It exists at this URL, and its tags cannot be read: it was created or deleted a moment ago.
    Hidden(String),
    /// It is ours; its URL.
    Ours(String),
    /// It belongs to another owner, or to none.
    Foreign(Option<String>),
}

impl SqsExternal {
    /// Looks up a queue by name; two calls.
    pub(super) async fn look_up(&self, name: &str) -> Result<Lookup, TransportError> {
        let Some(url) = self.url_of(name).await? else {
            return Ok(Lookup::Missing);
        };
        Ok(match self.read_owner(&url).await? {
            None => Lookup::Hidden(url),
            Some(Ownership::OwnedBy(owner)) if owner == self.definition.owner_tag.as_str() => {
                Lookup::Ours(url)
            }
            Some(Ownership::OwnedBy(owner)) => Lookup::Foreign(Some(owner)),
            Some(Ownership::Unowned | Ownership::Unread) => Lookup::Foreign(None),
        })
    }

    /// The URL of the queue of this name, unless it is missing.
    pub(super) async fn url_of(&self, name: &str) -> Result<Option<String>, TransportError> {
        self.service.acquire().await;
        let get = self.service.sqs.get_queue_url().queue_name(name);
        let output = self.unless_missing(timed(get.send()).await, "find queue", name)?;
        let url = output.and_then(|output| output.queue_url);
        url.map(|url| self.checked("find queue", name, "URL", url))
            .transpose()
    }

    /// All attributes of a queue, unless it is missing.
    pub(super) async fn attributes(&self, url: &str) -> Result<Option<Attributes>, TransportError> {
        self.service.acquire().await;
        let get = self.service.sqs.get_queue_attributes().queue_url(url);
        let get = get.attribute_names(QueueAttributeName::All);
        let answer = timed(get.send()).await;
        let output = self.unless_missing(answer, "read queue", name_in(url))?;
        let Some(output) = output else {
            return Ok(None);
        };
        let found = output.attributes.unwrap_or_default().into_iter();
        let found = found.map(|(key, value)| (key.as_str().to_owned(), value));
        let found: Attributes = found.filter(|(key, _)| attributes::is_read(key)).collect();
        if let Some(arn) = attributes::arn(&found) {
            self.checked("read queue", name_in(url), "ARN", arn.to_owned())?;
        }
        Ok(Some(found))
    }

    /// Owner of a queue by its tags, unless it is missing. Tags are visible later than the queue: a new
    /// queue may have attributes and no tags yet.
    pub(super) async fn read_owner(&self, url: &str) -> Result<Option<Ownership>, TransportError> {
        self.service.acquire_for_tags().await;
        let list = self.service.sqs.list_queue_tags().queue_url(url);
        let answer = timed(list.send()).await;
        let output = self.unless_missing(answer, "read tags of queue", name_in(url))?;
        let ours = self.definition.owner_tag.as_str();
        Ok(output.map(|output| {
            let owner = output.tags.unwrap_or_default().remove(OWNER_TAG);
            owner.map_or(Ownership::Unowned, |owner| {
                Ownership::OwnedBy(owner_in_message(owner, ours))
            })
        }))
    }

    /// Creates a queue with our owner tag. No URL means that it already exists and is not visible yet.
    pub(super) async fn create_queue(
        &self,
        name: &str,
        attributes: Attributes,
    ) -> Result<Option<String>, TransportError> {
        let mut tags = self.definition.tags.clone();
        tags.insert(OWNER_TAG.to_owned(), self.definition.owner_tag.to_string());
        self.service.acquire_for_tags().await;
        let create = self.service.sqs.create_queue().queue_name(name);
        let create = create
            .set_attributes(Some(named(attributes)))
            .set_tags(Some(tags.into_iter().collect()));
        match timed(create.send()).await {
            Ok(output) => match output.queue_url {
                Some(url) => self.checked("create queue", name, "URL", url).map(Some),
                None => Err(TransportError::Failed {
                    endpoint: self.endpoint.clone(),
                    action: format!("create queue {name}"),
                    cause: "the answer holds no URL".to_owned(),
                }),
            },
            Err(error) => match self.call_error(&error, "create queue", name) {
                // Another client was faster: the owner tag decides what comes next.
                CallError::Exists => self.url_of(name).await,
                CallError::NotFound => Ok(None),
                CallError::Transport(problem) => Err(problem),
            },
        }
    }

    pub(super) async fn tag(&self, url: &str) -> Result<(), TransportError> {
        self.service.acquire_for_tags().await;
        let tag = self.service.sqs.tag_queue().queue_url(url);
        let tag = tag.tags(OWNER_TAG, self.definition.owner_tag.as_str());
        let answer = timed(tag.send()).await;
        self.succeeded(answer, "tag queue", name_in(url))
    }

    pub(super) async fn set_attributes(
        &self,
        url: &str,
        to: Attributes,
    ) -> Result<(), TransportError> {
        self.service.acquire().await;
        let set = self.service.sqs.set_queue_attributes().queue_url(url);
        let answer = timed(set.set_attributes(Some(named(to))).send()).await;
        self.succeeded(answer, "set attributes of queue", name_in(url))
    }

    pub(super) async fn delete_queue(&self, url: &str) -> Result<(), TransportError> {
        self.service.acquire().await;
        let delete = self.service.sqs.delete_queue().queue_url(url);
        let answer = timed(delete.send()).await;
        self.succeeded(answer, "delete queue", name_in(url))
    }

    /// The account of the credentials, where the service knows accounts; context for once.
    pub(super) async fn account(&self) -> Result<Option<&str>, TransportError> {
        let ask = || async {
            self.service.acquire().await;
            match timed(self.service.sts.get_caller_identity().send()).await {
                Ok(identity) => {
                    let (action, name) = ("report the account of", "its credentials");
                    let account = identity.account;
                    account
                        .map(|account| self.checked(action, name, "account", account))
                        .transpose()
                }
                // Services compatible with SQS need not know STS. One that is down, throttles or denies
                // does know it.
                Err(error)
                    if self.service.endpoint.is_some() && errors::is_not_understood(&error) =>
                {
                    Ok(None)
                }
                Err(error) => Err(self.sts_error(&error)),
            }
        };
        let account = self.service.account.get_or_try_init(ask).await?;
        Ok(account.as_deref())
    }

    /// A text of the service that becomes part of statuses.
    fn checked(
        &self,
        action: &str,
        name: &str,
        what: &str,
        text: String,
    ) -> Result<String, TransportError> {
        if text.len() <= TEXT_MAX && text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Ok(text);
        }
        Err(TransportError::Failed {
            endpoint: self.endpoint.clone(),
            action: format!("{action} {name}"),
            cause: format!(
                "the {what} in the answer is longer than {TEXT_MAX} bytes, or not printable ASCII"
            ),
        })
    }

    fn sts_error(&self, error: &StsError) -> TransportError {
        match self.call_error(
            error,
            "report the account of its credentials for",
            &self.definition.name,
        ) {
            CallError::Transport(problem) => problem,
            CallError::NotFound | CallError::Exists => TransportError::Failed {
                endpoint: self.endpoint.clone(),
                action: "report the account of its credentials".to_owned(),
                cause: "the answer is about a queue".to_owned(),
            },
        }
    }

    /// The answer; none where the queue is missing.
    fn unless_missing<T, E, R>(
        &self,
        answer: Result<T, SdkError<E, R>>,
        action: &str,
        name: &str,
    ) -> Result<Option<T>, TransportError>
    where
        E: ProvideErrorMetadata + std::error::Error + 'static,
        R: std::fmt::Debug + 'static,
    {
        match answer {
            Ok(output) => Ok(Some(output)),
            Err(error) => match self.call_error(&error, action, name) {
                CallError::NotFound => Ok(None),
                CallError::Exists => Err(TransportError::Refused {
                    endpoint: self.endpoint.clone(),
                    action: format!("{action} {name}"),
                    cause: "it already exists".to_owned(),
                }),
                CallError::Transport(problem) => Err(problem),
            },
        }
    }

    /// Success, also where the queue was deleted meanwhile: the next observation finds out.
    fn succeeded<T, E, R>(
        &self,
        answer: Result<T, SdkError<E, R>>,
        action: &str,
        name: &str,
    ) -> Result<(), TransportError>
    where
        E: ProvideErrorMetadata + std::error::Error + 'static,
        R: std::fmt::Debug + 'static,
    {
        self.unless_missing(answer, action, name).map(drop)
    }

    fn call_error<E, R>(&self, error: &SdkError<E, R>, action: &str, name: &str) -> CallError
    where
        E: ProvideErrorMetadata + std::error::Error + 'static,
        R: std::fmt::Debug + 'static,
    {
        let context = CallContext {
            endpoint: &self.endpoint,
            action: &format!("{action} {name}"),
            name,
            deleted_recently: self.service.deleted_recently,
        };
        errors::call_error(error, context)
    }
}

/// Name of a queue, the end of its URL.
fn name_in(url: &str) -> &str {
    url.rsplit_once('/').map_or(url, |(_, name)| name)
}

fn named(attributes: Attributes) -> std::collections::HashMap<QueueAttributeName, String> {
    let named = |(key, value): (String, String)| (QueueAttributeName::from(key.as_str()), value);
    attributes.into_iter().map(named).collect()
}
