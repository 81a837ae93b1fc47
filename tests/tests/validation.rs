//! AsyncActors that the API server accepts and refuses, judged by the
//! real `crossplane resource validate`: schema, unknown fields and rules.
//!
//! `validation/accepted/` holds actors, `validation/refused/` actors with the
//! messages that each must get, and no other. What needs an actor's former state
//! (that its name cannot change) is judged by the API server itself in `xrd.rs`.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use test_cluster::components;
use tests::examples::{self, documents};
use tests::program::{repository, talk};
use tests::validation::{
    DEFINITIONS, Refused, accepted, accepted_examples, definition_file, document, refused,
};

/// Errors of each object, by these definitions of kinds.
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
    check_accepted(&accepted());
}

#[test]
fn every_example_that_renders_is_accepted() {
    if components::is_skipped("the crossplane CLI") {
        return;
    }
    check_accepted(&accepted_examples());
}

#[test]
fn rendered_examples_are_accepted() {
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

#[test]
fn mistakes_that_a_rule_of_the_schema_covers_are_refused_with_a_remedy() {
    if components::is_skipped("the crossplane CLI") {
        return;
    }
    let cases = refused();
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
            if let Err(fault) = case.judge(definition, &errors) {
                panic!("{fault}");
            }
        }
    }
}
