//! Packages and Compositions: that they fit together. What is made of them: `images.rs`.

use std::process::Command;

use serde_json::{Value, json};
use test_cluster::components;
use tests::examples::documents;
use tests::packages::metadata_of;
use tests::program::{repository, talk};

/// The steps of the pipeline, in their order.
const STEPS: [&str; 6] = [
    "resolve-flavors",
    "render-queue",
    "render-deployment",
    "inject-sidecar",
    "render-scaledobject",
    "report-status",
];

/// Each Configuration, and the folders below `apis/` whose Compositions it has. The first one's
/// definition goes with it.
const CONFIGURATIONS: &[(&str, &[&str])] = &[
    (
        "asya",
        &["asyncactors.asya.sh", "one-step.asyncactors.asya.sh"],
    ),
    ("asya-one-step", &["one-step.asyncactors.asya.sh"]),
    ("asya-legacy", &["xasyncactors.asya.sh"]),
];

fn document(path: &str) -> Value {
    let mut documents = documents(&repository().join(path));
    assert_eq!(documents.len(), 1, "{path}");
    documents.remove(0)
}

#[test]
fn the_composition_runs_every_step_in_its_order() {
    let composition = document("apis/asyncactors.asya.sh/composition.yaml");
    let pipeline = composition["spec"]["pipeline"].as_array().unwrap();
    assert_eq!(pipeline.len(), STEPS.len());
    for (given, step) in pipeline.iter().zip(STEPS) {
        assert_eq!(given["step"], step);
        assert_eq!(given["functionRef"]["name"], format!("function-{step}"));
    }
    let bootstrap = &pipeline[0]["requirements"]["requiredResources"];
    let (api_version, kind) = actor::ENVIRONMENT_CONFIG;
    assert_eq!(
        *bootstrap,
        json!([{
            "requirementName": "platform",
            "apiVersion": api_version,
            "kind": kind,
            "name": actor::names::PLATFORM,
        }])
    );
}

#[test]
fn each_definition_finds_its_composition() {
    let mut pipelines = Vec::new();
    for (name, kind) in [
        ("asyncactors.asya.sh", "AsyncActor"),
        ("xasyncactors.asya.sh", "XAsyncActor"),
        ("one-step.asyncactors.asya.sh", "AsyncActor"),
    ] {
        let definition = document(&format!("apis/{name}/definition.yaml"));
        let composition = document(&format!("apis/{name}/composition.yaml"));
        let defined = name.trim_start_matches("one-step.");
        assert_eq!(definition["metadata"]["name"], defined);
        assert_eq!(definition["spec"]["names"]["kind"], kind);
        let default = &definition["spec"]["defaultCompositionRef"]["name"];
        assert_eq!(composition["metadata"]["name"], *default);
        let of = &composition["spec"]["compositeTypeRef"];
        assert_eq!(*of, json!({"apiVersion": "asya.sh/v1alpha1", "kind": kind}));
        pipelines.push(composition["spec"]["pipeline"].clone());
    }
    assert_eq!(pipelines[0], pipelines[1], "they differ in names alone");
    let one_step = pipelines[2].as_array().unwrap();
    assert_eq!(one_step.len(), 1);
    assert_eq!(one_step[0]["functionRef"]["name"], "function-asya");
    assert_eq!(one_step[0]["input"], Value::Null, "all steps run");
    let bootstrap = &pipelines[0][0]["requirements"];
    assert_eq!(one_step[0]["requirements"], *bootstrap);
}

#[test]
fn each_configuration_depends_on_its_functions_and_the_provider() {
    for (name, pairs) in CONFIGURATIONS {
        let configuration = document(&metadata_of(name));
        assert_eq!(configuration["metadata"]["name"], *name);
        let functions = pairs.iter().flat_map(|pair| {
            let composition = document(&format!("apis/{pair}/composition.yaml"));
            let steps = composition["spec"]["pipeline"].as_array().unwrap().clone();
            let function = |step: &Value| step["functionRef"]["name"].as_str().unwrap().to_owned();
            steps.iter().map(function).collect::<Vec<_>>()
        });
        let functions = functions.map(|function| ("Function", function));
        let provider = ("Provider", "provider-asya".to_owned());
        let expected: Vec<Value> = functions
            .chain([provider])
            .map(|(kind, package)| {
                json!({
                    "apiVersion": "pkg.crossplane.io/v1",
                    "kind": kind,
                    "package": format!("${{REGISTRY}}/{package}"),
                    "version": "^${VERSION}",
                })
            })
            .collect();
        let needed = configuration["spec"]["dependsOn"].as_array().unwrap();
        assert_eq!(*needed, expected, "{name}");
    }
}

#[test]
fn each_function_package_has_its_name_and_the_composition_capability() {
    for step in STEPS.into_iter().chain(["asya"]) {
        let package = document(&format!("package/function-{step}/crossplane.yaml"));
        assert_eq!(package["metadata"]["name"], format!("function-{step}"));
        assert_eq!(
            package["spec"],
            json!({"capabilities": ["composition"], "crossplane": {"version": ">=v2.0.0"}})
        );
        for annotation in ["maintainer", "source", "license", "description", "readme"] {
            let text =
                &package["metadata"]["annotations"][format!("meta.crossplane.io/{annotation}")];
            assert!(text.is_string(), "{step}: {annotation}");
        }
        let input = document(&format!(
            "package/function-{step}/input/{step}.fn.asya.sh_inputs.yaml"
        ));
        assert_eq!(input["spec"]["group"], format!("{step}.fn.asya.sh"));
    }
}

#[test]
fn the_example_of_the_provider_is_valid_for_its_kinds() {
    if components::is_skipped("the crossplane CLI") {
        return;
    }
    let package = repository().join("package/provider-asya");
    let output = Command::new(components::program("crossplane"))
        .args([
            "resource",
            "validate",
            "--crossplane-image=",
            "--error-on-missing-schemas",
        ])
        .args([package.join("crds"), package.join("examples")])
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{printed} {}", talk(&output));
}
