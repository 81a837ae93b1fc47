//! `asya diff --old-program` and `--new-program`: versions of the functions. Another version
//! is shown by this one with another environment.

use serde_json::{Value, json};

use crate::program::{ACTOR, Folder, PLATFORM};

/// Program that all tests start.
const ASYA: &str = env!("CARGO_BIN_EXE_asya");

fn folder() -> Folder {
    let folder = Folder::with(&[("in/actor.yaml", ACTOR), ("in/platform.yaml", PLATFORM)]);
    let next = format!("ASYA_SIDECAR_IMAGE=asya-sidecar:next exec {ASYA} \"$@\"");
    folder.add_program("next", &next);
    folder.add_program("same", &format!("exec {ASYA} \"$@\""));
    folder
}

#[test]
fn changes_of_another_version_are_attributed_to_functions() {
    let folder = folder();
    for (arguments, old, new) in [
        (
            "in --new-program ./next",
            "asya-sidecar:latest",
            "asya-sidecar:next",
        ),
        (
            "in --old-program ./next",
            "asya-sidecar:next",
            "asya-sidecar:latest",
        ),
        (
            "in --old-program ./next --new-program ./same",
            "asya-sidecar:next",
            "asya-sidecar:latest",
        ),
    ] {
        let run = folder.run(&format!("diff {arguments} -o json"));
        assert_eq!((run.code, run.stderr.as_str()), (1, ""), "{arguments}");
        let document: Value = serde_json::from_str(&run.output).unwrap();
        let functions = json!({"kind": "functions"});
        assert_eq!(
            document["sources"],
            json!([{"source": functions, "is": "changed", "used": true, "actors": 1}])
        );
        let actor = &document["actors"][0];
        assert_eq!(actor["pods"][0]["is"], "restart", "{arguments}");
        let fields = actor["objects"][0]["fields"].as_array().unwrap();
        let image = fields
            .iter()
            .find(|field| field["old"]["value"] == old && field["new"]["value"] == new);
        let image = image.unwrap_or_else(|| panic!("{arguments}: {fields:?}"));
        assert_eq!(image["becauseOf"], json!([functions]), "{arguments}");
    }
}

#[test]
fn changes_of_flavors_are_separate_from_those_of_the_version() {
    let folder = folder();
    folder.add("new.yaml", &ACTOR.replace("app:1", "app:2"));
    let run = folder.run("diff in --new new.yaml --new-program ./next");
    assert_eq!((run.code, run.stderr.as_str()), (1, ""));
    let line = |value: &str| {
        let mut lines = run.output.lines();
        let found = lines.find(|line| line.starts_with("deployment") && line.contains(value));
        found.unwrap_or_else(|| panic!("{value}: {}", run.output))
    };
    assert!(line("app:2").contains(" actor "), "{}", line("app:2"));
    let image = line("asya-sidecar:next");
    assert!(image.contains(" functions "), "{image}");
}

#[test]
fn the_same_version_changes_nothing() {
    let run = folder().run("diff in --old-program ./same --new-program ./same");
    assert_eq!(
        (run.code, run.output.as_str(), run.stderr.as_str()),
        (
            0,
            "nothing changes (1 actor)\n\n\
             SOURCE     IS       CHANGED ACTORS\n\
             functions  changed  0\n",
            ""
        )
    );
}

#[test]
fn a_program_that_is_not_asya_is_reported() {
    let folder = folder();
    let greets = format!("{ASYA} serve-functions < /dev/null");
    let hint = "hint: give the path of the program asya of the other version\n";
    let cases = [
        (
            "exit 0",
            "error: \"./other\" does not offer its functions: its first line is not a greeting: ",
            hint,
            "it says nothing",
        ),
        (
            "echo \"error: unrecognized subcommand '$1'\" >&2; exit 2",
            "error: \"./other\" does not offer its functions: error: unrecognized subcommand 'serve-functions'\n",
            hint,
            "an older version says why not",
        ),
        (
            &greets,
            "error: \"./other\" failed in function-",
            "\n",
            "it greets and goes",
        ),
    ];
    for (script, beginning, end, reason) in cases {
        folder.add_program("other", script);
        let run = folder.run("diff in --new-program ./other");
        assert_eq!((run.code, run.output.as_str()), (2, ""), "{reason}");
        assert!(
            run.stderr.starts_with(beginning),
            "{reason}: {}",
            run.stderr
        );
        assert!(run.stderr.ends_with(end), "{reason}: {}", run.stderr);
    }
    let run = folder.run("diff in --old-program ./missing");
    assert_eq!((run.code, run.output.as_str()), (2, ""));
    assert!(
        run.stderr.starts_with("error: cannot run \"./missing\": "),
        "{}",
        run.stderr
    );
}
