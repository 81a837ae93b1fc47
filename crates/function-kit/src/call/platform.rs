//! The platform's settings, as resolve-flavors hands them on and a step's input changes them.

use actor::diagnostic::{Code, Diagnostic, Location, Source};
use actor::platform::Platform;
use actor::status::{ConditionType, StatusReason};
use merge::{FieldPath, Segment};
use serde_json::{Map, Value};

use super::Call;
use crate::input::overlay;
use crate::value::to_map;
use crate::{CommonInput, PLATFORM_INPUT, PLATFORM_KEY, StepError, value};

impl Call {
    /// Returns the platform's settings as a document: those from resolve-flavors, overridden by this
    /// step's input. None if neither has any.
    pub fn platform_document(&self) -> Result<Option<Map<String, Value>>, StepError> {
        let input = self.input::<CommonInput>()?.platform;
        Ok(match (self.handed_on_platform(), input) {
            (Some(mut base), Some(input)) => {
                overlay(&mut base, input);
                Some(base)
            }
            (base, input) => base.or(input),
        })
    }

    fn handed_on_platform(&self) -> Option<Map<String, Value>> {
        let context = self.context.as_ref()?;
        value::map(context, &[PLATFORM_KEY]).map(to_map)
    }

    /// The platform's settings.
    ///
    /// # Errors
    /// When there are none, or one does not have its type.
    pub fn platform(&self) -> Result<Platform, StepError> {
        let Some(document) = self.platform_document()? else {
            let location = Location::platform(FieldPath::default());
            let diagnostic =
                Diagnostic::error(Code::PlatformMissing, location, "no platform settings");
            let diagnostic = diagnostic.help(
                "run resolve-flavors before this step, or write them into the step's input under 'platform'",
            );
            return Err(StepError::new(StatusReason::TransportError, diagnostic)
                .on(ConditionType::TransportReady, "PlatformMissing"));
        };
        Platform::parse(Value::Object(document)).map_err(|error| {
            let location = self.locate_setting(&error.path);
            let message = format!("the platform's settings are invalid: {error}");
            StepError::config(Diagnostic::error(Code::InvalidPlatform, location, message))
                .on(ConditionType::TransportReady, "PlatformInvalid")
        })
    }

    /// The document and field that gave `path` of the platform's settings.
    pub fn locate_setting(&self, path: &FieldPath) -> Location {
        let input = self.input::<CommonInput>().ok();
        let input = input.and_then(|input| input.platform);
        let handed_on = self.handed_on_platform();
        let found = locate_setting(handed_on.as_ref(), input.as_ref(), path);
        match &self.facts.platform_input {
            // Settings from resolve-flavors may come from its own input.
            Some(first) if found.source == Source::Platform => {
                let base = handed_on.filter(|_| !first.alone);
                locate_setting(base.as_ref(), Some(&first.settings), path)
            }
            _ => found,
        }
    }
}

/// The document and field that gave `path` of settings in an EnvironmentConfig (`base`) with those
/// of a step's input on top. A setting that neither gives is where most of its parents are.
pub fn locate_setting(
    base: Option<&Map<String, Value>>,
    input: Option<&Map<String, Value>>,
    path: &FieldPath,
) -> Location {
    let below = |root: &str| -> FieldPath {
        let segments = path.segments().iter().cloned();
        std::iter::once(Segment::from(root))
            .chain(segments)
            .collect()
    };
    let depth = |document: Option<&Map<String, Value>>| document.map(|it| depth(it, path));
    let (in_base, in_input) = (depth(base), depth(input));
    if in_input.is_some_and(|depth| in_base.is_none_or(|base| depth > 0 && depth >= base)) {
        Location::input(below(PLATFORM_INPUT))
    } else {
        Location::platform(below("data"))
    }
}

/// Returns the number of the path's segments that the document has.
fn depth(document: &Map<String, Value>, path: &FieldPath) -> usize {
    let Some((Segment::Key(first), rest)) = path.segments().split_first() else {
        return 0;
    };
    let Some(mut value) = document.get(first) else {
        return 0;
    };
    let mut depth = 1;
    for segment in rest {
        let inner = match segment {
            Segment::Key(key) => value.get(key),
            Segment::Index(index) => value.get(index),
        };
        let Some(inner) = inner else { break };
        value = inner;
        depth += 1;
    }
    depth
}

#[cfg(test)]
mod tests {
    use function_proto::v1::RunFunctionRequest;
    use serde_json::json;

    use super::*;
    use crate::FACTS_KEY;
    use crate::value::json_to_struct;

    #[test]
    fn later_steps_find_settings_of_the_first_steps_input_there() {
        let locate = |alone: bool, path: [&str; 2]| {
            let context = json!({
                PLATFORM_KEY: {"transports": {"mq": {}, "sqs": {}}, "runtime": {"version": "1"}},
                FACTS_KEY: {"platformInput": {"settings": {"transports": {"mq": {}}}, "alone": alone}},
            });
            let request = RunFunctionRequest {
                context: context.as_object().map(json_to_struct),
                ..RunFunctionRequest::default()
            };
            Call::new(request).locate_setting(&path.into())
        };
        let cases = [
            (
                false,
                ["transports", "mq"],
                Location::input(["platform", "transports", "mq"]),
                "the input's",
            ),
            (
                false,
                ["transports", "sqs"],
                Location::platform(["data", "transports", "sqs"]),
                "the EnvironmentConfig's",
            ),
            (
                false,
                ["runtime", "version"],
                Location::platform(["data", "runtime", "version"]),
                "not in the input",
            ),
            (
                true,
                ["sidecar", "image"],
                Location::input(["platform", "sidecar", "image"]),
                "there is no EnvironmentConfig",
            ),
        ];
        for (alone, path, expected, reason) in cases {
            assert_eq!(locate(alone, path), expected, "{reason}");
        }
    }

    #[test]
    fn a_setting_is_found_in_the_document_that_gives_it() {
        let base = json!({"transports": {"sqs": {"type": "sqs"}}, "runtime": {}});
        let input = json!({"transports": {"mq": {"type": "rabbitmq"}}});
        let cases: [(&[&str], Location, &str); 4] = [
            (
                &["transports", "sqs", "type"],
                Location::platform(["data", "transports", "sqs", "type"]),
                "the EnvironmentConfig's",
            ),
            (
                &["transports", "mq", "config"],
                Location::input(["platform", "transports", "mq", "config"]),
                "missing where the input has the entry",
            ),
            (
                &["runtime", "version"],
                Location::platform(["data", "runtime", "version"]),
                "missing where the EnvironmentConfig has the map",
            ),
            (
                &["sidecar"],
                Location::platform(["data", "sidecar"]),
                "in neither",
            ),
        ];
        for (path, expected, reason) in cases {
            let path: FieldPath = path.iter().copied().collect();
            let found = locate_setting(base.as_object(), input.as_object(), &path);
            assert_eq!(found, expected, "{reason}");
        }
        let alone = locate_setting(None, input.as_object(), &["sidecar"].into());
        assert_eq!(alone, Location::input(["platform", "sidecar"]));
    }
}
