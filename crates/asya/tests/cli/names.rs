//! The program by either name, and what shells complete.

use std::os::unix::fs::symlink;
use std::process::Command;

use crate::program::Folder;

/// Standard output of the program, called by a link of that name.
fn called(name: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join(name);
    symlink(env!("CARGO_BIN_EXE_asya"), &link).unwrap();
    let mut command = Command::new(link);
    let run = command
        .current_dir(folder.path())
        .env_clear()
        .args(arguments);
    let output = run.output().unwrap();
    (
        output.status.code(),
        String::from_utf8(output.stdout).unwrap(),
    )
}

#[test]
fn help_names_the_program_as_it_was_called() {
    let commands = [
        "",
        "render",
        "explain",
        "diff",
        "test",
        "status",
        "lint",
        "init",
        "completion",
    ];
    for command in commands {
        for (name, typed, other) in [
            ("asya", "asya", "kubectl asya"),
            ("kubectl-asya", "kubectl asya", "asya"),
        ] {
            let arguments: Vec<&str> = [command, "--help"]
                .into_iter()
                .filter(|it| !it.is_empty())
                .collect();
            let (code, help) = called(name, &arguments);
            assert_eq!(code, Some(0));
            let usage = format!("Usage: {}", [typed, command].join(" ").trim());
            assert!(help.contains(&usage), "{usage}: {help}");
            // Every mention of the program, in the examples too, is of that name.
            let rest = help.replace("kubectl asya", "");
            let strays = [format!(" {other} "), format!("({other} ")];
            let stray = if typed == "asya" { &help } else { &rest };
            let is_stray = |text: &String| stray.contains(text.as_str());
            assert!(!strays.iter().any(is_stray), "{name} {command}: {help}");
        }
    }
}

#[test]
fn completions_contain_every_command() {
    for shell in ["bash", "zsh", "fish"] {
        for (name, declared) in [("asya", "asya"), ("kubectl-asya", "kubectl-asya")] {
            let (code, script) = called(name, &["completion", shell]);
            assert_eq!(code, Some(0));
            for word in [declared, "render", "diff", "required-resources"] {
                assert!(script.contains(word), "{shell} {name}: {word}");
            }
        }
    }
    let run = Folder::with(&[]).run("completion csh");
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("possible values: bash"),
        "{}",
        run.stderr
    );
}

#[test]
fn bash_accepts_its_completion() {
    let (_, script) = called("asya", &["completion", "bash"]);
    let complete = format!(
        "{script}\nCOMP_WORDS=(asya di); COMP_CWORD=1; _asya asya di asya; echo \"${{COMPREPLY[@]}}\""
    );
    let output = Command::new("bash")
        .args(["-c", &complete])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "diff\n");
}

#[test]
fn kubectl_gets_candidates_with_names_of_the_cluster() {
    let folder = crate::program::Folder::with(&[]);
    let link = folder.path().join("kubectl_complete-asya");
    symlink(env!("CARGO_BIN_EXE_asya"), &link).unwrap();
    folder.add_program(
        "bin/kubectl",
        "echo \"$@\" >> calls; printf 'embed\\nextract\\n'",
    );
    let candidates = |words: &[&str]| {
        let mut command = Command::new(&link);
        let path = format!("{}:/usr/bin:/bin", folder.path().join("bin").display());
        let run = command
            .current_dir(folder.path())
            .env_clear()
            .env("PATH", path);
        let output = run.args(words).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(candidates(&["stat"]).starts_with("status\tShow the state of actors"));
    assert_eq!(candidates(&["status", "e"]), "embed\nextract\n:4\n");
    assert_eq!(candidates(&["status", "ex"]), "extract\n:4\n");
    assert_eq!(candidates(&["status", "--flavor", "em"]), "embed\n:4\n");
    assert!(candidates(&["docs", "scal"]).starts_with("scaling\n"));
}
