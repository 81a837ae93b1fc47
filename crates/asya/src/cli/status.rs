//! Command line of `asya status`.

use actor::status::StatusReason;
use clap::{Args, ValueEnum};
use clap_complete::engine::ArgValueCandidates;

use super::candidates::flavors;
use super::live::LiveActors;
use crate::nearest::nearest;

/// `asya status`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        asya status -n ml-platform\n  \
        asya status batch-inference -n ml-platform --watch\n  \
        asya status -A --problems -o table\n  \
        kubectl get asyncactors -A -o yaml | asya status -f -\n\n\
        The cluster is read with kubectl and never written to.\n\n\
        Exit status: 0 every actor is ready, 1 some are not, 2 the cluster cannot be read")]
pub struct Status {
    /// Actors to read.
    #[command(flatten)]
    pub actors: LiveActors,

    /// Read the cluster every two seconds and print changes; with -f, read the files again
    #[arg(short, long)]
    pub watch: bool,

    /// Show only actors that are not ready
    #[arg(short, long)]
    pub problems: bool,

    /// Show only actors with this flavor
    #[arg(long, value_name = "NAME", add = ArgValueCandidates::new(flavors))]
    pub flavor: Option<String>,

    /// Show only actors with this status, such as Napping; may be repeated
    #[arg(long, value_name = "STATUS", value_parser = status)]
    pub status: Vec<String>,

    /// Output format
    #[arg(short, long, value_enum, default_value_t, value_name = "FORM")]
    pub output: StatusForm,
}

/// The name of a status.
fn status(text: &str) -> Result<String, String> {
    let mut names = StatusReason::ALL.iter().map(|status| status.as_str());
    if let Some(name) = names.find(|name| name.eq_ignore_ascii_case(text)) {
        return Ok(name.to_owned());
    }
    let names: Vec<&str> = StatusReason::ALL
        .iter()
        .map(|status| status.as_str())
        .collect();
    Err(match nearest(text, names.iter().copied()) {
        Some(meant) => format!("there is no status {text:?}: did you mean {meant:?}?"),
        None => format!(
            "there is no status {text:?}: expected one of {}",
            names.join(", ")
        ),
    })
}

/// Output formats of `asya status`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum StatusForm {
    /// A tree per actor
    #[default]
    Tree,
    /// One row per actor
    Table,
    /// A JSON list
    Json,
}
