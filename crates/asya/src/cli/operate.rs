//! Command lines of `asya send`, `asya dead-letters` and `asya logs`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use crate::inputs::{Cluster, Scope};
use crate::operate::Order;

/// Options of the commands that run a Job.
#[derive(Debug, Args)]
pub struct JobOptions {
    /// Namespace of the actor (default: that of the kubeconfig)
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<String>,

    /// Context of the kubeconfig
    #[arg(long, value_name = "NAME")]
    context: Option<String>,

    /// Longest time for the Job, from its creation to its end
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = super::run::duration)]
    timeout: Duration,

    /// Image with the commands of asya-sidecar, if that of the actor's sidecar is another program
    #[arg(long, value_name = "IMAGE")]
    image: Option<String>,

    /// Print the Job instead of creating it
    #[arg(long)]
    pub dry_run: bool,

    /// Output format
    #[arg(short = 'o', long, value_enum, default_value_t, value_name = "FORM")]
    pub output: OperateForm,
}

impl JobOptions {
    /// The cluster with the actor.
    pub fn cluster(&self) -> Cluster {
        cluster(self.context.clone(), self.namespace.clone())
    }

    /// Longest time for the Job.
    pub fn deadline(&self) -> Duration {
        self.timeout
    }

    /// The Job's command.
    pub fn order(&self, arguments: Vec<String>) -> Order {
        Order {
            arguments,
            deadline: self.timeout,
            image: self.image.clone(),
        }
    }
}

fn cluster(context: Option<String>, namespace: Option<String>) -> Cluster {
    Cluster {
        context,
        scope: namespace.map_or(Scope::Own, Scope::Namespace),
    }
}

/// Output formats of these commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum OperateForm {
    /// Plain text
    #[default]
    Text,
    /// JSON
    Json,
}

/// `asya send`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        asya send hello '{\"name\": \"you\"}' -n prod\n  \
        asya send parse @document.json --next translate,store -n prod\n  \
        asya send hello '{}' --dry-run -o json\n\n\
        A Job with the image, environment and service account of the actor's sidecar sends the message.\n\
        Takes the rights to create, get and delete jobs, and to get pods and their logs.\n\n\
        Exit status: 0 the broker has the message, 1 it does not, 2 kubectl failed")]
pub struct Send {
    /// Name of the actor
    #[arg(value_name = "ACTOR")]
    pub actor: String,

    /// The payload as JSON; @FILE reads it from a file, and - from standard input
    #[arg(value_name = "JSON|@FILE", default_value = "-")]
    pub payload: String,

    /// Id of the message (default: a random UUID)
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,

    /// Actors that get the results, in their order
    #[arg(long, value_name = "ACTOR,…", value_delimiter = ',')]
    pub next: Vec<String>,

    /// Options of the Job.
    #[command(flatten)]
    pub job: JobOptions,
}

/// `asya dead-letters`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        asya dead-letters list hello -n prod\n  \
        asya dead-letters peek hello --id m-1 -n prod -o json\n  \
        asya dead-letters requeue hello --all -n prod\n  \
        asya dead-letters drop hello --id m-1 -n prod\n\n\
        A Job with the image, environment and service account of the actor's sidecar does it.\n\n\
        Exit status: 0 done, 1 there is no such message, or the broker refuses it, 2 kubectl failed")]
pub struct DeadLetters {
    /// Command on the dead letters.
    #[command(subcommand)]
    pub command: DeadLettersCommand,
}

/// Commands on dead letters.
#[derive(Debug, Subcommand)]
pub enum DeadLettersCommand {
    /// Show a table of dead letters; they stay
    ///
    /// They are received and returned, which the broker counts as a delivery of each. Dead-letter queues of
    /// the provider have no delivery limit; a queue with one would drop its messages after that many reads.
    List(Peek),
    /// Print dead letters as JSON; they stay
    ///
    /// They are received and returned, which the broker counts as a delivery of each. Dead-letter queues of
    /// the provider have no delivery limit; a queue with one would drop its messages after that many reads.
    Peek(Peek),
    /// Move dead letters back to the actor's queue
    Requeue(Selected),
    /// Delete dead letters
    Drop(Selected),
}

/// `asya dead-letters list` and `peek`.
#[derive(Debug, Args)]
pub struct Peek {
    /// Name of the actor
    #[arg(value_name = "ACTOR")]
    pub actor: String,

    /// Number of messages to read, from the oldest
    #[arg(long, value_name = "COUNT", default_value_t = 100)]
    pub count: usize,

    /// Only messages with this id; may be repeated
    #[arg(long, value_name = "ID")]
    pub id: Vec<String>,

    /// Options of the Job.
    #[command(flatten)]
    pub job: JobOptions,
}

/// `asya dead-letters requeue` and `drop`.
#[derive(Debug, Args)]
pub struct Selected {
    /// Name of the actor
    #[arg(value_name = "ACTOR")]
    pub actor: String,

    /// All of them
    #[arg(long, required_unless_present = "id", conflicts_with = "id")]
    pub all: bool,

    /// Only the message with this id; may be repeated
    #[arg(long, value_name = "ID")]
    pub id: Vec<String>,

    /// Options of the Job.
    #[command(flatten)]
    pub job: JobOptions,
}

impl Selected {
    /// The arguments of the sidecar's command.
    pub fn arguments(&self, verb: &str) -> Vec<String> {
        let mut arguments = vec![verb.to_owned()];
        if self.all {
            arguments.push("--all".to_owned());
        }
        arguments.extend(self.id.iter().map(|id| format!("--id={id}")));
        arguments
    }
}

/// `asya logs`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        asya logs hello -n prod\n  \
        asya logs hello -n prod -f --since 5m\n  \
        asya logs hello -n prod --container runtime --previous\n\n\
        Reads through kubectl; lines of all pods are sorted by time.\n\n\
        Exit status: 0 printed, 1 the actor has no pods, 2 the cluster cannot be read")]
pub struct Logs {
    /// Name of the actor
    #[arg(value_name = "ACTOR")]
    pub actor: String,

    /// Namespace of the actor (default: that of the kubeconfig)
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<String>,

    /// Context of the kubeconfig
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,

    /// Print new lines as they come, of new pods too
    #[arg(short, long)]
    pub follow: bool,

    /// Only lines of this last time, such as 5m
    #[arg(long, value_name = "DURATION", value_parser = super::run::duration)]
    pub since: Option<Duration>,

    /// Only so many last lines of each container
    #[arg(long, value_name = "COUNT")]
    pub tail: Option<u32>,

    /// Only this container: runtime, sidecar, state-proxy-NAME or a full name; may be repeated
    /// (default: all of Asya's)
    #[arg(short, long, value_name = "NAME")]
    pub container: Vec<String>,

    /// The containers before their last restart
    #[arg(short, long, conflicts_with = "follow")]
    pub previous: bool,

    /// Begin lines with their times
    #[arg(long)]
    pub timestamps: bool,

    /// Output format
    #[arg(short = 'o', long, value_enum, default_value_t, value_name = "FORM")]
    pub output: OperateForm,
}

impl Logs {
    /// The cluster with the actor.
    pub fn cluster(&self) -> Cluster {
        cluster(self.context.clone(), self.namespace.clone())
    }
}

/// The text of a payload: an argument, or the content of a file or of standard input.
///
/// # Errors
/// When that cannot be read, with its name.
pub(crate) fn payload(argument: &str) -> Result<String, String> {
    let path = match (argument, argument.strip_prefix('@')) {
        ("-", _) => PathBuf::from("/dev/stdin"),
        (_, Some(path)) => path.into(),
        (text, None) => return Ok(text.to_owned()),
    };
    std::fs::read_to_string(&path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))
}
