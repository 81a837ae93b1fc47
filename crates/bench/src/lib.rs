//! Inputs of the benchmarks: the same requests for programs, for the steps alone and for
//! counting instructions.
//!
//! Start it with `cargo xtask bench`, which builds what it measures. `cargo bench -p bench` and
//! `cargo bench -p merge` measure the steps and the merge alone, without a server around them.
//!
//! - [`actors`] has three actors with their flavors and the platform, small to large;
//! - [`growing`] has actors that grow in one dimension, and the work on them;
//! - [`requests`] plays the pipeline, to have the very request that each step gets in it.

pub mod actors;
pub mod growing;
pub mod live;
pub mod requests;
