//! The manifests of a release, out of the same files that `asya install` prints.

use anyhow::Result;
use asya::init::Transport;
use asya::install::{Configuration, InstallOptions, Part, manifests};

use super::Options;

/// Explains the file to a reader who has nothing else.
const HEADER: &str = "\
# Asya for Crossplane: permissions, packages, and settings of the platform for RabbitMQ.
# Needs Crossplane 2 and KEDA. Read the settings (EnvironmentConfig asya-platform) before you
# apply it; the provider's connection is in provider-config-rabbitmq.yaml, because its kind comes
# with the packages.
";

/// Names and texts of the manifests.
///
/// # Errors
/// If a manifest cannot be written.
pub(super) fn all(options: &Options) -> Result<Vec<(String, String)>> {
    let installation = [Part::Rights, Part::Packages, Part::Settings];
    let mut files = vec![(
        "install.yaml".to_owned(),
        format!(
            "{HEADER}{}",
            text(options, &installation, Transport::Rabbitmq)?
        ),
    )];
    for (name, transport) in [("rabbitmq", Transport::Rabbitmq), ("sqs", Transport::Sqs)] {
        let text = text(options, &[Part::ProviderConfig], transport)?;
        files.push((format!("provider-config-{name}.yaml"), text));
    }
    Ok(files)
}

fn text(options: &Options, parts: &[Part], transport: Transport) -> Result<String> {
    let wanted = InstallOptions {
        parts: parts.iter().copied().collect(),
        registry: Some(options.registry.clone()),
        version: format!("v{}", options.version),
        configuration: Configuration::Asya,
        binding: false,
        without_rbac_manager: false,
        crossplane_namespace: "crossplane-system".to_owned(),
        transport,
        namespace: "default".to_owned(),
        owner_id: None,
    };
    let manifests = manifests(&wanted)?;
    let texts: Vec<&str> = manifests
        .iter()
        .map(|manifest| manifest.text.as_str())
        .collect();
    Ok(texts.join("---\n"))
}
