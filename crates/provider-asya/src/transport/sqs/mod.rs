//! Queues on Amazon SQS, and on compatible services.

pub mod attributes;
mod calls;
mod codes;
mod credentials;
pub mod errors;
pub mod limited_answers;
mod queue;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use actor::queue::SqsQueue;
use aws_sdk_sqs::Client;
use aws_sdk_sts::operation::get_caller_identity::GetCallerIdentityError;
use prometheus_client::metrics::counter::Counter;
use tokio::sync::OnceCell;
use tokio::time::Instant;

pub use self::calls::SqsExternal;
use super::TransportError;
use super::limit::{Limits, Rate};
use crate::owner::OwnerTag;

/// AWS tag with the owner tag.
pub const OWNER_TAG: &str = "asya-owner";

/// Longest name of a queue.
const NAME_MAX: usize = actor::names::SQS_QUEUE_MAX;

/// Most URLs that are cached of one service. An unknown one costs a call.
const URLS_MAX: usize = 20_000;

/// Rate limit of calls on tags of an account in one region, including creation with tags. AWS allows 30
/// per second, which a burst and the rate of one second add up to.
const TAGS: Rate = Rate {
    per_second: 25,
    burst: 5,
};

/// Rate limit of other calls. AWS publishes none; where it throttles a call, that queue backs off. With
/// one call a minute it suffices for 6,000 queues.
const OTHERS: Rate = Rate {
    per_second: 100,
    burst: 250,
};

/// Time for which an owner tag that was read back when a queue was created is not read again.
const CONFIRMED: Duration = Duration::from_mins(1);

/// Rate limits of all accounts.
#[derive(Debug)]
pub struct RateLimits {
    tags: Limits,
    others: Limits,
}

impl RateLimits {
    /// Rate limits of a process, with calls counted by `calls`.
    pub fn new(calls: Counter) -> Arc<Self> {
        Arc::new(Self {
            tags: Limits::new(TAGS, calls.clone()),
            others: Limits::new(OTHERS, calls),
        })
    }
}

/// Error of STS.
type StsError = aws_sdk_sts::error::SdkError<GetCallerIdentityError>;

/// The service in one region, with one account's credentials. Clones share connections and caches.
#[derive(Clone)]
pub struct Service {
    sqs: Client,
    sts: aws_sdk_sts::Client,
    region: String,
    endpoint: Option<String>,
    limits: Arc<RateLimits>,
    deleted_recently: Duration,
    /// Account of the observed queues, whose rate limit is used from then on. Until then all clients
    /// share one.
    observed_account: Arc<OnceLock<String>>,
    /// Account of the credentials, once requested; none where the service knows no accounts.
    account: Arc<OnceCell<Option<String>>>,
    /// URLs of queues by name, as the service returned them. The URL in a status may have been written
    /// by another program.
    urls: Arc<Mutex<BTreeMap<String, String>>>,
    /// Queues whose owner tag was read back when they were created, and when that was.
    confirmed: Arc<Mutex<BTreeMap<String, Instant>>>,
}

/// Desired state of one queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueDefinition {
    /// Its name.
    pub name: String,
    /// Its settings.
    pub queue: SqsQueue,
    /// Its owner tag.
    pub owner_tag: OwnerTag,
    /// Tags that name its object.
    pub tags: BTreeMap<String, String>,
    /// Its recorded account, where there is one.
    pub account_id: Option<String>,
}

impl Service {
    /// The service of these clients. `deleted_recently` is the retry interval after SQS refused a name.
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
            limits: RateLimits::new(Counter::default()),
            deleted_recently,
            observed_account: Arc::default(),
            account: Arc::default(),
            urls: Arc::default(),
            confirmed: Arc::default(),
        }
    }

    /// This service, with shared rate limits.
    #[must_use]
    pub fn limited_by(self, limits: &Arc<RateLimits>) -> Self {
        let limits = limits.clone();
        Self { limits, ..self }
    }

    /// Waits until a call may be made.
    async fn acquire(&self) {
        self.limits
            .others
            .for_account(&self.account_key())
            .acquire()
            .await;
    }

    /// Waits until a call on tags may be made.
    async fn acquire_for_tags(&self) {
        self.limits
            .tags
            .for_account(&self.account_key())
            .acquire()
            .await;
    }

    /// Key of the rate limit: service, region and account, as far as it is known.
    fn account_key(&self) -> String {
        let service = self.endpoint.as_deref().unwrap_or("AWS");
        let account = self
            .observed_account
            .get()
            .map_or("unknown", String::as_str);
        format!("{service} {} {account}", self.region)
    }

    /// Sets the account of the observed queues.
    fn set_account(&self, account: &str) {
        self.observed_account.get_or_init(|| account.to_owned());
    }

    /// A queue of the service.
    ///
    /// # Errors
    /// The service would refuse the name.
    pub fn queue(&self, definition: QueueDefinition) -> Result<SqsExternal, TransportError> {
        check_name(&definition)?;
        let endpoint = self
            .endpoint
            .clone()
            .unwrap_or_else(|| format!("SQS of region {}", self.region));
        Ok(SqsExternal {
            service: self.clone(),
            definition,
            endpoint,
        })
    }

    fn cached_url(&self, name: &str) -> Option<String> {
        self.urls_lock().get(name).cloned()
    }

    fn cache_url(&self, name: &str, url: String) {
        let mut urls = self.urls_lock();
        if urls.len() >= URLS_MAX {
            urls.clear();
        }
        urls.insert(name.to_owned(), url);
    }

    fn forget_url(&self, name: &str) {
        self.urls_lock().remove(name);
    }

    /// Records that the owner tag of a queue was read back when it was created.
    fn confirm(&self, name: &str) {
        let mut confirmed = self.confirmed_lock();
        confirmed.retain(|_, at| at.elapsed() < CONFIRMED);
        confirmed.insert(name.to_owned(), Instant::now());
    }

    /// Returns whether the owner tag of a queue was read back a moment ago. It counts once: calls on tags are
    /// the ones that AWS limits most.
    fn take_confirmed(&self, name: &str) -> bool {
        let confirmed = self.confirmed_lock().remove(name);
        confirmed.is_some_and(|at| at.elapsed() < CONFIRMED)
    }

    fn confirmed_lock(&self) -> MutexGuard<'_, BTreeMap<String, Instant>> {
        self.confirmed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn urls_lock(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.urls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn check_name(definition: &QueueDefinition) -> Result<(), TransportError> {
    let longest = if definition.queue.dead_letter.enabled {
        attributes::dead_letter_name(&definition.name)
    } else {
        definition.name.clone()
    };
    if longest.len() > NAME_MAX {
        return Err(TransportError::Invalid(format!(
            "the queue name {longest:?} has {} characters, and SQS allows {NAME_MAX}",
            longest.len()
        )));
    }
    let base = definition
        .name
        .strip_suffix(".fifo")
        .unwrap_or(&definition.name);
    let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    if base.is_empty() || !base.chars().all(is_allowed) {
        return Err(TransportError::Invalid(format!(
            "the queue name {:?} is not allowed on SQS: use letters, digits, \"-\" and \"_\", with the ending \
             \".fifo\" for a FIFO queue",
            definition.name
        )));
    }
    Ok(())
}
