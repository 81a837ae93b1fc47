//! A run: its actors, the messages for them, and its end.

mod start;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use asya_sidecar::runtime_files;
use asya_sidecar::transport::SendError;
use tempfile::TempDir;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{Receiver, UnboundedReceiver, unbounded_channel};

use self::start::Generation;
use super::event::{Event, What};
pub(crate) use super::messages::lines;
use super::messages::{Composer, Outgoing};
use super::observe::{Arrivals, Events, Unsettled};
use super::plan::Plan;
use super::process::folder_of;
use super::python::Python;
pub use super::runtime::StartError;
use super::settings::{End, Form, Output, Settings};
use super::totals::Totals;
use super::watch::Snapshot;

/// Messages on their way beyond which no more input is read.
const IN_FLIGHT: usize = 1000;

/// Interval between checks of watched files.
const WATCH_INTERVAL: Duration = Duration::from_millis(300);

/// A process that ends runtimes with this program.
const GUARD: &str = include_str!("../guard.py");

/// Reason for which a generation of processes ends.
enum Turn {
    Finished,
    Interrupted,
    Changed,
    Failed(StartError),
}

/// State of a run that is kept across changes of its files.
struct Session<'a> {
    settings: &'a Settings,
    folder: TempDir,
    events: Events,
    arrivals: Arrivals,
    unsettled: Unsettled,
    returned: Arc<Mutex<BTreeMap<String, u32>>>,
    totals: Totals,
    composer: Composer,
    /// Interpreters by their names.
    interpreters: BTreeMap<String, Python>,
    /// Messages of the command line that are not sent yet.
    unsent: usize,
    terminate: Signal,
    interrupt: Signal,
}

/// Runs actors until their messages are processed, or until the user stops it. `load` returns the
/// actors, after it has reported what is wrong with them; `input` has numbered lines, each a message.
///
/// # Errors
/// When the private folder cannot be written, or signals cannot be received.
pub async fn run(
    settings: &Settings,
    mut load: impl FnMut() -> Option<Vec<Plan>>,
    mut input: Option<Receiver<(usize, String)>>,
    output: &mut dyn Output,
) -> std::io::Result<End> {
    let (events, mut happened) = unbounded_channel();
    let (arrivals, mut arrived) = unbounded_channel();
    let folder = tempfile::Builder::new().prefix("asya-run-").tempdir()?;
    runtime_files::write(&folder.path().join("runtime"))?;
    fs::write(folder.path().join("guard.py"), GUARD)?;
    let mut session = Session {
        settings,
        folder,
        events,
        arrivals,
        unsettled: Unsettled::default(),
        returned: Arc::default(),
        totals: Totals::default(),
        composer: Composer {
            route: settings.route.clone(),
            actors: 0,
            count: 0,
            ids: settings.backend.ids(),
        },
        interpreters: BTreeMap::new(),
        unsent: 0,
        terminate: signal(SignalKind::terminate())?,
        interrupt: signal(SignalKind::interrupt())?,
    };
    loop {
        let before = session.snapshot(&[]);
        let plans = load();
        let is_watching = settings.watch.is_some();
        let Some(plans) = plans else {
            if is_watching && session.changed(&[], &before).await {
                continue;
            }
            return Ok(End::Failed);
        };
        let modules = session.modules(&plans);
        let before = session.snapshot(&modules);
        let turn = match session.start(&plans).await {
            Err(error) => Turn::Failed(error),
            Ok(mut generation) => {
                let turn = session
                    .serve(
                        &mut generation,
                        (&mut happened, &mut arrived),
                        &mut input,
                        (&modules, &before),
                        output,
                    )
                    .await;
                generation.end(&mut session.interrupt).await;
                drain(
                    &mut happened,
                    &mut session.totals,
                    generation_width(&plans),
                    output,
                );
                turn
            }
        };
        match turn {
            Turn::Finished if session.totals.is_empty() => return Ok(End::NoMessage),
            Turn::Finished | Turn::Interrupted => break,
            Turn::Changed => output.note(&"files have changed: starting again"),
            Turn::Failed(error) => {
                report(&error, output);
                if !is_watching || !session.changed(&modules, &before).await {
                    return Ok(End::Failed);
                }
            }
        }
    }
    let unsent = if settings.watch.is_some() {
        0
    } else {
        session.unsent
    };
    session.totals.unfinished = session.unsettled.len() + unsent;
    Ok(End::Done(session.totals))
}

impl Session<'_> {
    /// The folders with modules that are watched: not the working directory, unless it is one of them.
    fn modules(&self, plans: &[Plan]) -> Vec<PathBuf> {
        let folders = plans.iter().map(|plan| folder_of(&plan.file));
        self.settings
            .handlers
            .iter()
            .cloned()
            .chain(folders)
            .collect()
    }

    /// Sends messages and waits for what comes of them.
    async fn serve(
        &mut self,
        generation: &mut Generation,
        (happened, arrived): (
            &mut UnboundedReceiver<Event>,
            &mut UnboundedReceiver<String>,
        ),
        input: &mut Option<Receiver<(usize, String)>>,
        (modules, before): (&[PathBuf], &Snapshot),
        output: &mut dyn Output,
    ) -> Turn {
        let width = generation.width;
        let is_watching = self.settings.watch.is_some();
        self.unsent = self.settings.send.len();
        let mut is_reported = false;
        let mut changes = tokio::time::interval(WATCH_INTERVAL);
        loop {
            if generation.loading == 0 && self.unsent > 0 {
                self.unsent = 0;
                self.send(generation, output).await;
            }
            let loading = generation.loading;
            let is_endless = input.is_some() || self.waits_for_ever();
            tokio::select! {
                biased;
                _ = self.interrupt.recv() => return Turn::Interrupted,
                _ = self.terminate.recv() => return Turn::Interrupted,
                Some(ended) = generation.runtimes.join_next() => {
                    if let Ok(Err(error)) = ended {
                        drain(happened, &mut self.totals, width, output);
                        return Turn::Failed(error);
                    }
                }
                Some(actor) = arrived.recv() => {
                    if let Err(error) = self.start_actor(&actor, generation) {
                        drain(happened, &mut self.totals, width, output);
                        return Turn::Failed(error);
                    }
                }
                Some(event) = happened.recv() => {
                    show(&event, &mut self.totals, width, output);
                    if matches!(event.what, What::Ready { .. }) {
                        generation.loading = generation.loading.saturating_sub(1);
                    }
                    if output.is_broken() {
                        return Turn::Interrupted;
                    }
                    is_reported = false;
                }
                line = next(input), if loading == 0 && self.unsettled.len() < IN_FLIGHT => match line {
                    Some((number, line)) => {
                        let from = format!("line {number} of the input");
                        self.inject(&from, &line, generation, output).await;
                    }
                    None => *input = None,
                },
                () = self.unsettled.below(1), if loading == 0 && !is_endless && !is_reported => {
                    drain(happened, &mut self.totals, width, output);
                    if !is_watching {
                        return Turn::Finished;
                    }
                    if self.totals.messages > 0 {
                        output.totals(&self.totals);
                    }
                    is_reported = true;
                }
                _ = changes.tick(), if is_watching => {
                    if *before != self.snapshot(modules) {
                        return Turn::Changed;
                    }
                }
            }
        }
    }

    /// Sends the messages of the command line.
    async fn send(&mut self, generation: &Generation, output: &mut dyn Output) {
        for (from, text) in self.settings.send.clone() {
            self.inject(&from, &text, generation, output).await;
        }
    }

    /// Returns whether only the user ends the run.
    fn waits_for_ever(&self) -> bool {
        self.settings.backend.is_shared() && self.settings.send.is_empty()
    }

    /// Sends the messages in a text.
    async fn inject(
        &mut self,
        from: &str,
        text: &str,
        generation: &Generation,
        output: &mut dyn Output,
    ) {
        let messages = match self.composer.read(from, text) {
            Ok(messages) => messages,
            Err(error) => {
                self.totals.invalid += 1;
                output.error(&error, error.hint());
                return;
            }
        };
        let Some(sender) = &generation.sender else {
            return;
        };
        for Outgoing { actor, id, body } in messages {
            if self.unsettled.len() == 0 {
                self.totals.pause();
            }
            self.totals.sent();
            let send = sender.send(&actor, body, &[]);
            let sent = if generation.running.contains(&actor) {
                let sent = self.unsettled.send(&id, send).await;
                let _ = self.arrivals.send(actor.clone());
                sent
            } else {
                send.await
            };
            if let Err(error) = sent {
                self.totals.invalid += 1;
                let hint = matches!(error, SendError::Unroutable(_))
                    .then(|| "give the actor among the files".to_owned());
                output.error(&format_args!("{from}: {error}"), hint);
            }
        }
    }

    fn snapshot(&self, modules: &[PathBuf]) -> Snapshot {
        let Some(watched) = &self.settings.watch else {
            return Snapshot::default();
        };
        Snapshot::of(watched.iter().chain(modules).map(PathBuf::as_path))
    }

    /// Waits for a change of the watched files; `false` when the user stops it before.
    async fn changed(&mut self, modules: &[PathBuf], before: &Snapshot) -> bool {
        let mut ticks = tokio::time::interval(WATCH_INTERVAL);
        loop {
            tokio::select! {
                biased;
                _ = self.interrupt.recv() => return false,
                _ = self.terminate.recv() => return false,
                _ = ticks.tick() => {}
            }
            if *before != self.snapshot(modules) {
                return true;
            }
        }
    }
}

/// The next line; waits for ever where there is no input.
async fn next(input: &mut Option<Receiver<(usize, String)>>) -> Option<(usize, String)> {
    match input {
        Some(lines) => lines.recv().await,
        None => std::future::pending().await,
    }
}

/// Writes why the actors cannot run.
fn report(error: &StartError, output: &mut dyn Output) {
    match error {
        StartError::Variables(missing) => {
            for missing in missing {
                output.error(missing, Some(missing.hint()));
            }
        }
        error => output.error(error, error.hint()),
    }
}

fn drain(
    happened: &mut UnboundedReceiver<Event>,
    totals: &mut Totals,
    width: usize,
    output: &mut dyn Output,
) {
    while let Ok(event) = happened.try_recv() {
        show(&event, totals, width, output);
    }
}

fn show(event: &Event, totals: &mut Totals, width: usize, output: &mut dyn Output) {
    totals.count(event);
    // Without it, a run that prints only results would wait in silence.
    let note = Cell::new(None);
    output.event(&|form| match form {
        Form::Text => Some(event.text(width)),
        Form::Json => Some(event.json()),
        Form::Result => {
            note.set(event.note());
            event.result()
        }
    });
    if let Some(note) = note.take() {
        output.note(&note);
    }
}

/// Width of the longest name.
fn generation_width(plans: &[Plan]) -> usize {
    plans
        .iter()
        .map(|plan| plan.name.len())
        .max()
        .unwrap_or_default()
}
