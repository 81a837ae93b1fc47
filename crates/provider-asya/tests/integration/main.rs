//! The provider on real components: an API server, RabbitMQ, moto for SQS, and fakes for what these
//! cannot do.
//!
//! One program, so that it is linked once and its tests share what takes long to start. Run the tests
//! of one module with `cargo test -p provider-asya --test integration MODULE::`.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::too_many_lines,
    reason = "a test that cannot go on panics, and a table of cases is as long as it is"
)]

mod rig;

mod actor_queue;
mod alerts;
mod api_faults;
mod binding_conflicts;
mod binding_kinds;
mod binding_refusals;
mod bindings;
mod black_hole;
mod broker_outages;
mod configs;
mod consumers;
mod cost;
mod crashes;
mod dead_letters;
mod drift;
mod environment;
mod faults;
mod grace_periods;
mod hanging_endpoint;
mod health;
mod huge_answers;
mod lifecycle;
mod migration;
mod owner_ids;
mod planted_secrets;
mod queues;
mod rabbitmq;
mod reasons;
mod rendered;
mod replicas;
mod resolve;
mod schema;
mod sqs;
mod sqs_faults;
mod sqs_hostile;
mod sqs_lag;
mod sqs_roles;
mod targets;
mod tenancy;
mod tls;
mod watch_rights;
