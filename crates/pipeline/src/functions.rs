//! The functions that can run in this process.

use std::collections::BTreeMap;
use std::fmt;

use function_proto::v1::{RunFunctionRequest, RunFunctionResponse};

type Run = Box<dyn Fn(RunFunctionRequest) -> RunFunctionResponse + Send + Sync>;

/// Functions by name.
#[derive(Default)]
pub struct Functions(BTreeMap<String, Run>);

impl Functions {
    /// No function at all.
    pub fn none() -> Self {
        Self::default()
    }

    /// The same functions and one more.
    #[must_use]
    pub fn with(
        mut self,
        name: &str,
        run: impl Fn(RunFunctionRequest) -> RunFunctionResponse + Send + Sync + 'static,
    ) -> Self {
        self.0.insert(name.to_owned(), Box::new(run));
        self
    }

    /// Returns whether there is a function of that name.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Their names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Runs the function of that name; none where there is no such function.
    pub fn run(&self, name: &str, request: RunFunctionRequest) -> Option<RunFunctionResponse> {
        Some(self.0.get(name)?(request))
    }
}

impl fmt::Debug for Functions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
