//! Every example through the real `crossplane composition render`, with the real
//! engine and our functions as processes of their own, with each of the two Compositions: it must
//! give what `asya render` gives.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};
use test_cluster::components;
use tests::examples::{Example, Expectation, ONE_STEP, SIX_STEPS, all};
use tests::function::{ALL, Function};
use tests::program;

/// Writes the Function objects by which `crossplane` finds our processes.
fn function_objects(functions: &[(&str, Function)], folder: &Path) -> String {
    let objects: Vec<_> = functions
        .iter()
        .map(|(name, function)| {
            json!({
                "apiVersion": "pkg.crossplane.io/v1",
                "kind": "Function",
                "metadata": {"name": name, "annotations": {
                    "render.crossplane.io/runtime": "Development",
                    "render.crossplane.io/runtime-development-target": function.address.to_string(),
                }},
                "spec": {"package": "example.org/not-used/function:v0"},
            })
        })
        .collect();
    let file = folder.join("functions.yaml");
    fs::write(&file, actor::yaml::write_stream(&objects).unwrap()).unwrap();
    file.to_str().unwrap().to_owned()
}

/// The flags that an example's folder stands for.
fn inputs(example: &Example) -> Vec<String> {
    let flags = [
        ("-e", "flavors.yaml"),
        ("-e", "platform.yaml"),
        ("-o", "observed.yaml"),
    ];
    flags
        .into_iter()
        .filter_map(|(flag, name)| Some((flag, example.file(name)?)))
        .flat_map(|(flag, file)| [flag.to_owned(), file.to_str().unwrap().to_owned()])
        .collect()
}

fn render(example: &Example, composition: &str, functions: &str, flags: &[String]) -> Output {
    Command::new(components::program("crossplane"))
        .args(["composition", "render"])
        .arg(example.folder.join("xr.yaml"))
        .arg(program::repository().join(composition))
        .arg(functions)
        .arg(format!(
            "--crossplane-binary={}",
            components::program("crossplane-core").display()
        ))
        .args(flags)
        .output()
        .unwrap()
}

/// The documents with the Results sorted: Crossplane emits some of them in the
/// order of a Go map, which is another one each time.
fn sorted_results(mut documents: Vec<Value>) -> Vec<Value> {
    let is_result = |document: &Value| document["kind"] == "Result";
    let mut results: Vec<Value> = documents.iter().filter(|d| is_result(d)).cloned().collect();
    documents.retain(|document| !is_result(document));
    results.sort_by_key(ToString::to_string);
    documents.extend(results);
    documents
}

#[test]
fn every_example_renders_as_the_real_crossplane_renders_it() {
    check(SIX_STEPS, ALL);
}

#[test]
fn every_example_renders_in_one_step_as_the_real_crossplane_renders_it() {
    check(ONE_STEP, ["function-asya"]);
}

fn check<const N: usize>(composition: &str, functions: [&'static str; N]) {
    if components::is_skipped("the crossplane CLI") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let functions = functions.map(|name| (name, Function::start(name)));
    let functions = (function_objects(&functions, folder.path()), functions);
    for example in all() {
        let name = &example.name;
        let mut flags = inputs(&example);
        flags.extend(["-r", "-x", "-c"].map(str::to_owned));
        let theirs = render(&example, composition, &functions.0, &flags);
        let mut args = vec![
            "render".to_owned(),
            example.folder.join("xr.yaml").to_str().unwrap().to_owned(),
            composition.to_owned(),
        ];
        args.extend(flags);
        let ours = program::asya(&args.iter().map(String::as_str).collect::<Vec<_>>());
        match example.expectation() {
            Expectation::Rendered(_) => {
                assert!(
                    theirs.status.success(),
                    "{name}: {}",
                    program::talk(&theirs)
                );
                let sorted = |output| sorted_results(program::documents(output));
                program::assert_same(name, sorted(&theirs), sorted(&ours));
            }
            Expectation::Fails(message) => {
                for (whose, output) in [("crossplane", &theirs), ("asya", &ours)] {
                    let talk = program::talk(output);
                    assert_eq!(output.status.code(), Some(1), "{name}, {whose}: {talk}");
                    assert!(talk.contains(&message), "{name}, {whose}: {talk}");
                    assert!(output.stdout.is_empty(), "{name}, {whose}");
                }
            }
        }
    }
}
