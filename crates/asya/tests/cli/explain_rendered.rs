//! `asya explain`: the leaves of rendered objects.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::program::{ACTOR, Folder, PLATFORM};

/// A flavor that gives the workload of its actors.
const WORKLOAD: &str = "
apiVersion: apiextensions.crossplane.io/v1beta1
kind: EnvironmentConfig
metadata: {name: base}
data: {workload: {template: {spec: {containers: [{name: asya-runtime}]}}}}
";
/// A flavor of the example with an image for adapters.
const IMAGE: &str = "
apiVersion: apiextensions.crossplane.io/v1beta1
kind: EnvironmentConfig
metadata: {name: image}
data: {image: 'adapter:2', resources: {requests: {cpu: 3}}}
";

fn folder(own: &str) -> Folder {
    let own = format!("flavors: [base], {own}, handler:");
    Folder::with(&[
        ("actor.yaml", &ACTOR.replace("handler:", &own)),
        ("base.yaml", WORKLOAD),
        ("platform.yaml", PLATFORM),
    ])
}

fn explained(folder: &Folder, arguments: &str) -> Value {
    let run = folder.run(&format!(
        "explain platform.yaml base.yaml {arguments} -o json"
    ));
    let documents: Value = serde_json::from_str(&run.output).unwrap();
    documents[0].clone()
}

#[test]
fn secrets_of_fields_that_are_copied_into_a_template_are_masked() {
    let folder = folder(
        "livenessProbe: {httpGet: {port: 1, httpHeaders: [{name: Authorization, value: secret-1}]}}, \
         readinessProbe: {exec: {command: [secret-2]}}, \
         lifecycle: {preStop: {httpGet: {port: 1, httpHeaders: [{name: T, value: secret-3}]}}, \
                     postStart: {exec: {command: [sh, secret-4]}}}",
    );
    for form in ["table", "json", "yaml", "table --all", "json --all"] {
        let run = folder.run(&format!(
            "explain actor.yaml base.yaml platform.yaml -o {form}"
        ));
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert!(run.output.contains("httpHeaders"), "{form}: {}", run.output);
        assert!(!run.output.contains("secret-"), "{form}: {}", run.output);
    }
}

/// The origin of a field.
fn origin(explained: &Value, path: &str) -> Value {
    let mut fields = explained["fields"].as_array().unwrap().iter();
    let field = fields.find(|field| field["field"] == path);
    field.unwrap_or_else(|| panic!("no {path} in {explained}"))["origin"].clone()
}

/// Path of a template's pod.
const POD: &str = "workload.template.spec.";

#[test]
fn fields_that_are_copied_into_a_template_have_the_origin_of_the_actor() {
    let folder = folder(
        "resources: {requests: {cpu: 2}}, terminationGracePeriodSeconds: 400, \
         securityContext: {fsGroup: 7}, containerSecurityContext: {runAsUser: 8}",
    );
    let actor = json!({"kind": "actor"});
    let default = json!({"kind": "default"});
    let cases = [
        ("containers[0].resources.requests.cpu", &actor),
        ("terminationGracePeriodSeconds", &actor),
        ("securityContext.fsGroup", &actor),
        ("containers[0].securityContext.runAsUser", &actor),
        ("containers[0].startupProbe.failureThreshold", &default),
    ];
    let explained = explained(&folder, "actor.yaml");
    for (path, expected) in cases {
        assert_eq!(origin(&explained, &format!("{POD}{path}")), *expected);
    }
}

#[test]
fn fields_that_a_flavor_gives_to_an_adapter_have_the_origin_of_the_flavor() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/kserve-binding");
    let folder = Folder::with(&[("image.yaml", IMAGE)]);
    for file in ["platform.yaml", "observed.yaml"] {
        let text = fs::read_to_string(example.join(file)).unwrap();
        folder.add(file, &text);
    }
    let actor = fs::read_to_string(example.join("xr.yaml")).unwrap();
    let actor = actor.replace("\nspec:\n", "\nspec:\n  flavors: [image]\n");
    folder.add("xr.yaml", &actor);
    let run = folder
        .run("explain xr.yaml platform.yaml image.yaml --observed-resources observed.yaml -o json");
    let explained: Value = serde_json::from_str(&run.output).unwrap();
    let flavor = json!({"kind": "flavor", "name": "image"});
    for path in ["runtime.image", "runtime.resources.requests.cpu"] {
        assert_eq!(origin(&explained[0], path), flavor);
    }
}

#[test]
fn every_leaf_of_the_pod_is_shown_once() {
    let folder = folder("resources: {requests: {cpu: 2}}, env: [{name: MINE, value: x}]");
    let inline = ACTOR.replace("handler:", "podLabels: {mine: x}, handler:");
    folder.add("inline.yaml", &inline);
    for file in ["actor.yaml", "inline.yaml"] {
        let explained = explained(&folder, &format!("{file} --all"));
        let rendered = explained["rendered"].as_array().unwrap();
        let fields: Vec<&str> = rendered
            .iter()
            .map(|leaf| leaf["field"].as_str().unwrap())
            .collect();
        for expected in [
            "metadata.labels[asya.sh/actor]",
            "spec.containers[asya-sidecar].env[ASYA_ACTOR_NAME].value",
            "spec.containers[asya-runtime].volumeMounts[/var/run/asya].name",
            "spec.containers[asya-sidecar].livenessProbe.httpGet.path",
            "spec.containers[asya-sidecar].ports[asya-metrics].containerPort",
        ] {
            assert!(
                fields.contains(&expected),
                "{file}: {expected}: {fields:#?}"
            );
        }
        for own in [
            "mine",
            "MINE",
            "].resources",
            "asya-runtime].startupProbe",
            ".image",
        ] {
            let mut found = fields.iter().filter(|field| field.contains(own));
            let is_allowed = found.all(|field| field.contains("initContainers"));
            assert!(is_allowed, "{file}: {own}: {fields:#?}");
        }
    }
}

#[test]
fn further_leaves_are_counted_unless_all_are_shown() {
    let folder = folder("resources: {}");
    let counted = folder.run("explain actor.yaml base.yaml platform.yaml");
    let last = counted.output.lines().last().unwrap();
    assert!(
        last.ends_with(" more defaults of the rendered objects: --all shows them"),
        "{last}"
    );
    let all = folder.run("explain actor.yaml base.yaml platform.yaml --all");
    let (_, table) = all.output.split_once("\nRENDERED BY DEFAULT").unwrap();
    let rows = table.lines().count() - 1;
    assert!(last.starts_with(&format!("{rows} ")), "{last}: {rows}");
    assert!(explained(&folder, "actor.yaml").get("rendered").is_none());
}
