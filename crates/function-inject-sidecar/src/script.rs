//! Selects the runtime script, and renders the ConfigMap with it.

use actor::platform::{Delivery, Platform};
use actor::status::ConditionType;
use function_kit::{Call, Code, Diagnostic, Identity, StepError};
use serde_json::{Value, json};

use crate::runtime_script::{Script, digest};
use crate::{Config, versions};

/// File of the script in its ConfigMap.
pub(crate) const FILE: &str = "asya_runtime.py";
/// Composed resources with a script are called so, with the script's hash behind it.
pub(crate) const RESOURCE_PREFIX: &str = "runtime-script-";

/// Source of the runtime files in pods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// In the sidecar's image.
    Image,
    /// In a ConfigMap of ours.
    Rendered(Script),
    /// In a ConfigMap that exists already.
    Existing(String),
}

impl Source {
    /// Returns where the pods of the actor's own find the runtime files.
    ///
    /// The platform's `runtime.delivery` decides; without it, our own sidecar's image where neither
    /// the platform nor the function names a script.
    ///
    /// # Errors
    /// If the platform asks for the image and for a script of its own, or for an unknown version.
    pub(crate) fn choose(
        call: &Call,
        platform: &Platform,
        config: &Config,
        sidecar_is_ours: bool,
    ) -> Result<Self, StepError> {
        let runtime = &platform.runtime;
        let named = [
            ("configMap", runtime.config_map.is_some()),
            ("script", runtime.script.is_some()),
            ("version", runtime.version.is_some()),
        ];
        let named = named
            .into_iter()
            .find_map(|(field, is_set)| is_set.then_some(field));
        match (runtime.delivery, named) {
            (Some(Delivery::Image), Some(field)) => {
                let setting = |field: &str| call.locate_setting(&["runtime", field].into());
                let message = format!(
                    "runtime.delivery of the platform's settings is \"Image\", and runtime.{field} is set, which needs \"ConfigMap\""
                );
                let error = Diagnostic::error(Code::InvalidPlatform, setting("delivery"), message)
                    .related([setting(field)])
                    .help("remove one of them");
                Err(StepError::config(error).on(ConditionType::WorkloadReady, "ConfigError"))
            }
            (Some(Delivery::Image), None) => Ok(Self::Image),
            (None, None) if sidecar_is_ours && config.script.is_none() => Ok(Self::Image),
            _ => Self::config_map_of(call, platform, config),
        }
    }

    /// Returns the ConfigMap with the script: the platform's, else one of ours with the platform's
    /// script, the function's, the version that the platform names or the newest.
    ///
    /// # Errors
    /// If there is no such version.
    pub(crate) fn config_map_of(
        call: &Call,
        platform: &Platform,
        config: &Config,
    ) -> Result<Self, StepError> {
        let runtime = &platform.runtime;
        if let Some(name) = &runtime.config_map {
            return Ok(Self::Existing(name.clone()));
        }
        if let Some(text) = &runtime.script {
            return Ok(Self::Rendered(Script::new(text.clone())));
        }
        if let Some(script) = &config.script {
            return Ok(Self::Rendered(script.clone()));
        }
        let version = runtime.version.as_deref();
        match versions::script(version) {
            Some(script) => Ok(Self::Rendered(script.clone())),
            None => {
                let location = call.locate_setting(&["runtime", "version"].into());
                let message = format!(
                    "runtime.version {:?} of the platform's settings is not a version of the runtime script",
                    version.unwrap_or_default(),
                );
                let error = Diagnostic::error(Code::UnknownRuntimeVersion, location, message);
                let help = format!("this function holds {}", versions::all().join(", "));
                Err(StepError::config(error.help(help))
                    .on(ConditionType::WorkloadReady, "ConfigError"))
            }
        }
    }

    /// The same for pods with state proxies, which need more files of the runtime.
    pub(crate) fn with_state_files(self) -> Self {
        match self {
            Self::Rendered(mut script) if !script.state_files.is_empty() => {
                let modules = script.state_files.iter().map(|(_, text)| *text);
                script.hash = digest([&*script.text].into_iter().chain(modules));
                script.has_state_files = true;
                Self::Rendered(script)
            }
            other => other,
        }
    }

    /// Name of the ConfigMap; none where the files come from the sidecar's image.
    pub(crate) fn config_map(&self, identity: &Identity) -> Option<String> {
        match self {
            Self::Image => None,
            Self::Rendered(script) => Some(identity.actor.runtime_config_map(&script.hash)),
            Self::Existing(name) => Some(name.clone()),
        }
    }

    /// The composed resource, where there is one to render: its name and the
    /// ConfigMap. It never changes: another script is another ConfigMap, because a
    /// mount of one file is not refreshed, and objects are applied in any order.
    pub(crate) fn render(&self, identity: &Identity) -> Option<(String, Value)> {
        let Self::Rendered(script) = self else {
            return None;
        };
        let mut data = json!({FILE: script.text});
        for (name, text) in script.files() {
            data[*name] = json!(text);
        }
        let name = self.config_map(identity)?;
        Some((
            format!("{RESOURCE_PREFIX}{}", script.hash),
            config_map(identity, &name, &data),
        ))
    }
}

/// A ConfigMap of ours.
pub(crate) fn config_map(identity: &Identity, name: &str, data: &Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": identity.metadata(name, "runtime-script"),
        "immutable": true,
        "data": data,
    })
}

#[cfg(test)]
mod tests {
    use function_proto::v1::RunFunctionRequest;

    use super::*;

    /// Result of `read` in an empty call.
    fn in_call<T>(read: impl FnOnce(&Call) -> T) -> T {
        let mut found = None;
        function_kit::run(RunFunctionRequest::default(), |call| {
            found = Some(read(call));
            Ok(())
        });
        found.unwrap()
    }

    #[test]
    fn a_script_is_named_by_the_beginning_of_its_digest() {
        // The digest of the empty text begins with e3b0c442.
        assert_eq!(Script::new("").hash, "e3b0c442");
    }

    #[test]
    fn pods_with_state_proxies_get_the_modules_of_a_released_script() {
        let newest = versions::script(None).cloned().unwrap();
        let alone = Source::Rendered(newest.clone());
        let Source::Rendered(script) = alone.clone().with_state_files() else {
            panic!("{alone:?}");
        };
        let names: Vec<&str> = script.files().iter().map(|(name, _)| *name).collect();
        assert_eq!(
            names,
            [
                "asya_state_client.py",
                "asya_state_files.py",
                "asya_state_proxy.py"
            ]
        );
        assert_ne!(
            script.hash, newest.hash,
            "another content is another ConfigMap"
        );
        assert!(newest.files().is_empty());
        let own = Source::Rendered(Script::new("print(1)"));
        assert_eq!(own.clone().with_state_files(), own);
    }

    #[test]
    fn files_come_from_our_image_unless_a_script_is_named() {
        let own_script = Config {
            script: Some(Script::new("functions")),
            ..Config::default()
        };
        let none = Config::default();
        let cases = [
            (json!({}), &none, true, Some(true), "our image"),
            (json!({}), &none, false, Some(false), "another image"),
            (
                json!({"delivery": "ConfigMap"}),
                &none,
                true,
                Some(false),
                "on demand",
            ),
            (
                json!({"delivery": "Image"}),
                &none,
                false,
                Some(true),
                "on demand of another image",
            ),
            (
                json!({"script": "p"}),
                &none,
                true,
                Some(false),
                "the platform's script",
            ),
            (
                json!({"configMap": "c"}),
                &none,
                true,
                Some(false),
                "the platform's ConfigMap",
            ),
            (
                json!({"version": "0.1.0"}),
                &none,
                true,
                Some(false),
                "a version",
            ),
            (
                json!({}),
                &own_script,
                true,
                Some(false),
                "the function's script",
            ),
            (
                json!({"delivery": "Image", "version": "0.1.0"}),
                &none,
                true,
                None,
                "both",
            ),
        ];
        for (runtime, config, is_ours, expected, reason) in cases {
            let platform = Platform::parse(json!({"runtime": runtime})).unwrap();
            let source = in_call(|call| Source::choose(call, &platform, config, is_ours)).ok();
            assert_eq!(
                source.map(|source| source == Source::Image),
                expected,
                "{reason}"
            );
        }
    }

    #[test]
    fn scripts_are_looked_for_from_the_platform_to_the_embedded_ones() {
        let config = Config {
            script: Some(Script::new("functions")),
            ..Config::default()
        };
        let newest = versions::script(None).cloned();
        let cases = [
            (
                json!({"configMap": "c", "script": "p"}),
                &config,
                Some(Source::Existing("c".to_owned())),
                "a ConfigMap that is there",
            ),
            (
                json!({"script": "p", "version": "0.1.0"}),
                &config,
                Some(Source::Rendered(Script::new("p"))),
                "the platform's script",
            ),
            (
                json!({"script": "", "version": "0.1.0"}),
                &config,
                config.script.clone().map(Source::Rendered),
                "the function's script",
            ),
            (
                json!({"version": ""}),
                &Config::default(),
                newest.map(Source::Rendered),
                "the newest",
            ),
            (
                json!({"version": "0.0.7"}),
                &Config::default(),
                None,
                "a version that was never released",
            ),
        ];
        for (runtime, config, expected, reason) in cases {
            let platform = Platform::parse(json!({"runtime": runtime})).unwrap();
            let source = in_call(|call| Source::config_map_of(call, &platform, config));
            assert_eq!(source.clone().ok(), expected, "{reason}");
            if let Err(error) = source {
                let text = error.to_string();
                assert!(text.contains("0.0.7") && text.contains("0.1.0"), "{text}");
            }
        }
    }
}
