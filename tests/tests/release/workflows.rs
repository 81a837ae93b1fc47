//! The workflows in `.github/` are valid, by actionlint.

use std::process::Command;

use test_cluster::components;
use tests::program::{repository, talk};

#[test]
fn workflows_pass_actionlint() {
    if components::is_skipped("workflows") {
        return;
    }
    let output = Command::new(components::program("actionlint"))
        // Shell scripts are checked if shellcheck is installed, which is not to change a result.
        .args(["-no-color", "-shellcheck=", "-pyflakes="])
        .current_dir(repository())
        .output()
        .expect("actionlint starts");
    assert!(output.status.success(), "{}", talk(&output));
}
