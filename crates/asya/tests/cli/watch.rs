//! `--watch`: commands run again when a file changes.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use crate::program::{ACTOR, Folder, PLATFORM};

/// Runs a command with `--watch`, changes a file after the first output, and returns the first line of
/// each of the two outputs.
fn watched(command: &str, file: &str, changed: &str) -> [String; 2] {
    let tests = "
apiVersion: test.asya.sh/v1alpha1
kind: ActorTest
name: the first name
actor: actor.yaml
platform: platform.yaml
expect: {objects: [{kind: Deployment}]}
";
    let folder = Folder::with(&[
        ("actor.yaml", ACTOR),
        ("platform.yaml", PLATFORM),
        ("tests.yaml", tests),
    ]);
    let mut child = folder
        .command(command)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let mut stderr = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut wait = |part: &str| {
        let found = stderr.find(|line| line.as_ref().is_ok_and(|line| line.contains(part)));
        assert!(found.is_some(), "{command}: no line with {part:?}");
    };
    wait("watching");
    folder.add(file, changed);
    wait("changed");
    wait("watching");
    child.kill().unwrap();
    child.wait().unwrap();
    let all: Vec<String> = output.lines().map(Result::unwrap).collect();
    [
        all.first().cloned().unwrap_or_default(),
        all.last().cloned().unwrap_or_default(),
    ]
}

#[test]
fn a_changed_file_is_linted_again() {
    let broken = ACTOR.replace("handler", "handlr");
    let [first, last] = watched("lint --watch actor.yaml", "actor.yaml", &broken);
    assert!(first.contains("ASYA441"), "{first}");
    assert!(
        last.contains("ASYA111") || last.contains("ASYA125"),
        "{last}"
    );
}

#[test]
fn a_changed_file_is_rendered_again() {
    let other = ACTOR.replace("text-processor", "other-name");
    let [first, last] = watched(
        "render --watch -o json actor.yaml platform.yaml",
        "actor.yaml",
        &other,
    );
    assert_eq!([first.as_str(), last.as_str()], ["[", "]"]);
}

#[test]
fn a_file_that_a_case_names_runs_it_again() {
    let broken = ACTOR.replace("handler", "handlr");
    let [first, last] = watched("test --watch tests.yaml", "actor.yaml", &broken);
    assert!(first.starts_with("ok "), "{first}");
    assert_eq!(last, "0 passed, 1 failed");
}

#[test]
fn standard_input_is_not_watched() {
    let run = Folder::with(&[]).run_with("lint --watch -", ACTOR);
    assert_eq!(run.code, 2);
    assert_eq!(
        run.stderr,
        "error: --watch needs files: standard input (-) is read once\n"
    );
}
