//! `asya graph` and `asya top` as programs.

use crate::program::{ACTOR, FOREIGN, Folder, PLATFORM};
use serde_json::{Value, json};

fn folder() -> Folder {
    let second = ACTOR.replace("text-processor", "embed").replace(
        "spec: {",
        "spec: {flavors: [gpu], scaling: {maxReplicaCount: 4}, ",
    );
    let flavor = PLATFORM
        .replace("asya-platform", "gpu")
        .replace("transports", "podLabels")
        .replace("{sqs: {type: sqs, config: {region: us-east-1}}}", "{a: b}");
    let message = r#"{"id": "1", "route": {"prev": ["text-processor"], "curr": "embed", "next": ["store"]}, "payload": 1}"#;
    Folder::with(&[
        ("actors.yaml", &format!("{ACTOR}---{second}")),
        ("flavor.yaml", &flavor),
        ("platform.yaml", PLATFORM),
        ("messages.jsonl", &format!("{message}\n{message}\n")),
    ])
}

#[test]
fn a_tree_shows_what_belongs_to_each_actor_and_where_routes_go() {
    let run = folder().run("graph . --route text-processor,embed");
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{}", run.output);
    assert_eq!(
        run.output,
        "prod/embed\n\
         ├─ flavors   gpu\n\
         ├─ queue     asya-embed (sqs)\n\
         ├─ workload  Deployment embed\n\
         ├─ scaling   KEDA: 0 to 4 pods\n\
         └─ next      x-sink\n\
         prod/text-processor\n\
         ├─ queue     asya-text-processor (sqs)\n\
         ├─ workload  Deployment text-processor\n\
         ├─ scaling   KEDA: 0 to 10 pods\n\
         └─ next      embed\n\
         route: text-processor → embed → x-sink\n"
    );
}

#[test]
fn a_route_of_a_message_with_an_unknown_actor_is_drawn_and_reported() {
    let run = folder().run("graph . --messages messages.jsonl -o json");
    assert_eq!(run.code, 1, "{}", run.stderr);
    let graph: Value = serde_json::from_str(&run.output).unwrap();
    assert_eq!(
        graph["routes"],
        json!([["text-processor", "embed", "store"]])
    );
    let warning = "warning: no actor among the input is called \"store\" in a route\n";
    assert_eq!(run.stderr, warning);
}

#[test]
fn drawings_have_a_node_for_each_part() {
    let folder = folder();
    let run = folder.run("graph . --route text-processor,embed -o mermaid");
    assert!(run.output.starts_with("flowchart LR\n"), "{}", run.output);
    for part in [
        "([\"prod/embed\"])",
        "[(\"asya-embed\")]",
        "{{\"flavor gpu\"}}",
        "((\"x-sink\"))",
        "-- route -->",
    ] {
        assert!(run.output.contains(part), "{part}: {}", run.output);
    }
    let run = folder.run("graph . --route text-processor,embed -o dot");
    assert!(run.output.starts_with("digraph asya {\n"), "{}", run.output);
    assert!(
        run.output.contains("[shape=cylinder label=\"asya-embed\"]"),
        "{}",
        run.output
    );
    assert_eq!(folder.run("graph platform.yaml").code, 2);
    assert_eq!(folder.run("graph").code, 2);
    assert_eq!(folder.run("graph . --route a,,b").code, 2);
}

/// An actor of a cluster with these counts.
fn live(name: &str, queued: u64, ready: u32) -> Value {
    json!({
        "apiVersion": "asya.sh/v1alpha1", "kind": "AsyncActor",
        "metadata": {"name": name, "namespace": "ml"},
        "spec": {"flavors": ["gpu"]},
        "status": {
            "conditions": [{"type": "ActorReady", "status": "True", "reason": "Running"}],
            "flavors": ["gpu"], "transport": "rabbitmq", "workload": "Deployment", "scaling": "KEDA",
            "queue": {"name": format!("asya-{name}"), "queued": queued, "processing": 1},
            "replicas": {"ready": ready, "desired": 4, "min": 0, "max": 8},
        },
    })
}

#[test]
fn a_cluster_is_drawn_from_the_status_of_its_actors() {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": [live("embed", 5, 2)]});
    let folder = Folder::with(&[("list.json", &list.to_string())]);
    let (run, calls) = folder.run_with_kubectl(
        "echo \"$@\" >> calls; cat list.json",
        "graph --cluster -n ml",
    );
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert!(calls.contains("--namespace ml"), "{calls}");
    assert!(
        run.output.contains("├─ queue     asya-embed (rabbitmq)\n"),
        "{}",
        run.output
    );
    assert!(
        run.output.contains("└─ scaling   KEDA: 0 to 8 pods\n"),
        "{}",
        run.output
    );
}

#[test]
fn top_sorts_actors_and_sums_their_counts() {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": [live("small", 5, 2), live("large", 70, 3)]});
    let folder = Folder::with(&[("list.json", &list.to_string())]);
    let run = folder.run("top -f list.json");
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert_eq!(
        run.output,
        "ACTOR     STATUS   QUEUED  PROCESSING  CHANGE/S  DEAD  READY  DESIRED\n\
         ml/large  Running  70      1           -         -     3      4\n\
         ml/small  Running  5       1           -         -     2      4\n\
         2 actors           75      2           -         0     5      8\n"
    );
    let script = "echo x >> calls; cat list.json";
    let (run, calls) = folder.run_with_kubectl(script, "top --interval 1 --sort name -o json");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(calls.lines().count(), 2, "a change needs two reads");
    let counts: Value = serde_json::from_str(&run.output).unwrap();
    assert_eq!(counts[0]["name"], "large");
    assert_eq!(counts[0]["changePerSecond"], 0.0);
}

#[test]
fn status_shows_selected_actors_in_a_table() {
    let mut broken = live("broken", 0, 0);
    broken["status"]["conditions"][0] = json!({"type": "ActorReady", "status": "False", "reason": "RuntimeError", "message": "exit code 1"});
    let list = json!({"apiVersion": "v1", "kind": "List", "items": [live("fine", 5, 2), broken]});
    let folder = Folder::with(&[("list.json", &list.to_string())]);
    let run = folder.run("status -f list.json -o table --problems");
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert_eq!(
        run.output,
        "ACTOR      STATUS        PODS  QUEUED  PROCESSING  DEAD  MESSAGE\n\
         ml/broken  RuntimeError  0/4   0       1           -     exit code 1\n"
    );
    for (arguments, expected) in [
        ("--status running", "ml/fine"),
        ("--status Napping", ""),
        ("--flavor gpu --status Running", "ml/fine"),
        ("--flavor other", ""),
    ] {
        let run = folder.run(&format!("status -f list.json {arguments}"));
        let first = run.output.split_whitespace().next().unwrap_or_default();
        assert_eq!(first, expected, "{arguments}");
    }
    let run = folder.run("status -f list.json --status Runing");
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("did you mean \"Running\"?"),
        "{}",
        run.stderr
    );
    let run = folder.run("status -f list.json fin");
    assert!(
        run.stderr
            .contains("warning: there is no actor \"fin\"\nhint: did you mean \"fine\"?\n"),
        "{}",
        run.stderr
    );
}

#[test]
fn top_reports_files_and_names_as_status_does() {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": [live("small", 5, 2), live("large", 70, 3)]});
    let folder = Folder::with(&[
        ("live/list.json.yaml", &list.to_string()),
        ("live/broken.yaml", "a: ["),
        ("none/readme.md", "x"),
    ]);
    let cases = [
        (
            "missing.yaml",
            2,
            "error: cannot read \"missing.yaml\": No such file or directory\n",
            "",
            "no such file",
        ),
        (
            "none",
            2,
            "error: no YAML files (.yaml or .yml) in \"none\"\n",
            "",
            "a folder without YAML",
        ),
        (
            "live",
            1,
            "error: live/broken.yaml:1:4: cannot read YAML: ",
            "2 actors in 1 file",
            "a file that cannot be read",
        ),
        (
            "live/list.json.yaml smal large",
            0,
            "warning: there is no actor \"smal\"\nhint: did you mean \"small\"?\n",
            "1 actor in 1 file",
            "an unknown name",
        ),
    ];
    for (arguments, code, stderr, summary, reason) in cases {
        let run = folder.run(&format!("top -f {arguments}"));
        assert_eq!(run.code, code, "{reason}: {}", run.stderr);
        assert!(run.stderr.starts_with(stderr), "{reason}: {}", run.stderr);
        assert_eq!(run.summary, summary, "{reason}");
    }
}

#[test]
fn a_flavor_that_no_actor_uses_is_reported() {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": [live("fine", 5, 2)]});
    let folder = Folder::with(&[("list.json", &list.to_string())]);
    for (flavor, expected) in [
        ("gpu", ""),
        (
            "gpus",
            "warning: no actor uses flavor \"gpus\"\nhint: did you mean \"gpu\"?\n",
        ),
        ("other", "warning: no actor uses flavor \"other\"\n"),
    ] {
        let run = folder.run(&format!("status -f list.json --flavor {flavor}"));
        assert_eq!((run.code, run.stderr.as_str()), (0, expected), "{flavor}");
    }
}

#[test]
fn steps_of_other_vendors_are_skipped() {
    let folder = Folder::with(&[
        ("actor.yaml", ACTOR),
        ("platform.yaml", PLATFORM),
        ("composition.yaml", FOREIGN),
    ]);
    let run = folder.run("graph .");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(
        run.stderr,
        "warning: step \"foreign\" is skipped, and what it would render is missing: function \"function-foo\" \
         is not Asya's; asya render and asya explain call it with --function-address function-foo=HOST:PORT\n"
    );
    assert!(
        run.output.contains("└─ scaling   KEDA: 0 to 10 pods\n"),
        "{}",
        run.output
    );
}
