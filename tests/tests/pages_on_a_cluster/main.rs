//! What `docs/` and `install/` show is true: every manifest is taken by a real API server with
//! everybody's kinds, everything of `install/` fits together, and the commands of `docs/setup` run.

mod commands;
mod install;
mod manifests;

use real::{components, namespace};

/// Whether the test goes on here: Crossplane core runs in a network of its own.
fn is_inside(test: &str) -> bool {
    !components::is_skipped("the documents") && namespace::is_inside(test)
}
