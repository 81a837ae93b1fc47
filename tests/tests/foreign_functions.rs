//! Functions of a Composition that are not Asya's: `asya render` and `asya explain` call them at
//! addresses, or skip them with a warning.
//!
//! The foreign function is our function-render-queue under another name, as a process of its own, so
//! that the output with it is that of the built-in Composition.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;
use tests::function::Function;
use tests::program;

const ACTOR: &str = "examples/hello";

/// The Composition of actors, in which a function has another name.
fn composition(folder: &Path) {
    let file = program::repository().join("apis/asyncactors.asya.sh/composition.yaml");
    let text = fs::read_to_string(file).unwrap();
    let mut documents = actor::yaml::documents(&text).unwrap();
    let steps = documents[0]["spec"]["pipeline"].as_array_mut().unwrap();
    let mut steps = steps.iter_mut();
    let step = steps.find(|step| step["functionRef"]["name"] == "function-render-queue");
    step.unwrap()["functionRef"]["name"] = json!("acme-queue");
    let text = actor::yaml::write_stream(&documents).unwrap();
    fs::write(folder.join("composition.yaml"), text).unwrap();
}

struct Fixture(TempDir);

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        composition(folder.path());
        for file in ["xr.yaml", "platform.yaml"] {
            let from = program::repository().join(ACTOR).join(file);
            fs::copy(from, folder.path().join(file)).unwrap();
        }
        Self(folder)
    }

    fn asya(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(program::path("asya"));
        command.args(arguments).current_dir(self.0.path());
        command.env_clear().env("NO_COLOR", "1").output().unwrap()
    }
}

fn kinds(output: &Output) -> Vec<String> {
    let documents = program::documents(output).into_iter();
    documents
        .map(|document| document["kind"].as_str().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn a_function_at_an_address_is_called() {
    let function = Function::start("function-render-queue");
    let address = format!("acme-queue={}", function.address);
    let fixture = Fixture::new();
    let ours = fixture.asya(&["render", "xr.yaml", "platform.yaml"]);
    let files = ["xr.yaml", "composition.yaml", "platform.yaml"];
    let arguments = [&["render", "--function-address", &address], &files[..]].concat();
    let called = fixture.asya(&arguments);
    assert!(called.status.success(), "{}", program::talk(&called));
    let documents = program::documents(&called);
    program::assert_same("with the function", program::documents(&ours), documents);
    assert!(!program::talk(&called).contains("skipped"));

    let arguments = [
        &["explain", "-o", "json", "--function-address", &address],
        &files[..],
    ];
    let explained = fixture.asya(&arguments.concat());
    assert!(explained.status.success(), "{}", program::talk(&explained));
    let expected = fixture.asya(&["explain", "-o", "json", "xr.yaml", "platform.yaml"]);
    let [explained, expected]: [Value; 2] =
        [explained, expected].map(|output| serde_json::from_slice(&output.stdout).unwrap());
    assert_eq!(explained, expected);
}

#[test]
fn a_function_without_an_address_is_skipped_with_a_warning() {
    let fixture = Fixture::new();
    for command in ["render", "explain"] {
        let output = fixture.asya(&[command, "xr.yaml", "composition.yaml", "platform.yaml"]);
        let talk = program::talk(&output);
        assert!(output.status.success(), "{command}: {talk}");
        let warning = "warning: step \"render-queue\" is skipped, and what it would render is missing: \
            function \"acme-queue\" is not Asya's; --function-address acme-queue=HOST:PORT calls it\n";
        assert_eq!(talk.matches(warning).count(), 1, "{command}: {talk}");
    }
    let output = fixture.asya(&["render", "xr.yaml", "composition.yaml", "platform.yaml"]);
    let kinds = kinds(&output);
    assert!(!kinds.contains(&"Queue".to_owned()), "{kinds:?}");
    assert!(kinds.contains(&"Deployment".to_owned()), "{kinds:?}");
}

#[test]
fn an_address_at_which_nothing_serves_functions_is_an_error() {
    let [nothing] = test_cluster::ports::reserve();
    let nothing = format!("acme-queue=127.0.0.1:{nothing}");
    let cases = [
        (
            "nothing listens",
            nothing.as_str(),
            "function \"acme-queue\": cannot connect to \"127.0.0.1:",
        ),
        ("no address", "acme-queue", "NAME=HOST:PORT"),
        (
            "no host",
            "acme-queue=a b",
            "function \"acme-queue\": cannot connect to \"a b\"",
        ),
    ];
    let fixture = Fixture::new();
    for (reason, address, message) in cases {
        let files = ["xr.yaml", "composition.yaml", "platform.yaml"];
        let arguments = [&["render", "--function-address", address], &files[..]];
        let output = fixture.asya(&arguments.concat());
        let talk = program::talk(&output);
        assert_eq!(output.status.code(), Some(2), "{reason}: {talk}");
        assert!(talk.contains(message), "{reason}: {talk}");
    }
}
