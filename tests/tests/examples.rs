//! Every example through `asya render`, with each of the two Compositions, against what is
//! committed beside it.
//!
//! `UPDATE_EXAMPLES=1` writes what is rendered now; read the difference as you
//! would read code.

use std::fs;
use std::process::Output;

use serde_json::Value;
use tests::examples::{Example, Expectation, ONE_STEP, SIX_STEPS, all, documents};
use tests::program;

#[test]
fn every_example_renders_to_its_expected_file() {
    for example in all() {
        let output = program::asya(&["render", example.folder.to_str().unwrap()]);
        if std::env::var_os("UPDATE_EXAMPLES").is_some() && output.status.success() {
            let rendered = shortened(program::documents(&output));
            let text = actor::yaml::write_stream(&rendered).unwrap();
            fs::write(example.folder.join("expected.yaml"), text).unwrap();
        }
        check(&example, &output);
    }
}

#[test]
fn every_example_renders_the_same_in_one_step() {
    for example in all() {
        let folder = example.folder.to_str().unwrap();
        check(&example, &program::asya(&["render", folder, ONE_STEP]));
    }
}

#[test]
fn one_step_returns_the_same_context_and_results_as_six() {
    for example in all() {
        let folder = example.folder.to_str().unwrap();
        let rendered = |composition| {
            let output = program::asya(&["render", folder, composition, "-x", "-c", "-r"]);
            let text = String::from_utf8(output.stdout.clone()).unwrap();
            let name = documents(&program::repository().join(composition))[0]["metadata"]["name"]
                .as_str()
                .unwrap()
                .to_owned();
            (
                text.replace(&format!("composition: {name}"), "composition: -"),
                output.status.code(),
            )
        };
        assert_eq!(rendered(SIX_STEPS), rendered(ONE_STEP), "{}", example.name);
    }
}

fn check(example: &Example, output: &Output) {
    let name = &example.name;
    let talk = program::talk(output);
    match example.expectation() {
        Expectation::Rendered(file) => {
            assert_eq!(output.status.code(), Some(0), "{name}: {talk}");
            let rendered = shortened(program::documents(output));
            program::assert_same(name, documents(&file), rendered);
        }
        Expectation::Fails(message) => {
            assert_eq!(output.status.code(), Some(1), "{name}: {talk}");
            assert!(
                talk.contains(&message),
                "{name}: expected {message:?} in {talk:?}"
            );
            assert!(output.stdout.is_empty(), "{name}: nothing is rendered");
        }
    }
}

/// The documents with the runtime script as the path of its file: it is the same
/// everywhere, and long.
fn shortened(mut documents: Vec<Value>) -> Vec<Value> {
    const PATH: &str = "runtime/asya_runtime.py";
    let script = fs::read_to_string(program::repository().join(PATH)).unwrap();
    for document in &mut documents {
        if let Some(data) = document.pointer_mut("/data/asya_runtime.py") {
            assert_eq!(
                *data, script,
                "the script that is rendered is the one in {PATH}"
            );
            *data = PATH.into();
        }
    }
    documents
}

#[test]
fn explain_of_one_step_equals_explain_of_six() {
    let folder = "examples/gpu-inference";
    let explained = program::asya(&["explain", folder, SIX_STEPS]);
    assert_eq!(explained.status.code(), Some(0));
    let in_one_step = program::asya(&["explain", folder, ONE_STEP]);
    assert_eq!(program::talk(&in_one_step), program::talk(&explained));
    assert_eq!(in_one_step.stdout, explained.stdout);
}

#[test]
fn an_example_renders_to_the_same_bytes_every_time() {
    let render = || program::asya(&["render", "examples/gpu-inference"]).stdout;
    let first = render();
    assert!(!first.is_empty());
    for _ in 0..10 {
        assert_eq!(render(), first);
    }
}

#[test]
fn every_example_has_a_description() {
    for example in all() {
        let readme = example.file("README.md").expect("a README.md");
        let text = fs::read_to_string(readme).unwrap();
        assert!(text.starts_with("# "), "{}", example.name);
    }
}
