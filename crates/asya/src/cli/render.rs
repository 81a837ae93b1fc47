//! Command line of `asya render`.

use std::path::PathBuf;

use clap::Args;

use super::Sources;
use crate::inputs::Arguments;

/// `asya render`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  \
        asya render examples/gpu-inference\n  \
        asya render actor.yaml flavors.yaml platform.yaml -o json\n  \
        asya render -R actors/ platform/\n  \
        asya render xr.yaml composition.yaml functions.yaml -e env/ -o observed.yaml -x -r\n\n\
        The last form is that of crossplane composition render: a value of -o other than yaml or\n\
        json is the path of observed resources.\n\n\
        Exit status: 0 rendered, 1 an actor or a file is invalid, 2 nothing to render, or the\n\
        program failed")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub struct Render {
    #[command(flatten)]
    sources: Sources,

    /// File or folder with composed objects that exist; by default those among the files
    #[arg(long, value_name = "PATH")]
    observed_resources: Option<PathBuf>,

    /// Output format, yaml or json; any other value is the path of observed resources, as in
    /// crossplane
    #[arg(short = 'o', long, value_name = "FORMAT", default_value = "yaml")]
    output: PathBuf,

    /// Render again when a file changes
    #[arg(short, long)]
    pub watch: bool,

    /// Also print the events that Crossplane would emit, as documents of kind Result
    #[arg(short = 'r', long)]
    pub include_function_results: bool,

    /// Also print the XR's spec and metadata
    #[arg(short = 'x', long)]
    pub include_full_xr: bool,

    /// Also print the context after the last function, as a document of kind Context
    #[arg(short = 'c', long)]
    pub include_context: bool,
}

/// Output formats of `asya render`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RenderForm {
    /// A stream of YAML documents
    Yaml,
    /// A JSON list
    Json,
}

/// A value of `-o` that is neither a format nor a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OutputError {
    /// It is no format, and there is no such file.
    #[error("-o {0:?} is neither a format (yaml, json) nor a file with observed resources")]
    Unknown(PathBuf),
    /// Observed resources are given by both flags.
    #[error("observed resources are given twice: by --observed-resources and by -o {0:?}")]
    Twice(PathBuf),
}

impl OutputError {
    /// A remedy.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Unknown(_) => {
                "-o yaml and -o json choose the format; --observed-resources PATH gives objects that exist"
            }
            Self::Twice(_) => {
                "-o PATH is crossplane's short flag for --observed-resources: give one"
            }
        }
    }
}

impl Render {
    /// Names and addresses of foreign functions.
    pub fn function_addresses(&self) -> &[(String, String)] {
        &self.sources.function_address
    }

    /// The output format and the input to read. `crossplane composition render` has `-o` for
    /// observed resources, so a value that is no format is a path.
    ///
    /// # Errors
    /// When the value of `-o` is neither a format nor an existing path.
    pub fn arguments(self) -> Result<(RenderForm, Arguments), OutputError> {
        let (form, observed) = match self.output.to_str() {
            Some("yaml") => (RenderForm::Yaml, self.observed_resources),
            Some("json") => (RenderForm::Json, self.observed_resources),
            _ if self.observed_resources.is_some() => return Err(OutputError::Twice(self.output)),
            _ if self.output.exists() || self.output.as_os_str() == "-" => {
                (RenderForm::Yaml, Some(self.output))
            }
            _ => return Err(OutputError::Unknown(self.output)),
        };
        Ok((form, self.sources.arguments(observed)))
    }
}
