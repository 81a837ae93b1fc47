//! Volumes that are injected, and where they appear.

use actor::pod::{RUNTIME_DIR, SCRIPT_PATH, SOCKET_DIR, STATE_DIR};
use actor::transport::{Config, RabbitMq, SecretKeyRef};
use serde_json::{Value, json};

use crate::Actor;
use crate::script::{FILE, Source};

/// Volume of the socket by which sidecar and runtime talk.
const SOCKET: &str = "socket-dir";
/// Volume of temporary files.
const TMP: &str = "tmp";
const TMP_DIR: &str = "/tmp";
/// Volume of the runtime files.
pub(crate) const SCRIPT: &str = "asya-runtime";
/// Volume of the sockets of state proxies.
const STATE: &str = "state-sockets";
/// Volume of the certificate authority of RabbitMQ.
const CA: &str = "rabbitmq-ca";
const CA_DIR: &str = "/etc/asya/rabbitmq";
/// The certificate authority of RabbitMQ in `asya-sidecar`.
pub(crate) const CA_FILE: &str = "/etc/asya/rabbitmq/ca.crt";
/// `0755`: the script may be run by whichever user the image has.
const SCRIPT_MODE: u32 = 0o755;

/// The volumes of the pod.
pub(crate) fn of_pod(actor: &Actor, script: &Source) -> Vec<Value> {
    let script = match script.config_map(actor.identity) {
        Some(name) => {
            json!({"name": SCRIPT, "configMap": {"name": name, "defaultMode": SCRIPT_MODE}})
        }
        None => json!({"name": SCRIPT, "emptyDir": {}}),
    };
    let mut volumes = vec![
        json!({"name": SOCKET, "emptyDir": {}}),
        json!({"name": TMP, "emptyDir": {}}),
        script,
    ];
    if !actor.spec.state_proxy.is_empty() {
        volumes.push(json!({"name": STATE, "emptyDir": {}}));
    }
    if let Some(ca) = ca_secret(&actor.transport.config) {
        let items = json!([{"key": ca.key, "path": "ca.crt"}]);
        volumes.push(json!({"name": CA, "secret": {"secretName": ca.name, "items": items}}));
    }
    volumes
}

/// The mounts of `asya-runtime`.
pub(crate) fn of_runtime(actor: &Actor, script: &Source) -> Vec<Value> {
    let mut mounts = common();
    mounts.push(match script {
        Source::Image => json!({"name": SCRIPT, "mountPath": RUNTIME_DIR, "readOnly": true}),
        Source::Rendered(_) | Source::Existing(_) => json!({
            "name": SCRIPT, "mountPath": SCRIPT_PATH, "subPath": FILE, "readOnly": true,
        }),
    });
    if let Source::Rendered(script) = script {
        mounts.extend(script.files().iter().map(|(name, _)| {
            json!({
                "name": SCRIPT, "mountPath": format!("{RUNTIME_DIR}/{name}"), "subPath": name,
                "readOnly": true,
            })
        }));
    }
    if !actor.spec.state_proxy.is_empty() {
        mounts.push(of_state());
    }
    mounts
}

/// The mounts of `asya-sidecar`.
pub(crate) fn of_sidecar(actor: &Actor) -> Vec<Value> {
    let mut mounts = common();
    if ca_secret(&actor.transport.config).is_some() {
        mounts.push(json!({"name": CA, "mountPath": CA_DIR, "readOnly": true}));
    }
    mounts
}

/// The mount of a state proxy.
pub(crate) fn of_state() -> Value {
    json!({"name": STATE, "mountPath": STATE_DIR})
}

/// The certificate authority that `asya-sidecar` is to trust.
pub(crate) fn ca_secret(transport: &Config) -> Option<&SecretKeyRef> {
    match transport {
        Config::RabbitMq(RabbitMq { tls, .. }) if tls.enabled => tls.ca_secret_ref.as_ref(),
        _ => None,
    }
}

fn common() -> Vec<Value> {
    vec![
        json!({"name": SOCKET, "mountPath": SOCKET_DIR}),
        json!({"name": TMP, "mountPath": TMP_DIR}),
    ]
}
