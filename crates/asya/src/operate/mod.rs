//! Commands for operators on a cluster: messages through a Job, and logs of all pods.
//!
//! A queue is reached with credentials that only pods of the actor have. So [`job()`] derives a Job from
//! the sidecar container of the actor's workload: its image, environment, references to Secrets, service
//! account and security context, with a command of the sidecar. [`run_job`] creates it through kubectl,
//! waits, reads its output and deletes it. No credentials leave the cluster.

mod dead_letters;
mod job;
mod logs;
mod run_job;

pub use dead_letters::{DeadLetter, dead_letters, table};
pub use job::{Job, JobError, Order, job};
pub(crate) use logs::split;
pub use logs::{Line, Source, merged, sources};
pub use run_job::{RunError, run_job};
