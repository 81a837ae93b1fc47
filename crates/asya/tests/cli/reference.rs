//! `asya docs`, `asya schema` and `asya version` as programs.

use crate::program::Folder;
use serde_json::{Value, json};

#[test]
fn docs_of_a_field_have_type_description_and_children() {
    let folder = Folder::with(&[]);
    let run = folder.run("docs scaling");
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert!(
        run.output
            .starts_with("FIELD: spec.scaling <object>\n\nDESCRIPTION:\n    ")
    );
    assert!(
        run.output.contains("\n  minReplicaCount <integer>\n    "),
        "{}",
        run.output
    );
    let run = folder.run("docs scalling");
    assert_eq!((run.code, run.output.as_str()), (1, ""));
    let error = "error: spec has no field \"scalling\", did you mean \"scaling\"?\n";
    assert_eq!(run.stderr, error);
}

#[test]
fn schema_is_json_with_closed_objects() {
    let folder = Folder::with(&[]);
    let run = folder.run("schema actor");
    let schema: Value = serde_json::from_str(&run.output).unwrap();
    assert_eq!(schema["properties"]["kind"], json!({"const": "AsyncActor"}));
    assert_eq!(schema["properties"]["spec"]["additionalProperties"], false);
    let all: Value = serde_json::from_str(&folder.run("schema").output).unwrap();
    assert_eq!(all["allOf"].as_array().unwrap().len(), 2);
}

#[test]
fn version_lists_our_packages_and_warns_of_other_versions() {
    let packages = json!({"kind": "List", "apiVersion": "v1", "items": [
        {"apiVersion": "pkg.crossplane.io/v1", "kind": "Configuration", "metadata": {"name": "asya"},
         "spec": {"package": "registry.example.org:5000/team/asya:v0.0.9"},
         "status": {"conditions": [{"type": "Healthy", "status": "True"}]}},
        {"apiVersion": "pkg.crossplane.io/v1", "kind": "Function", "metadata": {"name": "team-function-asya"},
         "spec": {"package": concat!("registry.example.org/team/function-asya:v", env!("CARGO_PKG_VERSION"))}},
        {"apiVersion": "pkg.crossplane.io/v1", "kind": "Function", "metadata": {"name": "other"},
         "spec": {"package": "registry.example.org/team/function-kcl:v1.0.0"}},
    ]});
    let folder = Folder::with(&[("packages.json", &packages.to_string())]);
    let own = env!("CARGO_PKG_VERSION");
    let (run, _) = folder.run_with_kubectl("cat packages.json", "version");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(
        run.output,
        format!(
            "asya {own}\nKubernetes not found\nCrossplane not found\nKEDA not found\n\
             Configuration asya v0.0.9, healthy\n\
             Function team-function-asya v{own}, health unknown\n"
        )
    );
    let warning = format!("warning: Configuration asya has version v0.0.9, this program {own}\n");
    assert_eq!(run.stderr, warning);
    let (run, calls) = folder.run_with_kubectl("echo called > calls", "version --client");
    assert_eq!((run.output, calls.as_str()), (format!("asya {own}\n"), ""));
}

#[test]
fn docs_have_fields_of_the_status_and_of_kubernetes() {
    let folder = Folder::with(&[]);
    let cases = [
        (
            "status",
            "FIELD: status <object>",
            "\n  message <string>\n    Details of the status",
        ),
        (
            "status.message",
            "FIELD: status.message <string>",
            "Details of the status",
        ),
        (
            "status.status",
            "FIELD: status.status <string>",
            "\n  Napping\n    scaled to zero",
        ),
        (
            "status.conditions.reason",
            "FIELD: status.conditions.reason <string> -required-",
            "\n  QueueNotOwned (TransportReady is False)\n    the queue exists",
        ),
        (
            "spec.workload.template.spec.containers.resources",
            "FIELD: spec.workload.template.spec.containers.resources <ResourceRequirements>",
            "`kubectl explain deployment.spec.template.spec.containers.resources` describes it.",
        ),
        (
            "spec.sidecar.env.valueFrom",
            "FIELD: spec.sidecar.env.valueFrom <EnvVarSource>",
            "\n  secretKeyRef <SecretKeySelector>\n",
        ),
        (
            "env.name",
            "FIELD: spec.env.name <string> -required-",
            "pod.spec.containers.env.name",
        ),
        (
            "tolerations.effect",
            "VALUES: NoSchedule, ",
            "pod.spec.tolerations.effect",
        ),
        (
            "metadata.name",
            "FIELD: metadata.name <string>",
            "pod.metadata.name",
        ),
    ];
    for (field, first, part) in cases {
        let run = folder.run(&format!("docs {field}"));
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{field}");
        for expected in [first, part] {
            assert!(run.output.contains(expected), "{expected}: {}", run.output);
        }
    }
}

#[test]
fn schema_has_the_types_of_kubernetes() {
    let folder = Folder::with(&[]);
    let run = folder.run("schema");
    assert!(run.output.len() < 300_000, "{} bytes", run.output.len());
    let schema: Value = serde_json::from_str(&folder.run("schema actor").output).unwrap();
    let spec = &schema["properties"]["spec"]["properties"];
    let variable = "#/definitions/EnvVar";
    assert_eq!(spec["env"]["items"], json!({"$ref": variable}));
    assert_eq!(
        schema["definitions"]["EnvVar"],
        json!({
            "type": "object",
            "required": ["name"],
            "properties": {
                "name": {"type": "string"},
                "value": {"type": "string"},
                "valueFrom": {"$ref": "#/definitions/EnvVarSource"},
            },
            "additionalProperties": false,
        })
    );
}
