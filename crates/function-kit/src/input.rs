//! Fields that the inputs of all steps have.

use serde::Deserialize;
use serde_json::{Map, Value};

/// Key of the platform's settings in a step's input.
pub const PLATFORM_INPUT: &str = "platform";

/// Fields that the inputs of all steps have.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct CommonInput {
    /// Platform settings for this step alone. They override those of resolve-flavors key by key at any
    /// depth. Default: none.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Option<actor::platform::Platform>")
    )]
    pub platform: Option<Map<String, Value>>,
}

/// Merges `over` into `base`, key by key at any depth; lists are replaced.
pub fn overlay(base: &mut Map<String, Value>, over: Map<String, Value>) {
    for (key, value) in over {
        match (base.get_mut(&key), value) {
            (Some(Value::Object(base)), Value::Object(over)) => overlay(base, over),
            (_, value) => drop(base.insert(key, value)),
        }
    }
}
