//! Actors that are accepted and actors that are refused, as `validation/` holds them.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::examples::{self, Example, documents};
use crate::program::repository;

/// Both definitions of the kind: as a composite resource and as a claim.
pub const DEFINITIONS: [&str; 2] = ["asyncactors.asya.sh", "xasyncactors.asya.sh"];

/// The file of a definition.
pub fn definition_file(name: &str) -> PathBuf {
    repository().join("apis").join(name).join("definition.yaml")
}

/// The folder with all of it.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("validation")
}

/// Actors that are accepted, one in each file, by name.
///
/// # Panics
/// When there are none.
pub fn accepted() -> Vec<PathBuf> {
    files("accepted")
}

/// Actors of the examples that render, one in each file.
pub fn accepted_examples() -> Vec<PathBuf> {
    let renders = |example: &Example| example.file("expected-error.txt").is_none();
    let examples = examples::all().into_iter().filter(renders);
    examples
        .map(|example| example.folder.join("xr.yaml"))
        .collect()
}

/// Cases of actors that are refused, by name.
///
/// # Panics
/// When there are none, or one is not of its form.
pub fn refused() -> Vec<Refused> {
    files("refused").into_iter().map(Refused::read).collect()
}

/// The only document of a file.
///
/// # Panics
/// When there are more or none.
pub fn document(file: &Path) -> Value {
    let mut documents = documents(file);
    assert_eq!(documents.len(), 1, "{}", file.display());
    documents.remove(0)
}

/// The YAML files of a folder, by name.
fn files(name: &str) -> Vec<PathBuf> {
    let folder = folder().join(name);
    let entries = fs::read_dir(&folder).expect("a folder of cases");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("a file").path()).collect();
    files.sort();
    assert!(!files.is_empty(), "no cases in {}", folder.display());
    files
}

/// A case of `validation/refused/`: a verdict and an actor.
#[derive(Debug)]
pub struct Refused {
    file: PathBuf,
    /// Expectations: `reason`, `expected`, where the API server has another message than the
    /// crossplane CLI `expectedOfServer`, and, where only one of them can know, `definitions`.
    verdict: Value,
    /// The actor.
    pub object: Value,
}

impl Refused {
    fn read(file: PathBuf) -> Self {
        let documents: [Value; 2] = documents(&file)
            .try_into()
            .unwrap_or_else(|_| panic!("{}: one verdict, one actor", file.display()));
        let [verdict, object] = documents;
        Self {
            file,
            verdict,
            object,
        }
    }

    /// Returns whether that definition can know.
    pub fn is_judged_by(&self, definition: &str) -> bool {
        match self.verdict["definitions"].as_array() {
            Some(named) => named.iter().any(|name| name == definition),
            None => true,
        }
    }

    /// The same case, judged by the API server.
    #[must_use]
    pub fn of_server(mut self) -> Self {
        if self.verdict["expectedOfServer"].is_array() {
            self.verdict["expected"] = self.verdict["expectedOfServer"].take();
        }
        self
    }

    /// Returns whether each expected message, and no other, is among the errors; what is wrong if not.
    ///
    /// # Errors
    /// Then.
    ///
    /// # Panics
    /// When the verdict has no list of messages.
    pub fn judge(&self, definition: &str, errors: &[String]) -> Result<(), String> {
        let expected = self.verdict["expected"].as_array();
        let expected = expected.expect("a list of messages");
        let is_said = |message: &Value| {
            let message = message.as_str().expect("a message");
            errors.iter().any(|error| error.contains(message))
        };
        if expected.iter().all(is_said) && errors.len() == expected.len() {
            return Ok(());
        }
        let (file, reason) = (self.file.display(), &self.verdict["reason"]);
        Err(format!(
            "{definition}, {file}, {reason}: expected {expected:#?}, and no other, in {errors:#?}"
        ))
    }
}
