//! The platform's settings, as this step hands them on.

use actor::platform::Platform;
use actor::status::{ConditionType, StatusReason};
use function_kit::{Code, Diagnostic, Location, PlatformInput, StepError, locate_setting, overlay};
use merge::FieldPath;
use serde_json::{Map, Value};

use crate::fetch::EnvironmentConfig;

/// The platform's settings: the document, and who wrote it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Settings {
    /// The settings as they were written.
    pub(crate) document: Map<String, Value>,
    /// Settings of the step's input alone.
    input: Option<Map<String, Value>>,
    written_in: Written,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Written {
    EnvironmentConfig(String),
    Input,
    Both(String),
}

impl Settings {
    /// The settings in an EnvironmentConfig, overridden by those of the step's input; none if
    /// neither gives any.
    ///
    /// # Errors
    /// If several objects are given, or `data` is not a map.
    pub(crate) fn of(
        found: Vec<EnvironmentConfig>,
        input: Option<Map<String, Value>>,
    ) -> Result<Option<Self>, StepError> {
        if found.len() > 1 {
            let names: Vec<_> = found.iter().map(|config| config.name.as_str()).collect();
            let message = format!(
                "the Composition's requirement 'platform' matches {} EnvironmentConfigs ({})",
                names.len(),
                names.join(", ")
            );
            let location = Location::platform(FieldPath::default());
            let diagnostic = Diagnostic::error(Code::SeveralPlatforms, location, message);
            return Err(invalid(diagnostic.help("select one by name")));
        }
        let Some(config) = found.into_iter().next() else {
            return Ok(input.map(|document| Self {
                input: Some(document.clone()),
                document,
                written_in: Written::Input,
            }));
        };
        let name = config.name.clone();
        let mut document = config.into_document().map_err(|kind| {
            let message =
                format!("EnvironmentConfig {name:?}: data must be a map of settings, found {kind}");
            let location = Location::platform(["data"]);
            invalid(Diagnostic::error(Code::InvalidPlatform, location, message))
        })?;
        let written_in = if let Some(input) = input.clone() {
            overlay(&mut document, input);
            Written::Both(name)
        } else {
            Written::EnvironmentConfig(name)
        };
        Ok(Some(Self {
            document,
            input,
            written_in,
        }))
    }

    /// Returns whether a flavor must carry its label.
    pub(crate) fn require_flavor_label(&self) -> bool {
        self.document.get("requireFlavorLabel") == Some(&Value::Bool(true))
    }

    /// The settings, read.
    ///
    /// # Errors
    /// The first setting that does not have its type.
    pub(crate) fn parse(&self) -> Result<Platform, StepError> {
        Platform::parse(Value::Object(self.document.clone())).map_err(|error| {
            let location = self.locate(&error.path);
            let message = match &self.written_in {
                Written::EnvironmentConfig(name) => {
                    format!("EnvironmentConfig {name:?}: {}", error.under("data"))
                }
                Written::Input => format!("this step's input: {}", error.under("platform")),
                Written::Both(name) => format!(
                    "EnvironmentConfig {name:?}, overridden by 'platform' of this step's input: {error}"
                ),
            };
            invalid(Diagnostic::error(Code::InvalidPlatform, location, message))
        })
    }

    /// The settings that the step's input gives, for later steps, which get all in one document.
    pub(crate) fn platform_input(&self) -> Option<PlatformInput> {
        let settings = self.input.clone()?;
        let alone = self.written_in == Written::Input;
        Some(PlatformInput { settings, alone })
    }

    /// The document and field that gave `path` of the settings.
    fn locate(&self, path: &FieldPath) -> Location {
        let base = match self.written_in {
            Written::Input => None,
            Written::EnvironmentConfig(_) | Written::Both(_) => Some(&self.document),
        };
        locate_setting(base, self.input.as_ref(), path)
    }
}

/// The error for missing settings. `name` is the required EnvironmentConfig.
pub(crate) fn missing(name: &str) -> StepError {
    let location = Location::platform(FieldPath::default());
    let diagnostic = Diagnostic::error(Code::PlatformMissing, location, "no platform settings");
    let diagnostic = diagnostic.help(format!(
        "create EnvironmentConfig {name:?} with an entry under data.transports"
    ));
    StepError::new(StatusReason::TransportError, diagnostic)
        .on(ConditionType::TransportReady, "PlatformMissing")
}

fn invalid(diagnostic: Diagnostic) -> StepError {
    StepError::config(diagnostic).on(ConditionType::TransportReady, "PlatformInvalid")
}
