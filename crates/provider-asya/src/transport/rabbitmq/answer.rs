//! Reads bodies of answers within limits: of one answer, of one config, and of the process.
//!
//! Small answers are read at once. A large one first reserves the memory that it may need, of a budget
//! of all configs together, and one config reads one large answer at a time. So brokers that answer
//! with megabytes make each other wait, and do not exhaust the memory of the provider.

use std::ops::Deref;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Body;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

/// Bytes that are read without a reservation. A queue has about 3 KiB.
const SMALL: usize = 64 << 10;

/// Bytes of large answers of all configs together, in KiB.
const BUDGET: u32 = 16 << 10;

static RESERVED: Semaphore = Semaphore::const_new(BUDGET as usize);

/// Error of a body that cannot be read.
type BodyError = Box<dyn std::error::Error + Send + Sync>;

/// Reads answers of one config. Clones share its limit.
#[derive(Debug, Clone)]
pub(super) struct Reader(Arc<Semaphore>);

impl Default for Reader {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }
}

/// A body, with its part of the budget until it is dropped.
#[derive(Debug)]
pub(super) struct AnswerBody {
    bytes: Vec<u8>,
    _reserved: Option<(OwnedSemaphorePermit, SemaphorePermit<'static>)>,
}

impl Deref for AnswerBody {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Reader {
    /// Reads a body of at most `max` bytes.
    ///
    /// # Errors
    /// It is longer, or the connection fails.
    pub(super) async fn read<B>(&self, mut body: B, max: usize) -> Result<AnswerBody, BodyError>
    where
        B: Body<Data = Bytes> + Unpin,
        B::Error: Into<BodyError>,
    {
        let mut bytes = Vec::new();
        let mut reserved = None;
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(Into::into)?.into_data() else {
                continue;
            };
            let length = bytes.len() + data.len();
            if length > max {
                return Err(format!("the answer has more than {max} bytes").into());
            }
            if length > SMALL && reserved.is_none() {
                reserved = Some(self.reserve(max).await?);
                bytes.reserve_exact(body.size_hint().upper().map_or(0, |upper| {
                    usize::try_from(upper).unwrap_or(max).min(max) + data.len()
                }));
            }
            bytes.extend_from_slice(&data);
        }
        Ok(AnswerBody {
            bytes,
            _reserved: reserved,
        })
    }

    async fn reserve(
        &self,
        max: usize,
    ) -> Result<(OwnedSemaphorePermit, SemaphorePermit<'static>), BodyError> {
        let of_config = self.0.clone().acquire_owned().await?;
        // A vector that grows is copied once more.
        let kibibytes = u32::try_from(2 * max / 1024).unwrap_or(BUDGET);
        let of_process = RESERVED.acquire_many(kibibytes.min(BUDGET)).await?;
        Ok((of_config, of_process))
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use http_body_util::Full;

    use super::*;

    fn body(length: usize) -> Full<Bytes> {
        Full::new(Bytes::from(vec![b' '; length]))
    }

    #[tokio::test]
    async fn longer_answers_than_the_limit_are_refused() {
        let reader = Reader::default();
        let max = SMALL * 2;
        assert_eq!(reader.read(body(max), max).await.unwrap().len(), max);
        let error = reader.read(body(max + 1), max).await.unwrap_err();
        assert_eq!(error.to_string(), "the answer has more than 131072 bytes");
    }

    #[tokio::test]
    async fn a_config_reads_one_large_answer_at_a_time_and_small_ones_at_any_time() {
        let reader = Reader::default();
        let max = SMALL * 2;
        let first = reader.read(body(max), max).await.unwrap();
        assert!(reader.read(body(max), max).now_or_never().is_none());
        assert!(reader.read(body(SMALL), max).now_or_never().is_some());
        drop(first);
        assert!(reader.read(body(max), max).now_or_never().is_some());
    }
}
