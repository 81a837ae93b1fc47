//! Labels of composed objects.

use std::collections::BTreeMap;

use crate::names::ActorName;

/// The label that names the actor; pods are watched by it.
pub const ACTOR: &str = "asya.sh/actor";
/// The label of a Queue that names its entry of the platform's transports.
pub const TRANSPORT: &str = "asya.sh/transport";
/// The label of a foreign workload that names the actor bound to it; such workloads are
/// watched by it.
pub const BOUND_TO: &str = "asya.sh/bound-to";
/// The annotation of a foreign workload that names the actor bound to it with its
/// namespace: `<namespace>/<actor>`.
pub const MANAGED_BY: &str = "asya.sh/managed-by";
/// The annotation of an Adapter's Deployment that names what it forwards to:
/// `<kind>.<group>/<name>`.
pub const FORWARDS_TO: &str = "asya.sh/forwards-to";
/// The label by which flavors are found; its value is the flavor's own name.
pub const FLAVOR: &str = "asya.sh/flavor";
/// The claim's name on a legacy XR. Source: Crossplane v1 XRDs.
pub const CLAIM_NAME: &str = "crossplane.io/claim-name";
/// The claim's namespace on a legacy XR. Source: Crossplane v1 XRDs.
pub const CLAIM_NAMESPACE: &str = "crossplane.io/claim-namespace";

/// The label with the role of an object or pod: `app.kubernetes.io/component`.
pub const COMPONENT: &str = "app.kubernetes.io/component";
/// The label with the application that an object or pod belongs to.
pub const PART_OF: &str = "app.kubernetes.io/part-of";
/// The value of [`PART_OF`].
pub const ASYA: &str = "asya";

const NAME: &str = "app.kubernetes.io/name";

/// Domains whose labels stay on the XR: they belong to the tools that wrote
/// them, and a copy would make those tools act on our objects.
const NOT_COPIED: [&str; 4] = [
    "crossplane.io",
    "app.kubernetes.io",
    "asya.sh",
    "argocd.argoproj.io",
];

/// The labels of one composed object, with those of the XR that are copied.
pub fn of_object(
    actor: &ActorName,
    component: &str,
    of_xr: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut labels: BTreeMap<String, String> = of_xr
        .iter()
        .filter(|(key, _)| is_copied(key))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    labels.extend(selector(actor));
    labels.extend(
        [
            (COMPONENT, component),
            (PART_OF, ASYA),
            ("app.kubernetes.io/managed-by", "crossplane"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned())),
    );
    labels
}

/// The labels that select an actor's pods. A workload's selector is
/// immutable, so these never change.
pub fn selector(actor: &ActorName) -> BTreeMap<String, String> {
    [NAME, ACTOR]
        .map(|key| (key.to_owned(), actor.to_string()))
        .into()
}

/// Returns whether a label of the XR goes to its objects.
fn is_copied(key: &str) -> bool {
    let Some((domain, _)) = key.split_once('/') else {
        return true;
    };
    !NOT_COPIED.contains(&domain) && !domain.ends_with(".toolkit.fluxcd.io")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_other_tools_stay_on_the_xr() {
        let cases = [
            ("team", true, "no domain"),
            ("example.org/cost-center", true, "the user's own domain"),
            ("crossplane.io/composite", false, "Crossplane's"),
            ("app.kubernetes.io/name", false, "ours to set"),
            ("asya.sh/actor", false, "ours to set"),
            (
                "argocd.argoproj.io/instance",
                false,
                "Argo CD would take our objects for its own",
            ),
            (
                "kustomize.toolkit.fluxcd.io/name",
                false,
                "and so would Flux",
            ),
        ];
        for (key, copied, reason) in cases {
            assert_eq!(is_copied(key), copied, "{key}: {reason}");
        }
    }

    #[test]
    fn our_own_labels_win() {
        let of_xr = [("team".to_owned(), "a".to_owned())].into();
        let labels = of_object(&"b".parse().unwrap(), "queue", &of_xr);
        assert_eq!(labels["team"], "a");
        assert_eq!(labels["app.kubernetes.io/name"], "b");
        assert_eq!(labels["app.kubernetes.io/component"], "queue");
        assert_eq!(labels[ACTOR], "b");
    }
}
