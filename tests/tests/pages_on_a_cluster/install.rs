//! The manifests in `install/` fit each other and the packages.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tests::examples::documents;
use tests::manifests::files_below;
use tests::packages::metadata_of;
use tests::program::{self, asya, repository, talk};

/// The Configurations, of which a cluster has one.
const CONFIGURATIONS: [&str; 3] = ["asya", "asya-one-step", "asya-legacy"];

/// The registry of packages in the manifests.
const REGISTRY: &str = "registry.example.org/asya/";

fn of(file: &str) -> Vec<Value> {
    documents(&repository().join("install").join(file))
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    let text = object.pointer(pointer).and_then(Value::as_str);
    text.unwrap_or_else(|| panic!("{pointer} of {object}"))
}

/// A package's name and tag.
fn package(object: &Value) -> (&str, &str) {
    let package = text(object, "/spec/package");
    let named = package.strip_prefix(REGISTRY).expect(package);
    named.split_once(':').expect(package)
}

#[test]
fn dependencies_of_a_configuration_are_installed_under_the_names_that_crossplane_gives() {
    for configuration in CONFIGURATIONS {
        let metadata = metadata_of(configuration);
        let metadata = documents(&repository().join(metadata)).remove(0);
        let depends_on = metadata["spec"]["dependsOn"].as_array().unwrap();
        let mut expected: BTreeSet<String> = depends_on
            .iter()
            .map(|dependency| {
                let name = text(dependency, "/package");
                let name = name.strip_prefix("${REGISTRY}/").unwrap();
                format!("{} asya-{name}", text(dependency, "/kind"))
            })
            .collect();
        expected.insert(format!("Configuration {configuration}"));
        let installed = of(&format!("packages/{configuration}.yaml"));
        let mut found = BTreeSet::new();
        for object in &installed {
            let kind = text(object, "/kind");
            let (name, tag) = package(object);
            assert_eq!(tag, concat!("v", env!("CARGO_PKG_VERSION")), "{name}");
            let of_kind = match kind {
                "Provider" => Some("provider-asya"),
                "Function" => Some("asya-functions"),
                _ => None,
            };
            let runtime = object.pointer("/spec/runtimeConfigRef/name");
            assert_eq!(runtime.and_then(Value::as_str), of_kind, "{name}");
            let prefix = if of_kind.is_some() { "asya-" } else { "" };
            assert_eq!(text(object, "/metadata/name"), format!("{prefix}{name}"));
            found.insert(format!("{kind} {}", text(object, "/metadata/name")));
        }
        assert_eq!(found, expected, "{configuration}");
        assert_eq!(found.len(), installed.len(), "{configuration}: none twice");
    }
}

#[test]
fn the_end_actors_render_on_each_transport_with_existing_handlers() {
    let handlers = std::fs::read_to_string(repository().join("runtime/end_actors/__init__.py"));
    let handlers = handlers.unwrap();
    let mut names = BTreeSet::new();
    for actor in of("end-actors/actors.yaml") {
        let name = text(&actor, "/metadata/name").to_owned();
        let handler = text(&actor, "/spec/handler");
        let function = handler.strip_prefix("end_actors.").expect(handler);
        assert_eq!(function.replace('_', "-"), name);
        assert!(handlers.contains(&format!("\ndef {function}(payload, metadata=None):\n")));
        let image = text(&actor, "/spec/image").strip_prefix(REGISTRY);
        let expected = concat!("asya-end-actors:v", env!("CARGO_PKG_VERSION"));
        assert_eq!(image, Some(expected));
        names.insert(name);
    }
    let expected = ["error-end", "happy-end", "x-sink", "x-sump"];
    assert!(names.iter().eq(expected), "{names:?}");
    for transport in ["rabbitmq", "sqs"] {
        let platform = format!("install/platform/{transport}.yaml");
        let actors = "install/end-actors/actors.yaml";
        let output = asya(&["render", actors, "--required-resources", &platform]);
        assert!(output.status.success(), "{}", talk(&output));
        let rendered = program::documents(&output);
        for kind in ["Queue", "Deployment", "ScaledObject", "ActorHealth"] {
            let of_kind = rendered.iter().filter(|object| object["kind"] == kind);
            let of_kind: BTreeSet<&str> = of_kind
                .map(|object| text(object, "/metadata/name"))
                .collect();
            assert!(of_kind.iter().eq(&expected), "{transport}: {kind}");
        }
        let config = &of(&format!("transports/{transport}.yaml"))[0];
        for queue in rendered.iter().filter(|object| object["kind"] == "Queue") {
            let reference = &queue["spec"]["providerConfigRef"];
            assert_eq!(reference["kind"], config["kind"]);
            assert_eq!(reference["name"], config["metadata"]["name"]);
        }
        let flavor = "install/flavors/small.yaml";
        let output = asya(&["lint", "--strict", actors, &platform, flavor]);
        assert!(output.status.success(), "{}", talk(&output));
    }
}

#[test]
fn probes_use_the_ports_on_which_programs_listen() {
    let cases = [
        ("functions/runtime-config.yaml", "function-asya"),
        ("provider-asya/runtime-config.yaml", "provider-asya"),
    ];
    for (file, name) in cases {
        let output = Command::new(program::path(name)).arg("--help").output();
        let help = String::from_utf8(output.unwrap().stdout).unwrap();
        let config = of(file).remove(0);
        let pod = "/spec/deploymentTemplate/spec/template/spec";
        let containers = config.pointer(pod).unwrap()["containers"].as_array();
        let [container] = containers.unwrap().as_slice() else {
            panic!("{file}: one container");
        };
        assert_eq!(
            container["name"], "package-runtime",
            "as Crossplane calls it"
        );
        for probe in ["readinessProbe", "livenessProbe"] {
            let ports =
                ["grpc", "tcpSocket", "httpGet"].map(|kind| &container[probe][kind]["port"]);
            let mut ports = ports.into_iter().filter_map(Value::as_u64);
            let port = ports.next().unwrap_or_else(|| panic!("{file}: {probe}"));
            assert!(
                help.contains(&format!(":{port}]")),
                "{file}: {probe}: {help}"
            );
        }
    }
}

#[test]
fn every_file_is_listed() {
    let folder = repository().join("install");
    let page = std::fs::read_to_string(folder.join("README.md")).unwrap();
    let files = files_below(&folder);
    let of_yaml = |file: &&std::path::PathBuf| file.extension().is_some_and(|end| end == "yaml");
    let names = files.iter().filter(of_yaml).map(|file| {
        let name: &Path = file.strip_prefix(&folder).unwrap();
        name.display().to_string()
    });
    let missing: Vec<String> = names
        .filter(|name| !page.contains(&format!("({name})")))
        .collect();
    assert!(
        missing.is_empty(),
        "install/README.md does not list {missing:?}"
    );
}
