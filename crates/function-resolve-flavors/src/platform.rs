//! The platform's settings, as this step hands them on.

use actor::platform::Platform;
use actor::status::{ConditionType, StatusReason};
use function_kit::{Fault, overlay};
use serde_json::{Map, Value};

use crate::fetch::EnvironmentConfig;

/// The platform's settings: the document, and who wrote it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Settings {
    /// The settings as they were written.
    pub(crate) document: Map<String, Value>,
    written_in: Written,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Written {
    EnvironmentConfig(String),
    Input,
    Both(String),
}

impl Settings {
    /// The settings in an EnvironmentConfig with those of the step's input laid
    /// over; none where neither says anything.
    ///
    /// # Errors
    /// When several objects were handed over, or `data` is no map.
    pub(crate) fn of(
        found: Vec<EnvironmentConfig>,
        input: Option<Map<String, Value>>,
    ) -> Result<Option<Self>, Fault> {
        if found.len() > 1 {
            let names: Vec<_> = found.iter().map(|config| config.name.as_str()).collect();
            return Err(invalid(format!(
                "the Composition's requirement 'platform' matches {} EnvironmentConfigs ({}): select one by name",
                names.len(),
                names.join(", ")
            )));
        }
        let Some(config) = found.into_iter().next() else {
            return Ok(input.map(|document| Self {
                document,
                written_in: Written::Input,
            }));
        };
        let name = config.name.clone();
        let mut document = config.into_document().map_err(|kind| {
            invalid(format!(
                "EnvironmentConfig {name:?}: data must be a map of settings, found {kind}"
            ))
        })?;
        let written_in = if let Some(input) = input {
            overlay(&mut document, input);
            Written::Both(name)
        } else {
            Written::EnvironmentConfig(name)
        };
        Ok(Some(Self {
            document,
            written_in,
        }))
    }

    /// Whether a flavor must carry its label.
    pub(crate) fn require_flavor_label(&self) -> bool {
        self.document.get("requireFlavorLabel") == Some(&Value::Bool(true))
    }

    /// The settings, read.
    ///
    /// # Errors
    /// The first setting that does not have its type.
    pub(crate) fn parse(&self) -> Result<Platform, Fault> {
        Platform::parse(Value::Object(self.document.clone())).map_err(|error| {
            invalid(match &self.written_in {
                Written::EnvironmentConfig(name) => {
                    format!("EnvironmentConfig {name:?}: {}", error.under("data"))
                }
                Written::Input => format!("this step's input: {}", error.under("platform")),
                Written::Both(name) => format!(
                    "EnvironmentConfig {name:?} with 'platform' of this step's input laid over: {error}"
                ),
            })
        })
    }
}

/// There are no settings at all. `name` is the EnvironmentConfig looked for.
pub(crate) fn missing(name: &str) -> Fault {
    let message = format!(
        "no platform settings: create EnvironmentConfig {name:?} with an entry under data.transports"
    );
    Fault::new(StatusReason::TransportError, message)
        .on(ConditionType::TransportReady, "PlatformMissing")
}

fn invalid(message: String) -> Fault {
    Fault::config(message).on(ConditionType::TransportReady, "PlatformInvalid")
}
