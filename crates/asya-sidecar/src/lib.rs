//! The container beside an actor's runtime: it takes messages from the actor's queue, has the
//! runtime work on them, and sends the results on.
//!
//! A library first. [`worker::Worker`] needs a [`transport::Transport`], a [`runtime::Runtime`] and a
//! [`config::WorkerConfig`]; nothing here but [`config::Config::read`] knows of an environment, and that
//! by a lookup that the caller gives. The program wires these together.

pub mod admin;
pub mod config;
pub mod envelope;
pub mod failure;
pub mod gateway;
mod http_client;
pub mod ids;
pub mod metrics;
#[cfg(feature = "otlp")]
pub mod otlp;
pub mod retry;
pub mod route;
pub mod runtime;
pub mod runtime_files;
pub mod serve;
#[cfg(any(feature = "s3", feature = "sqs"))]
mod service_text;
pub mod spool;
pub mod state;
pub mod stop;
pub mod trace;
pub mod transport;
pub mod worker;
