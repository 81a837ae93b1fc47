//! Input of all commands: files and folders with objects of all kinds.

use crate::program::{ACTOR, Folder, PLATFORM, names};

fn actor(name: &str) -> String {
    ACTOR.replace("text-processor", name)
}

#[test]
fn o_is_the_format_or_as_in_crossplane_a_path() {
    let folder = Folder::with(&[("actor.yaml", ACTOR), ("platform.yaml", PLATFORM)]);
    let run = folder.run("render actor.yaml platform.yaml -o json");
    let list: Vec<serde_json::Value> = serde_json::from_str(&run.output).unwrap();
    assert_eq!(
        list,
        folder.run("render actor.yaml platform.yaml").rendered()
    );
    let run = folder.run("render actor.yaml platform.yaml -o table");
    assert_eq!((run.code, run.output.as_str()), (2, ""));
    assert_eq!(
        run.stderr,
        "error: -o \"table\" is neither a format (yaml, json) nor a file with observed resources\n\
         hint: -o yaml and -o json choose the format; --observed-resources PATH gives objects that exist\n"
    );
    let run = folder.run("render actor.yaml -o platform.yaml --observed-resources platform.yaml");
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("given twice"), "{}", run.stderr);
}

#[test]
fn one_folder_with_objects_of_all_kinds_is_sorted_by_kind() {
    let observed = "
apiVersion: provider.asya.sh/v1alpha1
kind: Queue
metadata:
  name: old-name
  namespace: prod
  labels: {crossplane.io/composite: first}
  annotations: {crossplane.io/composition-resource-name: queue}
spec: {forProvider: {sqs: {region: us-east-1}}}
";
    let folder = Folder::with(&[
        ("all/1.yaml", &format!("{PLATFORM}---{}", actor("first"))),
        ("all/2.yaml", &format!("{}---{observed}", actor("second"))),
        ("all/values.yaml", "replicas: 2"),
        ("all/readme.md", "no YAML: ["),
        (
            "all/service.yaml",
            "{apiVersion: v1, kind: Service, metadata: {name: s}}",
        ),
        ("all/deeper/3.yaml", &actor("third")),
    ]);
    let queues = |run: &crate::program::Run| -> Vec<String> {
        let documents = run.documents().into_iter();
        let queues = documents.filter(|document| document["kind"] == "Queue");
        queues
            .map(|queue| queue["metadata"]["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let run = folder.run("render all");
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert_eq!(queues(&run), ["old-name", "second"]);
    assert_eq!(
        run.summary,
        "2 actors, 1 platform, 1 observed object, 1 other object in 3 files; \
         1 file without Kubernetes objects skipped"
    );
    let run = folder.run("render -R all");
    assert_eq!(queues(&run), ["old-name", "second", "third"]);
    assert!(run.summary.starts_with("3 actors, "), "{}", run.summary);
}

#[test]
fn xr_yaml_hides_no_other_file_of_its_folder() {
    let folder = Folder::with(&[
        ("d/xr.yaml", &actor("first")),
        ("d/others.yaml", &actor("second")),
        ("d/settings.yaml", PLATFORM),
    ]);
    let run = folder.run("render d");
    let actors = names(&run.rendered());
    let actors = actors.iter().filter(|name| name.starts_with("AsyncActor"));
    assert_eq!(
        actors.collect::<Vec<_>>(),
        ["AsyncActor second", "AsyncActor first"]
    );
}

#[test]
fn unreadable_files_are_reported_and_the_others_rendered() {
    let folder = Folder::with(&[
        ("d/1.yaml", "a: [\napiVersion: x"),
        ("d/2.yaml", &format!("{ACTOR}---\n- 1\n")),
        ("d/3.yaml", PLATFORM),
    ]);
    let run = folder.run("render d missing.yaml");
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(names(&run.documents()).contains(&"Queue text-processor".to_owned()));
    let files: Vec<&str> = run.stderr.lines().collect();
    assert_eq!(files.len(), 3, "{}", run.stderr);
    assert!(files[0].starts_with("error: d/1.yaml:") && files[0].contains(": cannot read YAML: "));
    assert!(files[1].starts_with("error: d/2.yaml:7:1: expected Kubernetes objects"));
    assert!(files[2].starts_with("error: cannot read \"missing.yaml\""));
}

#[test]
fn rendered_output_in_a_folder_is_not_input() {
    let folder = Folder::with(&[("d/actor.yaml", ACTOR), ("d/platform.yaml", PLATFORM)]);
    let first = folder.run("render d -x");
    folder.add("d/out.yaml", &first.output);
    let again = folder.run("render d -x");
    assert_eq!(again.output, first.output);
    assert_eq!(
        again.summary,
        format!("{}; 1 file with output of render skipped", first.summary)
    );
}

#[test]
fn every_command_ends_with_counts_of_its_input() {
    let case = "
apiVersion: test.asya.sh/v1alpha1
kind: ActorTest
name: it has a queue
actor: {image: app:1, handler: app.handle}
platform: platform.yaml
expect: {objects: [{kind: Queue}]}
";
    let folder = Folder::with(&[
        ("d/actor.yaml", ACTOR),
        ("d/platform.yaml", PLATFORM),
        ("d/case.yaml", case),
    ]);
    let counts = "1 actor, 1 platform, 1 test in 3 files";
    for command in ["render d", "explain d", "lint d", "test d"] {
        let run = folder.run(command);
        assert_eq!((run.code, run.summary.as_str()), (0, counts), "{command}");
    }
    let run = folder.run("diff d --new d/actor.yaml");
    assert_eq!(run.summary, "2 actors, 1 platform, 1 test in 4 files");
    let run = folder.run("status -f d");
    assert_eq!(run.summary, "1 actor in 3 files");
}

#[test]
fn input_without_objects_for_the_command_ends_with_status_2() {
    let folder = Folder::with(&[("d/s.yaml", "{apiVersion: v1, kind: Secret}")]);
    for command in [
        "render",
        "explain",
        "lint",
        "test",
        "status -f",
        "diff --new",
    ] {
        let run = folder.run(&format!("{command} d"));
        assert_eq!((run.code, run.output.as_str()), (2, ""), "{command}");
        assert!(
            run.stderr.starts_with("error: "),
            "{command}: {}",
            run.stderr
        );
    }
}

#[test]
fn objects_in_a_list_are_read_with_their_positions() {
    let list = "
apiVersion: v1
kind: List
items:
- apiVersion: asya.sh/v1alpha1
  kind: AsyncActor
  metadata: {name: one, namespace: prod}
  spec: {image: i, handlr: a.b}
";
    let folder = Folder::with(&[("list.yaml", list), ("platform.yaml", PLATFORM)]);
    let run = folder.run("lint list.yaml platform.yaml");
    assert_eq!(run.code, 1);
    let finding = "list.yaml:8:20: error: unknown field \"handlr\"";
    assert!(run.output.contains(finding), "{}", run.output);
}

#[test]
fn an_invalid_case_stops_only_itself() {
    let case = |name: &str, key: &str| {
        format!(
            "---\napiVersion: test.asya.sh/v1alpha1\nkind: ActorTest\nname: {name}\n\
             actor: {{image: app:1, handler: app.handle}}\nplatform: platform.yaml\n\
             {key}: {{objects: [{{kind: Queue}}]}}\n"
        )
    };
    let cases = case("first", "expect") + &case("broken", "expct") + &case("last", "expect");
    let folder = Folder::with(&[("cases.yaml", &cases), ("platform.yaml", PLATFORM)]);
    let run = folder.run("test cases.yaml");
    assert_eq!(run.code, 2);
    assert!(
        run.output.ends_with("2 passed, 0 failed, 1 invalid\n"),
        "{}",
        run.output
    );
    let error = "error: cases.yaml:14:1: unknown field \"expct\": did you mean \"expect\"?";
    assert!(run.stderr.starts_with(error), "{}", run.stderr);
}

#[test]
fn an_unreadable_document_hides_no_other_from_any_command() {
    let case = "apiVersion: test.asya.sh/v1alpha1\nkind: ActorTest\nname: it has a queue\n\
                actor: {image: app:1, handler: app.handle}\nplatform: platform.yaml\n\
                expect: {objects: [{kind: Queue}]}\n";
    let documents = [&actor("one"), "a: b: c\n", &actor("two"), PLATFORM, case];
    let stream = documents.join("---\n");
    let folder = Folder::with(&[("all.yaml", &stream), ("platform.yaml", PLATFORM)]);
    let error = "all.yaml:7:5: ";
    let expected = [
        ("lint all.yaml", 1, "all.yaml:13:1: warning"),
        ("render all.yaml", 1, "name: two"),
        ("explain all.yaml", 1, "two"),
        ("graph all.yaml", 1, "prod/two\n├─ queue"),
        ("status -f all.yaml", 1, "prod/two"),
        ("test all.yaml", 2, "1 passed, 0 failed, 1 invalid"),
    ];
    for (command, code, part) in expected {
        let run = folder.run(command);
        assert_eq!(run.code, code, "{command}: {}", run.stderr);
        assert!(run.output.contains(part), "{command}: {}", run.output);
        let all = format!("{}{}", run.output, run.stderr);
        assert_eq!(all.matches(error).count(), 1, "{command}: {all}");
    }
    let run = folder.run_with("lint -", &stream);
    assert!(
        run.output.contains("-:7:5: error: cannot read YAML"),
        "{}",
        run.output
    );
    // An actor that cannot be read would appear as removed.
    let run = folder.run("diff --old all.yaml --new all.yaml");
    assert_eq!((run.code, run.output.as_str()), (2, ""));
    assert_eq!(run.stderr.matches(error).count(), 2, "{}", run.stderr);
}

#[cfg(unix)]
#[test]
fn links_and_pipes_in_folders_end_no_command() {
    use std::os::unix::fs::symlink;
    let folder = Folder::with(&[
        ("d/actor.yaml", ACTOR),
        ("d/platform.yaml", PLATFORM),
        ("d/deeper/actor.yaml", &actor("other")),
    ]);
    let inside = |name: &str| folder.path().join("d").join(name);
    symlink("..", inside("deeper/up")).unwrap();
    symlink("deeper", inside("again")).unwrap();
    symlink("self.yaml", inside("self.yaml")).unwrap();
    let made = std::process::Command::new("mkfifo")
        .arg(inside("pipe.yaml"))
        .status();
    assert!(made.unwrap().success());
    for command in ["lint -R d", "render -R d", "graph -R d"] {
        let run = folder.run(command);
        assert_eq!(run.code, 1, "{command}: {}", run.stderr);
        assert_eq!(run.summary, "2 actors, 1 platform in 3 files", "{command}");
        let all = format!("{}{}", run.output, run.stderr);
        for problem in ["self.yaml", "pipe.yaml"] {
            let lines = all.lines().filter(|line| line.contains(problem)).count();
            assert_eq!(lines, 1, "{command}: {all}");
        }
    }
}
