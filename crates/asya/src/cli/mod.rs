//! The command line. [`crate::commands`] runs it.

pub mod candidates;
mod diff;
mod graph;
mod install;
mod live;
mod operate;
mod program;
mod reference;
mod render;
mod run;
mod status;

use std::path::PathBuf;

use actor::diagnostic::Code;
use actor::names::{ActorName, is_label};
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

pub use diff::{Diff, DiffForm};
pub use graph::{Graph, GraphForm, Top, TopForm, TopSort};
pub use install::Install;
pub use live::LiveActors;
pub(crate) use operate::payload;
pub use operate::{
    DeadLetters, DeadLettersCommand, JobOptions, Logs, OperateForm, Peek, Selected, Send,
};
pub use program::Program;
pub use reference::{Docs, Schema, Version};
pub use render::{OutputError, Render, RenderForm};
pub use run::{Run, RunForm};
pub use status::{Status, StatusForm};

use crate::init::{Project, Transport};
use crate::inputs::Arguments;

/// Render, explain, check and compare Asya actors offline, and show their state in a cluster
#[derive(Debug, Parser)]
#[command(name = "asya", version, about, arg_required_else_help = true)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// Commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Print a completion script for a shell
    Completion(Completion),
    /// Write a first actor with its handler, a flavor, platform settings and a test into a folder
    Init(Init),
    /// Render all objects of actors, as Crossplane would apply them
    Render(Render),
    /// Show the origin of each field: flavor, actor, platform or default
    Explain(Explain),
    /// Show the effects of a change: changed actors and fields, causes, restarting pods
    Diff(Diff),
    /// Run actors on this machine: their handlers with queues in memory, without a cluster
    Run(Run),
    /// Run test cases of flavors, documents of kind `ActorTest`
    Test(Test),
    /// Show the state of actors in a cluster and of what each depends on
    Status(Status),
    /// Show messages, pods and dead letters of actors in a cluster
    Top(Top),
    /// Draw actors with their queues, scalers and flavors, and the routes between them
    Graph(Graph),
    /// Check actors, flavors and the platform's settings together
    Lint(Lint),
    /// Send a message to an actor in a cluster, through a Job
    Send(Send),
    /// List, show, requeue or delete the dead letters of an actor in a cluster, through a Job
    DeadLetters(DeadLetters),
    /// Print the logs of all pods of an actor in a cluster
    Logs(Logs),
    /// Print or apply manifests for a cluster: RBAC, packages, samples, end actors
    Install(Install),
    /// Show the documentation of a field, as `kubectl explain`, without a cluster
    Docs(Docs),
    /// Print the JSON Schema of actors, flavors and platform settings, for editors
    Schema(Schema),
    /// Print the versions of this program and of Asya's packages in a cluster
    Version(Version),
    /// Serve functions to another version of this program, for `asya diff`
    #[command(hide = true)]
    ServeFunctions,
}

/// Input of `asya render` and `asya explain`.
#[derive(Debug, Clone, Args)]
pub struct Sources {
    /// Actors, flavors, platform settings, observed objects, Compositions and Functions in any
    /// order: files, folders, or - for standard input. A Composition replaces the built-in one;
    /// Functions map the names of its functions to packages
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Read folders with all folders below them
    #[arg(short = 'R', long)]
    recursive: bool,

    /// File or folder with objects that functions require: flavors and the platform's
    /// settings; may be repeated
    #[arg(short = 'e', long, alias = "extra-resources", value_name = "PATH")]
    required_resources: Vec<PathBuf>,

    /// Folder with OpenAPI v3 documents (*.json) of what the cluster serves, from
    /// kubectl get --raw /openapi/v3/GROUP-VERSION
    #[arg(short = 's', long, value_name = "DIR")]
    required_schemas: Option<PathBuf>,

    /// File with the XRD: its default values are applied to the XR
    #[arg(long, value_name = "FILE")]
    xrd: Option<PathBuf>,

    /// Call a function that is not Asya's at this address, over gRPC without TLS; may be repeated.
    /// Needs a build with --features foreign-functions. Functions without an address are skipped
    #[arg(long, value_name = "NAME=HOST:PORT", value_parser = pair)]
    function_address: Vec<(String, String)>,

    /// Initial context of the pipeline, as JSON or YAML; may be repeated
    #[arg(long, value_name = "KEY=JSON", value_parser = pair)]
    context_values: Vec<(String, String)>,

    /// File with a value of the initial context; may be repeated
    #[arg(long, value_name = "KEY=PATH", value_parser = pair)]
    context_files: Vec<(String, String)>,

    /// Namespace of actors without metadata.namespace
    #[arg(short, long, value_name = "NAME", default_value = "default")]
    namespace: String,
}

impl Sources {
    /// Input to read, with these observed resources.
    fn arguments(self, observed: Option<PathBuf>) -> Arguments {
        let context_files = self.context_files.into_iter();
        Arguments {
            files: self.files,
            recursive: self.recursive,
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

/// `asya explain`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        asya explain examples/gpu-inference\n  \
        asya explain --all actor.yaml       with every default of the rendered objects\n  \
        asya explain ASYA230                what a code of a message means, and what to do\n\n\
        Values that may be secret (environment, arguments, annotations, headers, metadata of\n\
        triggers) are shown as ***.\n\n\
        Exit status: 0 explained, 1 flavors conflict or the input is invalid, 2 the program failed")]
pub struct Explain {
    #[command(flatten)]
    sources: Sources,

    /// File or folder with composed objects that exist
    #[arg(long, value_name = "PATH")]
    observed_resources: Option<PathBuf>,

    /// Also show defaults of the rendered objects that are no fields of the actor: variables of the
    /// sidecar, ports, volumes, init containers, labels
    #[arg(long)]
    pub all: bool,

    /// Output format
    #[arg(short = 'o', long, value_enum, default_value_t, value_name = "FORM")]
    pub output: Form,
}

impl Explain {
    /// The code to explain, where one is given in place of files.
    pub fn code(&self) -> Option<&str> {
        match &self.sources.files[..] {
            [only] if !only.exists() => only.to_str().filter(|text| Code::has_form(text)),
            _ => None,
        }
    }

    /// Names and addresses of foreign functions.
    pub fn function_addresses(&self) -> &[(String, String)] {
        &self.sources.function_address
    }

    /// The input to read.
    pub fn arguments(self) -> Arguments {
        self.sources.arguments(self.observed_resources)
    }
}

/// Output formats of `asya explain`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Form {
    /// Plain text
    #[default]
    Table,
    /// A JSON list with one object per actor
    Json,
    /// One YAML document per actor
    Yaml,
}

/// `asya lint`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        asya lint examples/gpu-inference\n  \
        asya lint actors/ flavors.yaml platform.yaml\n\n\
        Exit status: 0 no errors, 1 errors (with --strict also warnings), 2 the program failed")]
pub struct Lint {
    /// Actors, flavors and platform settings in any order: files, folders, or - for standard
    /// input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Read folders with all folders below them
    #[arg(short = 'R', long)]
    pub recursive: bool,

    /// Fail on warnings too
    #[arg(long)]
    pub strict: bool,

    /// Check again when a file changes
    #[arg(short, long)]
    pub watch: bool,

    /// Output format
    #[arg(short = 'o', long, value_enum, default_value_t, value_name = "FORM")]
    pub output: LintForm,

    /// Namespace of actors without metadata.namespace
    #[arg(short, long, value_name = "NAME", default_value = "default")]
    pub namespace: String,
}

/// Output formats of `asya lint`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum LintForm {
    /// One line per finding, with file, line and column
    #[default]
    Text,
    /// A JSON list
    Json,
    /// Workflow commands of GitHub Actions, which annotate lines of pull requests
    Github,
    /// One SARIF 2.1.0 document, for code scanning and editors
    Sarif,
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
#[command(
    after_help = "Existing files are never overwritten; editor settings, workflow and .gitignore that exist are kept.\n\n\
        Exit status: 0 written, 1 the folder already has such files, 2 the program failed"
)]
pub struct Init {
    /// Folder for the files; created if it is missing
    #[arg(default_value = ".", value_name = "FOLDER")]
    pub folder: PathBuf,

    /// Name of the actor
    #[arg(long, value_name = "NAME", default_value = "my-actor")]
    name: ActorName,

    /// Namespace of the actor
    #[arg(short, long, value_name = "NAME", default_value = "default", value_parser = namespace)]
    namespace: String,

    /// Transport of the actor's queue
    #[arg(long, value_enum, default_value_t, value_name = "TYPE")]
    transport: Transport,
}

impl Init {
    /// The values of the first actor.
    pub fn first(&self) -> Project {
        Project {
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
        Exit status: 0 all passed, 1 some failed, 2 a case is invalid or the program failed")]
pub struct Test {
    /// Documents of kind `ActorTest`: files, folders, or - for standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Read folders with all folders below them
    #[arg(short = 'R', long)]
    pub recursive: bool,

    /// Run again when a file changes
    #[arg(short, long)]
    pub watch: bool,

    /// Run only cases whose name contains this text
    #[arg(long, value_name = "TEXT")]
    pub filter: Option<String>,

    /// Output format
    #[arg(short = 'o', long, value_enum, default_value_t, value_name = "FORM")]
    pub output: TestForm,

    /// Namespace of actors without metadata.namespace
    #[arg(short, long, value_name = "NAME", default_value = "default")]
    pub namespace: String,
}

/// Output formats of `asya test`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum TestForm {
    /// One line per case, and one per failure with file, line and column
    #[default]
    Text,
    /// A JSON list
    Json,
    /// JUnit XML, which CI systems show
    Junit,
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
