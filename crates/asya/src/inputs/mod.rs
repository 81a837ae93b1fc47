//! Reading input: files, folders, standard input and clusters. No other module reads files.
//!
//! Files contain actors, flavors, settings, observed objects, Compositions, Functions and tests in
//! any order; [`documents`] sorts them by kind. So the form of `crossplane composition render`
//! (`XR COMPOSITION FUNCTIONS`) works, and so does one folder with everything in it.

mod actor_tests;
mod bare_keys;
mod cases;
mod cluster;
mod components;
mod compositions;
mod documents;
mod error;
mod files;
mod messages;
mod sides;
mod sources;
mod stream;
mod summary;

pub use actor_tests::{LoadedTest, LoadedTests, actor_tests, files_of_tests};
pub use cases::{Arguments, Case, Loaded, load};
pub use cluster::{
    Cluster, LiveObjects, LiveQuery, Package, Scope, live_objects, packages, pods_of, workloads_of,
};
pub use components::{Component, components};
pub use compositions::built_in_compositions;
pub(crate) use documents::bare_key;
pub use error::InputError;
pub use files::{FileState, fingerprint};
pub use messages::routes;
pub use sides::{LoadedSides, SideArguments, sides};
pub use sources::{Sources, compositions_of_actors, sources};
pub use summary::Summary;
