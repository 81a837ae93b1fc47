//! Command line of `asya install`.

use actor::registry::Registry;
use clap::Args;

use super::namespace;
use crate::init::Transport;
use crate::install::{Configuration, InstallOptions, OwnerId, Part};
use crate::kubectl::Kubectl;

/// `asya install`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        asya install --registry registry.example.org/asya --apply\n  \
        asya install --transport rabbitmq --with-defaults --registry registry.example.org/asya --apply\n  \
        asya install rights --binding | kubectl diff -f -\n  \
        asya install platform --transport sqs > platform.yaml      for editing\n  \
        asya install end-actors -n ml-platform --registry registry.example.org/asya --apply\n\n\
        Without --apply, the manifests are printed in the order in which to apply them.\n\n\
        Exit status: 0 printed or applied, 2 kubectl failed, or the arguments are invalid")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub struct Install {
    /// Parts to install (default: rights and packages)
    #[arg(value_enum, value_name = "PART")]
    parts: Vec<Part>,

    /// Install what a first actor needs: rights, packages, sample settings, end actors
    #[arg(long, conflicts_with = "parts")]
    with_defaults: bool,

    /// Apply the manifests with kubectl instead of printing them. Waits for healthy packages before
    /// parts whose kinds they bring
    #[arg(long)]
    pub apply: bool,

    /// Context of the kubeconfig
    #[arg(long, value_name = "NAME", requires = "apply")]
    context: Option<String>,

    /// Registry with path to which you pushed packages and images
    #[arg(long, value_name = "REGISTRY")]
    registry: Option<Registry>,

    /// Tag of packages and images
    #[arg(long, value_name = "TAG", default_value = concat!("v", env!("CARGO_PKG_VERSION")), value_parser = tag)]
    version: String,

    /// Configuration to install; a cluster has one
    #[arg(long, value_enum, default_value_t, value_name = "NAME")]
    configuration: Configuration,

    /// Allow the provider to patch pod templates of foreign workloads, for actors with workloadRef
    #[arg(long)]
    binding: bool,

    /// Grant what Crossplane's RBAC manager would, for clusters where it is disabled
    #[arg(long)]
    without_rbac_manager: bool,

    /// Namespace of Crossplane
    #[arg(long, value_name = "NAME", default_value = "crossplane-system", value_parser = namespace)]
    crossplane_namespace: String,

    /// Transport of the sample settings
    #[arg(long, value_enum, default_value_t, value_name = "TYPE")]
    transport: Transport,

    /// Owner of queues in the sample of credentials; unique among the clusters that use the broker
    /// (default: my-cluster in what is printed, the cluster's own id with --apply)
    #[arg(long, value_name = "NAME")]
    owner_id: Option<OwnerId>,

    /// Namespace of end actors and of the runtime script
    #[arg(short, long, value_name = "NAME", default_value = "default", value_parser = namespace)]
    namespace: String,
}

impl Install {
    /// The options of the installation.
    pub fn wanted(&self) -> InstallOptions {
        let parts: &[Part] = match self.parts.as_slice() {
            [] if self.with_defaults => &Part::DEFAULTS,
            [] => &Part::DEFAULT,
            parts => parts,
        };
        InstallOptions {
            parts: parts.iter().copied().collect(),
            registry: self.registry.clone(),
            version: self.version.clone(),
            configuration: self.configuration,
            binding: self.binding,
            without_rbac_manager: self.without_rbac_manager,
            crossplane_namespace: self.crossplane_namespace.clone(),
            transport: self.transport,
            namespace: self.namespace.clone(),
            owner_id: self.owner_id.clone(),
        }
    }

    /// The cluster to apply to.
    pub fn kubectl(&self) -> Kubectl {
        Kubectl {
            context: self.context.clone(),
        }
    }
}

/// The tag of an image.
fn tag(text: &str) -> Result<String, String> {
    let is_tag = text.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '_')
        && text.len() <= 128
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    if is_tag {
        Ok(text.to_owned())
    } else {
        Err("expected the tag of an image, such as v0.1.0".to_owned())
    }
}
