//! The program as a whole: its files, its output and its exit code.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail as tests do"
)]

mod actor_test;
mod diff;
mod diff_of_cluster;
mod diff_of_versions;
mod explain;
mod explain_code;
mod explain_rendered;
mod graph;
mod hidden;
mod init;
mod input;
mod install;
mod lint;
mod names;
mod operate;
mod planted_secrets;
mod program;
mod reference;
mod render;
mod run;
mod run_start;
mod status;
mod watch;
