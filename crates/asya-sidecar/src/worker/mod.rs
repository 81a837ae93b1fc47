//! The loop: receive a message, call the handler, publish what follows, acknowledge last.

mod handle;
mod publish;

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use futures::FutureExt as _;

use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;

use crate::config::WorkerConfig;
use crate::gateway::Gateway;
use crate::metrics::Metrics;
use crate::runtime::Runtime;
use crate::stop::Stop;
use crate::trace::{Span, Tracer, Untraced};
use crate::transport::{Backoff, Delivery, Transport};

/// Time for a runtime that does not count its calls to cancel one that timed out, or to end itself.
/// Meanwhile no message is received: it would wait behind the call that hangs, and time out too.
const HANG_LIMIT: Duration = Duration::from_secs(15);

/// Time for closing the connection to the broker. It ends with the process anyway.
const LAST_CLOSE: Duration = Duration::from_secs(5);

/// Interval between checks of a runtime with a call that hangs.
const HANG_PAUSE: Duration = Duration::from_millis(50);

/// Pauses after calls that broke, even if the runtime is ready at once.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Worker that processes an actor's messages.
pub struct Worker {
    config: WorkerConfig,
    transport: Arc<dyn Transport>,
    runtime: Runtime,
    metrics: Arc<Metrics>,
    gateway: Gateway,
    stop: Stop,
    tracer: Box<dyn Tracer>,
    /// Actors for which no queue received lately: the next message for them does not wait.
    unroutable: std::sync::Mutex<std::collections::BTreeSet<String>>,
}

/// A delivery that is processed, with its span.
struct Work<'a> {
    delivery: &'a Delivery,
    span: Box<dyn Span>,
    /// True if the message itself went to the sump.
    is_in_sump: AtomicBool,
}

impl std::ops::Deref for Work<'_> {
    type Target = Delivery;

    fn deref(&self) -> &Delivery {
        self.delivery
    }
}

/// A task that has processed a delivery.
struct Ended {
    delivery: Delivery,
    end: End,
    /// Run of the runtime that had it.
    incarnation: Option<SystemTime>,
}

/// End of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// It is settled.
    Settled,
    /// It is settled, and the runtime may still be at work on it.
    TimedOut,
    /// The runtime is dead: the message goes back.
    RuntimeLost,
    /// The task panicked: the message goes back.
    Panicked,
}

impl Worker {
    /// A worker that ends when it is asked to.
    pub fn new(
        mut config: WorkerConfig,
        transport: Arc<dyn Transport>,
        runtime: Runtime,
        metrics: Arc<Metrics>,
        gateway: Gateway,
        stop: Stop,
    ) -> Self {
        // What the sink or the sump sent on would come back to them.
        let ends = [&config.sink, &config.sump];
        config.is_end_actor |= ends.contains(&&config.actor);
        Self {
            config,
            transport,
            runtime,
            metrics,
            gateway,
            stop,
            tracer: Box::new(Untraced),
            unroutable: std::sync::Mutex::default(),
        }
    }

    /// The same worker, with spans of its messages.
    #[must_use]
    pub fn with_tracer(mut self, tracer: impl Tracer + 'static) -> Self {
        self.tracer = Box::new(tracer);
        self
    }

    /// Processes messages until it is asked to end. Then nothing more is received, the running calls are
    /// finished, what follows from them is published, and they are acknowledged.
    pub async fn run(self: Arc<Self>) {
        let mut stop = self.stop.clone();
        let mut tasks = JoinSet::new();
        let mut backoff = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE);
        while !stop.is_requested() {
            tokio::select! {
                biased;
                () = stop.requested() => break,
                () = self.settling(&mut tasks, self.runtime.ready()) => {}
            }
            let incarnation = self.runtime.incarnation();
            let start = Instant::now();
            match self.serve(&mut tasks, &mut stop).await {
                End::Settled | End::Panicked => break,
                End::RuntimeLost => {
                    if start.elapsed() > LONGEST_PAUSE {
                        backoff.reset();
                    }
                    let pause = backoff.pause();
                    tracing::warn!(?pause, "runtime lost: waiting until it is ready");
                    tokio::select! {
                        biased;
                        () = stop.requested() => break,
                        () = self.settling(&mut tasks, tokio::time::sleep(pause)) => {}
                    }
                }
                End::TimedOut => {
                    tokio::select! {
                        biased;
                        () = stop.requested() => break,
                        () = self.recovered(incarnation, tasks.len()) => {}
                    }
                }
            }
        }
        self.transport.pause().await;
        while let Some(ended) = tasks.join_next().await {
            self.settle(ended).await;
        }
        // A broker that blocks publishers does not answer.
        drop(tokio::time::timeout(LAST_CLOSE, self.transport.close()).await);
    }

    /// Settles deliveries whose tasks end, until something has happened. With more calls than one, those
    /// of a dead runtime end one after the other.
    async fn settling(&self, tasks: &mut JoinSet<Ended>, until: impl Future<Output = ()>) {
        let mut until = pin!(until);
        loop {
            tokio::select! {
                () = &mut until => return,
                Some(ended) = tasks.join_next() => drop(self.settle(ended).await),
            }
        }
    }

    /// Processes messages until the order to end, or until the runtime is not to be trusted.
    async fn serve(self: &Arc<Self>, tasks: &mut JoinSet<Ended>, stop: &mut Stop) -> End {
        loop {
            let has_room = tasks.len() < usize::from(self.config.prefetch);
            tokio::select! {
                biased;
                () = stop.requested() => return End::Settled,
                Some(ended) = tasks.join_next() => {
                    let end = self.settle(ended).await;
                    if end != End::Settled {
                        return end;
                    }
                }
                delivery = self.transport.receive(), if has_room => {
                    let worker = Arc::clone(self);
                    tasks.spawn(async move {
                        let incarnation = worker.runtime.incarnation();
                        let end = AssertUnwindSafe(worker.handle(&delivery)).catch_unwind();
                        let end = end.await.unwrap_or(End::Panicked);
                        Ended { delivery, end, incarnation }
                    });
                }
            }
        }
    }

    /// Gives back what nobody could work on, after this sidecar has stopped receiving: it would get it
    /// again at once.
    async fn settle(&self, ended: Result<Ended, JoinError>) -> End {
        let Ok(Ended {
            delivery,
            end,
            incarnation,
        }) = ended
        else {
            // Tasks are neither cancelled, nor do they panic.
            return End::Settled;
        };
        match end {
            End::Settled => return end,
            End::TimedOut | End::RuntimeLost => self.transport.pause().await,
            End::Panicked => {
                tracing::error!("a defect of the sidecar: the message is delivered again");
                delivery.settle.give_back().await;
                return End::Settled;
            }
        }
        if end == End::RuntimeLost {
            delivery.settle.give_back().await;
            // It has restarted since: another call has told so already.
            let now = self.runtime.incarnation();
            if now.is_some() && now != incarnation {
                return End::Settled;
            }
        }
        end
    }

    /// Waits until a runtime whose call timed out has restarted, or runs no more calls than the others
    /// that this sidecar waits for. A runtime that does not count its calls gets [`HANG_LIMIT`].
    async fn recovered(&self, incarnation: Option<std::time::SystemTime>, others: usize) {
        let deadline = Instant::now() + HANG_LIMIT;
        loop {
            let health = self.runtime.health().await;
            if !health.is_ready || self.runtime.incarnation() != incarnation {
                return;
            }
            let has_recovered = match health.calls {
                Some(calls) => calls <= others,
                None => Instant::now() >= deadline,
            };
            if has_recovered {
                return;
            }
            tokio::time::sleep(HANG_PAUSE).await;
        }
    }
}
