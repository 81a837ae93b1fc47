//! Environment variables of a container.

use actor::entry::EnvVar;
use serde_json::Value;

/// Variables in the order in which a container gets them: a later one may refer to an
/// earlier one.
#[derive(Debug, Default)]
pub(crate) struct Environment(Vec<EnvVar>);

impl Environment {
    /// Adds a variable with a literal value.
    pub(crate) fn set(&mut self, name: &str, value: impl Into<String>) {
        self.0.push(EnvVar::literal(name, value));
    }

    /// [`Environment::set`], where there is a value.
    pub(crate) fn set_if(&mut self, name: &str, value: Option<impl Into<String>>) {
        if let Some(value) = value {
            self.set(name, value);
        }
    }

    /// Adds a variable.
    pub(crate) fn push(&mut self, variable: EnvVar) {
        self.0.push(variable);
    }

    /// Adds a user's variables: each replaces that of the same name, or comes last.
    pub(crate) fn override_with(&mut self, given: &[EnvVar]) {
        for variable in given {
            match self.0.iter_mut().find(|own| own.name() == variable.name()) {
                Some(own) => *own = variable.clone(),
                None => self.0.push(variable.clone()),
            }
        }
    }

    pub(crate) fn into_values(self) -> Vec<Value> {
        self.0.into_iter().map(EnvVar::into_value).collect()
    }
}
