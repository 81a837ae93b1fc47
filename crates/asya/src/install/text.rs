//! A user's names in the files of `install/`.

use actor::registry::Registry;

use super::InstallOptions;
use crate::init::scalar;

/// Placeholders of registry, version and namespaces in the files.
const REGISTRY: &str = "registry.example.org/asya";
const VERSION: &str = concat!("v", env!("CARGO_PKG_VERSION"));
const OF_CROSSPLANE: &str = "namespace: crossplane-system\n";
const OF_ACTORS: &str = "namespace: default\n";
const OWNER_ID: &str = "ownerID: my-cluster\n";

/// Their values.
pub(super) struct Edits<'a> {
    registry: Option<&'a Registry>,
    version: &'a str,
    of_crossplane: String,
    of_actors: String,
    owner_id: String,
}

impl<'a> Edits<'a> {
    pub(super) fn new(wanted: &'a InstallOptions) -> Self {
        let namespace = |name: &str| format!("namespace: {}\n", scalar(name));
        Self {
            registry: wanted.registry.as_ref(),
            version: &wanted.version,
            of_crossplane: namespace(&wanted.crossplane_namespace),
            of_actors: namespace(&wanted.namespace),
            owner_id: match &wanted.owner_id {
                Some(owner) => format!("ownerID: {}\n", scalar(&owner.to_string())),
                None => OWNER_ID.to_owned(),
            },
        }
    }

    pub(super) fn of_crossplane(&self, text: &str) -> String {
        text.replace(OF_CROSSPLANE, &self.of_crossplane)
    }

    pub(super) fn of_owner(&self, text: &str) -> String {
        text.replace(OWNER_ID, &self.owner_id)
    }

    pub(super) fn of_actors(&self, text: &str) -> String {
        self.images(&text.replace(OF_ACTORS, &self.of_actors))
    }

    /// Packages, by the names that Crossplane gives what another one depends on.
    pub(super) fn of_packages(&self, text: &str) -> String {
        let Some(registry) = self.registry else {
            return text.to_owned();
        };
        let mut text = text.to_owned();
        for package in dependencies(&text) {
            let name = format!("name: {}\n", scalar(&registry.name_of_dependency(&package)));
            text = text.replace(&format!("name: asya-{package}\n"), &name);
        }
        self.images(&text)
    }

    /// Returns the text with the images of the registry.
    pub(super) fn images(&self, text: &str) -> String {
        let Some(registry) = self.registry else {
            return text.to_owned();
        };
        let edit = |line: &str| match line.split_once(&format!(": {REGISTRY}/")) {
            Some((key, image)) => {
                let image = image.replace(&format!(":{VERSION}"), &format!(":{}", self.version));
                format!("{key}: {registry}/{image}\n")
            }
            None => format!("{line}\n"),
        };
        text.lines().map(edit).collect()
    }
}

/// Functions and providers in a stream of packages.
fn dependencies(text: &str) -> Vec<String> {
    let documents = text.split("---\n");
    let dependencies = documents.filter(|document| !document.contains("kind: Configuration\n"));
    let names = dependencies.filter_map(|document| {
        let (_, package) = document.split_once(&format!("package: {REGISTRY}/"))?;
        let (name, _) = package.split_once(':')?;
        Some(name.to_owned())
    });
    names.collect()
}

/// Packages of a stream, as kubectl names objects.
pub(super) fn packages(text: &str) -> Vec<String> {
    let documents = actor::yaml::documents(text).unwrap_or_default().into_iter();
    let names = documents.filter_map(|document| {
        let plural = match document["kind"].as_str()? {
            "Configuration" => "configurations",
            "Function" => "functions",
            "Provider" => "providers",
            _ => return None,
        };
        let name = document["metadata"]["name"].as_str()?;
        Some(format!("{plural}.pkg.crossplane.io/{name}"))
    });
    names.collect()
}
