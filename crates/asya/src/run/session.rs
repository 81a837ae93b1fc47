//! A run: its actors, the messages for them, and its end.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use asya_sidecar::gateway::Gateway;
use asya_sidecar::metrics::Metrics;
use asya_sidecar::runtime::Runtime;
use asya_sidecar::runtime_files;
use asya_sidecar::state::{self, FileStore, Socket, Store};
use asya_sidecar::stop::{self, StopSender};
use asya_sidecar::transport::{SendError, Transport};
use asya_sidecar::worker::Worker;
use tempfile::TempDir;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{Receiver, UnboundedReceiver, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::event::{Event, What};
pub(crate) use super::messages::lines;
use super::messages::{Composer, Outgoing};
use super::observe::{Events, Observed, Unsettled, streamed};
use super::plan::Plan;
use super::process::{Places, folder_of};
use super::python::{self, Python};
pub use super::runtime::StartError;
use super::runtime::supervise;
use super::settings::{End, Form, Output, Settings};
use super::totals::Totals;
use super::watch::Snapshot;

/// Time for running calls of workers to finish before the run ends.
const END_LIMIT: Duration = Duration::from_secs(5);

/// Messages on their way beyond which no more input is read.
const IN_FLIGHT: usize = 1000;

/// Interval between checks of watched files.
const WATCH_INTERVAL: Duration = Duration::from_millis(300);

/// A process that ends runtimes with this program.
const GUARD: &str = include_str!("guard.py");

/// Reason for which a generation of processes ends.
enum Turn {
    Finished,
    Interrupted,
    Changed,
    Failed(StartError),
}

/// The actors of a run, until something changes.
struct Generation {
    stop_workers: StopSender,
    stop_runtimes: StopSender,
    workers: JoinSet<()>,
    runtimes: JoinSet<Result<(), StartError>>,
    /// Connectors of state proxies, which end with the runtimes.
    connectors: JoinSet<()>,
    /// Connection of the first actor, through which messages are sent.
    sender: Option<Arc<dyn Transport>>,
    /// Names of the actors.
    running: Arc<BTreeSet<String>>,
    width: usize,
}

/// State of a run that is kept across changes of its files.
struct Session<'a> {
    settings: &'a Settings,
    folder: TempDir,
    events: Events,
    unsettled: Unsettled,
    returned: Arc<Mutex<BTreeMap<String, u32>>>,
    totals: Totals,
    composer: Composer,
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
    let folder = tempfile::Builder::new().prefix("asya-run-").tempdir()?;
    runtime_files::write(&folder.path().join("runtime"))?;
    fs::write(folder.path().join("guard.py"), GUARD)?;
    let mut session = Session {
        settings,
        folder,
        events,
        unsettled: Unsettled::default(),
        returned: Arc::default(),
        totals: Totals::default(),
        composer: Composer {
            route: settings.route.clone(),
            actors: 0,
            count: 0,
            ids: settings.backend.ids(),
        },
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
                        &mut happened,
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
            Turn::Finished | Turn::Interrupted => break,
            Turn::Changed => output.note(&"files have changed: starting again"),
            Turn::Failed(error) => {
                output.error(&error, error.hint());
                if !is_watching || !session.changed(&modules, &before).await {
                    return Ok(End::Failed);
                }
            }
        }
    }
    session.totals.unfinished = session.unsettled.len();
    Ok(End::Done(session.totals))
}

impl Session<'_> {
    /// Starts a process and a worker for each actor.
    async fn start(&mut self, plans: &[Plan]) -> Result<Generation, StartError> {
        self.composer.actors = plans.len();
        if let (true, [only]) = (self.settings.route.is_empty(), plans) {
            self.composer.route = vec![only.name.clone()];
        }
        let (stop_workers, workers_stop) = stop::channel();
        let (stop_runtimes, runtimes_stop) = stop::channel();
        let running: Arc<BTreeSet<String>> =
            Arc::new(plans.iter().map(|plan| plan.name.clone()).collect());
        let mut generation = Generation {
            stop_workers,
            stop_runtimes,
            workers: JoinSet::new(),
            runtimes: JoinSet::new(),
            connectors: JoinSet::new(),
            sender: None,
            running: Arc::clone(&running),
            width: generation_width(plans),
        };
        let mut interpreters: BTreeMap<&str, Python> = BTreeMap::new();
        for (index, plan) in plans.iter().enumerate() {
            let python = match interpreters.get(plan.python.as_str()) {
                Some(python) => python.clone(),
                None => python::find(self.settings.python.as_deref(), &plan.python).map_err(
                    |source| StartError::Python {
                        actor: plan.name.clone(),
                        source,
                    },
                )?,
            };
            interpreters.insert(&plan.python, python.clone());
            let places = self.places(plan, index).map_err(StartError::Folder)?;
            for name in &plan.state_proxies {
                let folder = self.settings.state.join(&plan.name).join(name);
                let (socket, store) = connector(&places, name, &folder)
                    .map_err(|source| StartError::State { folder, source })?;
                let stop = runtimes_stop.clone();
                generation
                    .connectors
                    .spawn(state::serve(socket, store, stop));
            }
            let transport = self.settings.backend.connect(plan).await?;
            generation
                .sender
                .get_or_insert_with(|| Arc::clone(&transport));
            let mut config = plan.worker.clone();
            config.timeout = self.settings.timeout.unwrap_or(config.timeout);
            if !self.settings.backend.is_shared() {
                // No other queue will appear.
                config.unroutable_grace = Duration::ZERO;
            }
            let observed = Observed {
                inner: transport,
                actor: plan.name.clone(),
                running: Arc::clone(&running),
                sink: config.sink.clone(),
                sump: config.sump.clone(),
                max_deliveries: self.settings.max_deliveries,
                events: self.events.clone(),
                unsettled: self.unsettled.clone(),
                returned: Arc::clone(&self.returned),
            };
            let worker = Worker::new(
                config,
                Arc::new(observed),
                Runtime::new(&places.sockets),
                Arc::new(Metrics::new(&plan.name, self.settings.backend.name())),
                Gateway::local(&plan.name, streamed(&plan.name, &self.events)),
                workers_stop.clone(),
            );
            let (loaded, is_loaded) = oneshot::channel();
            generation.workers.spawn(async move {
                if is_loaded.await.is_ok() {
                    Arc::new(worker).run().await;
                }
            });
            let (plan, events) = (plan.clone(), self.events.clone());
            let runtime = supervise(plan, python, places, events, loaded, runtimes_stop.clone());
            generation.runtimes.spawn(runtime);
        }
        Ok(generation)
    }

    /// The folders of an actor. Its number keeps the path of its socket short.
    fn places(&self, plan: &Plan, index: usize) -> std::io::Result<Places> {
        let root = self.folder.path();
        let sockets = root.join(index.to_string());
        fs::create_dir_all(sockets.join("state"))?;
        Ok(Places {
            runtime: root.join("runtime"),
            guard: root.join("guard.py"),
            sockets,
            modules: self.modules_of(plan),
        })
    }

    /// Returns the module folders of an actor: given folders, the manifest's, the working directory.
    fn modules_of(&self, plan: &Plan) -> Vec<PathBuf> {
        let folder = folder_of(&plan.file);
        let here = PathBuf::from(".");
        let all = self.settings.handlers.iter().chain([&folder, &here]);
        let mut modules = Vec::new();
        for path in all {
            let path = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
            if !modules.contains(&path) {
                modules.push(path);
            }
        }
        modules
    }

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
        happened: &mut UnboundedReceiver<Event>,
        input: &mut Option<Receiver<(usize, String)>>,
        (modules, before): (&[PathBuf], &Snapshot),
        output: &mut dyn Output,
    ) -> Turn {
        let width = generation.width;
        let is_watching = self.settings.watch.is_some();
        let mut loading = generation.runtimes.len();
        let mut is_reported = false;
        let mut changes = tokio::time::interval(WATCH_INTERVAL);
        loop {
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
                Some(event) = happened.recv() => {
                    show(&event, &mut self.totals, width, output);
                    if matches!(event.what, What::Ready { .. }) {
                        loading -= 1;
                        if loading == 0 {
                            self.send(generation, output).await;
                        }
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
            self.totals.sent();
            let send = sender.send(&actor, body, &[]);
            let sent = if generation.running.contains(&actor) {
                self.unsettled.send(&id, send).await
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

impl Generation {
    /// Finishes running calls, within a limit and until the user asks again, and ends the processes.
    async fn end(&mut self, interrupt: &mut Signal) {
        self.stop_workers.stop();
        let all = async { while self.workers.join_next().await.is_some() {} };
        tokio::select! {
            _ = timeout(END_LIMIT, all) => {}
            _ = interrupt.recv() => {}
        }
        self.workers.shutdown().await;
        self.stop_runtimes.stop();
        while self.runtimes.join_next().await.is_some() {}
        self.connectors.shutdown().await;
    }
}

/// The socket and the values of a state proxy.
fn connector(
    places: &Places,
    name: &str,
    folder: &Path,
) -> std::io::Result<(Socket, Arc<dyn Store>)> {
    fs::create_dir_all(folder)?;
    let store = FileStore::open(folder)?;
    let socket = Socket::bind(&places.sockets.join("state").join(format!("{name}.sock")))?;
    Ok((socket, Arc::new(store)))
}

/// The next line; waits for ever where there is no input.
async fn next(input: &mut Option<Receiver<(usize, String)>>) -> Option<(usize, String)> {
    match input {
        Some(lines) => lines.recv().await,
        None => std::future::pending().await,
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
    output.event(&|form| match form {
        Form::Text => Some(event.text(width)),
        Form::Json => Some(event.json()),
        Form::Result => event.result(),
    });
}

/// Width of the longest name.
fn generation_width(plans: &[Plan]) -> usize {
    plans
        .iter()
        .map(|plan| plan.name.len())
        .max()
        .unwrap_or_default()
}
