//! Keeps an actor's runtime running, as the kubelet does in a pod.

use std::path::PathBuf;
use std::time::Duration;

use asya_sidecar::runtime::Runtime;
use asya_sidecar::stop::Stop;
use asya_sidecar::transport::Backoff;
use tokio::sync::oneshot::Sender;

use super::environment::Missing;
use super::event::{Event, What};
use super::observe::Events;
use super::plan::Plan;
use super::process::{Places, RuntimeProcess};
use super::python::Python;
use super::readiness::ready;

/// Pauses before a runtime that ended is started again.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// A handler that does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The interpreter cannot be started.
    #[error("actor {actor:?}: cannot start {}: {source}", program.display())]
    Spawn {
        /// The actor.
        actor: String,
        /// The interpreter.
        program: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// The runtime has ended before its handler was loaded.
    #[error("actor {actor:?}: handler {handler:?} does not load: the runtime ended with {status}")]
    Ended {
        /// The actor.
        actor: String,
        /// Its handler.
        handler: String,
        /// Exit status.
        status: String,
        /// Folders in which modules are searched.
        modules: Vec<PathBuf>,
    },
    /// Variables have no value: of each, the file of its actor and the actor.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Variables(Vec<MissingVariable>),
    /// The actor has no queue.
    #[error(transparent)]
    Backend(#[from] super::backend::BackendError),
    /// There is no interpreter.
    #[error("actor {actor:?}: {source}")]
    Python {
        /// The actor.
        actor: String,
        /// Cause.
        source: super::python::PythonError,
    },
    /// The values of a state proxy cannot be kept.
    #[error("cannot keep the values of a state proxy in {folder:?}: {source}")]
    State {
        /// The folder.
        folder: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// The private folder cannot be used.
    #[error("cannot write to the temporary folder: {0}")]
    Folder(std::io::Error),
}

/// A variable of an actor that has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: actor {actor:?}: {}", file.display(), missing_text(missing))]
pub struct MissingVariable {
    /// File with the actor.
    pub file: PathBuf,
    /// The actor.
    pub actor: String,
    /// The variable.
    pub missing: Missing,
}

fn missing_text(missing: &Missing) -> String {
    match &missing.variable {
        Some(name) => format!("variable {name} has no value: it is {}", missing.source),
        None => format!("{} is not among the files", missing.source),
    }
}

impl MissingVariable {
    /// Returns the remedy.
    pub fn hint(&self) -> String {
        match &self.missing.variable {
            Some(name) => format!(
                "give it as --env {name}=VALUE or in --env-file FILE, or add the object to the files"
            ),
            None => {
                "add the object to the files, or give its variables in --env-file FILE".to_owned()
            }
        }
    }
}

impl StartError {
    /// Returns the remedy, if there is one.
    pub fn hint(&self) -> Option<String> {
        let modules = match self {
            Self::Ended { modules, .. } => modules,
            Self::Backend(error) => return error.hint(),
            _ => return None,
        };
        let modules: Vec<String> = modules
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        Some(format!(
            "modules are searched in {}; --handlers names another folder, --python another interpreter",
            modules.join(", ")
        ))
    }
}

/// Runs an actor's runtime until the order to stop. Reports by `loaded` that its handler is loaded.
pub(super) async fn supervise(
    plan: Plan,
    python: Python,
    places: Places,
    events: Events,
    loaded: Sender<()>,
    mut stop: Stop,
) -> Result<(), StartError> {
    let mut loaded = Some(loaded);
    let runtime = Runtime::new(&places.sockets);
    let waits = |reason| {
        let _ = events.send(Event::of(&plan.name, "", What::Waiting { reason }));
    };
    let mut backoff = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE);
    loop {
        let process = RuntimeProcess::start(&plan, &python, &places, &events);
        let mut process = process.map_err(|source| StartError::Spawn {
            actor: plan.name.clone(),
            program: python.program.clone(),
            source,
        })?;
        let status = loop {
            tokio::select! {
                biased;
                () = stop.requested() => {
                    process.stop().await;
                    return Ok(());
                }
                status = process.wait() => break status,
                () = ready(&runtime, &places.sockets, &waits), if loaded.is_some() => {
                    let _ = events.send(ready_event(&plan, &python, &places));
                    if let Some(loaded) = loaded.take() {
                        let _ = loaded.send(());
                    }
                }
            }
        };
        // Children of the handler that are left.
        drop(process);
        let status = match status {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        };
        if loaded.is_some() {
            return Err(StartError::Ended {
                actor: plan.name,
                handler: plan.handler,
                status,
                modules: places.modules,
            });
        }
        let _ = events.send(Event::of(&plan.name, "", What::Restart { status }));
        tokio::select! {
            biased;
            () = stop.requested() => return Ok(()),
            () = tokio::time::sleep(backoff.pause()) => {}
        }
    }
}

fn ready_event(plan: &Plan, python: &Python, places: &Places) -> Event {
    let folder = places
        .modules
        .first()
        .map(|path| path.display().to_string());
    let what = What::Ready {
        handler: plan.handler.clone(),
        folder: folder.unwrap_or_default(),
        python: python.version.clone(),
    };
    Event::of(&plan.name, "", what)
}
