//! Kinds that do not exist in the groups of Asya, and near misses of its kinds and groups. A typo in a kind
//! would otherwise skip every other check of the document.

use actor::diagnostic::{Code, Severity};
use actor::{ENVIRONMENT_CONFIG, GROUP, KIND, PROVIDER_API_VERSION, VERSION};
use actor::{binding, health, provider_config, queue};

use super::document::{Document, LEGACY_KIND};
use super::finding::Finding;
use crate::actor_test;
use crate::nearest::nearest;

/// An API version with the kinds that are expected in it.
struct Api {
    version: String,
    kinds: Vec<&'static str>,
    /// Whether the group has no other kinds.
    is_complete: bool,
    /// Whether these kinds in a group with a similar name are reported. Not for kinds such as `Queue`, which
    /// groups of other vendors have too.
    has_own_kinds: bool,
}

fn apis() -> [Api; 4] {
    let api = |version: &str, kinds: &[&'static str]| Api {
        version: version.to_owned(),
        kinds: kinds.to_vec(),
        is_complete: true,
        has_own_kinds: true,
    };
    let of_provider = [
        health::KIND,
        queue::KIND,
        binding::KIND,
        provider_config::KIND,
        provider_config::CLUSTER_KIND,
        provider_config::USAGE_KIND,
    ];
    [
        api(&format!("{GROUP}/{VERSION}"), &[KIND, LEGACY_KIND]),
        api(actor_test::API_VERSION, &[actor_test::KIND]),
        Api {
            has_own_kinds: false,
            ..api(PROVIDER_API_VERSION, &of_provider)
        },
        Api {
            is_complete: false,
            ..api(ENVIRONMENT_CONFIG.0, &[ENVIRONMENT_CONFIG.1])
        },
    ]
}

/// The group of an API version; empty for the core group.
fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// Returns the remedy if no API server with Asya serves the kind, or if kind and group are probably
/// misspelt; none for kinds that are fine or foreign.
pub(super) fn remedy(api_version: &str, kind: &str) -> Option<String> {
    let (group, apis) = (group_of(api_version), apis());
    let groups = || apis.iter().map(|api| group_of(&api.version));
    if let Some(api) = apis.iter().find(|api| group_of(&api.version) == group) {
        if api.kinds.contains(&kind) {
            return None;
        }
        if let Some(meant) = nearest(kind, api.kinds.iter().copied()) {
            return Some(format!("did you mean {meant:?}?"));
        }
        if !api.is_complete {
            return None;
        }
        let other = apis.iter().find(|api| api.kinds.contains(&kind));
        return Some(match other {
            Some(other) => format!("write apiVersion: {}", other.version),
            None => format!("the kinds of {group} are {}", api.kinds.join(", ")),
        });
    }
    let near = nearest(group, groups());
    let is_near = |api: &&Api| {
        api.has_own_kinds && (group.is_empty() || near == Some(group_of(&api.version)))
    };
    let found = apis.iter().filter(is_near).find_map(|api| {
        let meant = nearest(kind, api.kinds.iter().copied())?;
        Some((api, meant))
    });
    found.map(|(api, meant)| format!("did you mean {meant:?} of apiVersion {:?}?", api.version))
}

/// The finding about a kind that does not exist.
pub(super) fn unknown(document: &Document, remedy: String) -> Finding {
    let (kind, version) = (document.object.kind(), document.object.api_version());
    let message = format!("there is no kind {kind:?} in {version:?}");
    Finding {
        help: Some(remedy),
        ..document.finding(Severity::Error, Code::UnknownKind, ["kind"], message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_kinds_and_near_misses_have_a_remedy() {
        let actor = Some("did you mean \"AsyncActor\"?");
        let cases = [
            ("asya.sh/v1alpha1", "AsyncActor", None),
            ("asya.sh/v1", "XAsyncActor", None),
            ("asya.sh/v1alpha1", "AsyncActr", actor),
            ("asya.sh/v1alpha1", "asyncactor", actor),
            (
                "asya.sh/v1alpha1",
                "Pipeline",
                Some("the kinds of asya.sh are AsyncActor, XAsyncActor"),
            ),
            (
                "asya.sh/v1alpha1",
                "WorkloadBinding",
                Some("write apiVersion: provider.asya.sh/v1alpha1"),
            ),
            (
                "test.asya.sh/v1alpha1",
                "ActorTst",
                Some("did you mean \"ActorTest\"?"),
            ),
            ("provider.asya.sh/v1alpha1", "ClusterProviderConfig", None),
            (
                "provider.asya.sh/v1alpha1",
                "Qeue",
                Some("did you mean \"Queue\"?"),
            ),
            (
                "apiextensions.crossplane.io/v1beta1",
                "EnvironmentConfg",
                Some("did you mean \"EnvironmentConfig\"?"),
            ),
            ("apiextensions.crossplane.io/v1", "Composition", None),
            (
                "asia.sh/v1alpha1",
                "AsyncActr",
                Some("did you mean \"AsyncActor\" of apiVersion \"asya.sh/v1alpha1\"?"),
            ),
            (
                "tests.asya.sh/v1alpha1",
                "ActorTest",
                Some("did you mean \"ActorTest\" of apiVersion \"test.asya.sh/v1alpha1\"?"),
            ),
            ("provider.acme.sh/v1", "Queue", None),
            ("render-queue.fn.asya.sh/v1beta1", "Input", None),
            ("v1", "ConfigMap", None),
            ("apps/v1", "Deployment", None),
        ];
        for (version, kind, expected) in cases {
            assert_eq!(
                remedy(version, kind).as_deref(),
                expected,
                "{kind} of {version}"
            );
        }
    }
}
