//! Actors offline: what becomes of one, and who decided it.
pub mod cli;
pub mod commands;
pub mod explain;
pub mod inputs;
pub mod pipeline;
pub mod printer;
pub mod steps;
