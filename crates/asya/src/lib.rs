//! The CLI `asya`: renders, explains, checks and compares actors offline, and reads their state in a
//! cluster.
//!
//! The functions that run in the cluster run here in one process, behind Crossplane's loop (crate
//! [`pipeline`]). The output is that of `crossplane composition render` with the same files, without
//! its engine and without containers.
//!
//! ```
//! use asya::inputs::{Arguments, load};
//! use asya::steps;
//!
//! let arguments = Arguments {
//!     files: vec!["../../examples/gpu-inference".into()],
//!     ..Arguments::default()
//! };
//! let functions = steps::functions()?;
//! for case in load(&arguments)?.cases {
//!     let rendered = pipeline::render(&case.inputs?, &functions)?;
//!     assert_eq!(rendered.composed["deployment"].name(), "batch-inference");
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - [`steps`]: the functions that the pipeline runs.
//! - [`inputs`]: reads files and clusters.
//! - [`explain`]: the origin of each field.
//! - [`diff`]: the effects of a change.
//! - [`remote`]: functions of another version of this program.
//! - [`actor_test`]: expectations about actors.
//! - [`lint`]: errors in actors, flavors and the platform's settings together.
//! - [`status`]: the state of live actors.
//! - [`graph`]: actors, what belongs to them, and the routes between them.
//! - [`docs`]: documentation of fields; [`schema`]: JSON Schemas for editors.
//! - [`init`]: a first actor with its flavor and settings.
//! - [`run`]: actors on this machine.
//! - [`operate`]: messages and logs of live actors.
//! - [`install`]: manifests that a cluster needs; [`kubectl`] writes to a cluster.
//! - [`cli`], [`commands`], [`printer`], [`progress`]: command line and terminal.

pub mod actor_test;
pub mod cli;
pub mod commands;
mod diagnostics;
pub mod diff;
pub mod docs;
pub mod explain;
pub mod graph;
pub mod init;
pub mod inputs;
pub mod install;
pub mod kubectl;
pub(crate) mod kubernetes;
pub mod lint;
mod nearest;
pub mod operate;
mod ordered;
pub mod printer;
pub mod progress;
pub mod remote;
mod render_result;
pub mod run;
pub mod schema;
mod serde_message;
pub mod status;
pub mod steps;
mod table;
mod visible;
mod workload_sources;

pub use pipeline;
