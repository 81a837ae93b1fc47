//! The controllers: one folder per kind, each with `reconcile.rs` and what it calls.
//!
//! - [`queue`], [`binding`], [`health`] and [`config`] run one controller each;
//! - `managed` is what their reconcilers share: status writes, events, state, requeues;
//! - `scalers` finds the scalers of an actor that is deleted;
//! - [`connect`] makes clients of brokers from ProviderConfigs, `usage` records their use;
//! - [`environment`] announces changed EnvironmentConfigs to actors;
//! - `watch_cache` holds pods, workloads and scalers of the cluster;
//! - [`Context`] is what all controllers of a process share.

pub mod binding;
pub mod config;
pub mod connect;
mod context;
pub mod environment;
pub mod health;
mod managed;
pub mod queue;
mod scalers;
mod usage;
mod watch_cache;

pub use self::context::Context;
