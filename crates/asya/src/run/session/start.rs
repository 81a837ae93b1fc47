//! The actors of a run: each starts when the first message for it arrives.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use asya_sidecar::gateway::Gateway;
use asya_sidecar::metrics::Metrics;
use asya_sidecar::runtime::Runtime;
use asya_sidecar::state::{self, FileStore, Socket, Store};
use asya_sidecar::stop::{self, Stop, StopSender};
use asya_sidecar::transport::Transport;
use asya_sidecar::worker::Worker;
use tokio::signal::unix::Signal;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::{Session, generation_width};
use crate::run::observe::{Observed, streamed};
use crate::run::plan::Plan;
use crate::run::process::{Places, folder_of};
use crate::run::python::{self, Python};
use crate::run::runtime::{MissingVariable, StartError, supervise};

/// Time for running calls of workers to finish before the run ends.
const END_LIMIT: Duration = Duration::from_secs(5);

/// The actors of a run, until something changes.
pub(super) struct Generation {
    stop_workers: StopSender,
    workers_stop: Stop,
    stop_runtimes: StopSender,
    runtimes_stop: Stop,
    workers: JoinSet<()>,
    pub(super) runtimes: JoinSet<Result<(), StartError>>,
    /// Connectors of state proxies, which end with the runtimes.
    connectors: JoinSet<()>,
    /// Actors for which no message has arrived, by name.
    idle: BTreeMap<String, Idle>,
    /// Number of started actors whose handlers are not loaded.
    pub(super) loading: usize,
    /// Connection of the first actor, through which messages are sent.
    pub(super) sender: Option<Arc<dyn Transport>>,
    /// Names of all actors, started or not.
    pub(super) running: Arc<BTreeSet<String>>,
    /// Width of the longest name.
    pub(super) width: usize,
}

/// An actor that is not started.
struct Idle {
    plan: Plan,
    /// Its number, which names its folder.
    index: usize,
    transport: Arc<dyn Transport>,
}

impl Session<'_> {
    /// Connects all actors, and starts those that will get messages for certain: the actors of
    /// `--route`, the only actor, and those with messages in their queues. With queues of a broker these
    /// are all actors.
    pub(super) async fn start(&mut self, plans: &[Plan]) -> Result<Generation, StartError> {
        self.composer.actors = plans.len();
        if let (true, [only]) = (self.settings.route.is_empty(), plans) {
            self.composer.route = vec![only.name.clone()];
        }
        let (stop_workers, workers_stop) = stop::channel();
        let (stop_runtimes, runtimes_stop) = stop::channel();
        let mut generation = Generation {
            stop_workers,
            workers_stop,
            stop_runtimes,
            runtimes_stop,
            workers: JoinSet::new(),
            runtimes: JoinSet::new(),
            connectors: JoinSet::new(),
            idle: BTreeMap::new(),
            loading: 0,
            sender: None,
            running: Arc::new(plans.iter().map(|plan| plan.name.clone()).collect()),
            width: generation_width(plans),
        };
        let settings = self.settings;
        let backend = &settings.backend;
        let starts = |plan: &&Plan| {
            let is_in_route = self.composer.route.contains(&plan.name);
            is_in_route || backend.is_shared() || backend.has_waiting(&plan.name)
        };
        let first: Vec<&Plan> = plans.iter().filter(starts).collect();
        check_variables(&first)?;
        for (index, plan) in plans.iter().enumerate() {
            let transport = backend.connect(plan).await?;
            let sender = &mut generation.sender;
            sender.get_or_insert_with(|| Arc::clone(&transport));
            let idle = Idle {
                plan: plan.clone(),
                index,
                transport,
            };
            generation.idle.insert(plan.name.clone(), idle);
        }
        for plan in first {
            self.start_actor(&plan.name, &mut generation)?;
        }
        Ok(generation)
    }

    /// Starts the process and the worker of an actor, unless they are started.
    pub(super) fn start_actor(
        &mut self,
        name: &str,
        generation: &mut Generation,
    ) -> Result<(), StartError> {
        let Some(Idle {
            plan,
            index,
            transport,
        }) = generation.idle.remove(name)
        else {
            return Ok(());
        };
        check_variables(&[&plan])?;
        let python = self.interpreter(&plan)?;
        let places = self.places(&plan, index).map_err(StartError::Folder)?;
        for name in &plan.state_proxies {
            let folder = self.settings.state.join(&plan.name).join(name);
            let (socket, store) = connector(&places, name, &folder)
                .map_err(|source| StartError::State { folder, source })?;
            let stop = generation.runtimes_stop.clone();
            generation
                .connectors
                .spawn(state::serve(socket, store, stop));
        }
        let mut config = plan.worker.clone();
        config.timeout = self.settings.timeout.unwrap_or(config.timeout);
        if !self.settings.backend.is_shared() {
            // No other queue will appear.
            config.unroutable_grace = Duration::ZERO;
        }
        let observed = Observed {
            inner: transport,
            actor: plan.name.clone(),
            running: Arc::clone(&generation.running),
            sink: config.sink.clone(),
            sump: config.sump.clone(),
            max_deliveries: self.settings.max_deliveries,
            events: self.events.clone(),
            unsettled: self.unsettled.clone(),
            returned: Arc::clone(&self.returned),
            arrivals: self.arrivals.clone(),
        };
        let worker = Worker::new(
            config,
            Arc::new(observed),
            Runtime::new(&places.sockets),
            Arc::new(Metrics::new(&plan.name, self.settings.backend.name())),
            Gateway::local(&plan.name, streamed(&plan.name, &self.events)),
            generation.workers_stop.clone(),
        );
        let (loaded, is_loaded) = oneshot::channel();
        let mut stopped = generation.workers_stop.clone();
        generation.workers.spawn(async move {
            tokio::select! {
                // A handler that is not loaded has no call to finish.
                biased;
                () = stopped.requested() => {}
                Ok(()) = is_loaded => Arc::new(worker).run().await,
                else => {}
            }
        });
        let (events, stop) = (self.events.clone(), generation.runtimes_stop.clone());
        let runtime = supervise(plan, python, places, events, loaded, stop);
        generation.runtimes.spawn(runtime);
        generation.loading += 1;
        Ok(())
    }

    /// The interpreter of an actor. Each is looked up once.
    fn interpreter(&mut self, plan: &Plan) -> Result<Python, StartError> {
        if let Some(python) = self.interpreters.get(&plan.python) {
            return Ok(python.clone());
        }
        let found = python::find(self.settings.python.as_deref(), &plan.python);
        let python = found.map_err(|source| StartError::Python {
            actor: plan.name.clone(),
            source,
        })?;
        self.interpreters
            .insert(plan.python.clone(), python.clone());
        Ok(python)
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
}

impl Generation {
    /// Finishes running calls, within a limit and until the user asks again, and ends the processes.
    pub(super) async fn end(&mut self, interrupt: &mut Signal) {
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

/// Checks that every variable of actors that start has a value.
fn check_variables(plans: &[&Plan]) -> Result<(), StartError> {
    let missing = plans.iter().flat_map(|plan| {
        plan.missing.iter().map(|missing| MissingVariable {
            file: plan.file.clone(),
            actor: plan.name.clone(),
            missing: missing.clone(),
        })
    });
    let missing: Vec<MissingVariable> = missing.collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(StartError::Variables(missing))
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
