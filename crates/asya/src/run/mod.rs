//! Actors on this machine: their handlers under the runtime script that runs in pods, and the
//! sidecar's library, with queues in this process. No cluster, broker or container.
//!
//! [`plan()`] derives what runs from the objects that the cluster would get, so that flavors, platform
//! settings, timeouts and retries are those of the cluster. [`session::run`] runs it: for each actor a
//! Python process and a worker, which are connected by a socket in a private folder. Messages that end
//! at the sink are results; those that end at the sump are failures.

mod backend;
mod env_file;
mod environment;
mod event;
mod messages;
mod observe;
mod plan;
mod process;
mod python;
mod readiness;
mod resource_field;
mod runtime;
pub mod session;
mod settings;
mod totals;
mod watch;

pub use backend::{Backend, BackendError};
pub use env_file::{EnvFileError, is_name, parse as parse_env_file};
pub use environment::Values;
pub use messages::{Composer, Ids, MessageError, Outgoing};
pub use plan::{Plan, PlanError, plan};
pub use python::{Python, PythonError};
pub use session::StartError;
pub use settings::{End, Form, Output, Settings};
pub use totals::Totals;
pub use watch::Snapshot;
