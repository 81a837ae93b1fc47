//! What can be typed behind `asya status`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::inputs::{Asked, Cluster, Scope};

/// `asya status`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        asya status -n ml-platform\n  \
        asya status batch-inference -n ml-platform --watch\n  \
        kubectl get asyncactors -A -o yaml | asya status -f -\n\n\
        The cluster is read with kubectl, and never written to.\n\n\
        Exit status: 0 every actor is ready, 1 some are not, 2 the cluster cannot be read")]
pub struct Status {
    /// Actors; all of them, if there are none
    #[arg(value_name = "NAME")]
    names: Vec<String>,

    /// Their namespace; by default that of the kubeconfig
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<String>,

    /// Look at all namespaces
    #[arg(short = 'A', long, conflicts_with_all = ["namespace", "names"])]
    all_namespaces: bool,

    /// Context of the kubeconfig
    #[arg(long, value_name = "NAME")]
    context: Option<String>,

    /// Objects in place of a cluster: files, folders of them, or - for standard input
    #[arg(short, long, value_name = "PATH", conflicts_with_all = ["namespace", "all_namespaces", "context", "watch"])]
    filename: Vec<PathBuf>,

    /// Look every two seconds, and show what has changed
    #[arg(short, long)]
    pub watch: bool,

    /// Form of the output
    #[arg(short, long, value_enum, default_value_t, value_name = "FORM")]
    pub output: StatusForm,
}

impl Status {
    /// What is asked for.
    pub fn asked(self) -> Asked {
        let scope = match self.namespace {
            _ if self.all_namespaces => Scope::All,
            Some(name) => Scope::Namespace(name),
            None => Scope::Own,
        };
        Asked {
            files: self.filename,
            names: self.names,
            cluster: Cluster {
                context: self.context,
                scope,
            },
        }
    }
}

/// Forms of the output of `asya status`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum StatusForm {
    /// For people
    #[default]
    Tree,
    /// For programs: a list
    Json,
}
