//! Command lines of `asya docs`, `asya schema` and `asya version`.

use clap::Args;
use clap_complete::engine::ArgValueCandidates;

use super::candidates::fields;
use crate::schema::Document;

/// `asya docs`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        asya docs scaling\n  \
        asya docs spec.resiliency.actorTimeout\n  \
        asya docs env.valueFrom                 a field that Kubernetes defines\n  \
        asya docs status.status                 every status with its meaning\n  \
        asya docs platform.transports\n\n\
        Exit status: 0 printed, 1 there is no such field")]
pub struct Docs {
    /// Path of a field: in the spec of an actor, or after `status.` or `metadata.`, or in the platform's
    /// settings after `platform.`
    #[arg(default_value = "spec", value_name = "FIELD", add = ArgValueCandidates::new(fields))]
    pub field: String,
}

/// `asya schema`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        asya schema > asya.schema.json\n  \
        # yaml-language-server: $schema=asya.schema.json      as first line of a YAML file")]
pub struct Schema {
    /// Document whose schema is printed
    #[arg(value_enum, default_value = "all", value_name = "DOCUMENT")]
    pub document: Document,
}

/// `asya version`.
#[derive(Debug, Args)]
#[command(
    after_help = "The cluster is read with kubectl and never written to.\n\n\
        Exit status: 0 printed, 2 the cluster cannot be read"
)]
pub struct Version {
    /// Print the version of this program alone
    #[arg(long)]
    pub client: bool,

    /// Context of the kubeconfig
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,

    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
