//! `asya diff` as a program.
//!
//! `tests/diff/` has a folder for each case: `shared.yaml`, `old.yaml` and `new.yaml`,
//! as far as there are such, the first of which says why in its first line, and
//! `expected.txt` with what is written, what is said and how it ends. Beside it may be
//! `expected.diff` and `expected.json`, the other forms of the same.
//! `UPDATE_CASES=1` writes what comes out now; read the difference as you would read
//! code.

use std::fs;
use std::path::{Path, PathBuf};

use crate::program::{ACTOR, FOREIGN, Folder, PLATFORM, Run, run_in};
use serde_json::Value;

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/diff");
    let entries = fs::read_dir(folder).unwrap();
    let mut cases: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    assert!(!cases.is_empty());
    cases
}

fn compared(case: &Path, form: &str) -> Run {
    let shared = if case.join("shared.yaml").exists() {
        "shared.yaml"
    } else {
        ""
    };
    run_in(
        case,
        &format!("diff {shared} --old old.yaml --new new.yaml -o {form}"),
    )
}

fn check(found: &str, expected: &Path) {
    let found = &without_hashes(found);
    if std::env::var_os("UPDATE_CASES").is_some() {
        fs::write(expected, found).unwrap();
    }
    let text = fs::read_to_string(expected).unwrap_or_default();
    assert_eq!(*found, text, "{}", expected.display());
}

/// The text without the hash of the runtime script, which every version has another of.
fn without_hashes(text: &str) -> String {
    const NAME: &str = "runtime-script-";
    let mut pieces = text.split(NAME);
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |shown, piece| {
        let (_hash, rest) = piece.split_at(8);
        shown + NAME + "<script>" + rest
    })
}

#[test]
fn golden_comparisons_have_their_expected_output() {
    for case in cases() {
        let run = compared(&case, "table");
        let found = format!("{}{}exit status {}\n", run.output, run.stderr, run.code);
        check(&found, &case.join("expected.txt"));
        for form in ["diff", "json"] {
            let expected = case.join(format!("expected.{form}"));
            let other = compared(&case, form);
            assert_eq!(
                (other.code, &other.stderr),
                (run.code, &run.stderr),
                "{form}"
            );
            if expected.exists() {
                check(&other.output, &expected);
            }
        }
    }
}

#[test]
fn secret_values_are_masked_in_every_format() {
    for case in cases() {
        for form in ["table", "diff", "json"] {
            let run = compared(&case, form);
            let shown = format!("{}{}", run.output, run.stderr);
            assert!(!shown.contains("secret-"), "{}: {form}", case.display());
        }
    }
}

#[test]
fn equal_sides_have_no_changes() {
    for case in cases() {
        for side in ["old", "new"] {
            let shared = case.join("shared.yaml").exists();
            let shared = if shared { "shared.yaml" } else { "" };
            let run = run_in(
                &case,
                &format!("diff {shared} --old {side}.yaml --new {side}.yaml"),
            );
            assert_eq!(run.code, 0, "{} {side}: {}", case.display(), run.output);
            assert!(run.output.starts_with("nothing changes"), "{}", run.output);
        }
    }
}

#[test]
fn examples_compared_with_themselves_have_no_changes() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for entry in fs::read_dir(&examples).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if examples.join(&name).join("xr.yaml").exists() {
            let run = run_in(
                &examples,
                &format!("diff --old {name} --new {name} -o json"),
            );
            assert_eq!(run.code, 0, "{name}: {}", run.output);
            let document: Value = serde_json::from_str(&run.output).unwrap();
            assert_eq!(document["total"], 1, "{name}");
        }
    }
}

#[test]
fn observed_objects_can_be_given_as_files() {
    let queue = "
apiVersion: provider.asya.sh/v1alpha1
kind: Queue
metadata:
  name: text-processor
  namespace: prod
  labels: {crossplane.io/composite: text-processor, asya.sh/transport: sqs}
  annotations: {crossplane.io/composition-resource-name: queue, crossplane.io/external-name: old-name}
spec:
  providerConfigRef: {kind: ClusterProviderConfig, name: sqs}
  forProvider: {sqs: {region: eu-north-1}}
";
    let other = ACTOR.replace("app:1", "app:2");
    let moved = PLATFORM.replace("us-east-1", "us-west-2");
    let folder = Folder::with(&[
        ("shared/actor.yaml", ACTOR),
        ("shared/platform.yaml", PLATFORM),
        ("queue.yaml", queue),
        ("new.yaml", &other),
        ("moved.yaml", &moved),
    ]);
    let run = folder.run("diff shared queue.yaml --new new.yaml");
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(!run.output.contains("withheld"), "{}", run.output);
    let run = folder.run("diff shared queue.yaml --new moved.yaml");
    let kept = "queue: it keeps sqs.region eu-north-1: only new actors get us-west-2\n";
    assert!(run.output.contains(kept), "{}", run.output);
}

#[test]
fn invalid_input_ends_with_status_2() {
    let folder = Folder::with(&[
        ("actor.yaml", ACTOR),
        ("platform.yaml", PLATFORM),
        ("broken.yaml", "a: ["),
        (
            "nameless.yaml",
            "{apiVersion: asya.sh/v1alpha1, kind: AsyncActor}",
        ),
    ]);
    let cases = [
        (
            "actor.yaml",
            "required arguments were not provided",
            "no side",
        ),
        (
            "--new platform.yaml",
            "no actor among platform.yaml: found 1 platform in 1 file",
            "no actor",
        ),
        (
            "- --new -",
            "error: the standard input (-) is given more than once\nhint: write one of them to a file\n",
            "the standard input cannot be read twice",
        ),
        (
            "actor.yaml --new missing.yaml",
            "cannot read \"missing.yaml\"",
            "no such file",
        ),
        (
            "actor.yaml --new broken.yaml",
            "broken.yaml:1:4: cannot read YAML",
            "no YAML",
        ),
        (
            "--new nameless.yaml",
            "AsyncActor has no metadata.name",
            "no name",
        ),
    ];
    for (arguments, message, reason) in cases {
        let run = folder.run(&format!("diff {arguments}"));
        assert_eq!((run.code, run.output.as_str()), (2, ""), "{reason}");
        assert!(run.stderr.contains(message), "{reason}: {}", run.stderr);
    }
    let run = folder.run_with("diff - platform.yaml --new actor.yaml", ACTOR);
    assert_eq!(run.code, 0, "{}", run.stderr);
}

#[test]
fn output_to_a_pipe_has_no_colours() {
    let folder = Folder::with(&[("actor.yaml", ACTOR), ("platform.yaml", PLATFORM)]);
    let escapes = |variables: &[(&str, &str)]| {
        let mut command = folder.command("diff platform.yaml --new actor.yaml");
        command
            .env_remove("NO_COLOR")
            .envs(variables.iter().copied());
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        output.stdout.contains(&0x1b)
    };
    for (variables, expected, reason) in [
        (&[][..], false, "no terminal"),
        (&[("CLICOLOR_FORCE", "1")], true, "asked for all the same"),
        (&[("NO_COLOR", "1")], false, "asked not to"),
    ] {
        assert_eq!(escapes(variables), expected, "{reason}");
    }
}

#[test]
fn steps_of_other_vendors_are_skipped() {
    let only = FOREIGN.replace(
        "    - {step: asya, functionRef: {name: function-asya}}\n",
        "",
    );
    let folder = Folder::with(&[
        ("old.yaml", ACTOR),
        ("new.yaml", &ACTOR.replace("app:1", "app:2")),
        ("platform.yaml", PLATFORM),
        ("mixed.yaml", FOREIGN),
        ("only.yaml", &only),
    ]);
    let cases = [
        (
            "mixed.yaml",
            1,
            "1 of 1 actors changes: 1 restarts its pods\n",
            "warning: step \"foreign\" is skipped",
            "the other steps run",
        ),
        (
            "only.yaml",
            2,
            "no known change (1 actor): 1 unknown\n",
            "warning: prod/text-processor: refused on both sides, so their changes are unknown: ",
            "no step is left",
        ),
    ];
    for (composition, code, output, stderr, reason) in cases {
        let run = folder.run(&format!(
            "diff platform.yaml {composition} --old old.yaml --new new.yaml"
        ));
        assert_eq!(run.code, code, "{reason}: {}{}", run.output, run.stderr);
        assert!(run.output.starts_with(output), "{reason}: {}", run.output);
        assert!(run.stderr.starts_with(stderr), "{reason}: {}", run.stderr);
    }
}
