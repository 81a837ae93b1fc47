//! `asya init` as a program.

use crate::program::{Folder, Run, names};

#[test]
fn every_command_accepts_the_written_files() {
    for (arguments, actor, queue) in [
        ("", "my-actor", "rabbitmq"),
        (
            "--transport sqs --name text-processor -n prod",
            "text-processor",
            "sqs",
        ),
        // To YAML these are a number and a boolean.
        ("--name 123 -n on", "123", "rabbitmq"),
    ] {
        let folder = Folder::with(&[]);
        let run = folder.run(&format!("init first {arguments}"));
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{arguments}");
        let documents = folder.run("render first").rendered();
        let objects = names(&documents);
        for kind in ["AsyncActor", "Deployment", "Queue", "ScaledObject"] {
            let name = format!("{kind} {actor}");
            assert!(objects.contains(&name), "{name}: {objects:?}");
        }
        let of_queue = documents
            .iter()
            .find(|object| object["kind"] == "Queue")
            .unwrap();
        let settings = &of_queue["spec"]["forProvider"][queue];
        assert!(settings.is_object(), "{of_queue}");
        let run = folder.run("lint --strict first");
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{arguments}");
        // Only a registry of your own has the sidecar's image.
        let mut findings = run.output.lines();
        assert!(
            findings.all(|line| line.ends_with("[ASYA305]")),
            "{}",
            run.output
        );
        let mut run = folder.command("run first -o results --send {\"text\":\"hello\"}");
        run.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        let run = Run::of(run.output().unwrap());
        let expected = "{\"text\":\"HELLO\"}\n";
        assert_eq!(
            (run.code, run.output.as_str()),
            (0, expected),
            "{}",
            run.stderr
        );
        let run = folder.run("test first");
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{}", run.output);
        let run = folder.run("explain first");
        assert!(run.output.contains("flavor small"), "{}", run.output);
        let run = folder.run("diff --old first --new first");
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{}", run.output);
    }
}

#[test]
fn files_and_next_commands_are_printed() {
    let run = Folder::with(&[]).run("init a/b");
    assert_eq!(
        run.output,
        "a/b/xr.yaml: the actor\n\
         a/b/my_actor.py: its handler\n\
         a/b/flavors.yaml: a flavor\n\
         a/b/platform.yaml: the platform's settings\n\
         a/b/tests.yaml: a case for asya test\n\
         a/b/asya.schema.json: the schema, for editors\n\
         a/b/.vscode/settings.json: the same for VS Code\n\
         a/b/.github/workflows/asya.yaml: checks for pull requests\n\
         a/b/.gitignore: files that are not committed\n\
         next:\n  \
           asya run a/b --send '{\"text\": \"hello\"}'  a message through the handler\n  \
           asya render a/b                          all objects of the actor\n  \
           asya explain a/b                         the origin of each field\n  \
           asya lint a/b                            errors and warnings\n  \
           asya test a/b                            the expectations in tests.yaml\n"
    );
}

#[test]
fn an_existing_file_stops_init_before_it_writes() {
    let folder = Folder::with(&[("platform.yaml", "mine"), ("other.yaml", "mine too")]);
    let run = folder.run("init");
    assert_eq!((run.code, run.output.as_str()), (1, ""));
    assert_eq!(
        run.stderr,
        "error: folder \".\" already has platform.yaml\n\
         hint: give a new folder: asya init FOLDER\n"
    );
    let run = folder.run("lint xr.yaml");
    assert!(
        run.stderr.contains("cannot read \"xr.yaml\""),
        "{}",
        run.stderr
    );
    assert_eq!(folder.run("init new").code, 0);
    assert_eq!(folder.run("init new").code, 1, "a second time");
}

#[test]
fn settings_of_a_project_are_kept() {
    let folder = Folder::with(&[(".gitignore", "mine"), (".vscode/settings.json", "{}")]);
    let run = folder.run("init --name class");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(
        run.stderr,
        "note: ./.vscode/settings.json exists and is kept\n\
         note: ./.gitignore exists and is kept\n"
    );
    let kept = std::fs::read_to_string(folder.path().join(".gitignore")).unwrap();
    assert_eq!(kept, "mine");
    // A keyword of Python names no module.
    assert!(folder.path().join("actor_class.py").is_file());
}

#[test]
fn invalid_names_are_refused() {
    let folder = Folder::with(&[("file", "")]);
    let cases = [
        ("init --name Upper", "\"Upper\"", "no name of an actor"),
        ("init -n a.b", "expected lower-case letters", "no namespace"),
        (
            "init --transport kafka",
            "[possible values: rabbitmq, sqs]",
            "no transport",
        ),
        (
            "init file/in",
            "error: cannot write to folder \"file/in\"",
            "a file is in the way",
        ),
    ];
    for (arguments, message, reason) in cases {
        let run = folder.run(arguments);
        assert_eq!(run.code, 2, "{reason}");
        assert!(run.stderr.contains(message), "{reason}: {}", run.stderr);
    }
}
