//! What can be typed behind `asya install`.

use actor::registry::Registry;
use clap::Args;

use super::namespace;
use crate::apply::Kubectl;
use crate::init::Transport;
use crate::install::{Configuration, Part, Wanted};

/// `asya install`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        asya install --registry registry.example.org/asya --apply\n  \
        asya install rights --binding | kubectl diff -f -\n  \
        asya install platform --transport sqs > platform.yaml      to be edited\n  \
        asya install end-actors -n ml-platform --registry registry.example.org/asya --apply\n\n\
        Without --apply the documents are printed in the order in which they are to be applied.\n\n\
        Exit status: 0 printed or applied, 2 kubectl failed, or the call cannot be understood")]
pub struct Install {
    /// What to install; rights and packages, if nothing is said
    #[arg(value_enum, value_name = "PART")]
    parts: Vec<Part>,

    /// Apply it with kubectl, in place of printing it. Before a part whose kinds come with
    /// packages of the same call, wait until these are healthy
    #[arg(long)]
    pub apply: bool,

    /// Context of the kubeconfig
    #[arg(long, value_name = "NAME", requires = "apply")]
    context: Option<String>,

    /// Registry, with a path, to which you have pushed packages and images
    #[arg(long, value_name = "REGISTRY")]
    registry: Option<Registry>,

    /// Tag of packages and images
    #[arg(long, value_name = "TAG", default_value = concat!("v", env!("CARGO_PKG_VERSION")), value_parser = tag)]
    version: String,

    /// Which Configuration the packages are of; a cluster has one
    #[arg(long, value_enum, default_value_t, value_name = "NAME")]
    configuration: Configuration,

    /// Let the provider change the pod templates of other people's workloads, for actors with
    /// workloadRef
    #[arg(long)]
    binding: bool,

    /// Grant what Crossplane's RBAC manager would, for clusters where it is off
    #[arg(long)]
    without_rbac_manager: bool,

    /// Namespace of Crossplane
    #[arg(long, value_name = "NAME", default_value = "crossplane-system", value_parser = namespace)]
    crossplane_namespace: String,

    /// Transport of the sample of the platform's settings
    #[arg(long, value_enum, default_value_t, value_name = "TYPE")]
    transport: Transport,

    /// Namespace of end actors and of the runtime script
    #[arg(short, long, value_name = "NAME", default_value = "default", value_parser = namespace)]
    namespace: String,
}

impl Install {
    /// What is to be installed.
    pub fn wanted(&self) -> Wanted {
        let parts: &[Part] = match self.parts.as_slice() {
            [] => &Part::DEFAULT,
            parts => parts,
        };
        Wanted {
            parts: parts.iter().copied().collect(),
            registry: self.registry.clone(),
            version: self.version.clone(),
            configuration: self.configuration,
            binding: self.binding,
            without_rbac_manager: self.without_rbac_manager,
            crossplane_namespace: self.crossplane_namespace.clone(),
            transport: self.transport,
            namespace: self.namespace.clone(),
        }
    }

    /// Where it is to be applied.
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
