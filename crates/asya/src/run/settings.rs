//! Settings and output of a run.

use std::path::PathBuf;
use std::time::Duration;

use super::backend::Backend;
use super::totals::Totals;

/// Settings of a run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Folders of modules; the manifest's folder comes after them.
    pub handlers: Vec<PathBuf>,
    /// Folder with the values of state proxies, in a folder for each actor and proxy.
    pub state: PathBuf,
    /// The interpreter, by its name or path.
    pub python: Option<String>,
    /// Backend of queues.
    pub backend: Backend,
    /// Timeout of a handler, in place of the actor's own limit.
    pub timeout: Option<Duration>,
    /// Number of times that a message may meet a runtime that ends before it goes to the dead letters.
    pub max_deliveries: u32,
    /// Files and folders with the actors, where changes are watched for.
    pub watch: Option<Vec<PathBuf>>,
    /// Actors of the route of payloads; empty for the only actor.
    pub route: Vec<String>,
    /// Messages to send first: where each came from, and its text.
    pub send: Vec<(String, String)>,
}

/// Output of a run.
pub trait Output {
    /// Writes an event, in a form in which it may not exist.
    fn event(&mut self, line: &dyn Fn(Form) -> Option<String>);
    /// Returns whether nothing can be written any more: the run ends.
    fn is_broken(&self) -> bool;
    /// Writes an error.
    fn error(&mut self, text: &dyn std::fmt::Display, hint: Option<String>);
    /// Writes a note.
    fn note(&mut self, text: &dyn std::fmt::Display);
    /// Writes the counts.
    fn totals(&mut self, totals: &Totals);
}

/// Forms of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// For people.
    Text,
    /// For programs.
    Json,
    /// The payload of a result.
    Result,
}

/// End of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// All messages are processed, or the user has stopped it.
    Done(Totals),
    /// The input has ended without a message.
    NoMessage,
    /// An actor cannot run.
    Failed,
}
