//! A double of `asya-sidecar` for tests: what stands between an actor's queue and its runtime.
//!
//! It is told everything by the environment of the rendered container, under the names that sidecars
//! read, and speaks the two protocols that they speak:
//!
//! - **With the broker.** It makes sure of the exchange, looks for its queue without creating it, and
//!   takes one message at a time (prefetch 1). A message is acknowledged after all that follows from it
//!   was sent, on the same channel; it is persistent, its routing key is the actor's name, and nobody is
//!   asked whether a queue is bound. As in the sidecars that there are, nobody waits for the broker's
//!   word that it keeps the message either, unless `DOUBLE_CONFIRMS` is `true`. On SQS a message is
//!   received with the visibility timeout of the environment, and deleted after its successors were sent.
//! - **With the runtime.** It waits for the file `runtime-ready`, then posts the envelope to `/invoke` on
//!   the Unix socket, one connection for each message, and waits as long as `ASYA_RUNTIME_TIMEOUT`.
//!
//! | The runtime's answer | What follows |
//! |---|---|
//! | 200 with frames | one envelope for each, to the frame's `route.curr`, or to the happy end where that is empty; the second and later ones get the id `<id>-<n>` and `parent_id` |
//! | 204 | the envelope goes to the happy end as it came |
//! | 400 or 500 | an envelope whose payload is `{error, details, original_payload}` goes to the error end |
//! | none in time | the same; then the process ends with 1, since the runtime may still be at work |
//! | none, for the connection ended | the pod is broken, not the message: it goes back to the queue |
//!
//! What is no envelope, or is at the wrong actor, goes to the error end too. An end actor's answers go
//! nowhere. SIGTERM: nothing more is taken, the running call is awaited, its answer sent and
//! acknowledged; then the process ends with 0.
//!
//! What sidecars do beyond that is left out: retries with delays, reports to a gateway, metrics.

mod envelope;
mod queue;
mod runtime;
mod settings;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};
use tokio::signal::unix::{Signal, SignalKind, signal};

use envelope::Envelope;
use queue::{Message, Queue};
use runtime::{Answer, Runtime};
use settings::Settings;

/// Between two attempts to reach a broker that does not answer.
const PAUSE: Duration = Duration::from_millis(100);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode> {
    // Before anything that takes time: a signal without a handler would end the process at once.
    let mut stop = signal(SignalKind::terminate())?;
    let settings = Settings::from_environment()?;
    let runtime = Runtime::of(&settings);
    say("started", &json!({"actor": settings.actor}));
    loop {
        let opened = tokio::select! {
            biased;
            _ = stop.recv() => break,
            opened = open(&settings, &runtime) => opened,
        };
        let served = match opened {
            Ok(mut queue) => serve(&settings, &runtime, &mut queue, &mut stop).await,
            Err(error) => Err(error),
        };
        match served {
            Ok(End::Stopped) => break,
            Ok(End::TimedOut) => return Ok(ExitCode::FAILURE),
            Err(error) => {
                say("connection lost", &json!({"error": format!("{error:#}")}));
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
    say("stopped", &json!({}));
    Ok(ExitCode::SUCCESS)
}

/// No message is taken before there is somebody to handle it.
async fn open(settings: &Settings, runtime: &Runtime) -> Result<Queue> {
    runtime.ready().await;
    Queue::open(settings).await
}

/// Why no more messages are taken.
enum End {
    Stopped,
    TimedOut,
}

async fn serve(
    settings: &Settings,
    runtime: &Runtime,
    queue: &mut Queue,
    stop: &mut Signal,
) -> Result<End> {
    loop {
        let message = tokio::select! {
            biased;
            _ = stop.recv() => None,
            message = queue.next() => Some(message?),
        };
        let Some(message) = message else {
            queue.close().await?;
            return Ok(End::Stopped);
        };
        // A signal that comes from here on waits until the message is done.
        match handle(settings, runtime, queue, &message).await? {
            Outcome::Done => queue.acknowledge(&message).await?,
            Outcome::TimedOut => {
                queue.acknowledge(&message).await?;
                queue.close().await?;
                return Ok(End::TimedOut);
            }
            Outcome::Broken => {
                say("runtime lost", &json!({}));
                queue.give_back(&message).await?;
                tokio::select! {
                    biased;
                    _ = stop.recv() => {
                        queue.close().await?;
                        return Ok(End::Stopped);
                    }
                    () = runtime.ready() => {}
                }
            }
        }
    }
}

/// What becomes of a message.
enum Outcome {
    /// All that follows from it was sent.
    Done,
    /// The runtime has not answered in time; the error was sent.
    TimedOut,
    /// The runtime has gone without an answer.
    Broken,
}

async fn handle(
    settings: &Settings,
    runtime: &Runtime,
    queue: &mut Queue,
    message: &Message,
) -> Result<Outcome> {
    let fails =
        async |queue: &mut Queue, failure: Value| queue.send(&settings.error_end, &failure).await;
    let envelope = match Envelope::read(&message.body) {
        Ok(envelope) => envelope,
        Err(reason) => {
            let failure = envelope::unreadable(&message.body, &reason);
            fails(queue, failure).await?;
            return Ok(Outcome::Done);
        }
    };
    if !settings.is_end_actor && envelope.actor() != settings.actor {
        let reason = format!("the message is for {:?}", envelope.actor());
        fails(
            queue,
            envelope.failed("route_mismatch", &json!({"message": reason})),
        )
        .await?;
        return Ok(Outcome::Done);
    }
    let answer = runtime.call(&message.body).await;
    if settings.is_end_actor {
        return Ok(match answer {
            Answer::None => Outcome::Broken,
            Answer::TimedOut => Outcome::TimedOut,
            Answer::Frames(_) | Answer::Nothing | Answer::Error(_) => Outcome::Done,
        });
    }
    match answer {
        Answer::Frames(frames) => {
            for (index, frame) in frames.iter().enumerate() {
                let (next, body) = envelope.followed_by(index, frame);
                let next = next.unwrap_or(&settings.happy_end);
                queue.send(next, &body).await?;
            }
        }
        Answer::Nothing => queue.send(&settings.happy_end, envelope.as_json()).await?,
        Answer::Error(error) => {
            let kind = error["error"].as_str().unwrap_or("processing_error");
            fails(queue, envelope.failed(kind, &error["details"])).await?;
        }
        Answer::TimedOut => {
            let details = json!({"message": "the runtime has not answered in time"});
            fails(queue, envelope.failed("timeout_error", &details)).await?;
            return Ok(Outcome::TimedOut);
        }
        Answer::None => return Ok(Outcome::Broken),
    }
    Ok(Outcome::Done)
}

/// One JSON line on standard output.
fn say(message: &str, fields: &Value) {
    println!("{}", json!({"message": message, "fields": fields}));
}
