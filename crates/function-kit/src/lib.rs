//! Common parts of all Asya composition functions.
//!
//! A step of the pipeline is a pure function from request to response. This
//! crate gives it everything but the step itself: reading the actor in all the
//! shapes an XR may have, the resolved spec, the platform's settings,
//! requirements that distinguish *missing* from *not fetched yet*, and Fatal answers that set
//! every condition. `function-server` has the `main` that serves it.
//!
//! ```
//! use function_kit::{Call, StepError, run};
//! use function_proto::v1::RunFunctionRequest;
//! use serde_json::json;
//!
//! fn greet(call: &mut Call) -> Result<(), StepError> {
//!     let actor = call.identity()?; // an XR without a name ends the pipeline here
//!     call.compose("greeting", json!({
//!         "apiVersion": "v1", "kind": "ConfigMap",
//!         "metadata": actor.metadata(actor.actor.as_str(), "greeting"),
//!     }));
//!     Ok(())
//! }
//!
//! let response = run(RunFunctionRequest::default(), greet);
//! assert!(response.results[0].message.contains("no name"));
//! ```
//!
//! - [`Call`] is one request on its way to its response; [`run`] takes it through one step,
//!   [`run_steps`] through several.
//! - [`StepError`] ends the pipeline with diagnostics: Crossplane then changes and deletes nothing.
//! - [`Facts`] is what earlier steps hand to later ones, and to tools: diagnostics among it.
//!
//! # Invariants
//! A step never returns less desired state than it was given: to Crossplane that
//! is an order to delete. It sets no status on composed objects, and no Normal or
//! Warning result, for those would become an event on every reconcile.

mod call;
mod error;
mod facts;
mod identity;
mod input;
mod redact;
mod report;
mod require;
mod sanitize;
mod transport;
pub mod value;

#[cfg(feature = "cases")]
pub mod cases;

pub use actor::diagnostic::{Code, Diagnostic, Location, Severity, Source};
pub use call::{ASKED_KEY, Call, Step, fatal, locate_setting, run, run_steps};
pub use error::StepError;
pub use facts::{Facts, Note, PlatformInput};
pub use identity::{Identity, Subject};
pub use input::{CommonInput, PLATFORM_INPUT, overlay};
pub use redact::{Redacted, redacted};
pub use report::report;
pub use require::SchemaAnswer;
pub use transport::{ConfiguredName, QueueInput};

/// Context key of the platform's settings.
pub const PLATFORM_KEY: &str = "asya.sh/platform";
/// Context key of the resolved spec, where it does not travel in the desired XR.
pub const SPEC_KEY: &str = "asya.sh/spec";
/// Context key of [`Facts`].
pub const FACTS_KEY: &str = "asya.sh/facts";
