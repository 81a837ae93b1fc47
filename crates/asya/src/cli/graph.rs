//! Command lines of `asya graph` and `asya top`.

use std::path::PathBuf;

use super::live::{LiveActors, cluster};
use crate::inputs::{Arguments, LiveQuery};
use clap::{Args, ValueEnum};

/// `asya graph`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        asya graph examples/gpu-inference\n  \
        asya graph -R actors/ platform/ --route extract,embed,store -o mermaid\n  \
        asya graph --cluster -n ml-platform -o dot | dot -Tsvg > actors.svg\n\n\
        The cluster is read with kubectl and never written to.\n\n\
        Exit status: 0 drawn, 1 an actor cannot be rendered, a file cannot be read, or a route names\n\
        an actor that is not given, 2 nothing to draw, or the program failed")]
pub struct Graph {
    #[command(flatten)]
    sources: OptionalSources,

    /// Read actors from a cluster instead of files
    #[arg(long, conflicts_with = "files")]
    pub cluster: bool,

    /// Context of the kubeconfig
    #[arg(long, value_name = "NAME", requires = "cluster")]
    context: Option<String>,

    /// With --cluster, read all namespaces
    #[arg(short = 'A', long, requires = "cluster", conflicts_with = "namespace")]
    all_namespaces: bool,

    /// Route of messages: names of actors, separated by commas; may be repeated
    #[arg(long, value_name = "ACTOR,...", value_parser = route)]
    route: Vec<Route>,

    /// File with messages whose routes are drawn: JSON, one message per line or in a list; may be
    /// repeated
    #[arg(long, value_name = "FILE")]
    pub messages: Vec<PathBuf>,

    /// Output format
    #[arg(short = 'o', long, value_enum, default_value_t, value_name = "FORM")]
    pub output: GraphForm,
}

/// Files of `asya graph`, which may be none.
#[derive(Debug, Args)]
struct OptionalSources {
    /// Actors, flavors and platform settings in any order: files, folders, or - for standard input
    #[arg(required_unless_present = "cluster", value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Read folders with all folders below them
    #[arg(short = 'R', long)]
    recursive: bool,

    /// Namespace of actors without metadata.namespace (default "default"); with --cluster, the
    /// namespace to read (default: that of the kubeconfig)
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<String>,
}

/// A route from the command line.
#[derive(Debug, Clone)]
struct Route(Vec<String>);

fn route(text: &str) -> Result<Route, String> {
    let names: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
    if names.iter().any(String::is_empty) {
        return Err("expected names of actors, separated by commas".to_owned());
    }
    Ok(Route(names))
}

impl Graph {
    /// The routes of the command line.
    pub fn routes(&self) -> Vec<Vec<String>> {
        self.route.iter().map(|route| route.0.clone()).collect()
    }

    /// The files to read.
    pub fn arguments(&self) -> Arguments {
        Arguments {
            files: self.sources.files.clone(),
            recursive: self.sources.recursive,
            namespace: self
                .sources
                .namespace
                .clone()
                .unwrap_or_else(|| "default".to_owned()),
            ..Arguments::default()
        }
    }

    /// The actors to read from a cluster.
    pub fn query(&self) -> LiveQuery {
        LiveQuery {
            cluster: cluster(
                self.context.clone(),
                self.sources.namespace.clone(),
                self.all_namespaces,
            ),
            ..LiveQuery::default()
        }
    }
}

/// Output formats of `asya graph`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum GraphForm {
    /// A tree per actor, and the routes
    #[default]
    Tree,
    /// A Mermaid flowchart
    Mermaid,
    /// The language of Graphviz
    Dot,
    /// One JSON document
    Json,
}

/// `asya top`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        asya top -n ml-platform\n  \
        asya top -A --sort queued --watch\n\n\
        QUEUED, PROCESSING and DEAD are the counts of the Queue objects. CHANGE/S is by how many\n\
        messages a second the queue grows (+) or shrinks (-), between two reads.\n\
        The cluster is read with kubectl and never written to.\n\n\
        Exit status: 0 printed, 1 a file cannot be read or a name is unknown, 2 the cluster cannot be\n\
        read")]
pub struct Top {
    /// Actors to read.
    #[command(flatten)]
    pub actors: LiveActors,

    /// Print again every few seconds
    #[arg(short, long)]
    pub watch: bool,

    /// Seconds between two reads
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub interval: u64,

    /// Column by which rows are sorted, largest first
    #[arg(long, value_enum, default_value_t, value_name = "COLUMN")]
    pub sort: TopSort,

    /// Output format
    #[arg(short = 'o', long, value_enum, default_value_t, value_name = "FORM")]
    pub output: TopForm,
}

/// Columns by which `asya top` sorts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum TopSort {
    /// By namespace and name
    Name,
    /// Waiting messages
    #[default]
    Queued,
    /// Messages in work
    Processing,
    /// Ready pods
    Ready,
    /// Dead letters
    Dead,
}

/// Output formats of `asya top`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum TopForm {
    /// One row per actor
    #[default]
    Table,
    /// A JSON list
    Json,
}
