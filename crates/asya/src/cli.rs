//! What can be typed. What it means is in [`crate::inputs`] and [`crate::commands`].

mod diff;
mod install;
mod program;
mod status;

use std::path::PathBuf;

use actor::names::{ActorName, is_label};
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

pub use diff::{Diff, DiffForm};
pub use install::Install;
pub use program::Program;
pub use status::{Status, StatusForm};

use crate::init::{First, Transport};
use crate::inputs::Arguments;

/// Asya's actors offline: no cluster, no network, the same code; and their state in a
/// cluster.
#[derive(Debug, Parser)]
#[command(name = "asya", version, about, arg_required_else_help = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write the completion of a shell to standard output
    Completion(Completion),
    /// Write a first actor with a flavor and the platform's settings into a folder
    Init(Init),
    /// Show everything that actors are made of
    Render(Render),
    /// Show who set each field of actors: a flavor, the actor, the platform or a default
    Explain(Explain),
    /// Show what a change does: which actors change, where, by whom, and whose pods restart
    Diff(Diff),
    /// Run cases of actors with flavors: whether they come to what is expected
    Test(Test),
    /// Show the state of actors of a cluster, with what each depends on
    Status(Status),
    /// Check actors, flavors and the platform's settings together
    Lint(Lint),
    /// Print or apply what a cluster needs: rights, packages, samples, end actors
    Install(Install),
    /// Run functions for another version of this program, which `asya diff` compares with it
    #[command(hide = true)]
    ServeFunctions,
}

/// Files that both commands read.
#[derive(Debug, Args)]
pub struct Sources {
    /// XRs: files, folders of them, an example's folder (xr.yaml with flavors.yaml,
    /// platform.yaml and observed.yaml beside it), or - for standard input. A file
    /// with a Composition replaces the built-in one; Functions only tell how its
    /// functions are called
    #[arg(required = true, value_name = "XR")]
    files: Vec<PathBuf>,

    /// File or folder with objects that functions may ask for, such as flavors and the
    /// platform's settings; may be repeated
    #[arg(short = 'e', long, alias = "extra-resources", value_name = "PATH")]
    required_resources: Vec<PathBuf>,

    /// Folder with OpenAPI v3 documents (*.json) of what the cluster serves, from
    /// kubectl get --raw /openapi/v3/GROUP-VERSION
    #[arg(short = 's', long, value_name = "DIR")]
    required_schemas: Option<PathBuf>,

    /// File with the XRD: its defaults are filled in, and it says whether the XR is a
    /// legacy one
    #[arg(long, value_name = "FILE")]
    xrd: Option<PathBuf>,

    /// Value of the context that the first function gets, as JSON or YAML; may be repeated
    #[arg(long, value_name = "KEY=JSON", value_parser = pair)]
    context_values: Vec<(String, String)>,

    /// File with such a value; may be repeated
    #[arg(long, value_name = "KEY=PATH", value_parser = pair)]
    context_files: Vec<(String, String)>,

    /// Namespace of actors that name none
    #[arg(short, long, value_name = "NAME", default_value = "default")]
    namespace: String,
}

impl Sources {
    /// What is to be read, with these observed resources.
    fn arguments(self, observed: Option<PathBuf>) -> Arguments {
        let context_files = self.context_files.into_iter();
        Arguments {
            files: self.files,
            required: self.required_resources,
            observed,
            schemas: self.required_schemas,
            xrd: self.xrd,
            context_files: context_files
                .map(|(key, path)| (key, path.into()))
                .collect(),
            context_values: self.context_values,
            namespace: self.namespace,
        }
    }
}

/// `asya render`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        asya render examples/gpu-inference\n  \
        asya render actor.yaml -e flavors.yaml -e platform.yaml\n  \
        asya render actor.yaml composition.yaml functions.yaml -e env/ -o observed.yaml -x -r\n\n\
        Exit status: 0 rendered, 1 the input is at fault, 2 the program failed")]
pub struct Render {
    #[command(flatten)]
    sources: Sources,

    /// File or folder with composed objects that exist already
    #[arg(short = 'o', long, value_name = "PATH")]
    observed_resources: Option<PathBuf>,

    /// Show what Crossplane would tell as events, as documents of kind Result
    #[arg(short = 'r', long)]
    pub include_function_results: bool,

    /// Show the XR's spec and metadata as well
    #[arg(short = 'x', long)]
    pub include_full_xr: bool,

    /// Show the context that the last function left, as a document of kind Context
    #[arg(short = 'c', long)]
    pub include_context: bool,
}

impl Render {
    /// What is to be read.
    pub fn arguments(self) -> Arguments {
        self.sources.arguments(self.observed_resources)
    }
}

/// `asya explain`.
#[derive(Debug, Args)]
#[command(
    after_help = "Values that may be secret (environment, arguments, annotations) are shown as ***.\n\n\
        Exit status: 0 explained, 1 flavors conflict or the input is at fault, 2 the program failed"
)]
pub struct Explain {
    #[command(flatten)]
    sources: Sources,

    /// File or folder with composed objects that exist already
    #[arg(long, value_name = "PATH")]
    observed_resources: Option<PathBuf>,

    /// Form of the output
    #[arg(short = 'o', long, value_enum, default_value_t, value_name = "FORM")]
    pub output: Form,
}

impl Explain {
    /// What is to be read.
    pub fn arguments(self) -> Arguments {
        self.sources.arguments(self.observed_resources)
    }
}

/// Forms of the output of `asya explain`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Form {
    /// For people
    #[default]
    Table,
    /// For programs: one object for each actor, in a list
    Json,
    /// For programs: one document for each actor
    Yaml,
}

/// `asya lint`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        asya lint examples/gpu-inference\n  \
        asya lint actors/ flavors.yaml platform.yaml\n\n\
        Exit status: 0 no errors, 1 errors (with --strict also warnings), 2 the program failed")]
pub struct Lint {
    /// Actors, the flavors that they name and the platform's settings, in any files:
    /// files, folders of them, an example's folder, or - for standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Fail on warnings too
    #[arg(long)]
    pub strict: bool,

    /// Form of the output
    #[arg(short = 'o', long, value_enum, default_value_t, value_name = "FORM")]
    pub output: LintForm,

    /// Namespace of actors that name none
    #[arg(short, long, value_name = "NAME", default_value = "default")]
    pub namespace: String,
}

/// Forms of the output of `asya lint`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum LintForm {
    /// For people: a line for each finding, with file, line and column
    #[default]
    Text,
    /// For programs: a list
    Json,
}

/// `asya completion`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        source <(asya completion bash)                                  for this session\n  \
        asya completion bash > /etc/bash_completion.d/asya\n  \
        asya completion zsh > \"${fpath[1]}/_asya\"\n  \
        asya completion fish > ~/.config/fish/completions/asya.fish")]
pub struct Completion {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: Shell,
}

/// `asya init`.
#[derive(Debug, Args)]
#[command(after_help = "Nothing that is there is overwritten.\n\n\
        Exit status: 0 written, 1 the folder has such files already, 2 the program failed")]
pub struct Init {
    /// Folder for the files; it is made if it is not there
    #[arg(default_value = ".", value_name = "FOLDER")]
    pub folder: PathBuf,

    /// Name of the actor
    #[arg(long, value_name = "NAME", default_value = "my-actor")]
    name: ActorName,

    /// Namespace of the actor
    #[arg(short, long, value_name = "NAME", default_value = "default", value_parser = namespace)]
    namespace: String,

    /// Where the actor's queue is
    #[arg(long, value_enum, default_value_t, value_name = "TYPE")]
    transport: Transport,
}

impl Init {
    /// What is to be written.
    pub fn first(&self) -> First {
        First {
            name: self.name.clone(),
            namespace: self.namespace.clone(),
            transport: self.transport,
        }
    }
}

/// `asya test`.
#[derive(Debug, Args)]
#[command(after_help = "A case:\n  \
        apiVersion: test.asya.sh/v1alpha1\n  \
        kind: ActorTest\n  \
        name: actors of flavor gpu land on nodes with a gpu\n  \
        actor: {flavors: [gpu], image: app:1, handler: app.handle}   # or a file, or a whole AsyncActor\n  \
        flavors: [../flavors]\n  \
        platform: ../platform.yaml\n  \
        expect:                       # at least one of:\n    \
        objects: [{kind: Deployment, spec: {template: {spec: {nodeSelector: {gpu: a100}}}}}]\n    \
        absent: [TriggerAuthentication]\n    \
        spec: {scaling: {maxReplicaCount: 4}}\n    \
        error: conflict on scaling    # a part of the message\n    \
        warnings: []                  # none; or parts of them\n\n\
        Exit status: 0 all passed, 1 some failed, 2 a case cannot be read or the program failed")]
pub struct Test {
    /// Documents with kind: `ActorTest`; files, folders of them, or - for standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Run only cases with this in their name
    #[arg(long, value_name = "TEXT")]
    pub filter: Option<String>,

    /// Form of the output
    #[arg(short = 'o', long, value_enum, default_value_t, value_name = "FORM")]
    pub output: TestForm,

    /// Namespace of actors that name none
    #[arg(short, long, value_name = "NAME", default_value = "default")]
    pub namespace: String,
}

/// Forms of the output of `asya test`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum TestForm {
    /// For people: a line for each case, and each failure with its file, line and column
    #[default]
    Text,
    /// For programs: a list
    Json,
}

/// A namespace.
fn namespace(text: &str) -> Result<String, String> {
    if is_label(text) {
        Ok(text.to_owned())
    } else {
        Err("expected lower-case letters, digits and dashes, at most 63".to_owned())
    }
}

/// Splits `key=value` at the first `=`.
fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("expected key=value".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn the_command_line_is_well_formed() {
        for program in [Program::Asya, Program::Kubectl] {
            program.command().debug_assert();
        }
    }

    #[test]
    fn a_pair_is_split_at_the_first_sign() {
        let split = |key: &str, value: &str| Ok((key.to_owned(), value.to_owned()));
        assert_eq!(pair("a.b/c=x=y"), split("a.b/c", "x=y"));
        assert_eq!(pair("a="), split("a", ""));
        for text in ["a", "=a", ""] {
            assert!(pair(text).is_err(), "{text:?}");
        }
    }
}
