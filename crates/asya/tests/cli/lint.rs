//! `asya lint` as a program.
//!
//! `tests/lint/` has a folder for each rule: YAML files, which say why in their first
//! line, and `expected.txt` with what is written, what is said and how it ends.
//! `UPDATE_CASES=1` writes what comes out now; read the difference as you would read
//! code.

use std::fs;
use std::path::{Path, PathBuf};

use crate::program::{ACTOR, Folder, PLATFORM, Run, run_in};
use serde_json::{Value, json};

fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let mut folders: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    folders
}

/// The names of the YAML files of a case.
fn files(folder: &Path) -> String {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "expected.txt")
        .collect();
    names.sort();
    names.join(" ")
}

fn report(run: &Run) -> String {
    format!("{}{}exit status {}\n", run.output, run.stderr, run.code)
}

#[test]
fn golden_documents_have_their_expected_findings() {
    let cases = folders(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lint"));
    assert!(!cases.is_empty());
    for case in cases {
        let found = report(&run_in(&case, &format!("lint {}", files(&case))));
        let expected = case.join("expected.txt");
        if std::env::var_os("UPDATE_CASES").is_some() {
            fs::write(&expected, &found).unwrap();
        }
        let expected = fs::read_to_string(&expected).unwrap_or_default();
        assert_eq!(found, expected, "{}", case.display());
    }
}

#[test]
fn only_failing_examples_have_errors() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for example in folders(&examples) {
        let name = example.file_name().unwrap().to_str().unwrap();
        let run = run_in(&examples, &format!("lint {name}"));
        // An actor may be checked before its flavors are written.
        let fails = name.starts_with("failing-") && name != "failing-missing-flavor";
        assert_eq!(run.code, i32::from(fails), "{name}: {}", run.output);
        assert_eq!(run.stderr, "", "{name}");
        let run = run_in(&examples, &format!("lint --strict {name}"));
        if name.starts_with("failing-") {
            assert_eq!(run.code, 1, "{name}: {}", run.output);
        }
    }
}

#[test]
fn each_example_is_checked_with_its_own_settings() {
    let flavor = PLATFORM
        .replace("asya-platform", "gpu, labels: {asya.sh/flavor: gpu}")
        .replace(
            "{transports: {sqs: {type: sqs, config: {region: us-east-1}}}}",
            "{image: i}",
        );
    let actor = ACTOR
        .replace("image: my-org/app:1", "flavors: [gpu]")
        .replace(
            "app.handle}",
            "a.b, resources: {requests: {cpu: 1, memory: 1Gi}}}",
        );
    let broken = PLATFORM.replace("type: sqs, ", "enabled: false, ");
    let folder = Folder::with(&[
        ("a/xr.yaml", &actor),
        ("a/platform.yaml", PLATFORM),
        ("b/xr.yaml", &actor),
        ("b/platform.yaml", &broken),
        ("flavor.yaml", &flavor),
    ]);
    let run = folder.run("lint a flavor.yaml");
    let findings = |run: &Run| -> Vec<String> {
        let lines = run.output.lines().map(str::to_owned);
        lines.filter(|line| !line.contains(": info: ")).collect()
    };
    assert_eq!((run.code, findings(&run)), (0, Vec::new()));
    let run = folder.run("lint a b flavor.yaml");
    assert_eq!(run.code, 1);
    assert!(
        findings(&run).iter().all(|line| line.starts_with("b/")),
        "{}",
        run.output
    );
}

#[test]
fn json_output_has_the_path_of_each_field() {
    let actor = ACTOR.replace("image:", "imag: x, image:");
    let folder = Folder::with(&[("a.yaml", &actor), ("p.yaml", PLATFORM)]);
    let run = folder.run("lint -o json a.yaml p.yaml");
    let found: Value = serde_json::from_str(&run.output).unwrap();
    assert_eq!(
        found[1],
        json!({
            "file": "a.yaml", "line": 5, "column": 8, "severity": "error", "code": "ASYA111",
            "path": ["spec", "imag"], "source": "actor", "actor": "text-processor",
            "message": "unknown field \"imag\" in spec", "help": "did you mean \"image\"?",
        })
    );
    let run = folder.run("lint -o json p.yaml");
    assert_eq!(
        (run.code, report(&run).as_str()),
        (0, "[]\nexit status 0\n")
    );
}

#[test]
fn exit_status_follows_severity_and_strict() {
    let folder = Folder::with(&[
        ("warning.yaml", ACTOR),
        ("error.yaml", &ACTOR.replace("handler", "handlr")),
        ("platform.yaml", PLATFORM),
        (
            "note.yaml",
            &PLATFORM
                .replace("asya-platform", "gpu")
                .replace("transports", "podLabels")
                .replace("{sqs: {type: sqs, config: {region: us-east-1}}}", "{a: b}"),
        ),
        ("other.yaml", "{apiVersion: v1, kind: Secret}"),
        ("empty.yaml", ""),
    ]);
    let cases = [
        ("warning.yaml platform.yaml", 0, "warnings only"),
        (
            "--strict warning.yaml platform.yaml",
            1,
            "warnings, strictly",
        ),
        ("error.yaml platform.yaml", 1, "errors"),
        ("--strict note.yaml", 0, "notes never fail"),
        ("--strict platform.yaml", 0, "clean"),
        (
            "--strict platform.yaml other.yaml",
            0,
            "other kinds are left alone",
        ),
        (".", 1, "a folder"),
        ("other.yaml empty.yaml", 2, "nothing to check"),
        ("missing.yaml", 2, "no such file"),
        ("--colour", 2, "a flag that there is not"),
        ("", 2, "no file"),
    ];
    for (arguments, code, reason) in cases {
        let run = folder.run(&format!("lint {arguments}"));
        assert_eq!(run.code, code, "{reason}: {}", report(&run));
    }
    let run = folder.run("lint other.yaml empty.yaml");
    assert_eq!(
        run.stderr,
        "error: no actor, flavor or platform settings among other.yaml, empty.yaml: found 1 other object in 1 file\n\
         hint: give files with AsyncActors or EnvironmentConfigs\n"
    );
    let run = folder.run_with("lint - platform.yaml", ACTOR);
    assert!(
        run.output.starts_with("-:5:1: warning: container"),
        "{}",
        run.output
    );
}

#[test]
fn github_output_annotates_lines() {
    let actor = ACTOR.replace("image:", "imag: x, image:");
    let folder = Folder::with(&[("a,1.yaml", &actor), ("p.yaml", PLATFORM)]);
    let run = folder.run("lint -o github a,1.yaml p.yaml");
    assert_eq!(run.code, 1);
    let expected = "::error file=a%2C1.yaml,line=5,col=8,title=ASYA111::unknown field";
    assert!(run.output.contains(expected), "{}", run.output);
    assert!(run.output.starts_with("::warning file="), "{}", run.output);
}

#[cfg(unix)]
#[test]
fn unreadable_files_are_findings_in_every_format() {
    let folder = Folder::with(&[("d/a.yaml", ACTOR), ("d/p.yaml", PLATFORM)]);
    let inside = |name: &str| folder.path().join("d").join(name);
    fs::write(inside("bytes.yaml"), [0xff, 0xfe]).unwrap();
    std::os::unix::fs::symlink("missing", inside("link.yaml")).unwrap();
    let run = folder.run("lint -o json d");
    let found: Value = serde_json::from_str(&run.output).unwrap();
    let unreadable = found.as_array().unwrap().iter();
    let unreadable = unreadable.filter(|it| it["code"] == "ASYA901");
    let places: Vec<_> = unreadable.map(|it| (&it["file"], &it["line"])).collect();
    assert_eq!(
        json!(places),
        json!([["d/bytes.yaml", 1], ["d/link.yaml", 1]])
    );
    for form in ["text", "github", "sarif"] {
        let run = folder.run(&format!("lint -o {form} d"));
        assert_eq!(run.code, 1, "{form}");
        for problem in [
            "cannot read the file",
            "the text is UTF-16: save it as UTF-8",
        ] {
            assert_eq!(run.output.matches(problem).count(), 1, "{form}: {problem}");
        }
    }
    // A path at which there is nothing is an error of the command line.
    assert_eq!(folder.run("lint missing.yaml").code, 2);
}

#[test]
fn a_repeated_file_is_checked_once() {
    let folder = Folder::with(&[("d/a.yaml", ACTOR), ("d/p.yaml", PLATFORM)]);
    let once = folder.run("lint d").output;
    assert_eq!(once.lines().count(), 2, "{once}");
    assert_eq!(folder.run("lint d d/a.yaml").output, once);
}

#[test]
fn sarif_output_has_a_rule_for_each_code_and_a_result_for_each_finding() {
    let actor = ACTOR.replace("image:", "imag: x, image:");
    let folder = Folder::with(&[("a b.yaml", &actor), ("p.yaml", PLATFORM)]);
    let run = folder.run("lint -o sarif .");
    assert_eq!(run.code, 1);
    let document: Value = serde_json::from_str(&run.output).unwrap();
    assert_eq!(document["version"], "2.1.0");
    let results = document["runs"][0]["results"].as_array().unwrap();
    let rules = &document["runs"][0]["tool"]["driver"]["rules"];
    for result in results {
        let rule = &rules[usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap()];
        assert_eq!(rule["id"], result["ruleId"]);
    }
    let error = results.iter().find(|it| it["level"] == "error").unwrap();
    assert_eq!(
        error["locations"][0]["physicalLocation"],
        json!({
            "artifactLocation": {"uri": "./a%20b.yaml"},
            "region": {"startLine": 5, "startColumn": 8},
        })
    );
}
