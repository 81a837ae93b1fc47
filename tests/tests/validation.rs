//! What the API server accepts as an AsyncActor and what it refuses, judged by the
//! real `crossplane resource validate`: schema, unknown fields and rules.
//!
//! `validation/accepted/` holds actors, `validation/refused/` actors with the
//! messages that each must get, and no other. What needs an actor's former state
//! (that its name cannot change) is not judged here.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use real::components;
use serde_json::Value;
use tests::examples::{self, Example, documents};
use tests::program::{repository, talk};

/// Both definitions of the kind: as a composite resource and as a claim.
const DEFINITIONS: [&str; 2] = ["asyncactors.asya.sh", "xasyncactors.asya.sh"];

fn definition_file(name: &str) -> PathBuf {
    repository().join("apis").join(name).join("definition.yaml")
}

/// What is wrong with each object, by these definitions of kinds.
fn judge(definitions: &[PathBuf], objects: &[Value]) -> Vec<Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("objects.yaml");
    fs::write(&file, actor::yaml::write_stream(objects).unwrap()).unwrap();
    let definitions: Vec<String> = definitions
        .iter()
        .map(|path| path.to_str().unwrap().to_owned())
        .collect();
    let output = Command::new(components::program("crossplane"))
        .args([
            "resource",
            "validate",
            "--crossplane-image=",
            "--output=json",
        ])
        .arg(definitions.join(","))
        .arg(file)
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", talk(&output)));
    let resources = report["resources"].as_array().unwrap();
    assert_eq!(resources.len(), objects.len());
    let errors_of = |(object, resource): (&Value, &Value)| {
        assert_eq!(
            object["metadata"]["name"], resource["name"],
            "the order is kept"
        );
        assert_ne!(resource["status"], "missingSchema", "{}", resource["name"]);
        let errors = resource["errors"].as_array().into_iter().flatten();
        errors
            .map(|error| error["message"].as_str().unwrap().to_owned())
            .collect()
    };
    objects.iter().zip(resources).map(errors_of).collect()
}

/// The YAML files of a folder, by name.
fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("validation")
        .join(folder);
    let mut files: Vec<PathBuf> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no cases in {}", folder.display());
    files
}

/// The only document of a file.
fn document(file: &Path) -> Value {
    let mut documents = documents(file);
    assert_eq!(documents.len(), 1, "{}", file.display());
    documents.remove(0)
}

fn check_accepted(files: &[PathBuf]) {
    let objects: Vec<Value> = files.iter().map(|file| document(file)).collect();
    for definition in DEFINITIONS {
        for (file, errors) in files
            .iter()
            .zip(judge(&[definition_file(definition)], &objects))
        {
            assert!(
                errors.is_empty(),
                "{definition}, {}: {}",
                file.display(),
                errors.join("; ")
            );
        }
    }
}

#[test]
fn actors_of_the_documents_and_every_field_are_accepted() {
    if components::is_skipped("the crossplane CLI") {
        return;
    }
    check_accepted(&files("accepted"));
}

#[test]
fn every_example_that_renders_is_accepted() {
    if components::is_skipped("the crossplane CLI") {
        return;
    }
    let renders = |example: &Example| example.file("expected-error.txt").is_none();
    let examples = examples::all().into_iter().filter(renders);
    let files: Vec<PathBuf> = examples
        .map(|example| example.folder.join("xr.yaml"))
        .collect();
    check_accepted(&files);
}

#[test]
fn what_examples_render_is_accepted() {
    if components::is_skipped("the crossplane CLI") {
        return;
    }
    let definitions = [
        definition_file(DEFINITIONS[0]),
        repository().join("package/provider-asya/crds"),
    ];
    // KEDA's kinds are defined elsewhere.
    let is_judged = |object: &Value| object["apiVersion"] != actor::KEDA_API_VERSION;
    for example in examples::all() {
        let Some(file) = example.file("expected.yaml") else {
            continue;
        };
        let objects: Vec<Value> = documents(&file).into_iter().filter(is_judged).collect();
        for (object, errors) in objects.iter().zip(judge(&definitions, &objects)) {
            let (name, kind) = (&example.name, &object["kind"]);
            assert!(errors.is_empty(), "{name}, {kind}: {}", errors.join("; "));
        }
    }
}

/// A case of `validation/refused/`.
struct Refused {
    file: PathBuf,
    /// What is asked of it: `reason`, `expected` and, where only one of them can
    /// tell, `definitions`.
    verdict: Value,
    object: Value,
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

    fn is_judged_by(&self, definition: &str) -> bool {
        match self.verdict["definitions"].as_array() {
            Some(named) => named.iter().any(|name| name == definition),
            None => true,
        }
    }

    fn expected(&self) -> Vec<&str> {
        let expected = self.verdict["expected"]
            .as_array()
            .expect("a list of messages");
        expected
            .iter()
            .map(|message| message.as_str().expect("a message"))
            .collect()
    }

    fn check(&self, definition: &str, errors: &[String]) {
        let (file, reason) = (self.file.display(), &self.verdict["reason"]);
        let expected = self.expected();
        for message in &expected {
            let is_said = errors.iter().any(|error| error.contains(message));
            assert!(
                is_said,
                "{definition}, {file}, {reason}: no {message:?} in {errors:#?}"
            );
        }
        assert_eq!(
            errors.len(),
            expected.len(),
            "{definition}, {file}, {reason}: {errors:#?}"
        );
    }
}

#[test]
fn mistakes_that_the_api_server_can_see_are_refused_in_words_to_act_on() {
    if components::is_skipped("the crossplane CLI") {
        return;
    }
    let cases: Vec<Refused> = files("refused").into_iter().map(Refused::read).collect();
    for definition in DEFINITIONS {
        let judged: Vec<&Refused> = cases
            .iter()
            .filter(|case| case.is_judged_by(definition))
            .collect();
        let objects: Vec<Value> = judged.iter().map(|case| case.object.clone()).collect();
        for (case, errors) in judged
            .into_iter()
            .zip(judge(&[definition_file(definition)], &objects))
        {
            case.check(definition, &errors);
        }
    }
}
