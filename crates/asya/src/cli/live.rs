//! Arguments of commands that read live actors.

use std::path::PathBuf;

use clap::Args;
use clap_complete::engine::ArgValueCandidates;

use super::candidates::actors;
use crate::inputs::{Cluster, LiveQuery, Scope};

/// Actors of a cluster, or of files with its objects.
#[derive(Debug, Args)]
pub struct LiveActors {
    /// Names of actors; all actors by default
    #[arg(value_name = "NAME", add = ArgValueCandidates::new(actors))]
    names: Vec<String>,

    /// Namespace of the actors (default: that of the kubeconfig)
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<String>,

    /// Show actors of all namespaces
    #[arg(short = 'A', long, conflicts_with_all = ["namespace", "names"])]
    all_namespaces: bool,

    /// Context of the kubeconfig
    #[arg(long, value_name = "NAME")]
    context: Option<String>,

    /// Read objects from files instead of a cluster: files, folders of them, or - for standard input
    #[arg(short, long, value_name = "PATH", conflicts_with_all = ["namespace", "all_namespaces", "context"])]
    filename: Vec<PathBuf>,

    /// With -f, read folders with all folders below them
    #[arg(short = 'R', long, requires = "filename")]
    recursive: bool,
}

impl LiveActors {
    /// The actors to read.
    pub fn query(&self) -> LiveQuery {
        LiveQuery {
            files: self.filename.clone(),
            recursive: self.recursive,
            names: self.names.clone(),
            cluster: cluster(
                self.context.clone(),
                self.namespace.clone(),
                self.all_namespaces,
            ),
        }
    }

    /// Returns whether the actors come from files.
    pub fn is_offline(&self) -> bool {
        !self.filename.is_empty()
    }
}

/// The cluster of a context, and its namespaces.
pub(super) fn cluster(context: Option<String>, namespace: Option<String>, all: bool) -> Cluster {
    let scope = match namespace {
        _ if all => Scope::All,
        Some(name) => Scope::Namespace(name),
        None => Scope::Own,
    };
    Cluster { context, scope }
}
