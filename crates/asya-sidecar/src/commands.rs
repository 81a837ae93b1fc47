//! Commands for operators, run inside the cluster with a pod's own environment:
//! `kubectl exec <pod> -c asya-sidecar -- asya-sidecar peek --dead`.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use actor::hidden::escaped;
use asya_sidecar::admin::{self, Message, Selection};
use asya_sidecar::config::Config;
use asya_sidecar::runtime_files;
use asya_sidecar::transport::SendError;
use clap::{Args, Subcommand};

use crate::state_command::Connector;
use crate::{Connected, connect, invalid};

/// Commands for operators.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Writes the runtime script, the adapters and the end actors into a folder
    RuntimeFiles {
        /// The folder
        #[arg(long)]
        to: PathBuf,
    },
    /// Runs the connector of a state proxy: values in a directory or in a bucket, until SIGTERM
    State {
        /// Storage of the values [default: known by STATE_BUCKET or STATE_DIRECTORY]
        #[arg(long)]
        connector: Option<Connector>,
    },
    /// Sends a message to an actor, and prints its id when the broker has confirmed it
    Send {
        /// The actor
        actor: String,
        /// The payload as JSON; `-` reads it from standard input
        #[arg(default_value = "-")]
        payload: String,
        /// Id of the message [default: a random UUID]
        #[arg(long)]
        id: Option<String>,
        /// Actors that get the results, in this order
        #[arg(long, value_delimiter = ',')]
        next: Vec<String>,
    },
    /// Prints the first messages of a queue, one JSON line each; they stay in it
    ///
    /// The messages are received and returned. On a RabbitMQ quorum queue that counts as one delivery
    /// of each, on SQS as one receive: a message of the actor's own queue that reaches maxReceiveCount
    /// becomes a dead letter. Meanwhile the actor does not get these messages.
    Peek {
        /// The actor whose queue it is [default: the pod's own]
        #[arg(long)]
        actor: Option<String>,
        /// Its dead-letter queue in place of its queue
        #[arg(long)]
        dead: bool,
        /// Number of messages
        #[arg(long, default_value_t = 10)]
        count: usize,
    },
    /// Moves dead letters back to their queue, each removed only after the broker has confirmed it
    Requeue {
        #[command(flatten)]
        letters: DeadLetters,
        /// Messages per second
        #[arg(long, default_value_t = 50)]
        per_second: u32,
    },
    /// Deletes dead letters, and prints their ids
    Drop {
        #[command(flatten)]
        letters: DeadLetters,
    },
}

/// Dead letters of an actor.
#[derive(Debug, Args)]
pub(crate) struct DeadLetters {
    /// The actor whose dead letters they are [default: the pod's own]
    #[arg(long)]
    actor: Option<String>,
    /// All of them
    #[arg(long, required_unless_present = "id", conflicts_with = "id")]
    all: bool,
    /// Only the message with this id; may be given several times
    #[arg(long)]
    id: Vec<String>,
}

impl DeadLetters {
    fn selection(self) -> Selection {
        if self.all {
            Selection::All
        } else {
            Selection::Ids(self.id)
        }
    }
}

/// Writes the runtime files.
pub(crate) fn runtime_files(to: &Path) -> ExitCode {
    match runtime_files::write(to) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error.to_string()),
    }
}

/// Runs a command that needs the broker.
pub(crate) async fn run(command: Command, config: &Config) -> ExitCode {
    let connected = match connect(config).await {
        Ok(connected) => connected,
        Err(problem) => return invalid(&[problem]),
    };
    let done = execute(command, config, &connected).await;
    connected.transport.close().await;
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

async fn execute(command: Command, config: &Config, connected: &Connected) -> Result<(), String> {
    let queue_of = |actor: &Option<String>| match actor {
        Some(actor) => config.queues.of(actor),
        None => config.queues.own.clone(),
    };
    let queues = &*connected.queues;
    match command {
        Command::RuntimeFiles { .. } | Command::State { .. } => Ok(()),
        Command::Send {
            actor,
            payload,
            id,
            next,
        } => {
            let message = Message {
                id,
                actor,
                next,
                payload: read(payload)?,
            };
            let (id, envelope) = message.envelope()?;
            let queue = config.queues.of(&message.actor);
            let sent = queues.put(&queue, envelope).await;
            sent.map_err(|error| format!("message for queue {queue:?} not sent: {error}"))?;
            print(&id)
        }
        Command::Peek { actor, dead, count } => {
            let mut queue = queue_of(&actor);
            if dead {
                queue = dead_letters(&queue);
            }
            let found = admin::peek(queues, &queue, count).await;
            let found = found.map_err(|error| format!("queue {queue:?}: {error}"))?;
            for body in found {
                print(&admin::shown(&body).to_string())?;
            }
            Ok(())
        }
        Command::Requeue {
            letters,
            per_second,
        } => {
            let queue = queue_of(&letters.actor);
            let dead = dead_letters(&queue);
            let selection = letters.selection();
            let moved = |id: &str| drop(print(id));
            let count = admin::requeue(queues, &dead, &queue, &selection, per_second, moved).await;
            some(&dead, count)
        }
        Command::Drop { letters } => {
            let dead = dead_letters(&queue_of(&letters.actor));
            let deleted = |id: &str| drop(print(id));
            let count = admin::delete(queues, &dead, &letters.selection(), deleted).await;
            some(&dead, count)
        }
    }
}

/// An error where no message was found.
fn some(queue: &str, count: Result<usize, SendError>) -> Result<(), String> {
    match count {
        Ok(0) => Err(format!("queue {queue:?}: no such message")),
        Ok(_) => Ok(()),
        Err(error) => Err(format!("queue {queue:?}: {error}")),
    }
}

/// Name of a queue's dead-letter queue, as the provider gives it.
fn dead_letters(queue: &str) -> String {
    format!("{queue}-dlq")
}

fn read(payload: String) -> Result<String, String> {
    if payload != "-" {
        return Ok(payload);
    }
    let mut text = String::new();
    let read = std::io::stdin().read_to_string(&mut text);
    read.map_err(|error| format!("cannot read the payload from standard input: {error}"))?;
    Ok(text)
}

/// Writes a line of JSON or an id; line breaks in one of these are escaped.
fn print(line: &str) -> Result<(), String> {
    let written = writeln!(std::io::stdout(), "{}", escaped(line));
    written.map_err(|error| format!("cannot write: {error}"))
}

fn failed(error: &str) -> ExitCode {
    // If nothing reads it, the exit code still counts.
    let _ = writeln!(std::io::stderr(), "{error}");
    ExitCode::FAILURE
}
