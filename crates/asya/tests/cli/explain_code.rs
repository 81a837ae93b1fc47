//! `asya explain` on the code of a diagnostic.

use serde_json::Value;

use crate::program::Folder;

#[test]
fn a_code_is_explained_in_every_form() {
    let folder = Folder::with(&[]);
    let run = folder.run("explain asya230");
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert!(
        run.output
            .starts_with("ASYA230: Two flavors set the same field\n"),
        "{}",
        run.output
    );
    assert!(run.output.contains("\nFix: "), "{}", run.output);
    let run = folder.run("explain ASYA230 -o json");
    let entry: Value = serde_json::from_str(&run.output).unwrap();
    assert_eq!(entry["code"], "ASYA230");
    for key in ["title", "cause", "example", "fix"] {
        assert!(
            entry[key].as_str().is_some_and(|text| !text.is_empty()),
            "{key}"
        );
    }
}

#[test]
fn an_unknown_code_is_an_error_with_the_codes_of_its_subject() {
    let run = Folder::with(&[]).run("explain ASYA299");
    assert_eq!((run.code, run.output.as_str()), (1, ""));
    assert!(
        run.stderr
            .starts_with("error: there is no diagnostic \"ASYA299\"\nhint: there are ASYA201, "),
        "{}",
        run.stderr
    );
    assert!(!run.stderr.contains("ASYA301"), "{}", run.stderr);
}
