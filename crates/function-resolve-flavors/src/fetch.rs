//! The cluster's objects that this step needs, and how Crossplane hands them over.
//!
//! Crossplane calls a step until what it asks for stands still, so everything is
//! asked for on every call, in the same words.

use actor::health::UsedEnvironmentConfig;
use actor::names::FlavorName;
use actor::{ENVIRONMENT_CONFIG, labels};
use function_kit::{Call, value};
use pbjson_types::Struct;
use serde_json::{Map, Value};

use crate::kind_of;

/// Bootstrap requirement by which a Composition provides the platform's settings.
const BOOTSTRAP: &str = "platform";
/// The requirement by which this step asks for them otherwise.
const ASKED: &str = "asya-platform";

/// An EnvironmentConfig.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EnvironmentConfig {
    /// Its name.
    pub(crate) name: String,
    /// The flavor that its label names.
    pub(crate) flavor_label: Option<String>,
    /// Its version.
    pub(crate) used: UsedEnvironmentConfig,
    data: Value,
}

/// Required objects, all of them fetched.
#[derive(Debug)]
pub(crate) struct Fetched {
    /// For each flavor, in order, its EnvironmentConfig; none where there is no
    /// such object.
    pub(crate) flavors: Vec<Option<EnvironmentConfig>>,
    /// The platform's settings: at most one, unless the Composition's own
    /// requirement selects more.
    pub(crate) platform: Vec<EnvironmentConfig>,
}

/// Asks for everything. None while something is not fetched yet.
pub(crate) fn all(call: &mut Call, flavors: &[FlavorName], platform: &str) -> Option<Fetched> {
    // Both are asked for before either answer counts.
    let flavors: Vec<_> = flavors
        .iter()
        .map(|name| ask(call, &format!("flavor-{name}"), name.as_str()))
        .collect();
    let platform = match call.bootstrap_requirement(BOOTSTRAP) {
        Some(found) => Some(read(&found)),
        None => ask(call, ASKED, platform),
    };
    let flavors: Option<Vec<_>> = flavors.into_iter().collect();
    Some(Fetched {
        flavors: flavors?
            .into_iter()
            .map(|found| found.into_iter().next())
            .collect(),
        platform: platform?,
    })
}

/// Returns the name of the EnvironmentConfig in the Composition's bootstrap requirement.
pub(crate) fn bootstrap_name(call: &Call) -> Option<String> {
    let found = call.bootstrap_requirement(BOOTSTRAP)?;
    found.first().map(|object| name_of(object).to_owned())
}

impl Fetched {
    /// Returns the fetched EnvironmentConfigs, in the order of the flavors, the platform's settings last.
    pub(crate) fn used(&self) -> Vec<UsedEnvironmentConfig> {
        let flavors = self.flavors.iter().flatten();
        let all = flavors.chain(&self.platform);
        all.map(|config| config.used.clone()).collect()
    }
}

fn ask(call: &mut Call, key: &str, name: &str) -> Option<Vec<EnvironmentConfig>> {
    let found = call.require(key, ENVIRONMENT_CONFIG, name, None)?;
    Some(read(&found))
}

fn read(found: &[&Struct]) -> Vec<EnvironmentConfig> {
    found
        .iter()
        .map(|object| EnvironmentConfig {
            used: UsedEnvironmentConfig::new(
                name_of(object),
                value::text(object, &["metadata", "uid"]),
                value::integer(object, &["metadata", "generation"]),
            ),
            name: name_of(object).to_owned(),
            flavor_label: value::text(object, &["metadata", "labels", labels::FLAVOR])
                .map(str::to_owned),
            data: value::at(object, &["data"]).map_or(Value::Null, value::pb_to_json),
        })
        .collect()
}

fn name_of(object: &Struct) -> &str {
    value::text(object, &["metadata", "name"]).unwrap_or_default()
}

impl EnvironmentConfig {
    /// Content of `data`; empty if there is none.
    ///
    /// # Errors
    /// When `data` is not a map: its type.
    pub(crate) fn into_document(self) -> Result<Map<String, Value>, &'static str> {
        match self.data {
            Value::Null => Ok(Map::new()),
            Value::Object(document) => Ok(document),
            other => Err(kind_of(&other)),
        }
    }
}
