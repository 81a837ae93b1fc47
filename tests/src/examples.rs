//! The examples, which are cases at the same time.

use std::fs;
use std::path::{Path, PathBuf};

use crate::program::repository;

/// The Composition of six steps, relative to the repository.
pub const SIX_STEPS: &str = "apis/asyncactors.asya.sh/composition.yaml";

/// The Composition of one step, which must give the same.
pub const ONE_STEP: &str = "apis/one-step.asyncactors.asya.sh/composition.yaml";

/// One folder of `examples/`.
#[derive(Debug, Clone)]
pub struct Example {
    /// Its name, such as `gpu-inference`.
    pub name: String,
    /// The folder.
    pub folder: PathBuf,
}

/// Result of rendering an example.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expectation {
    /// The file with the documents that are rendered.
    Rendered(PathBuf),
    /// The messages of the Fatal results.
    Fails(String),
}

/// Every example, by name.
///
/// # Panics
/// When `examples/` cannot be read.
pub fn all() -> Vec<Example> {
    let folder = repository().join("examples");
    let mut examples: Vec<Example> = fs::read_dir(&folder)
        .expect("examples/ can be read")
        .map(|entry| entry.expect("its entries too").path())
        .filter(|path| path.join("xr.yaml").is_file())
        .map(|folder| Example {
            name: folder
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            folder,
        })
        .collect();
    examples.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(!examples.is_empty(), "no examples in {}", folder.display());
    examples
}

impl Example {
    /// Expected result of rendering.
    ///
    /// # Panics
    /// If the example names neither, or both.
    pub fn expectation(&self) -> Expectation {
        let rendered = self.folder.join("expected.yaml");
        let error = self.folder.join("expected-error.txt");
        match (rendered.is_file(), fs::read_to_string(error)) {
            (true, Err(_)) => Expectation::Rendered(rendered),
            (false, Ok(error)) => Expectation::Fails(error.trim().to_owned()),
            _ => panic!("{}: one of expected.yaml and expected-error.txt", self.name),
        }
    }

    /// A file of the example, if it has it.
    pub fn file(&self, name: &str) -> Option<PathBuf> {
        Some(self.folder.join(name)).filter(|file| file.is_file())
    }
}

/// The documents of a YAML file.
///
/// # Panics
/// When it cannot be read.
pub fn documents(file: &Path) -> Vec<serde_json::Value> {
    let text =
        fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    actor::yaml::documents(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}
