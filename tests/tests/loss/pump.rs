//! Messages, as many as the actors take.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use tests::amqp::{Link, Login};
use tests::mesh::{EXCHANGE, STEPS, envelope};

use crate::ledger::Ledger;

/// Most messages on their way, so that faults meet queues that are neither empty nor ever longer.
const ON_THE_WAY: usize = 400;

/// Number of messages that the broker confirms at once.
const BATCH: usize = 50;

const PAUSE: Duration = Duration::from_millis(10);

/// Sends `messages` messages to the first actor; for each, whether the broker has confirmed it.
/// Sends each message once: an unconfirmed message is not sent again, so that none is doubled here.
pub(crate) async fn send(
    login: Login,
    run: String,
    messages: usize,
    arrived: Arc<AtomicUsize>,
) -> Vec<bool> {
    let mut kept = vec![false; messages];
    let mut link = None;
    let mut next = 0;
    let mut unsure = 0;
    while next < messages {
        let end = messages.min(next + BATCH);
        while next > arrived.load(Ordering::Relaxed) + unsure + ON_THE_WAY {
            tokio::time::sleep(PAUSE).await;
        }
        let mut open = match link.take() {
            Some(open) => open,
            None => connected(&login).await,
        };
        if send_batch(&mut open, &run, next..end).await.is_ok() {
            kept[next..end].fill(true);
            link = Some(open);
        } else {
            unsure += end - next;
        }
        next = end;
    }
    kept
}

async fn send_batch(
    link: &mut Link,
    run: &str,
    numbers: std::ops::Range<usize>,
) -> anyhow::Result<()> {
    for number in numbers {
        let body = envelope(&Ledger::id(run, number), &json!({}));
        let body = body.to_string().into_bytes();
        link.publish(EXCHANGE, STEPS[0], body).await?;
    }
    link.confirmed().await
}

/// A link to a broker that may be down for a while.
async fn connected(login: &Login) -> Link {
    loop {
        if let Ok(link) = Link::open(login, true).await {
            return link;
        }
        tokio::time::sleep(PAUSE).await;
    }
}
