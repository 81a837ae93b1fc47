//! Actors offline: what becomes of one, and who decided it.
//!
//! The functions that run in the cluster run here in one process, behind a loop
//! that does what Crossplane does. What comes out is what `crossplane composition
//! render` gives with the same files, without its engine and without containers.
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
//! - [`steps`] are the functions that the [`pipeline`] runs, which does what Crossplane does.
//! - [`inputs`] reads files into what the pipeline takes.
//! - [`explain`] tells who decided each field.
//! - [`diff`] tells what a change does.
//! - [`peer`] runs the functions of another version of this program.
//! - [`actor_test`] tells whether actors come to what is expected of them.
//! - [`lint`] tells what is wrong with actors, flavors and the platform together.
//! - [`status`] tells the state of actors that live.
//! - [`init`] is a first actor with what it is made from.
//! - [`install`] is what a cluster needs, [`apply`] the one way to write to one.
//! - [`cli`], [`commands`], [`printer`] and [`progress`] are the program.

pub mod actor_test;
pub mod apply;
pub mod cli;
pub mod commands;
pub mod diff;
pub mod explain;
pub mod init;
pub mod inputs;
pub mod install;
pub mod lint;
mod pass;
pub mod peer;
pub mod printer;
pub mod progress;
pub mod status;
pub mod steps;
mod table;

pub use pipeline;
