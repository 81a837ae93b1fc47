//! The program in a folder of its own, with an empty environment.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// The platform's settings of most tests.
pub(crate) const PLATFORM: &str = "
apiVersion: apiextensions.crossplane.io/v1beta1
kind: EnvironmentConfig
metadata: {name: asya-platform}
data: {transports: {sqs: {type: sqs, config: {region: us-east-1}}}}
";

/// An actor that needs no flavor.
pub(crate) const ACTOR: &str = "
apiVersion: asya.sh/v1alpha1
kind: AsyncActor
metadata: {name: text-processor, namespace: prod}
spec: {image: my-org/app:1, handler: app.handle}
";

/// A Composition with a step of another vendor.
pub(crate) const FOREIGN: &str = "
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: asya}
spec:
  compositeTypeRef: {apiVersion: asya.sh/v1alpha1, kind: AsyncActor}
  mode: Pipeline
  pipeline:
    - {step: foreign, functionRef: {name: function-foo}}
    - {step: asya, functionRef: {name: function-asya}}
";

/// A folder with files.
pub(crate) struct Folder(TempDir);

/// Result of the program.
pub(crate) struct Run {
    /// Exit status.
    pub(crate) code: i32,
    /// Standard output.
    pub(crate) output: String,
    /// Standard error without the summary.
    pub(crate) stderr: String,
    /// The counts of the input, the last line of standard error; empty if there is none.
    pub(crate) summary: String,
}

impl Folder {
    /// A folder with these files.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for (name, text) in files {
            folder.add(name, text);
        }
        folder
    }

    /// Adds a file.
    pub(crate) fn add(&self, name: &str, text: &str) {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Adds a program: a script of the shell.
    pub(crate) fn add_program(&self, name: &str, script: &str) {
        self.add(name, &format!("#!/bin/sh\n{script}"));
        let path = self.0.path().join(name);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Runs the program where kubectl is this script, which may write down its calls; what
    /// it wrote.
    pub(crate) fn run_with_kubectl(&self, script: &str, arguments: &str) -> (Run, String) {
        self.add_program("bin/kubectl", script);
        let mut command = self.command(arguments);
        let path = format!("{}:/usr/bin:/bin", self.0.path().join("bin").display());
        let output = command.env("PATH", path).output().unwrap();
        let calls = fs::read_to_string(self.0.path().join("calls")).unwrap_or_default();
        (Run::of(output), calls)
    }

    /// Returns its path.
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// The command, not yet started. Arguments are separated by spaces.
    pub(crate) fn command(&self, arguments: &str) -> Command {
        let mut command = program(self.0.path());
        command.args(arguments.split_whitespace());
        command
    }

    /// Runs the program.
    pub(crate) fn run(&self, arguments: &str) -> Run {
        self.run_with(arguments, "")
    }

    /// Runs the program with this standard input.
    pub(crate) fn run_with(&self, arguments: &str, input: &str) -> Run {
        let mut command = self.command(arguments);
        let piped = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = piped.spawn().unwrap();
        // A program that does not read its input may have ended before.
        drop(child.stdin.take().unwrap().write_all(input.as_bytes()));
        Run::of(child.wait_with_output().unwrap())
    }
}

impl Run {
    /// Reads the result of a command.
    pub(crate) fn of(output: Output) -> Self {
        let stderr = String::from_utf8(output.stderr).unwrap();
        let (rest, last) = match stderr.trim_end().rsplit_once('\n') {
            Some((rest, last)) => (format!("{rest}\n"), last),
            None => (String::new(), stderr.trim_end()),
        };
        let is_summary = last.starts_with(|first: char| first.is_ascii_digit());
        Self {
            code: output.status.code().unwrap(),
            output: String::from_utf8(output.stdout).unwrap(),
            summary: if is_summary {
                last.to_owned()
            } else {
                String::new()
            },
            stderr: if is_summary { rest } else { stderr },
        }
    }

    /// The documents of the output.
    pub(crate) fn documents(&self) -> Vec<Value> {
        actor::yaml::documents(&self.output).unwrap()
    }

    /// The documents of a run that must succeed with an empty standard error.
    pub(crate) fn rendered(&self) -> Vec<Value> {
        assert_eq!((self.code, self.stderr.as_str()), (0, ""));
        self.documents()
    }
}

/// Runs the program in a folder that is there, with nothing on its standard input.
pub(crate) fn run_in(folder: &Path, arguments: &str) -> Run {
    let mut command = program(folder);
    command.args(arguments.split_whitespace());
    Run::of(command.stdin(Stdio::null()).output().unwrap())
}

fn program(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_asya"));
    command.current_dir(folder).env_clear().env("NO_COLOR", "1");
    command
}

/// Kind and name of each document.
pub(crate) fn names(documents: &[Value]) -> Vec<String> {
    let text = |document: &Value, path: &str| {
        let value = document.pointer(path).and_then(Value::as_str);
        value.unwrap_or_default().to_owned()
    };
    documents
        .iter()
        .map(|document| {
            format!(
                "{} {}",
                text(document, "/kind"),
                text(document, "/metadata/name")
            )
        })
        .collect()
}
