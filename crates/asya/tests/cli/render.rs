//! `asya render` as a program.

use std::process::Stdio;

use crate::program::{ACTOR, Folder, PLATFORM, names};
use serde_json::json;

const COMPOSITION: &str = "
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: only-queues}
spec:
  compositeTypeRef: {apiVersion: asya.sh/v1alpha1, kind: AsyncActor}
  mode: Pipeline
  pipeline:
  - {step: resolve, functionRef: {name: flavors}}
  - {step: queue, functionRef: {name: function-render-queue}}
";

const FUNCTIONS: &str = "
apiVersion: pkg.crossplane.io/v1
kind: Function
metadata: {name: flavors}
spec: {package: ghcr.io/somebody/function-resolve-flavors:v1.0.0}
---
apiVersion: pkg.crossplane.io/v1
kind: Function
metadata: {name: function-render-queue}
spec: {package: ignored.example.org/not-used:v0}
";

fn actor(name: &str) -> String {
    ACTOR.replace("text-processor", name)
}

#[test]
fn output_has_the_actor_before_its_objects() {
    let folder = Folder::with(&[("actor.yaml", ACTOR), ("platform.yaml", PLATFORM)]);
    let documents = folder.run("render actor.yaml -e platform.yaml").rendered();
    assert_eq!(
        names(&documents),
        [
            "AsyncActor text-processor",
            "Deployment text-processor",
            "ActorHealth text-processor",
            "Queue text-processor",
            "ScaledObject text-processor",
            "TriggerAuthentication text-processor-trigger-auth",
        ]
    );
    assert_eq!(
        documents[1]["metadata"]["ownerReferences"][0]["uid"],
        "5ebd24a9-7468-5a6e-8b0c-dad017c5f120"
    );
    assert_eq!(
        documents[0]["spec"].as_object().unwrap().len(),
        1,
        "only references"
    );
}

#[test]
fn flags_add_results_context_and_full_xr() {
    let folder = Folder::with(&[("actor.yaml", ACTOR), ("platform.yaml", PLATFORM)]);
    let documents = folder
        .run("render actor.yaml -e platform.yaml -r -x -c")
        .rendered();
    assert_eq!(documents[0]["spec"]["image"], "my-org/app:1");
    let of_kind = |kind: &str| {
        documents
            .iter()
            .filter(|document| document["kind"] == kind)
            .count()
    };
    assert!(of_kind("Result") >= 1);
    assert_eq!(of_kind("Context"), 1);
    let context = &documents.last().unwrap()["fields"];
    assert_eq!(
        context["asya.sh/platform"]["transports"]["sqs"]["type"],
        "sqs"
    );
}

#[test]
fn a_folder_with_xr_yaml_is_an_example() {
    let flavor = PLATFORM.replace("asya-platform", "gpu").replace(
        "transports: {sqs: {type: sqs, config: {region: us-east-1}}}",
        "image: base:1",
    );
    let xr = ACTOR.replace("image: my-org/app:1", "flavors: [gpu]");
    let observed = "
apiVersion: provider.asya.sh/v1alpha1
kind: Queue
metadata: {name: old-name, namespace: prod, annotations: {crossplane.io/composition-resource-name: queue}}
spec: {forProvider: {sqs: {region: us-east-1}}}
";
    let folder = Folder::with(&[
        ("gpu/xr.yaml", &xr),
        ("gpu/flavors.yaml", &flavor),
        ("gpu/platform.yaml", PLATFORM),
        ("gpu/observed.yaml", observed),
        ("gpu/notes.yaml", "not: an object"),
    ]);
    let documents = folder.run("render gpu").rendered();
    let queue = documents
        .iter()
        .find(|document| document["kind"] == "Queue")
        .unwrap();
    assert_eq!(queue["metadata"]["name"], "old-name", "of observed.yaml");
    let deployment = documents
        .iter()
        .find(|document| document["kind"] == "Deployment")
        .unwrap();
    assert_eq!(
        deployment["spec"]["template"]["spec"]["containers"][0]["image"], "base:1",
        "of flavors.yaml"
    );
    let other = PLATFORM.replace("us-east-1", "eu-west-1");
    folder.add("other.yaml", &other);
    folder.add("none.yaml", "# nothing\n");
    let documents = folder
        .run("render gpu -e other.yaml --observed-resources none.yaml")
        .rendered();
    let queue = documents
        .iter()
        .find(|document| document["kind"] == "Queue")
        .unwrap();
    assert_eq!(
        queue["metadata"]["name"], "text-processor",
        "-o goes before observed.yaml"
    );
    assert_eq!(
        queue["spec"]["forProvider"]["sqs"]["region"], "eu-west-1",
        "-e goes before platform.yaml"
    );
}

#[test]
fn xr_composition_and_functions_are_accepted_in_any_order() {
    let folder = Folder::with(&[
        ("xr.yaml", ACTOR),
        ("composition.yaml", COMPOSITION),
        ("functions.yaml", FUNCTIONS),
        ("platform.yaml", PLATFORM),
    ]);
    for order in [
        "xr.yaml composition.yaml functions.yaml",
        "functions.yaml xr.yaml composition.yaml",
    ] {
        let documents = folder
            .run(&format!("render {order} -e platform.yaml"))
            .rendered();
        assert_eq!(
            names(&documents),
            ["AsyncActor text-processor", "Queue text-processor"],
            "{order}"
        );
    }
    let functions = FUNCTIONS.replace("function-resolve-flavors", "function-kcl");
    folder.add("functions.yaml", &functions);
    let run = folder.run("render xr.yaml composition.yaml functions.yaml -e platform.yaml");
    assert_eq!((run.code, run.output.as_str()), (1, ""));
    let warning = "warning: step \"resolve\" is skipped, and what it would render is missing: \
        function \"flavors\" is not Asya's; --function-address flavors=HOST:PORT calls it\n";
    assert!(run.stderr.starts_with(warning), "{}", run.stderr);
}

#[test]
fn actors_are_rendered_despite_failures_of_others() {
    let broken = actor("broken").replace("handler: app.handle", "transport: kafka");
    let both = format!("{}---{broken}", actor("first"));
    let folder = Folder::with(&[
        ("actors/1.yaml", &both),
        ("actors/2.yml", &actor("second")),
        ("actors/ignored.txt", "no YAML: ["),
        ("actors/deeper/3.yaml", &actor("third")),
        ("platform.yaml", PLATFORM),
    ]);
    let run = folder.run("render actors -e platform.yaml");
    assert_eq!(run.code, 1);
    let documents = run.documents();
    let actors = names(&documents)
        .into_iter()
        .filter(|name| name.starts_with("AsyncActor"));
    assert_eq!(
        actors.collect::<Vec<_>>(),
        ["AsyncActor first", "AsyncActor second"]
    );
    assert!(
        run.stderr.starts_with("error: actors/1.yaml: AsyncActor \"broken\": pipeline step \"resolve-flavors\" returned a fatal result: transport \"kafka\""),
        "{}",
        run.stderr
    );
}

#[test]
fn an_actor_without_namespace_gets_the_default_one() {
    let folder = Folder::with(&[("platform.yaml", PLATFORM)]);
    let actor = ACTOR.replace(", namespace: prod", "");
    for (flag, namespace) in [("", "default"), ("-n test", "test")] {
        let run = folder.run_with(&format!("render - -e platform.yaml {flag}"), &actor);
        for document in run.rendered() {
            assert_eq!(document["metadata"]["namespace"], namespace, "{flag}");
        }
    }
}

#[test]
fn an_xr_of_a_claim_is_rendered_with_the_legacy_composition() {
    let xr = "
apiVersion: asya.sh/v1alpha1
kind: XAsyncActor
metadata: {name: a-x7kq2, labels: {crossplane.io/claim-name: a, crossplane.io/claim-namespace: prod}}
spec: {image: my-org/app:1, handler: app.handle}
";
    let folder = Folder::with(&[("xr.yaml", xr), ("platform.yaml", PLATFORM)]);
    let documents = folder.run("render xr.yaml -e platform.yaml").rendered();
    assert_eq!(documents[0]["spec"]["resourceRefs"][0]["namespace"], "prod");
    assert_eq!(
        documents[0]["status"]["claimConditionTypes"][0],
        "FlavorsResolved"
    );
    let queue = documents
        .iter()
        .find(|document| document["kind"] == "Queue")
        .unwrap();
    assert_eq!(queue["metadata"]["name"], "a");
}

#[test]
fn xrd_defaults_and_context_flags_are_applied() {
    let xrd = "
apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata: {name: asyncactors.asya.sh}
spec:
  group: asya.sh
  names: {kind: AsyncActor}
  versions:
  - name: v1alpha1
    schema: {openAPIV3Schema: {properties: {spec: {properties: {handler: {default: from.xrd}}}}}}
";
    let xr = ACTOR.replace(", handler: app.handle", "");
    let folder = Folder::with(&[
        ("xr.yaml", &xr),
        ("xrd.yaml", xrd),
        ("platform.yaml", PLATFORM),
        ("value.json", "[1, 2]"),
    ]);
    let flags = "-x -c --context-files a=value.json --context-files b=value.json --context-values b={\"c\":true}";
    let documents = folder
        .run(&format!(
            "render xr.yaml -e platform.yaml --xrd xrd.yaml {flags}"
        ))
        .rendered();
    assert_eq!(documents[0]["spec"]["handler"], "from.xrd");
    let context = &documents.last().unwrap()["fields"];
    assert_eq!(
        (&context["a"], &context["b"]),
        (&json!([1, 2]), &json!({"c": true}))
    );
}

#[test]
fn required_schemas_are_read_from_a_folder() {
    let served = |kind: &str, version: &str, group: &str| {
        json!({"components": {"schemas": {"it": {"type": "object", "x-kubernetes-group-version-kind": [
            {"group": group, "version": version, "kind": kind},
        ]}}}})
        .to_string()
    };
    let folder = Folder::with(&[
        ("actor.yaml", ACTOR),
        ("platform.yaml", PLATFORM),
        ("schemas/v1.json", &served("ConfigMap", "v1", "")),
    ]);
    let scaled = |folder: &Folder| {
        let documents = folder
            .run("render actor.yaml -e platform.yaml -s schemas")
            .rendered();
        names(&documents).contains(&"ScaledObject text-processor".to_owned())
    };
    assert!(!scaled(&folder), "KEDA is known to be absent");
    folder.add(
        "schemas/keda/v1alpha1.json",
        &served("ScaledObject", "v1alpha1", "keda.sh"),
    );
    assert!(scaled(&folder), "KEDA is served");
}

#[test]
fn an_undesired_observed_object_is_reported() {
    let observed = "
apiVersion: v1
kind: ConfigMap
metadata: {name: old, namespace: prod, annotations: {crossplane.io/composition-resource-name: leftover}}
";
    let folder = Folder::with(&[
        ("actor.yaml", ACTOR),
        ("platform.yaml", PLATFORM),
        ("o.yaml", observed),
    ]);
    let run = folder.run("render actor.yaml -e platform.yaml -o o.yaml");
    assert_eq!(run.code, 0);
    assert_eq!(
        run.stderr,
        "note: actor.yaml: AsyncActor \"text-processor\": observed \"leftover\" is no longer desired: Crossplane would delete it\n"
    );
}

#[test]
fn unquoted_boolean_keys_are_warned_of() {
    let actor = ACTOR.replace(
        "handler: app.handle",
        "handler: app.handle, nodeSelector: {y: 'true'}",
    );
    let folder = Folder::with(&[("actor.yaml", &actor), ("platform.yaml", PLATFORM)]);
    let run = folder.run("render actor.yaml -e platform.yaml");
    assert_eq!(run.code, 0);
    assert_eq!(
        run.stderr,
        "warning: actor.yaml: Kubernetes tools read the key \"y\" as a boolean: put it in quotes\n"
    );
}

#[test]
fn output_is_deterministic() {
    let folder = Folder::with(&[("actor.yaml", ACTOR), ("platform.yaml", PLATFORM)]);
    let render = || {
        folder
            .run("render actor.yaml -e platform.yaml -r -x -c")
            .output
    };
    let first = render();
    for _ in 0..5 {
        assert_eq!(render(), first);
    }
}

#[test]
fn a_closed_pipe_is_no_error() {
    let folder = Folder::with(&[("actor.yaml", ACTOR), ("platform.yaml", PLATFORM)]);
    let mut command = folder.command("render actor.yaml -e platform.yaml");
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        (output.status.code(), output.stderr.as_slice()),
        (Some(0), &b""[..])
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn invalid_input_is_reported_with_a_hint() {
    let other_kind = COMPOSITION.replace("kind: AsyncActor", "kind: Service");
    let folder = Folder::with(&[
        ("actor.yaml", ACTOR),
        (
            "nameless.yaml",
            "{apiVersion: asya.sh/v1alpha1, kind: AsyncActor}",
        ),
        (
            "unquoted.yaml",
            "{apiVersion: asya.sh/v1alpha1, kind: AsyncActor, metadata: {name: a, namespace: n}}",
        ),
        ("twice.yaml", "a: 1\na: 2"),
        ("list.yaml", "[1, 2]"),
        ("flavor.yaml", PLATFORM),
        (
            "service.yaml",
            "{apiVersion: example.org/v1, kind: Service, metadata: {name: s}}",
        ),
        ("composition.yaml", COMPOSITION),
        ("second.yaml", &COMPOSITION.replace("only-queues", "second")),
        ("other-kind.yaml", &other_kind),
        (
            "no-steps.yaml",
            "{apiVersion: apiextensions.crossplane.io/v1, kind: Composition, metadata: {name: c}, spec: {compositeTypeRef: {kind: K}}}",
        ),
        ("empty/readme.md", ""),
        ("bad.json", "{"),
        ("schemas/bad.json", "{"),
        (
            "observed.yaml",
            "{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: prod}}",
        ),
        ("two.yaml", &format!("{}---{}", actor("a"), actor("b"))),
    ]);
    let at_fault = "error: actor.yaml: AsyncActor \"text-processor\"";
    let cases = [
        (
            "missing.yaml",
            "error: cannot read \"missing.yaml\": No such file or directory",
        ),
        ("twice.yaml", "error: twice.yaml:2:1: cannot read YAML: "),
        (
            "list.yaml",
            "error: list.yaml:1:1: expected Kubernetes objects, found a document without kind",
        ),
        (
            "nameless.yaml",
            "error: nameless.yaml: AsyncActor has no metadata.name",
        ),
        (
            "unquoted.yaml",
            "error: unquoted.yaml:1:70: AsyncActor has a metadata.namespace that is no text: put it in quotes",
        ),
        (
            "flavor.yaml",
            "error: no actor among flavor.yaml: found 1 platform in 1 file\nhint: give a file with an AsyncActor",
        ),
        (
            "service.yaml",
            "error: no actor among service.yaml: found 1 other object in 1 file\nhint: give a file with an AsyncActor",
        ),
        (
            "composition.yaml",
            "error: no actor among composition.yaml: found no objects in 1 file\nhint: give a file with an AsyncActor",
        ),
        (
            "actor.yaml composition.yaml second.yaml",
            "error: more than one Composition: \"only-queues\" and \"second\"",
        ),
        (
            "actor.yaml other-kind.yaml",
            "warning: Composition \"only-queues\" is not used: no asya.sh/v1alpha1 Service is among the files\n\
             error: actor.yaml: AsyncActor \"text-processor\": pipeline step",
        ),
        (
            "actor.yaml no-steps.yaml",
            "error: no-steps.yaml: Composition \"c\": spec.compositeTypeRef: missing field `apiVersion`",
        ),
        (
            "empty",
            "error: no YAML files (.yaml or .yml) in \"empty\"\nhint: -R reads the folders in empty too",
        ),
        (
            "actor.yaml -e empty",
            "error: no YAML files (.yaml or .yml) in \"empty\"",
        ),
        ("actor.yaml -s empty", "error: no JSON files in \"empty\""),
        (
            "actor.yaml -s schemas",
            "error: schemas/bad.json: cannot read JSON: ",
        ),
        (
            "actor.yaml --xrd actor.yaml",
            "error: actor.yaml: asya.sh/v1alpha1 AsyncActor \"text-processor\" is not a CompositeResourceDefinition",
        ),
        (
            "actor.yaml --xrd two.yaml",
            "error: two.yaml: expected one CompositeResourceDefinition, found 2 objects",
        ),
        (
            "actor.yaml --context-values a={",
            "error: context value for key \"a\": cannot read YAML: ",
        ),
        (
            "actor.yaml -o observed.yaml",
            &format!(
                "{at_fault}: observed Secret \"s\" has no annotation crossplane.io/composition-resource-name"
            ),
        ),
        (
            "two.yaml -o observed.yaml",
            "error: observed resources belong to one XR, and 2 are to be rendered\nhint: render one XR at a time",
        ),
        (
            "actor.yaml",
            &format!(
                "{at_fault}: pipeline step \"resolve-flavors\" returned a fatal result: no platform settings: create \
                 EnvironmentConfig \"asya-platform\" with an entry under data.transports [ASYA301]\n\
                 hint: give flavors and the platform's settings as well"
            ),
        ),
    ];
    for (arguments, expected) in cases {
        let run = folder.run(&format!("render {arguments}"));
        // Without an XR there is nothing to render.
        let code = if run.stderr.contains("AsyncActor \"text-processor\": ")
            || arguments == "nameless.yaml"
        {
            1
        } else {
            2
        };
        assert_eq!(
            (run.code, run.output.as_str()),
            (code, ""),
            "{arguments}: {}",
            run.stderr
        );
        assert!(
            run.stderr.starts_with(expected),
            "{arguments}: {}",
            run.stderr
        );
        let lines = run.stderr.lines().count();
        assert!(lines <= 4, "{arguments}: {}", run.stderr);
    }
}

#[test]
fn invalid_arguments_end_with_status_2() {
    let folder = Folder::with(&[("actor.yaml", ACTOR)]);
    for arguments in [
        "render",
        "render --colour actor.yaml",
        "paint actor.yaml",
        "render actor.yaml --context-values a",
    ] {
        let run = folder.run(arguments);
        assert_eq!((run.code, run.output.as_str()), (2, ""), "{arguments}");
        assert!(
            run.stderr.starts_with("error: "),
            "{arguments}: {}",
            run.stderr
        );
    }
    for arguments in ["--help", "render --help", "--version"] {
        let run = folder.run(arguments);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{arguments}");
    }
}

#[test]
fn an_unreadable_runtime_script_ends_with_status_2() {
    let folder = Folder::with(&[("actor.yaml", ACTOR), ("platform.yaml", PLATFORM)]);
    let mut command = folder.command("render actor.yaml -e platform.yaml");
    let output = command
        .env("ASYA_RUNTIME_SCRIPT_PATH", "missing.py")
        .output()
        .unwrap();
    let talk = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        talk.starts_with("error: cannot read the runtime script \"missing.py\""),
        "{talk}"
    );
}
