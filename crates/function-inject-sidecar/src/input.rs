//! Input of the step.

use function_kit::{CommonInput, QueueInput};
use serde::{Deserialize, Deserializer};

/// Input of the step: `inject-sidecar.fn.asya.sh/v1alpha1`, kind `Input`.
/// Optional after render-deployment.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Input {
    /// Names of the composed resources that get the sidecar; names that this reconcile does not desire
    /// are ignored. Default: `deployment`, `statefulset`, `adapter`, `binding`.
    #[serde(deserialize_with = "null_as_default")]
    pub target: Targets,
    /// Image of the sidecar, for actors and platforms that set none. Default: `ASYA_SIDECAR_IMAGE` of
    /// the function, else `asya-sidecar:latest`.
    pub sidecar_image: Option<String>,
    /// The platform's settings, for this step alone.
    #[serde(flatten)]
    pub common: CommonInput,
    /// The queue's name, in place of the platform's template.
    #[serde(flatten)]
    pub queue: QueueInput,
}

/// One or several names of composed resources.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    untagged,
    expecting = "target: expected the name of a composed resource, or a list of such names"
)]
pub enum Targets {
    /// One of them.
    One(String),
    /// Several.
    Many(Vec<String>),
}

impl Default for Targets {
    fn default() -> Self {
        let names = ["deployment", "statefulset", "adapter", "binding"];
        Self::Many(names.map(str::to_owned).into())
    }
}

/// Reads a value; null means not set.
fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

impl Targets {
    /// The names, in the order in which they were given.
    pub fn names(&self) -> &[String] {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Many(names) => names,
        }
    }
}
