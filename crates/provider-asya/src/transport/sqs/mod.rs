//! Queues of Amazon SQS, and of services that speak its protocol.

pub mod attributes;
mod calls;
mod credentials;
pub mod errors;
mod queue;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use actor::queue::SqsQueue;
use aws_sdk_sqs::Client;
use aws_sdk_sts::operation::get_caller_identity::GetCallerIdentityError;
use prometheus_client::metrics::counter::Counter;
use tokio::sync::OnceCell;

pub use self::queue::SqsExternal;
use super::Fault;
use super::limit::{Limits, Rate};
use crate::owner::OwnerMark;

/// The tag with the owner's mark.
pub const OWNER_TAG: &str = "asya-owner";

/// Longest name of a queue.
const NAME_MAX: usize = actor::names::SQS_QUEUE_MAX;

/// Calls on tags that all queues of an account make together in one region, those that make a queue
/// with tags included. AWS allows 30 per second, which these are in the first second after a rest.
const TAGS: Rate = Rate {
    per_second: 25,
    burst: 5,
};

/// Calls of other kinds. AWS publishes no limit of them; where it throttles one, that queue waits.
/// Each queue is read once in a minute, so that this is enough for 6,000.
const OTHERS: Rate = Rate {
    per_second: 100,
    burst: 250,
};

/// The limits of all accounts.
#[derive(Debug)]
pub struct Pace {
    tags: Limits,
    others: Limits,
}

impl Pace {
    /// Limits for everything that a provider calls, with its calls counted by `calls`.
    pub fn new(calls: Counter) -> Arc<Self> {
        Arc::new(Self {
            tags: Limits::of_each(TAGS, calls.clone()),
            others: Limits::of_each(OTHERS, calls),
        })
    }
}

/// What the SDK says where STS does not tell the account.
type ServiceFault = aws_sdk_sts::error::SdkError<GetCallerIdentityError>;

/// The service in one region, with one account's credentials. Clones share a
/// pool of connections, and what was learned.
#[derive(Clone)]
pub struct Service {
    sqs: Client,
    sts: aws_sdk_sts::Client,
    region: String,
    endpoint: Option<String>,
    pace: Arc<Pace>,
    deleted_recently: Duration,
    /// The account whose queues are seen here, and by whose limit calls are made from then on.
    /// Until then all clients share one.
    seen_account: Arc<OnceLock<String>>,
    /// The account of the credentials, once it was asked for; nothing, where nobody knows.
    account: Arc<OnceCell<Option<String>>>,
    /// The URLs of queues by their names, as the service told them. What a status says of them may
    /// have been written by anybody.
    urls: Arc<Mutex<BTreeMap<String, String>>>,
}

/// One queue, as the service is to hold it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Its name.
    pub name: String,
    /// Its settings.
    pub queue: SqsQueue,
    /// Its owner.
    pub mark: OwnerMark,
    /// Tags that say which object made it.
    pub tags: BTreeMap<String, String>,
    /// The account that it was in, where that is known.
    pub account_id: Option<String>,
}

impl Service {
    /// The service behind these clients.
    pub fn new(
        sqs: Client,
        sts: aws_sdk_sts::Client,
        region: &str,
        endpoint: Option<&str>,
        deleted_recently: Duration,
    ) -> Self {
        Self {
            sqs,
            sts,
            region: region.to_owned(),
            endpoint: endpoint.map(|endpoint| endpoint.trim_end_matches('/').to_owned()),
            pace: Pace::new(Counter::default()),
            deleted_recently,
            seen_account: Arc::default(),
            account: Arc::default(),
            urls: Arc::default(),
        }
    }

    /// This service, with these limits, which others share.
    #[must_use]
    pub fn limited_by(self, pace: &Arc<Pace>) -> Self {
        let pace = pace.clone();
        Self { pace, ..self }
    }

    /// Waits until it is this call's turn among those of its account.
    async fn turn(&self) {
        self.pace.others.of(&self.whose()).turn().await;
    }

    /// Waits until it is this call's turn among those of its account that concern tags.
    async fn turn_of_tags(&self) {
        self.pace.tags.of(&self.whose()).turn().await;
    }

    /// The account, as far as it is known, in this service and region.
    fn whose(&self) -> String {
        let service = self.endpoint.as_deref().unwrap_or("AWS");
        let account = self.seen_account.get().map_or("unknown", String::as_str);
        format!("{service} {} {account}", self.region)
    }

    /// Remembers whose queues are seen here.
    fn is_of(&self, account: &str) {
        self.seen_account.get_or_init(|| account.to_owned());
    }

    /// One queue of it.
    pub fn queue(&self, wanted: Wanted) -> Result<SqsExternal, Fault> {
        check_name(&wanted)?;
        let place = self
            .endpoint
            .clone()
            .unwrap_or_else(|| format!("SQS of region {}", self.region));
        Ok(SqsExternal {
            service: self.clone(),
            wanted,
            place,
        })
    }

    fn remembered(&self, name: &str) -> Option<String> {
        self.known_urls().get(name).cloned()
    }

    fn remember(&self, name: &str, url: String) {
        self.known_urls().insert(name.to_owned(), url);
    }

    fn forget(&self, name: &str) {
        self.known_urls().remove(name);
    }

    fn known_urls(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.urls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn check_name(wanted: &Wanted) -> Result<(), Fault> {
    let longest = if wanted.queue.dead_letter.enabled {
        attributes::dead_letter_name(&wanted.name)
    } else {
        wanted.name.clone()
    };
    if longest.len() > NAME_MAX {
        return Err(Fault::Invalid(format!(
            "the queue name {longest:?} has {} characters, and SQS allows {NAME_MAX}",
            longest.len()
        )));
    }
    let base = wanted.name.strip_suffix(".fifo").unwrap_or(&wanted.name);
    let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    if base.is_empty() || !base.chars().all(is_allowed) {
        return Err(Fault::Invalid(format!(
            "the queue name {:?} is not allowed on SQS: use letters, digits, \"-\" and \"_\", with the ending \
             \".fifo\" for a FIFO queue",
            wanted.name
        )));
    }
    Ok(())
}
