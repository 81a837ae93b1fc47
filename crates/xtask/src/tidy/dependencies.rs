//! Invariants of the dependency graph: which crate may use which, and forbidden ones.

use super::Violation;
use crate::workspace::{Metadata, Package};

/// Our crates from bottom to top. A crate may use those of lower layers, and none of its own.
const LAYERS: &[&[&str]] = &[
    &["merge", "function-proto"],
    &["actor"],
    &["function-kit", "test-cluster"],
    &["asya-sidecar", "function-server", "pipeline"],
    &[
        "function-inject-sidecar",
        "function-render-deployment",
        "function-render-queue",
        "function-render-scaledobject",
        "function-report-status",
        "function-resolve-flavors",
        "provider-asya",
    ],
    &["function-asya"],
    &["asya"],
    &["bench", "bench-echo", "tests", "xtask"],
];

/// Crates whose dependencies, those of their tests apart, are fixed.
const FIXED: &[(&str, &[&str])] = &[("merge", &["serde_json", "thiserror"])];

/// Crates that may not be in the graph at all, even by way of others.
const BANNED: &[(&str, &str)] = &[
    (
        "serde_yaml",
        "is deprecated and writes strings such as `on` unquoted: use serde-saphyr",
    ),
    ("serde_yml", "is unsound and unmaintained: use serde-saphyr"),
];

/// Crates that our own manifests may not name; others may bring them.
const BANNED_DIRECTLY: &[(&str, &str)] = &[("lazy_static", "use `std::sync::LazyLock`")];

/// Features that may be on nowhere, since features are shared by the whole graph.
const BANNED_FEATURES: &[(&str, &str, &str)] = &[(
    "serde_json",
    "preserve_order",
    "it makes the order of our output depend on the order of the input",
)];

/// Violations in the dependency graph, member by member and then as a whole.
pub(super) fn check(metadata: &Metadata) -> Vec<Violation> {
    let mut violations = Vec::new();
    for member in metadata.members() {
        let manifest = metadata.manifest_of(member);
        let messages = [
            layers(member),
            fixed(member),
            banned_directly(member),
            version(member),
        ];
        let messages = messages.into_iter().flatten();
        violations.extend(messages.map(|message| Violation::new(manifest.clone(), message)));
    }
    for (name, reason) in BANNED {
        if metadata
            .packages
            .iter()
            .any(|package| package.name == *name)
        {
            violations.push(Violation::new("Cargo.lock", format!("{name} {reason}")));
        }
    }
    for (name, feature, reason) in BANNED_FEATURES {
        if metadata.features_of(name).contains(feature) {
            let message = format!(
                "feature {feature:?} of {name} is on, and {reason}: \
                 `cargo tree --all-features --invert {name} --edges features` shows who asks for it"
            );
            violations.push(Violation::new("Cargo.toml", message));
        }
    }
    violations
}

/// Dependencies of any kind that point upward or sideways.
fn layers(member: &Package) -> Vec<String> {
    let Some(own) = layer(&member.name) else {
        return vec![
            "this crate is in no layer: add it to LAYERS in `cargo xtask tidy`".to_owned(),
        ];
    };
    member
        .dependencies
        .iter()
        .filter(|dependency| layer(&dependency.name).is_some_and(|layer| layer >= own))
        .map(|used| format!("depends on {}, which is not in a lower layer", used.name))
        .collect()
}

fn layer(name: &str) -> Option<usize> {
    LAYERS.iter().position(|names| names.contains(&name))
}

fn fixed(member: &Package) -> Vec<String> {
    let Some((_, allowed)) = FIXED.iter().find(|(name, _)| *name == member.name) else {
        return Vec::new();
    };
    member
        .dependencies
        .iter()
        .filter(|dependency| dependency.kind.as_deref() != Some("dev"))
        .filter(|dependency| !allowed.contains(&dependency.name.as_str()))
        .map(|used| {
            format!(
                "depends on {}, but may only use {}",
                used.name,
                allowed.join(" and ")
            )
        })
        .collect()
}

fn banned_directly(member: &Package) -> Vec<String> {
    BANNED_DIRECTLY
        .iter()
        .filter(|(name, _)| member.dependencies.iter().any(|used| used.name == *name))
        .map(|(name, reason)| format!("depends on {name}: {reason}"))
        .collect()
}

/// All crates are released together; this one takes the workspace's version, so must the others.
fn version(member: &Package) -> Vec<String> {
    let expected = env!("CARGO_PKG_VERSION");
    if member.version == expected {
        return Vec::new();
    }
    vec![format!(
        "version {} is not the workspace's {expected}",
        member.version
    )]
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// One of our packages as `cargo metadata` prints it.
    fn member(name: &str, dependencies: &[(&str, Option<&str>)]) -> Value {
        let dependencies: Vec<Value> = dependencies
            .iter()
            .map(|(name, kind)| json!({"name": name, "kind": kind}))
            .collect();
        json!({
            "id": name,
            "name": name,
            "version": env!("CARGO_PKG_VERSION"),
            "manifest_path": format!("/checkout/crates/{name}/Cargo.toml"),
            "dependencies": dependencies,
        })
    }

    /// The messages for a graph of our `members`, with `others` that those bring along, each with
    /// its features.
    fn messages(members: &[Value], others: &[(&str, &[&str])]) -> Vec<String> {
        let others = others.iter().map(|(name, features)| {
            let package = json!({
                "id": name,
                "name": name,
                "version": "1.0.0",
                "manifest_path": "/registry/Cargo.toml",
                "dependencies": [],
            });
            (package, json!({"id": name, "features": features}))
        });
        let (packages, nodes): (Vec<Value>, Vec<Value>) = others.unzip();
        let ids: Vec<&Value> = members.iter().map(|member| &member["id"]).collect();
        let packages = [members, &packages].concat();
        let metadata = json!({
            "packages": packages,
            "workspace_members": ids,
            "resolve": {"nodes": nodes},
            "workspace_root": "/checkout",
            "target_directory": "target",
        });
        let metadata: Metadata = serde_json::from_value(metadata).unwrap();
        check(&metadata).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_crate_uses_lower_layers_only() {
        let cases: [(&str, &str, &str, Option<&str>); 7] = [
            (
                "a step uses the kit",
                "function-render-queue",
                "function-kit",
                None,
            ),
            ("the CLI uses steps", "asya", "function-render-queue", None),
            ("xtask uses anything", "xtask", "asya", None),
            (
                "the kit knows no step",
                "function-kit",
                "function-render-queue",
                Some("depends on function-render-queue, which is not in a lower layer"),
            ),
            (
                "steps stand alone",
                "function-render-queue",
                "function-report-status",
                Some("depends on function-report-status, which is not in a lower layer"),
            ),
            (
                "actor knows nothing of the kit",
                "actor",
                "function-kit",
                Some("depends on function-kit, which is not in a lower layer"),
            ),
            (
                "a new crate has to be placed",
                "provider",
                "actor",
                Some("this crate is in no layer: add it to LAYERS in `cargo xtask tidy`"),
            ),
        ];
        for (reason, name, dependency, expected) in cases {
            for kind in [None, Some("dev"), Some("build")] {
                let found = messages(&[member(name, &[(dependency, kind)])], &[]);
                let expected =
                    expected.map(|message| format!("crates/{name}/Cargo.toml: {message}"));
                assert_eq!(found, Vec::from_iter(expected), "{reason}, as {kind:?}");
            }
        }
    }

    #[test]
    fn merge_uses_two_crates_and_its_tests_any() {
        let allowed = [
            ("serde_json", None),
            ("thiserror", None),
            ("proptest", Some("dev")),
        ];
        assert_eq!(
            messages(&[member("merge", &allowed)], &[]),
            Vec::<String>::new()
        );
        assert_eq!(
            messages(
                &[member("merge", &[("tracing", None), ("cc", Some("build"))])],
                &[]
            ),
            [
                "crates/merge/Cargo.toml: depends on tracing, but may only use serde_json and thiserror",
                "crates/merge/Cargo.toml: depends on cc, but may only use serde_json and thiserror",
            ]
        );
    }

    #[test]
    fn banned_crates_are_found_however_deep_they_are() {
        let found = messages(&[member("actor", &[])], &[("serde_yaml", &[])]);
        assert_eq!(
            found,
            [
                "Cargo.lock: serde_yaml is deprecated and writes strings such as `on` unquoted: use \
              serde-saphyr"
            ]
        );
    }

    #[test]
    fn a_crate_that_others_may_bring_is_banned_from_our_manifests() {
        let brought = messages(&[member("actor", &[])], &[("lazy_static", &[])]);
        assert_eq!(brought, Vec::<String>::new());
        let named = messages(&[member("actor", &[("lazy_static", Some("dev"))])], &[]);
        assert_eq!(
            named,
            ["crates/actor/Cargo.toml: depends on lazy_static: use `std::sync::LazyLock`"]
        );
    }

    #[test]
    fn the_order_of_maps_is_never_that_of_the_input() {
        let sorted = messages(&[], &[("serde_json", &["default", "std"])]);
        assert_eq!(sorted, Vec::<String>::new());
        let unsorted = messages(&[], &[("serde_json", &["default", "preserve_order"])]);
        assert_eq!(unsorted.len(), 1);
        assert!(
            unsorted[0].starts_with("Cargo.toml: feature \"preserve_order\" of serde_json is on")
        );
    }

    #[test]
    fn every_crate_has_the_version_of_the_workspace() {
        let mut stray = member("function-render-queue", &[]);
        stray["version"] = json!("9.9.9");
        assert_eq!(
            messages(&[stray], &[]),
            [format!(
                "crates/function-render-queue/Cargo.toml: version 9.9.9 is not the workspace's {}",
                env!("CARGO_PKG_VERSION")
            )]
        );
    }
}
