//! Manifests that a cluster needs besides Crossplane and KEDA: the files of `install/`, with a registry and
//! namespaces of the user's in them.
//!
//! The files are edited as text, so that what is printed keeps their comments: the samples among
//! them are there to be edited. Pure: [`crate::commands`] prints, [`crate::kubectl`] applies.

mod text;

use std::collections::BTreeSet;

use actor::registry::Registry;
use clap::ValueEnum;
use serde_json::json;

use self::text::Edits;
use crate::init::Transport;

macro_rules! file {
    ($path:literal) => {
        include_str!(concat!("../../../../install/", $path))
    };
}

/// The newest runtime script.
const SCRIPT: &str = include_str!("../../../../runtime/asya_runtime.py");

/// Parts of an installation, in the order in which they are applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Part {
    /// Permissions of Crossplane and the provider
    Rights,
    /// Runtime settings of packages, and the packages of a Configuration
    Packages,
    /// A sample to edit: the platform's settings and a flavor, which are of a kind of Crossplane's
    Settings,
    /// A sample to edit: where the provider finds the broker, and its credentials there
    ProviderConfig,
    /// A sample to edit: both of these
    Platform,
    /// The actors at which routes end
    EndActors,
    /// The runtime script of a namespace, for platforms with `runtime.configMap`
    Runtime,
}

impl Part {
    /// Parts that are installed by default.
    pub const DEFAULT: [Self; 2] = [Self::Rights, Self::Packages];

    /// Parts that a first actor needs.
    pub const DEFAULTS: [Self; 4] = [
        Self::Rights,
        Self::Packages,
        Self::Platform,
        Self::EndActors,
    ];

    /// The name by which it is typed.
    pub fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Returns whether it names images of the user's registry.
    fn names_images(self) -> bool {
        matches!(self, Self::Packages | Self::EndActors)
    }

    /// Returns whether its kinds come with the packages.
    pub fn needs_packages(self) -> bool {
        matches!(
            self,
            Self::ProviderConfig | Self::Platform | Self::EndActors
        )
    }
}

/// Configurations, of which a cluster has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Configuration {
    /// Six functions; the Composition of one step beside them
    #[default]
    Asya,
    /// One function
    AsyaOneStep,
    /// Six functions, and claims
    AsyaLegacy,
}

impl Configuration {
    fn packages(self) -> &'static str {
        match self {
            Self::Asya => file!("packages/asya.yaml"),
            Self::AsyaOneStep => file!("packages/asya-one-step.yaml"),
            Self::AsyaLegacy => file!("packages/asya-legacy.yaml"),
        }
    }

    /// The definition that it brings.
    fn definition(self) -> &'static str {
        match self {
            Self::Asya | Self::AsyaOneStep => "asyncactors.asya.sh",
            Self::AsyaLegacy => "xasyncactors.asya.sh",
        }
    }
}

/// Parts to install.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstallOptions {
    /// Parts to install.
    pub parts: BTreeSet<Part>,
    /// Registry of the user's packages and images.
    pub registry: Option<Registry>,
    /// Their tag.
    pub version: String,
    /// Configuration to install.
    pub configuration: Configuration,
    /// True if the provider may change workloads of others.
    pub binding: bool,
    /// True if Crossplane runs without its RBAC manager.
    pub without_rbac_manager: bool,
    /// Namespace of Crossplane.
    pub crossplane_namespace: String,
    /// Transport whose sample of the platform is used.
    pub transport: Transport,
    /// Namespace of end actors and runtime script.
    pub namespace: String,
    /// `ownerID` of the sample of credentials; as in the file where there is none.
    pub owner_id: Option<OwnerId>,
}

/// First part of the ownership tag of queues, as the schema of ProviderConfigs takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerId(String);

impl std::str::FromStr for OwnerId {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
        if (1..=63).contains(&text.len()) && text.chars().all(is_allowed) {
            Ok(Self(text.to_owned()))
        } else {
            Err("expected 1 to 63 letters, digits, '.', '_' and '-', such as eu-west-prod")
        }
    }
}

impl std::fmt::Display for OwnerId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// A part as it is to be applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// Part that contains it.
    pub part: Part,
    /// One YAML stream.
    pub text: String,
    /// Arguments of calls of `kubectl wait` before a part that needs the packages.
    pub then: Vec<Vec<String>>,
}

/// Reason for which manifests cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InstallError {
    /// A part needs a registry, since no packages are published.
    #[error("part {part:?} needs images from a registry of yours, and none is given")]
    NoRegistry {
        /// The first such part.
        part: String,
    },
    /// A ConfigMap cannot be written.
    #[error("cannot write YAML: {0}")]
    Yaml(String),
}

impl InstallError {
    /// A remedy, if the message does not contain one.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoRegistry { .. } => Some(
                "give it with --registry, such as registry.example.org/asya; docs/setup/packages.md shows how to push packages",
            ),
            Self::Yaml(_) => None,
        }
    }
}

/// The manifests of the wanted parts, in the order in which they are applied.
///
/// # Errors
/// When a part needs a registry and none is given.
pub fn manifests(wanted: &InstallOptions) -> Result<Vec<Manifest>, InstallError> {
    let without = |part: &&Part| part.names_images() && wanted.registry.is_none();
    if let Some(part) = wanted.parts.iter().find(without) {
        let part = part.name();
        return Err(InstallError::NoRegistry { part });
    }
    let parts = wanted.parts.iter();
    parts.map(|part| manifest(wanted, *part)).collect()
}

fn manifest(wanted: &InstallOptions, part: Part) -> Result<Manifest, InstallError> {
    let edits = Edits::new(wanted);
    let texts: Vec<String> = match part {
        Part::Rights => rights(wanted)
            .iter()
            .map(|file| edits.of_crossplane(file))
            .collect(),
        Part::Packages => vec![
            file!("provider-asya/runtime-config.yaml").to_owned(),
            file!("functions/runtime-config.yaml").to_owned(),
            edits.of_crossplane(file!("functions/disruption-budget.yaml")),
            edits.of_packages(wanted.configuration.packages()),
        ],
        Part::Settings => settings(wanted.transport)
            .map(|file| edits.images(file))
            .into(),
        Part::ProviderConfig => vec![edits.of_owner(provider_config(wanted.transport))],
        Part::Platform => {
            let mut texts = vec![edits.of_owner(provider_config(wanted.transport))];
            texts.extend(settings(wanted.transport).map(|file| edits.images(file)));
            texts
        }
        Part::EndActors => vec![edits.of_actors(file!("end-actors/actors.yaml"))],
        Part::Runtime => vec![runtime(&wanted.namespace)?],
    };
    let then = match part {
        Part::Packages => healthy(wanted, &texts.join("---\n")),
        _ => Vec::new(),
    };
    let text = texts.join("---\n");
    Ok(Manifest { part, text, then })
}

fn rights(wanted: &InstallOptions) -> Vec<&'static str> {
    let mut files = vec![
        file!("crossplane/rbac.yaml"),
        file!("provider-asya/rbac.yaml"),
    ];
    if wanted.binding {
        files.push(file!("provider-asya/rbac-binding.yaml"));
    }
    if wanted.without_rbac_manager {
        files.push(file!("crossplane/rbac-without-manager.yaml"));
        files.push(file!("provider-asya/rbac-without-manager.yaml"));
    }
    files
}

fn provider_config(transport: Transport) -> &'static str {
    match transport {
        Transport::Rabbitmq => file!("transports/rabbitmq.yaml"),
        Transport::Sqs => file!("transports/sqs.yaml"),
    }
}

fn settings(transport: Transport) -> [&'static str; 2] {
    let settings = match transport {
        Transport::Rabbitmq => file!("platform/rabbitmq.yaml"),
        Transport::Sqs => file!("platform/sqs.yaml"),
    };
    [settings, file!("flavors/small.yaml")]
}

/// The ConfigMap that a platform names with `runtime.configMap: asya-runtime`.
fn runtime(namespace: &str) -> Result<String, InstallError> {
    let object = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "asya-runtime", "namespace": namespace},
        "data": {"asya_runtime.py": SCRIPT},
    });
    actor::yaml::write(&object).map_err(|error| InstallError::Yaml(error.to_string()))
}

/// Calls of `kubectl wait` until the packages are healthy and their kinds are served.
fn healthy(wanted: &InstallOptions, packages: &str) -> Vec<Vec<String>> {
    let call = |condition: &str, names: Vec<String>| {
        let mut call = vec![format!("--for=condition={condition}")];
        call.extend(names);
        call
    };
    let definition = wanted.configuration.definition();
    let definition =
        format!("compositeresourcedefinitions.apiextensions.crossplane.io/{definition}");
    vec![
        call("Healthy", text::packages(packages)),
        call("Established", vec![definition]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_typed_as_the_hints_say() {
        let names: Vec<String> = Part::value_variants()
            .iter()
            .map(|part| part.name())
            .collect();
        let expected = [
            "rights",
            "packages",
            "settings",
            "provider-config",
            "platform",
            "end-actors",
            "runtime",
        ];
        assert_eq!(names, expected);
    }
}
