//! Command line of `asya run`.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::pair;
use crate::inputs::Arguments;
use crate::run::{Backend, Settings, is_name, parse_env_file};

/// `asya run`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        asya run examples/hello --send '{\"name\": \"you\"}'\n  \
        asya run actors/ --route parse,translate --send @messages.jsonl\n  \
        asya run examples/hello --watch --send '{\"name\": \"you\"}'    again after each change\n  \
        tail -f requests.jsonl | asya run examples/hello -o json\n  \
        asya run examples/hello --env-file .env --handlers src\n\n\
        A message is a JSON value: a payload, or an envelope with route and payload.\n\
        Results and failures are the messages that the cluster would send to sink and sump.\n\n\
        Exit status: 0 every message has a result, 1 some failed, 2 an actor cannot run, or there was\n\
        no message")]
pub struct Run {
    /// Actors with their flavors, platform settings, Secrets and ConfigMaps in any order: files,
    /// folders, or - for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Read folders with all folders below them
    #[arg(short = 'R', long)]
    recursive: bool,

    /// Message to send, or @FILE with messages; may be repeated. Without it, each line of standard
    /// input is a message
    #[arg(long, value_name = "JSON|@FILE")]
    send: Vec<String>,

    /// Actors that get each payload, in their order (default: the only actor)
    #[arg(long, value_name = "ACTOR,…", value_delimiter = ',')]
    route: Vec<String>,

    /// Environment variable of the handlers; may be repeated. Replaces the value in the actor, and
    /// that of a Secret or ConfigMap
    #[arg(short, long, value_name = "NAME=VALUE", value_parser = pair)]
    env: Vec<(String, String)>,

    /// File with lines NAME=VALUE; may be repeated
    #[arg(long, value_name = "FILE")]
    env_file: Vec<PathBuf>,

    /// Folder of Python modules, before the folder of the actor's file; may be repeated. Handlers run in
    /// the first one
    #[arg(long, value_name = "FOLDER")]
    handlers: Vec<PathBuf>,

    /// Folder for the values of state proxies, below it ACTOR/PROXY
    #[arg(long, value_name = "FOLDER", default_value = ".asya/state")]
    state: PathBuf,

    /// Python interpreter (default: the actor's pythonExecutable if it is installed, else python3)
    #[arg(long, value_name = "PROGRAM")]
    python: Option<String>,

    /// Longest time for a message, such as 10s (default: the actor's timeout)
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    timeout: Option<Duration>,

    /// Number of deliveries of a message to a runtime that crashes on it
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    max_deliveries: u32,

    /// Start again, and send the messages again, when a handler or a manifest changes
    #[arg(short, long)]
    watch: bool,

    /// Backend of queues: memory, or rabbitmq=URL in a program built with `--features rabbitmq`
    #[arg(long, value_name = "TRANSPORT", default_value = "memory")]
    transport: Backend,

    /// Output format
    #[arg(short = 'o', long, value_enum, default_value_t, value_name = "FORM")]
    pub output: RunForm,

    /// Namespace of actors without metadata.namespace
    #[arg(short, long, value_name = "NAME", default_value = "default")]
    namespace: String,
}

/// Output formats of `asya run`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum RunForm {
    /// One line per event
    #[default]
    Text,
    /// One line of JSON per event
    Json,
    /// Only the payloads of results, one line each
    Results,
}

/// A file of the command line that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// It cannot be read.
    #[error("cannot read {path:?}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// It has a line that sets no variable.
    #[error("{}: {source}", path.display())]
    EnvFile {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: crate::run::EnvFileError,
    },
    /// A variable has an impossible name.
    #[error("--env {name:?}: expected NAME=VALUE, with a name of letters, digits and _")]
    Name {
        /// The name.
        name: String,
    },
}

impl Run {
    /// Actors to read.
    pub fn arguments(&self) -> Arguments {
        Arguments {
            files: self.files.clone(),
            recursive: self.recursive,
            namespace: self.namespace.clone(),
            ..Arguments::default()
        }
    }

    /// Variables of handlers: those of the files, then those of `--env`.
    ///
    /// # Errors
    /// When a file cannot be read, or has a line that sets none.
    pub fn variables(&self) -> Result<BTreeMap<String, String>, RunError> {
        let mut variables = BTreeMap::new();
        for path in &self.env_file {
            let text = read(path)?;
            let found = parse_env_file(&text).map_err(|source| RunError::EnvFile {
                path: path.clone(),
                source,
            })?;
            variables.extend(found);
        }
        for (name, value) in &self.env {
            if !is_name(name) {
                return Err(RunError::Name { name: name.clone() });
            }
            variables.insert(name.clone(), value.clone());
        }
        Ok(variables)
    }

    /// Returns the settings of the run.
    ///
    /// # Errors
    /// When a file of messages cannot be read.
    pub fn settings(&self) -> Result<Settings, RunError> {
        let mut send = Vec::new();
        for text in &self.send {
            send.push(match text.strip_prefix('@') {
                Some(path) => (path.to_owned(), read(&PathBuf::from(path))?),
                None => ("--send".to_owned(), text.clone()),
            });
        }
        Ok(Settings {
            handlers: self.handlers.clone(),
            state: self.state.clone(),
            python: self.python.clone(),
            backend: self.transport.clone(),
            timeout: self.timeout,
            max_deliveries: self.max_deliveries,
            watch: self.watch.then(|| self.files.clone()),
            route: self.route.clone(),
            send,
        })
    }

    /// Returns whether lines of standard input are messages.
    pub fn reads_messages(&self) -> bool {
        self.send.is_empty() && !self.files.iter().any(|file| file.as_os_str() == "-")
    }
}

fn read(path: &PathBuf) -> Result<String, RunError> {
    fs::read_to_string(path).map_err(|source| RunError::Read {
        path: path.clone(),
        source,
    })
}

pub(super) fn duration(text: &str) -> Result<Duration, String> {
    match actor::duration::parse_or_seconds(text) {
        Ok(duration) if !duration.is_zero() => Ok(duration),
        _ => Err("expected a duration such as 10s or 5m".to_owned()),
    }
}
