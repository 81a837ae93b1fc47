//! `asya install` as a program.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::Value;

use crate::program::{Folder, Run, names};

const REGISTRY: &str = "registry.example.org/asya";

/// Arguments, kinds and names of the output in their order, and the reason.
const CASES: [(&str, &[&str], &str); 10] = [
    (
        "install --registry registry.example.org/asya --configuration asya-one-step",
        &[
            "ClusterRole asya:compose",
            "ClusterRole asya:provider",
            "ClusterRoleBinding asya:provider",
            "DeploymentRuntimeConfig provider-asya",
            "DeploymentRuntimeConfig asya-functions",
            "PodDisruptionBudget asya-functions",
            "Provider asya-provider-asya",
            "Function asya-function-asya",
            "Configuration asya-one-step",
        ],
        "rights and packages, where nothing is said",
    ),
    (
        "install rights --binding",
        &[
            "ClusterRole asya:compose",
            "ClusterRole asya:provider",
            "ClusterRoleBinding asya:provider",
            "ClusterRole asya:provider-binding",
            "ClusterRoleBinding asya:provider-binding",
        ],
        "the rights to bind are asked for",
    ),
    (
        "install rights --without-rbac-manager",
        &[
            "ClusterRole asya:compose",
            "ClusterRole asya:provider",
            "ClusterRoleBinding asya:provider",
            "ClusterRole asya:crossplane-system",
            "ClusterRoleBinding asya:crossplane-system",
            "ClusterRoleBinding asya:compose",
            "ClusterRole asya:provider-system",
            "ClusterRoleBinding asya:provider-system",
            "Role asya:provider-lease",
            "RoleBinding asya:provider-lease",
        ],
        "what the manager grants is granted here",
    ),
    (
        "install platform",
        &[
            "ClusterProviderConfig rabbitmq",
            "EnvironmentConfig asya-platform",
            "EnvironmentConfig small",
        ],
        "RabbitMQ is the first sample",
    ),
    (
        "install platform --transport sqs",
        &[
            "ClusterProviderConfig sqs",
            "EnvironmentConfig asya-platform",
            "EnvironmentConfig small",
        ],
        "SQS is the other",
    ),
    (
        "install settings",
        &["EnvironmentConfig asya-platform", "EnvironmentConfig small"],
        "settings are of a kind that Crossplane brings",
    ),
    (
        "install provider-config --transport sqs",
        &["ClusterProviderConfig sqs"],
        "its kind comes with the packages",
    ),
    (
        "install --transport rabbitmq --with-defaults --configuration asya-one-step --registry registry.example.org/asya",
        &[
            "ClusterRole asya:compose",
            "ClusterRole asya:provider",
            "ClusterRoleBinding asya:provider",
            "DeploymentRuntimeConfig provider-asya",
            "DeploymentRuntimeConfig asya-functions",
            "PodDisruptionBudget asya-functions",
            "Provider asya-provider-asya",
            "Function asya-function-asya",
            "Configuration asya-one-step",
            "ClusterProviderConfig rabbitmq",
            "EnvironmentConfig asya-platform",
            "EnvironmentConfig small",
            "AsyncActor x-sink",
            "AsyncActor x-sump",
            "AsyncActor happy-end",
            "AsyncActor error-end",
        ],
        "everything that a first actor needs",
    ),
    (
        "install runtime",
        &["ConfigMap asya-runtime"],
        "a platform with runtime.configMap mounts it",
    ),
    (
        "install runtime end-actors platform --registry registry.example.org/asya",
        &[
            "ClusterProviderConfig rabbitmq",
            "EnvironmentConfig asya-platform",
            "EnvironmentConfig small",
            "AsyncActor x-sink",
            "AsyncActor x-sump",
            "AsyncActor happy-end",
            "AsyncActor error-end",
            "ConfigMap asya-runtime",
        ],
        "the order is that of applying, not of typing",
    ),
];

#[test]
fn parts_are_printed_in_the_order_of_application() {
    let folder = Folder::with(&[]);
    for (arguments, expected, reason) in CASES {
        let run = folder.run(arguments);
        assert_eq!(run.code, 0, "{arguments}: {}", run.stderr);
        assert_eq!(names(&run.documents()), expected, "{reason}: {arguments}");
    }
}

/// Crossplane's Deployment has the strategy `RollingUpdate` by default: two providers run during an update then.
#[test]
fn the_provider_has_the_strategy_recreate_or_leader_election() {
    let cases = [
        "install packages --registry registry.example.org/asya",
        "install packages --configuration asya-legacy --registry registry.example.org/asya",
        "install --transport sqs --with-defaults --registry registry.example.org/asya --version 9.9.9",
    ];
    for arguments in cases {
        let documents = Folder::with(&[]).run(arguments).documents();
        let is_named = |object: &&Value, kind: &str, name: &str| {
            object["kind"] == kind && object["metadata"]["name"] == name
        };
        let of = |kind: &str, name: &str| {
            let mut found = documents
                .iter()
                .filter(|object| is_named(object, kind, name));
            found
                .next()
                .unwrap_or_else(|| panic!("{arguments}: {kind} {name}"))
        };
        let reference = &of("Provider", "asya-provider-asya")["spec"]["runtimeConfigRef"]["name"];
        let config = of("DeploymentRuntimeConfig", reference.as_str().unwrap());
        let spec = &config["spec"]["deploymentTemplate"]["spec"];
        let containers = spec["template"]["spec"]["containers"].as_array().unwrap();
        let variables = containers
            .iter()
            .filter_map(|container| container["env"].as_array());
        let has_lease = variables
            .flatten()
            .any(|variable| variable["name"] == "LEADER_ELECTION" && variable["value"] == "true");
        let is_recreated = spec["strategy"]["type"] == "Recreate";
        assert!(is_recreated || has_lease, "{arguments}: {spec}");
        let replicas = spec.get("replicas").and_then(Value::as_u64).unwrap_or(1);
        assert!(replicas == 1 || has_lease, "{arguments}: {spec}");
    }
}

/// Files printed for the registry of `install/` are the same as in the repository, comments included.
#[test]
fn printed_files_keep_their_comments() {
    let install = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../install");
    let cases: [(&str, &[&str]); 5] = [
        (
            "rights --binding",
            &[
                "crossplane/rbac.yaml",
                "provider-asya/rbac.yaml",
                "provider-asya/rbac-binding.yaml",
            ],
        ),
        (
            "packages",
            &[
                "provider-asya/runtime-config.yaml",
                "functions/runtime-config.yaml",
                "functions/disruption-budget.yaml",
                "packages/asya.yaml",
            ],
        ),
        (
            "packages --configuration asya-legacy",
            &[
                "provider-asya/runtime-config.yaml",
                "functions/runtime-config.yaml",
                "functions/disruption-budget.yaml",
                "packages/asya-legacy.yaml",
            ],
        ),
        (
            "platform --transport sqs",
            &[
                "transports/sqs.yaml",
                "platform/sqs.yaml",
                "flavors/small.yaml",
            ],
        ),
        ("end-actors", &["end-actors/actors.yaml"]),
    ];
    for (arguments, files) in cases {
        let run = Folder::with(&[]).run(&format!("install {arguments} --registry {REGISTRY}"));
        let texts = files
            .iter()
            .map(|file| fs::read_to_string(install.join(file)).unwrap());
        let expected: Vec<String> = texts.collect();
        assert_eq!(run.output, expected.join("---\n"), "{arguments}");
    }
}

#[test]
fn registry_version_and_namespaces_are_replaced() {
    let typed = "--registry 127.0.0.1:5000/our/team.eu --version 0.2.0-rc.1 \
        --crossplane-namespace up -n on";
    let folder = Folder::with(&[]);
    let documents = folder
        .run(&format!(
            "install rights packages end-actors runtime --binding --without-rbac-manager {typed}"
        ))
        .rendered();
    let text = |object: &Value, pointer: &str| {
        let value = object.pointer(pointer).and_then(Value::as_str);
        value.map(str::to_owned)
    };
    let mut images = 0;
    for object in &documents {
        let kind = text(object, "/kind").unwrap();
        let name = text(object, "/metadata/name").unwrap();
        match kind.as_str() {
            "ClusterRoleBinding" | "RoleBinding" => {
                let namespace = text(object, "/subjects/0/namespace");
                assert_eq!(namespace.as_deref(), Some("up"), "{name}");
            }
            "Provider" | "Function" | "Configuration" => {
                let package = text(object, "/spec/package").unwrap();
                let package = package.strip_prefix("127.0.0.1:5000/our/team.eu/").unwrap();
                let package = package.strip_suffix(":0.2.0-rc.1").unwrap();
                let expected = match kind.as_str() {
                    "Configuration" => package.to_owned(),
                    _ => format!("our-team-eu-{package}"),
                };
                assert_eq!(name, expected);
                images += 1;
            }
            "AsyncActor" => {
                let image = "127.0.0.1:5000/our/team.eu/asya-end-actors:0.2.0-rc.1";
                assert_eq!(text(object, "/spec/image").as_deref(), Some(image));
                images += 1;
            }
            _ => {}
        }
        let namespace = text(object, "/metadata/namespace");
        match kind.as_str() {
            "AsyncActor" | "ConfigMap" => assert_eq!(namespace.as_deref(), Some("on"), "{name}"),
            "Role" | "RoleBinding" | "PodDisruptionBudget" => {
                assert_eq!(namespace.as_deref(), Some("up"), "{name}");
            }
            _ => assert_eq!(namespace, None, "{name}"),
        }
    }
    assert_eq!(images, 9 + 4, "packages and end actors");
}

#[test]
fn runtime_config_map_has_the_newest_script() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../runtime/asya_runtime.py");
    let documents = Folder::with(&[]).run("install runtime").rendered();
    let expected = fs::read_to_string(script).unwrap();
    assert_eq!(documents[0]["data"]["asya_runtime.py"], expected);
}

#[test]
fn invalid_arguments_are_refused() {
    let folder = Folder::with(&[]);
    let cases = [
        (
            "install",
            "error: part \"packages\" needs images from a registry of yours, and none is given\n\
             hint: give it with --registry, ",
            "nobody publishes packages",
        ),
        (
            "install end-actors",
            "error: part \"end-actors\" needs images",
            "nor images",
        ),
        (
            "install --registry https://registry.example.org",
            "write it as registry.example.org/asya",
            "a scheme is none",
        ),
        (
            "install --version v1:2 --registry registry.example.org/asya",
            "expected the tag of an image",
            "a tag has no colon",
        ),
        (
            "install everything",
            "[possible values: rights, packages, settings, provider-config, platform, end-actors, runtime]",
            "no such part",
        ),
        (
            "install rights --with-defaults",
            "cannot be used with",
            "which parts are the defaults is fixed",
        ),
        (
            "install rights --context live",
            "--apply",
            "nothing is asked of a cluster otherwise",
        ),
    ];
    for (arguments, message, reason) in cases {
        let run = folder.run(arguments);
        assert_eq!((run.code, run.output.as_str()), (2, ""), "{reason}");
        assert!(run.stderr.contains(message), "{reason}: {}", run.stderr);
    }
}

/// Runs the program where kubectl is this script; what it was called with, and what it was given.
fn with_kubectl(script: &str, arguments: &str) -> (Run, String, String) {
    let folder = Folder::with(&[("bin/kubectl", &format!("#!/bin/sh\n{script}"))]);
    let at = |name: &str| folder.path().join(name);
    fs::set_permissions(at("bin/kubectl"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = folder.command(arguments);
    let path = format!("{}:/usr/bin:/bin", at("bin").display());
    let output = command.env("PATH", path).output().unwrap();
    let read = |name: &str| fs::read_to_string(at(name)).unwrap_or_default();
    (Run::of(output), read("calls"), read("given"))
}

const TAKES_ALL: &str = r#"echo "$*" >> calls; cat >> given
case $1 in get) printf 5a1c-uid ;; *) echo "$1: done" ;; esac"#;

#[test]
fn sample_of_credentials_has_an_owner_that_the_cluster_identifies() {
    let cases = [
        ("install platform", "my-cluster", "a sample to edit"),
        ("install platform --owner-id east", "east", "as typed"),
        (
            "install platform --transport sqs --owner-id 007",
            "\"007\"",
            "a text",
        ),
    ];
    for (arguments, owner, reason) in cases {
        let run = Folder::with(&[]).run(arguments);
        let line = format!("  ownerID: {owner}\n");
        assert!(run.output.contains(&line), "{reason}: {}", run.output);
        let is_warned = run.stderr.contains("give --owner-id");
        assert_eq!(is_warned, owner == "my-cluster", "{}", run.stderr);
    }
    let (run, calls, given) = with_kubectl(TAKES_ALL, "install platform --apply");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(given.contains("  ownerID: \"5a1c-uid\"\n"), "{given}");
    assert_eq!(
        calls,
        "get namespace kube-system --output jsonpath={.metadata.uid}\napply --filename -\n"
    );
    let refused = Folder::with(&[]).run("install platform --owner-id a/b");
    assert_eq!(refused.code, 2, "{}", refused.output);
}

#[test]
fn apply_applies_the_printed_parts_and_waits_for_packages() {
    let arguments = "install rights packages platform end-actors --owner-id east --configuration asya-one-step \
        --registry registry.example.org/asya";
    let printed = Folder::with(&[]).run(arguments);
    let typed = format!("{arguments} --apply --context live");
    let (run, calls, given) = with_kubectl(TAKES_ALL, &typed);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(
        calls,
        "apply --filename - --context live\n\
         apply --filename - --context live\n\
         wait --timeout=5m --for=condition=Healthy providers.pkg.crossplane.io/asya-provider-asya \
         functions.pkg.crossplane.io/asya-function-asya configurations.pkg.crossplane.io/asya-one-step \
         --context live\n\
         wait --timeout=5m --for=condition=Established \
         compositeresourcedefinitions.apiextensions.crossplane.io/asyncactors.asya.sh --context live\n\
         apply --filename - --context live\n\
         apply --filename - --context live\n"
    );
    let applied = actor::yaml::documents(&given.replace("\napiVersion: ", "\n---\napiVersion: "));
    let applied: Vec<Value> = applied
        .unwrap()
        .into_iter()
        .filter(Value::is_object)
        .collect();
    assert_eq!(applied, printed.documents());
    assert_eq!(
        run.output,
        "apply: done\napply: done\nwait: done\nwait: done\napply: done\napply: done\n"
    );
    assert!(
        run.stderr
            .contains("note: waiting until the packages are healthy")
    );
}

#[test]
fn apply_does_not_wait_for_unneeded_packages() {
    let cases = [
        (
            "install rights packages --registry registry.example.org/asya",
            2,
        ),
        (
            "install platform end-actors --owner-id east --registry registry.example.org/asya",
            2,
        ),
        ("install runtime", 1),
    ];
    for (arguments, expected) in cases {
        let (run, calls, _) = with_kubectl(TAKES_ALL, &format!("{arguments} --apply"));
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{arguments}");
        assert_eq!(
            calls,
            "apply --filename -\n".repeat(expected),
            "{arguments}"
        );
    }
}

#[test]
fn apply_stops_at_the_first_failure() {
    let script = r#"
echo "$*" >> calls; cat > /dev/null
case "$(wc -l < calls)" in
1) echo "applied" ;;
*) echo "no kind Provider is served" >&2; exit 1 ;;
esac
"#;
    let arguments = "install rights packages platform --owner-id east --registry registry.example.org/asya --apply";
    let (run, calls, _) = with_kubectl(script, arguments);
    assert_eq!((run.code, run.output.as_str()), (2, "applied\n"));
    assert_eq!(
        run.stderr,
        "no kind Provider is served\nerror: part \"packages\": kubectl apply failed: see above\n"
    );
    assert_eq!(calls.lines().count(), 2);

    let waits = r#"cat > /dev/null; case "$1" in wait) echo "timed out" >&2; exit 1 ;; esac"#;
    let (run, ..) = with_kubectl(waits, arguments);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr
            .contains("error: kubectl wait failed: see above\nhint: "),
        "{}",
        run.stderr
    );

    let folder = Folder::with(&[]);
    let mut command = folder.command("install rights --apply");
    let run = Run::of(command.env("PATH", folder.path()).output().unwrap());
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("cannot run kubectl: "),
        "{}",
        run.stderr
    );
}
