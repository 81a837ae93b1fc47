//! Command line of `asya diff`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use crate::inputs::{Cluster, Scope, SideArguments};

/// `asya diff`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        asya diff --old main/ --new branch/           two versions of everything\n  \
        asya diff everything/ --new gpu-a100.yaml     one flavor, as it will be\n  \
        asya diff --cluster --new gpu-a100.yaml       the same, for all actors of a cluster\n  \
        asya diff --cluster -n ml --new gpu-a100.yaml for those of one namespace\n  \
        asya diff --cluster --new-program ./asya-0.2  another version of the functions\n  \
        asya diff actors/ --old env-v1/ --new env-v2/\n  \
        kubectl get asyncactors,environmentconfigs -A -o yaml | asya diff - --new gpu-a100.yaml\n\n\
        The cluster is read with kubectl and never written to.\n\
        Values that may be secret (environment, arguments, annotations) are shown as ***.\n\n\
        Exit status: 0 nothing changes, 1 something changes, 2 the input is invalid, the changes are\n\
        unknown because a function was skipped, or the program failed")]
pub struct Diff {
    /// Objects of both sides: actors, flavors, the platform's settings, composed objects;
    /// files, folders, examples, or - for standard input. Objects of the same name in --old
    /// or --new win
    #[arg(value_name = "SHARED")]
    shared: Vec<PathBuf>,

    /// Objects of the old side; may be repeated
    #[arg(long, value_name = "PATH")]
    old: Vec<PathBuf>,

    /// Objects of the new side; may be repeated
    #[arg(long, value_name = "PATH", required_unless_present_any = ["old", "old_program", "new_program"])]
    new: Vec<PathBuf>,

    /// Read the objects of both sides from a cluster: actors of all namespaces (with -n, of one),
    /// flavors, the platform's settings and composed objects. Objects in files win
    #[arg(long)]
    cluster: bool,

    /// Context of the kubeconfig
    #[arg(long, value_name = "NAME", requires = "cluster")]
    context: Option<String>,

    /// Another version of this program that renders the old side
    #[arg(long, value_name = "PROGRAM")]
    old_program: Option<PathBuf>,

    /// Another version of this program that renders the new side
    #[arg(long, value_name = "PROGRAM")]
    new_program: Option<PathBuf>,

    /// Read folders with all folders below them
    #[arg(short = 'R', long)]
    recursive: bool,

    /// Output format
    #[arg(short = 'o', long, value_enum, default_value_t, value_name = "FORM")]
    pub output: DiffForm,

    /// Namespace of actors without metadata.namespace (default "default"). With --cluster, compare
    /// only the actors of this namespace
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<String>,
}

impl Diff {
    /// The programs that render the old and the new side; none for this program.
    pub fn programs(&self) -> [Option<&Path>; 2] {
        [self.old_program.as_deref(), self.new_program.as_deref()]
    }

    /// The input to read.
    pub fn arguments(self) -> SideArguments {
        let scope = self.namespace.clone().map_or(Scope::All, Scope::Namespace);
        SideArguments {
            cluster: self.cluster.then_some(Cluster {
                context: self.context,
                scope,
            }),
            shared: self.shared,
            recursive: self.recursive,
            old: self.old,
            new: self.new,
            namespace: self.namespace.unwrap_or_else(|| "default".to_owned()),
        }
    }
}

/// Output formats of `asya diff`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum DiffForm {
    /// Tables of changed actors and fields
    #[default]
    Table,
    /// A unified diff of the objects
    Diff,
    /// One JSON document
    Json,
}
