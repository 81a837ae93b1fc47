//! Reads bodies of answers within limits: of one answer, of one tenant, and of the process.
//!
//! Small answers are read at once. A large one reserves the memory that it needs as it arrives, of a
//! budget of all tenants together, and one tenant reads one large answer at a time. So brokers that answer
//! with megabytes make each other wait, and do not exhaust the memory of the provider. An answer that
//! hardly arrives is given up, so that it does not hold its memory for long.

use std::future::Future;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Body;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout, timeout_at};

use crate::transport::call_times;

/// Bytes that are read without a reservation. A queue has about 3 KiB.
const SMALL: usize = 64 << 10;

/// Bytes of large answers of all tenants together, in KiB.
const BUDGET: usize = 24 << 10;

/// Time in which a large answer must grow by an eighth of what has arrived.
const WINDOW: Duration = Duration::from_secs(2);
/// The part by which it must grow.
const GROWTH: usize = 8;

/// Memory for large answers.
#[derive(Debug)]
struct Budget {
    /// KiB that are left.
    left: Semaphore,
    /// Held by the one answer that waits for more memory while it has some: of two such answers each could
    /// wait for the other one.
    growing: Semaphore,
    /// Time in which an answer must grow by a part of what has arrived.
    window: Duration,
}

impl Budget {
    const fn new(window: Duration) -> Self {
        Self {
            left: Semaphore::const_new(BUDGET),
            growing: Semaphore::const_new(1),
            window,
        }
    }
}

static OF_PROCESS: Budget = Budget::new(WINDOW);

/// Error of a body that cannot be read.
type BodyError = Box<dyn std::error::Error + Send + Sync>;

/// Reads answers for one tenant, by however many configs. Clones share its limit.
#[derive(Debug, Clone)]
pub struct Reader {
    of_tenant: Arc<Semaphore>,
    budget: &'static Budget,
}

impl Default for Reader {
    fn default() -> Self {
        Self {
            of_tenant: Arc::new(Semaphore::new(1)),
            budget: &OF_PROCESS,
        }
    }
}

/// A body, with its part of the budget until it is dropped.
#[derive(Debug)]
pub(super) struct AnswerBody {
    bytes: Vec<u8>,
    _reserved: Option<Reserved>,
}

/// Part of the budget that a large answer has.
#[derive(Debug)]
struct Reserved {
    _of_tenant: OwnedSemaphorePermit,
    of_process: SemaphorePermit<'static>,
    /// Bytes for which it suffices.
    capacity: usize,
}

impl Deref for AnswerBody {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Time that an answer has.
struct Clock {
    limit: Duration,
    deadline: Instant,
    window: Duration,
    /// End of the current window, and the bytes at its start.
    current: (Instant, usize),
}

impl Clock {
    fn new(limit: Duration, window: Duration) -> Self {
        let now = Instant::now();
        Self {
            limit,
            deadline: now + limit,
            window,
            current: (now + window, 0),
        }
    }

    /// Waits for memory; the time until then does not count.
    async fn pause<T>(
        &mut self,
        length: usize,
        waiting: impl Future<Output = Result<T, AcquireError>>,
    ) -> Result<T, BodyError> {
        let start = Instant::now();
        let waited = call_times::paused(timeout(self.limit, waiting)).await;
        self.deadline += start.elapsed();
        self.current = (Instant::now() + self.window, length);
        waited.map_err(|_| BUSY)?.map_err(Into::into)
    }

    fn check(&mut self, length: usize, is_large: bool) -> Result<(), BodyError> {
        let now = Instant::now();
        if now >= self.deadline {
            let limit = self.limit.as_millis();
            return Err(format!("no answer within {limit} ms").into());
        }
        let (end, before) = self.current;
        if is_large && now >= end {
            if length - before < before / GROWTH {
                return Err(STALLED.into());
            }
            self.current = (now + self.window, length);
        }
        Ok(())
    }
}

/// Cause of an error: the body hardly arrives.
const STALLED: &str = "a large answer began to arrive, and hardly arrives any further";

/// Cause of an error: there is no memory for the answer.
const BUSY: &str = "large answers of other brokers take the memory for answers: it is tried again";

impl Reader {
    /// Returns whether nobody else has a clone of it.
    pub fn is_unused(&self) -> bool {
        Arc::strong_count(&self.of_tenant) == 1
    }

    /// Reads a body of at most `max` bytes. Waits for memory do not count for its time limit.
    ///
    /// # Errors
    /// It is longer, it does not arrive in time, there is no memory for it, or the connection fails.
    pub(super) async fn read<B>(
        &self,
        mut body: B,
        max: usize,
        limit: Duration,
    ) -> Result<AnswerBody, BodyError>
    where
        B: Body<Data = Bytes> + Unpin,
        B::Error: Into<BodyError>,
    {
        let mut bytes = Vec::new();
        let mut reserved: Option<Reserved> = None;
        let mut clock = Clock::new(limit, self.budget.window);
        loop {
            let until = match reserved {
                Some(_) => clock.deadline.min(clock.current.0),
                None => clock.deadline,
            };
            let data = match timeout_at(until, body.frame()).await {
                Ok(None) => break,
                Ok(Some(frame)) => frame.map_err(Into::into)?.into_data().unwrap_or_default(),
                Err(_) => Bytes::new(),
            };
            let length = bytes.len() + data.len();
            if length > max {
                return Err(format!("the answer has more than {max} bytes").into());
            }
            if length > SMALL {
                let has = reserved.take();
                let has = self.reserve(has, length, max, &mut clock).await?;
                bytes.reserve_exact(has.capacity - bytes.len());
                reserved = Some(has);
            }
            bytes.extend_from_slice(&data);
            clock.check(bytes.len(), reserved.is_some())?;
        }
        Ok(AnswerBody {
            bytes,
            _reserved: reserved,
        })
    }

    /// Reserves memory for `length` bytes, and for some more.
    async fn reserve(
        &self,
        reserved: Option<Reserved>,
        length: usize,
        max: usize,
        clock: &mut Clock,
    ) -> Result<Reserved, BodyError> {
        let budget = self.budget;
        let capacity = length.next_power_of_two().min(max);
        let Some(mut reserved) = reserved else {
            let acquired = async {
                let of_tenant = self.of_tenant.clone().acquire_owned().await?;
                let of_process = budget.left.acquire_many(kibibytes(capacity)).await?;
                Ok((of_tenant, of_process))
            };
            let (of_tenant, of_process) = clock.pause(length, acquired).await?;
            return Ok(Reserved {
                _of_tenant: of_tenant,
                of_process,
                capacity,
            });
        };
        if length <= reserved.capacity {
            return Ok(reserved);
        }
        let more = kibibytes(capacity) - kibibytes(reserved.capacity);
        let more = if let Ok(more) = budget.left.try_acquire_many(more) {
            more
        } else {
            let _growing = budget.growing.try_acquire().map_err(|_| BUSY)?;
            clock.pause(length, budget.left.acquire_many(more)).await?
        };
        reserved.of_process.merge(more);
        reserved.capacity = capacity;
        Ok(reserved)
    }
}

/// Memory for an answer with this capacity: a vector that grows is copied once more.
fn kibibytes(capacity: usize) -> u32 {
    let kibibytes = (2 * capacity).div_ceil(1024).min(BUDGET);
    u32::try_from(kibibytes).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures::stream::Stream;
    use futures::{FutureExt as _, StreamExt as _, stream};
    use http_body_util::{Full, StreamBody};
    use hyper::body::Frame;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(15);
    const MAX: usize = 8 << 20;

    /// Readers of so many tenants, with a budget of their own.
    fn readers(count: usize, window: Duration) -> Vec<Reader> {
        let budget: &'static Budget = Box::leak(Box::new(Budget::new(window)));
        let reader = || Reader {
            of_tenant: Arc::new(Semaphore::new(1)),
            budget,
        };
        std::iter::repeat_with(reader).take(count).collect()
    }

    fn reader() -> Reader {
        readers(1, WINDOW).remove(0)
    }

    fn body(length: usize) -> Full<Bytes> {
        Full::new(Bytes::from(vec![b' '; length]))
    }

    /// A body in parts of 64 KiB, between which other tasks run.
    fn in_parts(count: usize) -> impl Stream<Item = Bytes> {
        stream::iter(0..count).then(|_| async {
            tokio::task::yield_now().await;
            Bytes::from(vec![b' '; SMALL])
        })
    }

    fn streamed(
        parts: impl Stream<Item = Bytes>,
    ) -> impl Body<Data = Bytes, Error = Infallible> + Unpin {
        StreamBody::new(Box::pin(parts.map(|data| Ok(Frame::data(data)))))
    }

    #[tokio::test]
    async fn longer_answers_than_the_limit_are_refused() {
        let reader = reader();
        let max = SMALL * 2;
        let read = reader.read(body(max), max, LIMIT).await;
        assert_eq!(read.unwrap().len(), max);
        let error = reader.read(body(max + 1), max, LIMIT).await.unwrap_err();
        assert_eq!(error.to_string(), "the answer has more than 131072 bytes");
    }

    #[tokio::test]
    async fn a_tenant_reads_one_large_answer_at_a_time_and_small_ones_at_any_time() {
        let reader = reader();
        let max = SMALL * 2;
        let first = reader.read(body(max), max, LIMIT).await.unwrap();
        let read = |length| reader.read(body(length), max, LIMIT).now_or_never();
        assert!(read(max).is_none());
        assert!(read(SMALL).is_some());
        drop(first);
        assert!(read(max).is_some());
    }

    #[tokio::test]
    async fn large_answers_that_hang_leave_memory_for_others() {
        let readers = readers(20, WINDOW);
        let (healthy, hostile) = readers.split_first().unwrap();
        let mut hanging = Vec::new();
        for reader in hostile {
            let first = stream::iter([Bytes::from(vec![b' '; 2 * SMALL])]);
            let hangs = streamed(first.chain(stream::pending()));
            let mut read = Box::pin(reader.read(hangs, MAX, LIMIT));
            assert!((&mut read).now_or_never().is_none());
            hanging.push(read);
        }
        let read = healthy.read(body(1 << 20), MAX, LIMIT).now_or_never();
        assert!(read.is_some_and(|read| read.is_ok()), "it need not wait");
    }

    #[tokio::test]
    async fn a_large_answer_that_hardly_arrives_is_given_up() {
        let readers = readers(1, Duration::from_millis(50));
        let drops = stream::repeat(()).then(|()| async {
            tokio::time::sleep(Duration::from_millis(5)).await;
            Bytes::from_static(b" ")
        });
        let first = stream::iter([Bytes::from(vec![b' '; MAX / 2])]);
        let body = streamed(first.chain(drops));
        let read = readers[0].read(body, MAX, LIMIT).await;
        assert_eq!(read.unwrap_err().to_string(), STALLED);
    }

    #[tokio::test]
    async fn an_answer_that_never_ends_is_given_up_at_its_time_limit() {
        let body = streamed(stream::pending());
        let read = reader().read(body, MAX, Duration::from_millis(10)).await;
        let error = read.unwrap_err().to_string();
        assert_eq!(error, "no answer within 10 ms");
    }

    #[tokio::test]
    async fn waits_for_memory_do_not_count_for_the_time_limit() {
        let mut clock = Clock::new(LIMIT, WINDOW);
        let (deadline, wait) = (clock.deadline, Duration::from_millis(20));
        let waiting = async {
            tokio::time::sleep(wait).await;
            Ok(())
        };
        clock.pause(0, waiting).await.unwrap();
        assert!(clock.deadline >= deadline + wait);
    }

    #[tokio::test]
    async fn answers_that_wait_for_each_others_memory_do_not_wait_for_ever() {
        let readers = readers(6, WINDOW);
        let all = readers.iter().map(async |reader| {
            let body = streamed(in_parts(MAX / SMALL));
            reader.read(body, MAX, LIMIT).await.map(drop)
        });
        let all = futures::future::join_all(all).await;
        assert!(all.iter().any(Result::is_ok));
        for error in all.into_iter().filter_map(Result::err) {
            assert_eq!(error.to_string(), BUSY);
        }
    }
}
