//! `asya test` as a program.
//!
//! `tests/actor-tests/` has a folder for each: `tests.yaml`, which says why in its first
//! line, and `expected.txt` with what is written, what is said and how it ends.
//! `UPDATE_CASES=1` writes what comes out now; read the difference as you would read
//! code.

use std::fs;
use std::path::{Path, PathBuf};

use crate::program::{Folder, run_in};
use serde_json::{Value, json};

const CASE: &str = "
apiVersion: test.asya.sh/v1alpha1
kind: ActorTest
name: one
actor: {image: app, handler: a.b}
platform: {transports: {sqs: {type: sqs, config: {region: us-east-1}}}}
expect: {absent: [StatefulSet]}
";

fn folders(path: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let entries = fs::read_dir(folder).unwrap();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    folders.retain(|folder| folder.join("tests.yaml").exists());
    folders.sort();
    assert!(!folders.is_empty());
    folders
}

#[test]
fn a_failure_names_position_expected_and_actual_value() {
    for case in folders("tests/actor-tests") {
        let run = run_in(&case, "test tests.yaml");
        let found = format!("{}{}exit status {}\n", run.output, run.stderr, run.code);
        let expected = case.join("expected.txt");
        if std::env::var_os("UPDATE_CASES").is_some() {
            fs::write(&expected, &found).unwrap();
        }
        let expected = fs::read_to_string(&expected).unwrap_or_default();
        assert_eq!(found, expected, "{}", case.display());
    }
}

#[test]
fn cases_of_examples_pass() {
    for example in folders("../../examples") {
        let run = run_in(&example, "test .");
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{}", run.output);
        assert!(
            run.output.ends_with(" passed, 0 failed\n"),
            "{}",
            run.output
        );
    }
}

#[test]
fn paths_are_relative_to_the_file_of_the_case() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let run = run_in(&examples, "test examples/gpu-inference/tests.yaml");
    assert_eq!(run.code, 0, "{}{}", run.output, run.stderr);
}

#[test]
fn an_example_as_actor_includes_its_flavors_and_settings() {
    let gpu = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/gpu-inference");
    let case = format!(
        "{{apiVersion: test.asya.sh/v1alpha1, kind: ActorTest, name: one, actor: {gpu:?}, \
         expect: {{spec: {{scaling: {{queueLength: 1}}}}}}}}"
    );
    let run = Folder::with(&[]).run_with("test -", &case);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{}", run.output);
}

#[test]
fn json_output_is_a_list() {
    let failing = CASE.replace("absent: [StatefulSet]", "spec: {image: other}");
    let folder = Folder::with(&[("tests.yaml", &failing)]);
    let run = folder.run("test tests.yaml -o json");
    assert_eq!(run.code, 1);
    let found: Value = serde_json::from_str(&run.output).unwrap();
    assert_eq!(
        found,
        json!([{"name": "one", "file": "tests.yaml", "passed": false, "failures": [{
            "line": 7, "column": 17, "path": ["expect", "spec", "image"],
            "message": "resolved spec: image: expected other, found app",
        }], "diagnostics": []}])
    );
}

#[test]
fn json_output_contains_the_diagnostics_of_a_refused_actor() {
    let refused = CASE.replace(", handler: a.b", "");
    let folder = Folder::with(&[("tests.yaml", &refused)]);
    let run = folder.run("test tests.yaml -o json");
    assert_eq!(run.code, 1);
    let found: Value = serde_json::from_str(&run.output).unwrap();
    let diagnostic = &found[0]["diagnostics"][0];
    assert_eq!(
        [
            &diagnostic["code"],
            &diagnostic["severity"],
            &diagnostic["source"]
        ],
        [&json!("ASYA125"), &json!("error"), &json!("actor")]
    );
    assert_eq!(diagnostic["path"], json!(["spec", "handler"]));
    assert_eq!(found[0]["failures"][0]["diagnostic"], *diagnostic);
}

#[test]
fn an_invalid_case_is_reported_with_its_position() {
    let cases = [
        (
            ("expect:", "expct:"),
            "t.yaml:7:1: unknown field \"expct\": did you mean \"expect\"?",
            "no such field",
        ),
        (
            ("absent:", "absnt:"),
            "t.yaml:7:10: unknown field \"absnt\": did you mean \"absent\"?",
            "a field further inside",
        ),
        (
            ("{absent: [StatefulSet]}", "{}"),
            "t.yaml:7:1: nothing is expected",
            "nothing expected",
        ),
        (
            ("test.asya.sh/v1alpha1", "v2"),
            "t.yaml:2:1: ActorTest is of apiVersion test.asya.sh/v1alpha1",
            "version",
        ),
        (
            ("name: one", "reason: one"),
            "unknown field \"reason\"",
            "no name",
        ),
        (
            ("ActorTest", "Other"),
            "no ActorTest among t.yaml: found 1 other object in 1 file\nhint: give files",
            "no case",
        ),
    ];
    for ((old, new), message, reason) in cases {
        let folder = Folder::with(&[("t.yaml", &CASE.replace(old, new))]);
        let run = folder.run("test t.yaml");
        let output = if reason == "no case" {
            String::new()
        } else {
            let name = if reason == "no name" { "t.yaml" } else { "one" };
            format!("invalid t.yaml: {name}\n0 passed, 0 failed, 1 invalid\n")
        };
        assert_eq!(
            (run.code, run.output),
            (2, output),
            "{reason}: {}",
            run.stderr
        );
        assert!(run.stderr.contains(message), "{reason}: {}", run.stderr);
    }
}

#[test]
fn filter_selects_cases_by_name() {
    let two = format!("{CASE}---{}", CASE.replace("name: one", "name: two"));
    let folder = Folder::with(&[("t.yaml", &two)]);
    for (filter, code, last) in [
        ("", 0, "2 passed, 0 failed"),
        ("--filter tw", 0, "1 passed, 0 failed"),
        ("--filter three", 2, ""),
    ] {
        let run = folder.run(&format!("test t.yaml {filter}"));
        assert_eq!(run.code, code, "{filter}: {}", run.stderr);
        assert_eq!(
            run.output.lines().last().unwrap_or_default(),
            last,
            "{filter}"
        );
    }
}

#[test]
fn junit_output_has_a_case_for_each_test() {
    let case = |name: &str, kind: &str| {
        format!(
            "apiVersion: test.asya.sh/v1alpha1\nkind: ActorTest\nname: {name}\nactor: {{image: i, handler: a.b}}\n\
             platform: {{transports: {{sqs: {{type: sqs, config: {{region: us-east-1}}}}}}}}\nexpect: {{objects: [{{kind: {kind}}}]}}\n"
        )
    };
    let both = format!(
        "{}---\n{}",
        case("it <passes>", "Deployment"),
        case("it fails", "Pod")
    );
    let folder = crate::program::Folder::with(&[("t.yaml", &both)]);
    let run = folder.run("test -o junit t.yaml");
    assert_eq!(run.code, 1);
    let expected = [
        "<testsuites name=\"asya test\" tests=\"2\" failures=\"1\" errors=\"0\">",
        "    <testcase classname=\"t.yaml\" name=\"it &lt;passes&gt;\" file=\"t.yaml\" line=\"1\"/>",
        "      <failure message=\"expected an object of kind &quot;Pod&quot;, found ",
    ];
    for part in expected {
        assert!(run.output.contains(part), "{part}: {}", run.output);
    }
}

#[test]
fn invalid_cases_are_part_of_every_report() {
    let of_name = |name: &str| CASE.replace("name: one", &format!("name: {name}"));
    let all = [
        of_name("passes"),
        of_name("fails").replace("absent: [StatefulSet]", "spec: {image: other}"),
        of_name("unread <it>").replace("expect:", "expct:"),
        of_name("unfound").replace("{image: app, handler: a.b}", "missing.yaml"),
    ];
    let folder = Folder::with(&[("a.yaml", &all.join("---")), ("b.yaml", "a: [")]);
    let run = folder.run("test a.yaml b.yaml -o junit");
    assert_eq!(run.code, 2, "{}", run.stderr);
    let expected = [
        "<testsuites name=\"asya test\" tests=\"5\" failures=\"1\" errors=\"3\">",
        "  <testsuite name=\"a.yaml\" tests=\"4\" failures=\"1\" errors=\"2\">",
        "    <testcase classname=\"a.yaml\" name=\"unread &lt;it&gt;\" file=\"a.yaml\" line=\"21\">\n      \
         <error message=\"a.yaml:21:1: unknown field &quot;expct&quot;",
        "    <testcase classname=\"a.yaml\" name=\"unfound\" file=\"a.yaml\" line=\"23\">\n      \
         <error message=\"a.yaml: unfound: cannot read ",
        "  <testsuite name=\"b.yaml\" tests=\"1\" failures=\"0\" errors=\"1\">",
        "    <testcase classname=\"b.yaml\" name=\"b.yaml\" file=\"b.yaml\" line=\"1\">\n      \
         <error message=\"b.yaml:1:4: cannot read YAML",
    ];
    for part in expected {
        assert!(run.output.contains(part), "{part}: {}", run.output);
    }
    let run = folder.run("test a.yaml b.yaml -o json");
    let found: Value = serde_json::from_str(&run.output).unwrap();
    let errors: Vec<(&str, bool)> = found
        .as_array()
        .unwrap()
        .iter()
        .map(|case| (case["name"].as_str().unwrap(), case["error"].is_string()))
        .collect();
    assert_eq!(
        errors,
        [
            ("passes", false),
            ("fails", false),
            ("b.yaml", true),
            ("unread <it>", true),
            ("unfound", true),
        ]
    );
    let run = folder.run("test a.yaml b.yaml");
    assert!(
        run.output.ends_with(
            "invalid b.yaml: b.yaml\ninvalid a.yaml: unread <it>\ninvalid a.yaml: unfound\n\
             1 passed, 1 failed, 3 invalid\n"
        ),
        "{}",
        run.output
    );
    let run = folder.run("test b.yaml -o junit");
    assert!(run.output.contains("errors=\"1\""), "{}", run.output);
}

#[test]
fn an_unknown_field_of_an_inline_actor_makes_the_case_invalid() {
    let whole = "{apiVersion: asya.sh/v1alpha1, kind: AsyncActor, metadata: {name: one}, \
                 spec: {image: app, handler: a.b, scaling: {maxReplicaCoun: 2}}}";
    let spec = "{image: app, handler: a.b}";
    let cases = [
        (
            "{image: app, handler: a.b, handlr: x}".to_owned(),
            "t.yaml:5:35: unknown field \"handlr\" in spec: did you mean \"handler\"? [ASYA111]",
            "a spec",
        ),
        (
            whole.to_owned(),
            "unknown field \"maxReplicaCoun\" in spec.scaling: did you mean \"maxReplicaCount\"? [ASYA111]",
            "a whole actor",
        ),
        (
            "{image: app, handler: a.b, tolerations: [{keey: x}]}".to_owned(),
            "unknown field",
            "a field of Kubernetes",
        ),
    ];
    for (actor, message, reason) in cases {
        let folder = Folder::with(&[("t.yaml", &CASE.replace(spec, &actor))]);
        let run = folder.run("test t.yaml");
        let output = "invalid t.yaml: one\n0 passed, 0 failed, 1 invalid\n";
        assert_eq!((run.code, run.output.as_str()), (2, output), "{reason}");
        assert!(run.stderr.contains(message), "{reason}: {}", run.stderr);
    }
    let others = CASE.replace(spec, "{image: app, handler: a.b, handlr: x}");
    let both = format!("{CASE}---{}", others.replace("name: one", "name: two"));
    let run = Folder::with(&[("t.yaml", &both)]).run("test t.yaml --filter one");
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{}", run.output);
}
