//! Errors of the input, with remedies.

use std::io;
use std::path::PathBuf;

use actor::yaml::{Position, YamlError};

use super::summary::Summary;
use crate::serde_message::json_problem;
use pipeline::{CompositeError, CompositionError, XrdError};

/// Reason for which the input cannot be used. One line each.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// A file or folder cannot be read.
    #[error("cannot read {path:?}: {}", io_problem(source))]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// A file is not YAML.
    #[error("{}:{}", path.display(), placed(source))]
    Yaml {
        /// The file.
        path: PathBuf,
        /// Cause.
        source: YamlError,
    },
    /// A document is no Kubernetes object.
    #[error("{}:{}:{}: expected Kubernetes objects, found a document without kind", path.display(), position.line, position.column)]
    NoObject {
        /// The file.
        path: PathBuf,
        /// Position of the document.
        position: Position,
    },
    /// A name is no text: YAML reads `n` and `on` as booleans and `1` as a number.
    #[error("{}:{}:{}: {kind} has a metadata.{field} that is no text: put it in quotes", path.display(), position.line, position.column)]
    NameNotText {
        /// The file.
        path: PathBuf,
        /// Position of the name.
        position: Position,
        /// The object's kind.
        kind: String,
        /// `name` or `namespace`.
        field: &'static str,
    },
    /// A folder has no YAML.
    #[error("no YAML files (.yaml or .yml) in {folder:?}")]
    NoYaml {
        /// The folder.
        folder: PathBuf,
    },
    /// A folder of schemas has no JSON.
    #[error("no JSON files in {folder:?}")]
    NoJson {
        /// The folder.
        folder: PathBuf,
    },
    /// A schema document is not JSON.
    #[error("{}: cannot read JSON: {}", path.display(), json_problem(source))]
    Json {
        /// The file.
        path: PathBuf,
        /// Cause.
        source: serde_json::Error,
    },
    /// A file has no message with a route.
    #[error("{}: no message with a route", path.display())]
    NoRoute {
        /// The file.
        path: PathBuf,
    },
    /// There is no XR among the files.
    #[error("no actor among {files}: found {found}")]
    NoXr {
        /// The files, joined.
        files: String,
        /// Counts of the input.
        found: Summary,
    },
    /// There is nothing to check among the files.
    #[error("no actor, flavor or platform settings among {files}: found {found}")]
    NothingToLint {
        /// The files, joined.
        files: String,
        /// Counts of the input.
        found: Summary,
    },
    /// A case is not of its form.
    #[error("{}:{}:{}: {problem}", path.display(), position.line, position.column)]
    Case {
        /// The file.
        path: PathBuf,
        /// Position in it.
        position: Position,
        /// The problem.
        problem: String,
    },
    /// There is no case among the files.
    #[error("no ActorTest among {files}: found {found}")]
    NoTest {
        /// The files, joined.
        files: String,
        /// Counts of the input.
        found: Summary,
    },
    /// A case is of one actor.
    #[error("{}: expected one actor, found {found}", path.display())]
    ActorCount {
        /// The file.
        path: PathBuf,
        /// Number of actors.
        found: usize,
    },
    /// kubectl cannot be started.
    #[error("cannot run kubectl: {source}")]
    NoKubectl {
        /// Cause.
        source: io::Error,
    },
    /// The cluster cannot be read.
    #[error("kubectl {command}: {problem}")]
    Kubectl {
        /// Its arguments.
        command: String,
        /// The last line of its standard error.
        problem: String,
    },
    /// The standard input can be read once only.
    #[error("the standard input (-) is given more than once")]
    SeveralStandardInputs,
    /// There is more than one Composition.
    #[error("more than one Composition: {first:?} and {second:?}")]
    SeveralCompositions {
        /// Name of one.
        first: String,
        /// Name of the other.
        second: String,
    },
    /// No Composition is given, and there is none built in for that kind.
    #[error("{}: {object} is no actor: expected {expected}", path.display())]
    NoActor {
        /// The file.
        path: PathBuf,
        /// API version, kind and name.
        object: String,
        /// Expected form.
        expected: String,
    },
    /// An object is no XR.
    #[error("{}: {source}", path.display())]
    Composite {
        /// The file.
        path: PathBuf,
        /// Cause.
        source: CompositeError,
    },
    /// A Composition cannot be used.
    #[error("{}: {source}", path.display())]
    Composition {
        /// The file.
        path: PathBuf,
        /// Cause.
        source: CompositionError,
    },
    /// An XRD cannot be used.
    #[error("{}: {source}", path.display())]
    Xrd {
        /// The file.
        path: PathBuf,
        /// Cause.
        source: XrdError,
    },
    /// A file should have exactly one XRD.
    #[error("{}: expected one CompositeResourceDefinition, found {found} objects", path.display())]
    XrdCount {
        /// The file.
        path: PathBuf,
        /// Number of objects in it.
        found: usize,
    },
    /// Observed objects belong to one XR.
    #[error("observed resources belong to one XR, and {count} are to be rendered")]
    ObservedForSeveral {
        /// Number of XRs.
        count: usize,
    },
    /// A context value is not JSON or YAML.
    #[error("context value for key {key:?}: {source}")]
    Context {
        /// The key.
        key: String,
        /// Cause.
        source: YamlError,
    },
}

impl InputError {
    /// A remedy, if the message does not contain one.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NoYaml { folder } => {
                format!("-R reads the folders in {} too", folder.display())
            }
            Self::NoActor { .. } => "give a Composition of its kind as well".to_owned(),
            Self::NoXr { .. } => "give a file with an AsyncActor".to_owned(),
            Self::NothingToLint { .. } => {
                "give files with AsyncActors or EnvironmentConfigs".to_owned()
            }
            Self::NoTest { .. } => format!(
                "give files with documents of kind: {}",
                crate::actor_test::KIND
            ),
            Self::NoKubectl { .. } => {
                "a cluster is read through kubectl; without it, give files".to_owned()
            }
            Self::Kubectl { problem, .. } => about_kubectl(problem).to_owned(),
            Self::ActorCount { .. } => "give each actor a file of its own".to_owned(),
            Self::SeveralStandardInputs => "write one of them to a file".to_owned(),
            Self::ObservedForSeveral { .. } => "render one XR at a time".to_owned(),
            _ => return None,
        };
        Some(hint)
    }
}

/// The error with line and column first, as in every message about a file.
fn placed(error: &YamlError) -> String {
    match error {
        YamlError::Read {
            problem,
            position: Some(Position { line, column }),
        } => format!("{line}:{column}: cannot read YAML: {problem}"),
        error => format!(" {error}"),
    }
}

/// The message of the operating system without the number of the error.
pub(super) fn io_problem(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error ") {
        Some((problem, _)) => problem.to_owned(),
        None => text,
    }
}

/// A remedy for an error of kubectl.
fn about_kubectl(problem: &str) -> &'static str {
    const HINTS: [(&str, &str); 3] = [
        (
            "doesn't have a resource type",
            "this cluster lacks a kind that actors need: asya install prints what it needs",
        ),
        ("(NotFound)", "-n selects another namespace"),
        (
            "(Forbidden)",
            "kubectl auth can-i --list shows what you may read",
        ),
    ];
    let known = HINTS.into_iter().find(|(text, _)| problem.contains(text));
    known.map_or(
        "kubectl config get-contexts shows the contexts, and --context selects one",
        |(_, hint)| hint,
    )
}

/// The error about files without an XR.
pub(super) fn no_xr(paths: &[PathBuf], found: Summary) -> InputError {
    let files = paths.iter().map(|path| path.display().to_string());
    InputError::NoXr {
        files: files.collect::<Vec<_>>().join(", "),
        found,
    }
}
