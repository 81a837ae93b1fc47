//! One function in place of six changes nothing: for the examples and for all the mistakes that
//! `lint` knows, the pipeline comes to the same end, and a fatal one leaves the same conditions.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail as tests do"
)]

use std::fs;
use std::path::{Path, PathBuf};

use asya::inputs::{Arguments, load};
use asya::steps::functions;
use pipeline::{EngineError, Functions, Inputs, Outcome, RenderError, outcome};

/// Outcome of a pipeline, with the results of its last step.
type End = (Outcome, Vec<String>);

#[test]
fn examples_and_mistakes_end_in_one_step_as_they_end_in_six() {
    let functions = functions().unwrap();
    let (mut finished, mut fatal) = (0, 0);
    for files in cases() {
        let six = ends(&functions, &files, "apis/asyncactors.asya.sh");
        let one = ends(&functions, &files, "apis/one-step.asyncactors.asya.sh");
        assert_eq!(six.len(), one.len());
        for ((name, six), (_, one)) in six.into_iter().zip(one) {
            assert_eq!(six, one, "{name}");
            let is_fatal = !six.1.is_empty();
            *(if is_fatal { &mut fatal } else { &mut finished }) += 1;
        }
    }
    assert!(finished > 20 && fatal > 10, "{finished}, {fatal}");
}

/// The files of each example, and of each case of `lint` that has actors.
fn cases() -> Vec<Vec<PathBuf>> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = [own.join("../../examples"), own.join("tests/lint")];
    let folders = folders
        .iter()
        .flat_map(|folder| fs::read_dir(folder).unwrap());
    let mut cases: Vec<Vec<PathBuf>> = folders
        .map(|folder| {
            let folder = folder.unwrap().path();
            let names = ["xr.yaml", "actors.yaml", "flavors.yaml", "platform.yaml"];
            let files = names.iter().map(|name| folder.join(name));
            files.filter(|file| file.is_file()).collect()
        })
        .filter(|files: &Vec<PathBuf>| {
            files
                .first()
                .is_some_and(|file| file.ends_with("xr.yaml") || file.ends_with("actors.yaml"))
        })
        .collect();
    cases.sort();
    cases
}

/// Returns the end of the pipeline for each actor of the first file.
fn ends(functions: &Functions, files: &[PathBuf], apis: &str) -> Vec<(String, End)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let arguments = Arguments {
        files: vec![files[0].clone(), root.join(apis).join("composition.yaml")],
        required: files[1..].to_vec(),
        namespace: "default".to_owned(),
        ..Arguments::default()
    };
    let Ok(loaded) = load(&arguments) else {
        return Vec::new();
    };
    let cases = loaded.cases.into_iter();
    let ends = cases.filter_map(|case| Some((case.name, end(&case.inputs.ok()?, functions)?)));
    ends.collect()
}

/// None for what is no actor that these Compositions compose.
fn end(inputs: &Inputs, functions: &Functions) -> Option<End> {
    match outcome(inputs, functions) {
        Ok(outcome) => Some((outcome, Vec::new())),
        Err(RenderError::Engine(EngineError::Fatal { messages, left, .. })) => {
            Some((*left, messages))
        }
        Err(RenderError::Composition(_)) => None,
        Err(error) => panic!("{error}"),
    }
}
