//! `asya explain` as a program.

use std::fs;
use std::path::Path;

use crate::program::{ACTOR, Folder, PLATFORM, run_in};
use serde_json::{Value, json};

const FLAVORS: &str = "
apiVersion: apiextensions.crossplane.io/v1beta1
kind: EnvironmentConfig
metadata: {name: gpu}
data:
  scaling: {minReplicas: 1}
  tolerations: [{key: gpu}]
  env: [{name: TOKEN, value: secret-of-gpu}]
---
apiVersion: apiextensions.crossplane.io/v1beta1
kind: EnvironmentConfig
metadata: {name: spot}
data:
  scaling: {queueLength: 2}
  tolerations: [{key: spot}]
  env: [{name: ZONE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]
  podAnnotations: {note: secret-of-spot}
  resiliency: {actorTimeout: 10m}
";

/// A folder with an actor of two flavors.
fn folder() -> Folder {
    let actor = ACTOR.replace(
        "handler:",
        "flavors: [gpu, spot], args: [secret-of-actor], handler:",
    );
    Folder::with(&[
        ("actor.yaml", &actor),
        ("flavors.yaml", FLAVORS),
        ("platform.yaml", PLATFORM),
    ])
}

/// The explanation of one actor, for programs.
fn explained(folder: &Folder, arguments: &str) -> Value {
    let run = folder.run(&format!(
        "explain actor.yaml -e platform.yaml {arguments} -o json"
    ));
    let mut documents: Vec<Value> = serde_json::from_str(&run.output).unwrap();
    assert_eq!(documents.len(), 1, "{}", run.stderr);
    documents.remove(0)
}

/// Value and origin of a field.
fn field(explained: &Value, path: &str) -> (Value, Value) {
    let fields = explained["fields"].as_array().unwrap();
    let found = fields.iter().find(|field| field["field"] == path);
    let found = found.unwrap_or_else(|| panic!("no {path} in {explained}"));
    (found["value"].clone(), found["origin"].clone())
}

fn flavor(name: &str) -> Value {
    json!({"kind": "flavor", "name": name})
}

#[test]
fn a_flavors_field_under_the_actors_template_is_replaced() {
    let actor = ACTOR.replace("image: my-org/app:1", "flavors: [base]").replace(
        "handler:",
        "workload: {template: {spec: {nodeSelector: {disk: hdd}, containers: [{name: asya-runtime, \
         image: \"my-org/app:1\"}]}}}, handler:",
    );
    let flavor = "
apiVersion: apiextensions.crossplane.io/v1beta1
kind: EnvironmentConfig
metadata: {name: base}
data: {image: my-org/base:1, nodeSelector: {disk: ssd, zone: a}}
";
    let folder = Folder::with(&[
        ("actor.yaml", &actor),
        ("flavors.yaml", flavor),
        ("platform.yaml", PLATFORM),
    ]);
    let explained = explained(&folder, "-e flavors.yaml");
    let fields = explained["fields"].as_array().unwrap();
    let replaced = fields.iter().filter(|field| field["isReplaced"] == true);
    let replaced: Vec<_> = replaced
        .map(|field| field["field"].as_str().unwrap())
        .collect();
    assert_eq!(replaced, ["image", "nodeSelector.disk"]);
    let run = folder.run("explain actor.yaml -e platform.yaml -e flavors.yaml");
    assert!(
        run.output.contains("flavor base, replaced by the template"),
        "{}",
        run.output
    );
}

#[test]
fn each_field_has_its_origin() {
    let explained = explained(&folder(), "-e flavors.yaml");
    assert_eq!(explained["actor"], "text-processor");
    assert_eq!(explained["namespace"], "prod");
    let (actor, default) = (json!({"kind": "actor"}), json!({"kind": "default"}));
    let setting = json!({"kind": "platform", "setting": "the only enabled transport"});
    let from = |from: &str| json!({"kind": "default", "from": from});
    for (path, value, origin) in [
        ("image", json!("my-org/app:1"), actor.clone()),
        ("flavors[1]", json!("spot"), actor.clone()),
        ("scaling.minReplicaCount", json!(1), flavor("gpu")),
        ("scaling.queueLength", json!(2), flavor("spot")),
        ("scaling.maxReplicaCount", json!(10), default.clone()),
        ("tolerations[0].key", json!("gpu"), flavor("gpu")),
        ("tolerations[1].key", json!("spot"), flavor("spot")),
        ("actor", json!("text-processor"), from("metadata.name")),
        ("transport", json!("sqs"), setting),
        ("imagePullPolicy", json!("IfNotPresent"), default.clone()),
        ("pythonExecutable", json!("python3"), default.clone()),
        (
            "queue.deadLetter.enabled",
            json!(false),
            from("transport type sqs"),
        ),
        ("queue.deletionPolicy", json!("Delete"), default),
    ] {
        assert_eq!(field(&explained, path), (value, origin), "{path}");
    }
    let paths: Vec<&Value> = explained["fields"]
        .as_array()
        .unwrap()
        .iter()
        .map(|field| &field["path"])
        .collect();
    assert!(paths.contains(&&json!(["tolerations", 1, "key"])));
}

#[test]
fn fields_derived_from_the_timeout_are_shown_with_it() {
    let folder = folder();
    assert_eq!(
        explained(&folder, "-e flavors.yaml")["derived"],
        json!([
            {"name": "runtime timeout", "value": "600s", "from": "resiliency.actorTimeout, set by flavor \"spot\""},
            {"name": "grace period of pods", "value": "630s", "from": "runtime timeout + 30s, at most 3600s"},
            {"name": "visibility timeout of the queue", "value": "1200s", "from": "2 × runtime timeout"},
        ])
    );
    let timeout = "sidecar: {env: [{name: ASYA_RUNTIME_TIMEOUT, value: '60'}]}, terminationGracePeriodSeconds: 5, handler:";
    folder.add("actor.yaml", &ACTOR.replace("handler:", timeout));
    folder.add(
        "platform.yaml",
        &PLATFORM.replace("region:", "visibilityTimeoutSeconds: 90, region:"),
    );
    assert_eq!(
        explained(&folder, "")["derived"],
        json!([
            {"name": "runtime timeout", "value": "60s", "from": "ASYA_RUNTIME_TIMEOUT in sidecar.env"},
            {"name": "grace period of pods", "value": "5s", "from": "terminationGracePeriodSeconds, set by the actor"},
            {"name": "visibility timeout of the queue", "value": "90s",
                "from": "platform (transports.sqs.config.visibilityTimeoutSeconds)"},
        ])
    );
}

#[test]
fn secret_values_are_masked() {
    let folder = folder();
    let explained = explained(&folder, "-e flavors.yaml");
    for (path, origin) in [
        ("env[0].value", flavor("gpu")),
        ("podAnnotations.note", flavor("spot")),
        ("args[0]", json!({"kind": "actor"})),
    ] {
        assert_eq!(field(&explained, path), (json!("***"), origin), "{path}");
    }
    let name = field(&explained, "env[1].valueFrom.fieldRef.fieldPath");
    assert_eq!(
        name,
        (json!("spec.nodeName"), flavor("spot")),
        "a reference is no secret"
    );
    for form in ["table", "json", "yaml"] {
        let run = folder.run(&format!(
            "explain actor.yaml -e platform.yaml -e flavors.yaml -o {form}"
        ));
        assert!(!run.output.contains("secret-of"), "{form}: {}", run.output);
    }
}

#[test]
fn default_output_is_a_table() {
    let run = folder().run("explain actor.yaml -e platform.yaml -e flavors.yaml");
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let lines: Vec<&str> = run.output.lines().collect();
    assert_eq!(lines[0], "text-processor in prod");
    let column = lines[2].find("SET BY").unwrap();
    assert!(lines[2].starts_with("FIELD"));
    let row = lines
        .iter()
        .find(|line| line.starts_with("scaling.queueLength "))
        .unwrap();
    assert!(row[column..].starts_with("flavor spot "), "{row}");
    assert!(row.ends_with(" 2"), "{row}");
    assert!(
        lines.iter().all(|line| line.trim_end() == *line),
        "no blanks at the end"
    );
}

#[test]
fn a_conflict_names_every_flavor() {
    let third = FLAVORS
        .replace("name: gpu", "name: third")
        .replace("minReplicas: 1", "minReplicas: 7");
    let third = third
        .split("---")
        .next()
        .unwrap()
        .replace("[{key: gpu}]", "none");
    let actor = ACTOR.replace("handler:", "flavors: [gpu, spot, third], handler:");
    let folder = folder();
    folder.add("actor.yaml", &actor);
    folder.add("third.yaml", &third);
    let run =
        folder.run("explain actor.yaml -e platform.yaml -e flavors.yaml -e third.yaml -o yaml");
    assert_eq!(run.code, 1);
    let side = |flavor: &str, value: Value| json!({"flavor": flavor, "value": value});
    assert_eq!(
        run.documents()[0]["conflicts"],
        json!([
            {"field": "scaling.minReplicaCount", "path": ["scaling", "minReplicaCount"],
                "sides": [side("gpu", json!(1)), side("third", json!(7))]},
            {"field": "tolerations", "path": ["tolerations"], "sides": [
                side("gpu", json!([{"key": "gpu"}])), side("spot", json!([{"key": "spot"}])), side("third", json!("none")),
            ]},
        ])
    );
    let lines: Vec<&str> = run.stderr.lines().collect();
    assert_eq!(lines.len(), 3, "{}", run.stderr);
    assert!(
        lines[0].ends_with(
            "flavors \"gpu\" and \"third\" conflict on scaling.minReplicaCount [ASYA230]"
        ),
        "{}",
        lines[0]
    );
    assert!(
        lines[1].ends_with("conflict on tolerations: type mismatch (list and string) [ASYA231]"),
        "{}",
        lines[1]
    );
    assert_eq!(
        lines[2],
        "hint: keep the field in one of the flavors, or set it in the actor"
    );
    let table = folder
        .run("explain actor.yaml -e platform.yaml -e flavors.yaml -e third.yaml")
        .output;
    assert!(
        table.contains("scaling.minReplicaCount  third   7\n"),
        "{table}"
    );
}

#[test]
fn a_secret_in_a_conflict_is_masked() {
    let both = "
apiVersion: apiextensions.crossplane.io/v1beta1
kind: EnvironmentConfig
metadata: {name: one}
data: {podAnnotations: {note: secret-of-one}}
---
apiVersion: apiextensions.crossplane.io/v1beta1
kind: EnvironmentConfig
metadata: {name: two}
data: {podAnnotations: {note: secret-of-two}}
";
    let folder = folder();
    folder.add(
        "actor.yaml",
        &ACTOR.replace("handler:", "flavors: [one, two], handler:"),
    );
    folder.add("flavors.yaml", both);
    let explained = explained(&folder, "-e flavors.yaml");
    assert_eq!(
        explained["conflicts"][0]["sides"][1],
        json!({"flavor": "two", "value": "***"})
    );
}

#[test]
fn the_transport_has_its_origin() {
    let queue = "
apiVersion: provider.asya.sh/v1alpha1
kind: Queue
metadata:
  name: text-processor
  namespace: prod
  labels: {asya.sh/transport: sqs}
  annotations: {crossplane.io/composition-resource-name: queue}
";
    let folder = folder();
    folder.add("queue.yaml", queue);
    folder.add("actor.yaml", ACTOR);
    folder.add(
        "default.yaml",
        &PLATFORM.replace("data: {", "data: {defaultTransport: sqs, "),
    );
    let origin = |arguments: &str| field(&explained(&folder, arguments), "transport").1;
    let platform = |setting: &str| json!({"kind": "platform", "setting": setting});
    assert_eq!(origin(""), platform("the only enabled transport"));
    assert_eq!(origin("-e default.yaml"), platform("defaultTransport"));
    assert_eq!(
        origin("--observed-resources queue.yaml"),
        json!({"kind": "queue"})
    );
    folder.add(
        "actor.yaml",
        &ACTOR.replace("handler:", "transport: sqs, handler:"),
    );
    assert_eq!(origin(""), json!({"kind": "actor"}));
}

#[test]
fn replicas_are_shown_only_without_scaling() {
    let live = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: text-processor, namespace: prod, annotations: {crossplane.io/composition-resource-name: deployment}}
spec: {replicas: 4}
";
    let folder = folder();
    folder.add("live.yaml", live);
    folder.add(
        "actor.yaml",
        &ACTOR.replace("handler:", "scaling: {enabled: false}, handler:"),
    );
    let replicas = |arguments: &str| field(&explained(&folder, arguments), "replicas");
    assert_eq!(replicas(""), (json!(1), json!({"kind": "default"})));
    assert_eq!(
        replicas("--observed-resources live.yaml"),
        (
            json!(4),
            json!({"kind": "default", "from": "the live workload's"})
        )
    );
    let fields = explained(&folder, "")["fields"].to_string();
    assert!(!fields.contains("maxReplicaCount"), "{fields}");
}

#[test]
fn known_fields_are_shown_for_an_invalid_actor() {
    let folder = folder();
    let cases = [
        (
            "transport: kafka, handler:",
            "transport \"kafka\" is not among the platform's transports",
        ),
        (
            "replicas: many, handler:",
            "spec.replicas: invalid type: string \"many\", expected a whole number of 0 or more (set by the actor)",
        ),
        (
            "resiliency: {actorTimeout: soon}, handler:",
            "resiliency.actorTimeout is not a timeout: \"soon\" is not a duration",
        ),
    ];
    for (own, message) in cases {
        folder.add("actor.yaml", &ACTOR.replace("handler:", own));
        let run = folder.run("explain actor.yaml -e platform.yaml");
        assert_eq!(run.code, 1, "{own}");
        assert!(run.stderr.contains(message), "{own}: {}", run.stderr);
        assert!(run.output.contains("image "), "{own}: {}", run.output);
    }
    folder.add(
        "actor.yaml",
        &ACTOR.replace("handler:", "flavors: [missing], handler:"),
    );
    let run = folder.run("explain actor.yaml -e platform.yaml");
    assert_eq!((run.code, run.output.as_str()), (1, ""));
    assert!(
        run.stderr
            .contains("Waiting for 1 flavor EnvironmentConfigs: missing"),
        "{}",
        run.stderr
    );
}

#[test]
fn an_actor_that_only_later_steps_refuse_is_not_explained_without_an_error() {
    let folder = folder();
    for (own, code, reason) in [
        ("", "ASYA125", "no handler"),
        (
            "env: [{name: ASYA_TRANSPORT, value: x}], handler: a.b",
            "ASYA420",
            "a reserved variable",
        ),
        (
            "scaling: {minReplicas: 5, maxReplicas: 2}, handler: a.b",
            "ASYA601",
            "contradictory bounds",
        ),
    ] {
        let actor = ACTOR.replace(", handler: app.handle", &format!(", {own}"));
        folder.add("actor.yaml", &actor.replace(", }", "}"));
        let arguments = "actor.yaml -e platform.yaml";
        let [rendered, explained] =
            ["render", "explain"].map(|command| folder.run(&format!("{command} {arguments}")));
        assert_eq!((rendered.code, explained.code), (1, 1), "{reason}");
        assert!(
            explained.stderr.contains(code),
            "{reason}: {}",
            explained.stderr
        );
        assert!(
            explained.output.contains("image "),
            "{reason}: {}",
            explained.output
        );
        let json = folder.run(&format!("explain {arguments} -o json"));
        let documents: Value = serde_json::from_str(&json.output).unwrap();
        assert_eq!(documents[0]["diagnostics"][0]["code"], code, "{reason}");
    }
}

#[test]
fn examples_are_explained_exactly_where_they_are_rendered() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for entry in fs::read_dir(&examples).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if examples.join(&name).join("xr.yaml").exists() {
            let [rendered, explained] = ["render", "explain"]
                .map(|command| run_in(&examples, &format!("{command} {name}")).code);
            assert_eq!(explained, rendered, "{name}");
        }
    }
}

#[test]
fn warnings_of_the_steps_are_shown() {
    let folder = folder();
    folder.add(
        "actor.yaml",
        &ACTOR.replace("handler:", "replicas: 3, handler:"),
    );
    let run = folder.run("explain actor.yaml -e platform.yaml");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("warning: "), "{}", run.stderr);
    assert!(run.stderr.contains("[ASYA113]"), "{}", run.stderr);
}

#[test]
fn rendered_defaults_are_shown_with_their_source() {
    let own = "stateProxy: [{name: s3, mount: {path: /data}, connector: {image: s3:1}}], \
               sidecar: {securityContext: {runAsUser: 1000}}, handler:";
    let folder = folder();
    folder.add("actor.yaml", &ACTOR.replace("handler:", own));
    folder.add(
        "platform.yaml",
        &PLATFORM.replace("data: {", "data: {sidecar: {imagePullPolicy: Always}, "),
    );
    let explained = explained(&folder, "");
    let default = json!({"kind": "default"});
    let from = |from: &str| json!({"kind": "default", "from": from});
    for (path, value, origin) in [
        ("resiliency.actorTimeout", json!("300s"), default.clone()),
        (
            "terminationGracePeriodSeconds",
            json!(330),
            from("runtime timeout + 30s"),
        ),
        (
            "stateProxy[0].writeMode",
            json!("buffered"),
            default.clone(),
        ),
        (
            "stateProxy[0].securityContext.allowPrivilegeEscalation",
            json!(false),
            default.clone(),
        ),
        (
            "sidecar.image",
            json!("asya-sidecar:latest"),
            default.clone(),
        ),
        (
            "sidecar.imagePullPolicy",
            json!("Always"),
            json!({"kind": "platform", "setting": "sidecar.imagePullPolicy"}),
        ),
        (
            "sidecar.securityContext.runAsUser",
            json!(1000),
            json!({"kind": "actor"}),
        ),
        (
            "sidecar.securityContext.allowPrivilegeEscalation",
            json!(false),
            default.clone(),
        ),
        (
            "sidecar.resources.requests.cpu",
            json!("10m"),
            default.clone(),
        ),
        (
            "scaling.advanced.behavior.scaleDown.stabilizationWindowSeconds",
            json!(300),
            default.clone(),
        ),
        (
            "scaling.advanced.restoreToOriginalReplicaCount",
            json!(false),
            default,
        ),
        ("scaling.initialCooldownPeriod", json!(0), from("KEDA")),
    ] {
        assert_eq!(field(&explained, path), (value, origin), "{path}");
    }
    let fields = explained["fields"].as_array().unwrap();
    let probes: Vec<&str> = fields
        .iter()
        .filter_map(|field| field["field"].as_str())
        .filter(|field| field.starts_with("startupProbe."))
        .collect();
    assert!(
        !probes.is_empty(),
        "injected probes of asya-runtime are defaults too"
    );
}

#[test]
fn a_composition_without_flavors_is_not_explained() {
    let composition = "
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: only-queues}
spec:
  compositeTypeRef: {apiVersion: asya.sh/v1alpha1, kind: AsyncActor}
  mode: Pipeline
  pipeline: [{step: queue, functionRef: {name: function-render-queue}}]
";
    let folder = folder();
    folder.add("composition.yaml", composition);
    let run = folder.run("explain actor.yaml composition.yaml");
    assert_eq!((run.code, run.output.as_str()), (1, ""));
    assert!(
        run.stderr
            .contains("Composition \"only-queues\" has no step that runs function-resolve-flavors"),
        "{}",
        run.stderr
    );
}

#[test]
fn placement_of_an_adapter_and_derived_fields_are_shown() {
    let cases = [
        ("apps/v1, kind: Deployment", "Inject", false, "its pods"),
        (
            "kaito.sh/v1beta1, kind: Workspace",
            "Adapter",
            true,
            "its own",
        ),
    ];
    for (target, strategy, has_grace_period, reason) in cases {
        let actor = format!(
            "apiVersion: asya.sh/v1alpha1\nkind: AsyncActor\nmetadata: {{name: bound, namespace: prod}}\n\
             spec: {{workloadRef: {{apiVersion: {target}, name: phi}}, runtime: {{targetURL: \"http://phi\"}}}}\n"
        );
        let folder = Folder::with(&[("actor.yaml", &actor), ("platform.yaml", PLATFORM)]);
        let explained = explained(&folder, "");
        assert_eq!(
            field(&explained, "binding.strategy").0,
            strategy,
            "{reason}"
        );
        let derived = explained["derived"].as_array().unwrap();
        let mut names = derived.iter().map(|derived| &derived["name"]);
        let of_pods = names.any(|name| name == "grace period of pods");
        assert_eq!(of_pods, has_grace_period, "{reason}");
    }
}
