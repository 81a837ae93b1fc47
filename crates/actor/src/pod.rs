//! Contract between the containers of an actor's pod, and what of it is not the
//! user's to give.
//!
//! Steps that render a part of the pod take paths and names from here, and judge
//! what users give by the same rules.

use std::collections::BTreeMap;

use crate::names::{
    HANDLER_VARIABLE, LABEL_MAX, RUNTIME_CONTAINER, RUNTIME_FILES_CONTAINER, SIDECAR_CONTAINER,
    STATE_PROXY_PREFIX, is_label,
};
use crate::spec::StateProxy;

/// Directory of the socket by which sidecar and runtime talk.
pub const SOCKET_DIR: &str = "/var/run/asya";
/// The variable that holds it, for both of them.
pub const SOCKET_DIR_VARIABLE: &str = "ASYA_SOCKET_DIR";
/// Directory of the sockets of state proxies.
pub const STATE_DIR: &str = "/var/run/asya/state";
/// Directory of the runtime files in `asya-runtime`.
pub const RUNTIME_DIR: &str = "/opt/asya";
/// The runtime script in `asya-runtime`.
pub const SCRIPT_PATH: &str = "/opt/asya/asya_runtime.py";
/// The variable with the URL of the inference server, for a REST adapter.
pub const TARGET_URL_VARIABLE: &str = "ASYA_TARGET_URL";
/// The variable that lists state proxies for the runtime; see [`state_mounts`].
pub const STATE_MOUNTS_VARIABLE: &str = "ASYA_STATE_PROXY_MOUNTS";
/// The variable of a connector that holds its socket.
pub const CONNECTOR_SOCKET_VARIABLE: &str = "CONNECTOR_SOCKET";
/// The variable of our own connector that names a bucket: values are in S3.
pub const STATE_BUCKET_VARIABLE: &str = "STATE_BUCKET";
/// The variable of our own connector that holds a directory: values are in files.
pub const STATE_DIRECTORY_VARIABLE: &str = "STATE_DIRECTORY";

/// Variables that identify an actor and connect its containers.
pub(crate) const RESERVED_VARIABLES: [&str; 10] = [
    "ASYA_ACTOR_NAME",
    "ASYA_AWS_REGION",
    HANDLER_VARIABLE,
    "ASYA_NAMESPACE",
    "ASYA_QUEUE_NAME",
    "ASYA_QUEUE_NAME_TEMPLATE",
    "ASYA_QUEUE_URL",
    SOCKET_DIR_VARIABLE,
    STATE_MOUNTS_VARIABLE,
    "ASYA_TRANSPORT",
];
/// All variables that begin so belong to them.
pub(crate) const RESERVED_PREFIX: &str = "ASYA_RABBITMQ_";

/// Returns whether users may not set the variable. Every other one that is rendered is a
/// tunable: the user's value takes its place.
pub fn is_reserved_variable(name: &str) -> bool {
    RESERVED_VARIABLES.contains(&name) || name.starts_with(RESERVED_PREFIX)
}

/// Returns whether a container's name is injected, and so not the user's to give.
pub fn is_injected_container(name: &str) -> bool {
    name == SIDECAR_CONTAINER || name.starts_with(STATE_PROXY_PREFIX)
}

/// Returns whether an init container may not be called so.
pub fn is_reserved_init_container(name: &str) -> bool {
    name == RUNTIME_CONTAINER || name == RUNTIME_FILES_CONTAINER || is_injected_container(name)
}

/// The list of state proxies for the runtime: `name:path:write=mode`, joined by
/// `;`.
pub fn state_mounts(proxies: &[StateProxy]) -> String {
    let mount = |proxy: &StateProxy| {
        let mode = proxy.write_mode.as_str();
        format!("{}:{}:write={mode}", proxy.name, proxy.mount.path)
    };
    proxies.iter().map(mount).collect::<Vec<_>>().join(";")
}

/// Returns why a state proxy cannot be rendered.
pub fn problem_of_state_proxy(proxy: &StateProxy) -> Option<String> {
    let StateProxy {
        name,
        mount,
        connector,
        ..
    } = proxy;
    let longest = LABEL_MAX - STATE_PROXY_PREFIX.len();
    if !is_label(name) || name.len() > longest {
        return Some(format!(
            "name {name:?} cannot be part of a container's name: use at most {longest} lower-case letters, digits and '-', starting and ending with a letter or digit"
        ));
    }
    if connector.image.is_empty() {
        return Some(format!("connector.image of {name:?} is empty"));
    }
    // The runtime reads the list of mounts by these characters.
    let separates = |c| [':', ';'].contains(&c);
    (!mount.path.starts_with('/') || mount.path.contains(separates)).then(|| {
        format!(
            "mount path {:?} of {name:?} must be absolute, without ':' and ';'",
            mount.path
        )
    })
}

/// The items whose key another item before them has: the key, the place of the
/// first and that of the later one.
pub fn repeated<'a, P: Copy>(
    items: impl IntoIterator<Item = (&'a str, P)>,
) -> Vec<(&'a str, P, P)> {
    let mut first_places: BTreeMap<&str, P> = BTreeMap::new();
    let mut repeated = Vec::new();
    for (key, place) in items {
        match first_places.get(key) {
            Some(first) => repeated.push((key, *first, place)),
            None => drop(first_places.insert(key, place)),
        }
    }
    repeated
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn identity_and_wiring_are_not_the_users_to_give() {
        let cases = [
            ("ASYA_ACTOR_NAME", true, "identity"),
            ("ASYA_HANDLER", true, "a field gives it"),
            ("ASYA_RABBITMQ_PREFETCH", true, "all of RabbitMQ's"),
            ("ASYA_LOG_LEVEL", false, "a tunable"),
            ("ASYA_RUNTIME_TIMEOUT", false, "limits follow from it"),
            ("ASYA_SQS_WAIT_TIME_SECONDS", false, "a tunable"),
            ("ASYA_TRANSPORT_X", false, "names are compared whole"),
            ("MODEL", false, "the user's own"),
        ];
        for (name, reserved, reason) in cases {
            assert_eq!(is_reserved_variable(name), reserved, "{name}: {reason}");
        }
    }

    #[test]
    fn names_of_injected_containers_are_reserved() {
        let cases = [
            ("asya-sidecar", true, true, "injected"),
            ("asya-state-proxy-x", true, true, "injected"),
            (
                "asya-runtime",
                false,
                true,
                "a container, no init container",
            ),
            ("asya-tools", false, false, "only those names are reserved"),
        ];
        for (name, container, init, reason) in cases {
            assert_eq!(is_injected_container(name), container, "{name}: {reason}");
            assert_eq!(is_reserved_init_container(name), init, "{name}: {reason}");
        }
    }

    fn proxy(document: Value) -> StateProxy {
        serde_json::from_value(document).unwrap()
    }

    #[test]
    fn the_runtime_variable_contains_every_mount() {
        let connector = json!({"image": "i"});
        let proxies = [
            proxy(json!({"name": "a", "mount": {"path": "/a"}, "connector": connector})),
            proxy(
                json!({"name": "b", "mount": {"path": "/b"}, "writeMode": "passthrough", "connector": connector}),
            ),
        ];
        assert_eq!(state_mounts(&[]), "");
        assert_eq!(
            state_mounts(&proxies),
            "a:/a:write=buffered;b:/b:write=passthrough"
        );
    }

    #[test]
    fn state_proxies_fit_into_names_and_lists() {
        let long = "x".repeat(47);
        let cases = [
            ("checkpoints", "/state/checkpoints", None, "the usual form"),
            (&long[..46], "/a", None, "the longest name"),
            (&long[..], "/a", Some("at most 46"), "one too many"),
            ("a_b", "/a", Some("\"a_b\" cannot be part"), "no label"),
            ("a", "state", Some("must be absolute"), "relative"),
            (
                "a",
                "/a;b",
                Some("without ':' and ';'"),
                "would be read as two",
            ),
        ];
        for (name, path, expected, reason) in cases {
            let problem = problem_of_state_proxy(&proxy(
                json!({"name": name, "mount": {"path": path}, "connector": {"image": "i"}}),
            ));
            match (&problem, expected) {
                (None, None) => {}
                (Some(problem), Some(part)) => {
                    assert!(problem.contains(part), "{reason}: {problem}");
                }
                _ => panic!("{reason}: {problem:?}"),
            }
        }
    }

    #[test]
    fn each_repetition_names_the_first() {
        let items = [("a", 1), ("b", 2), ("a", 3), ("a", 4)];
        assert_eq!(repeated(items), [("a", 1, 3), ("a", 1, 4)]);
        assert_eq!(repeated([("a", 1), ("b", 2)]), []);
    }
}
