//! Probes by which the kubelet checks the runtime.

use serde_json::{Map, Value, json};

/// The runtime creates the socket when it has loaded its handler.
const ALIVE: &str = "test -S /var/run/asya/asya-runtime.sock";
/// Command of the readiness probe. The runtime creates the file when it can process messages, and deletes it
/// while it cannot: an adapter whose target does not answer is alive, and a restart would not help.
const READY: &str =
    "test -S /var/run/asya/asya-runtime.sock && test -f /var/run/asya/runtime-ready";

/// Adds the probes of our own sidecar, which serves them beside its metrics. In another owner's pods
/// there is no readiness probe, for the same reason as below.
pub(crate) fn add_to_sidecar(container: &mut Map<String, Value>, port: u16, is_foreign_pod: bool) {
    let get = |path: &str| json!({"path": path, "port": port});
    let probes = [
        (
            "startupProbe",
            json!({"httpGet": get("/healthz"), "periodSeconds": 1, "timeoutSeconds": 3, "failureThreshold": 60}),
        ),
        (
            "livenessProbe",
            json!({"httpGet": get("/healthz"), "periodSeconds": 10, "timeoutSeconds": 3, "failureThreshold": 3}),
        ),
        (
            "readinessProbe",
            json!({"httpGet": get("/readyz"), "periodSeconds": 5, "timeoutSeconds": 3, "failureThreshold": 3}),
        ),
    ];
    for (field, probe) in probes {
        if !is_foreign_pod || field != "readinessProbe" {
            container.insert(field.to_owned(), probe);
        }
    }
}

/// Adds the probes that the container does not have. A handler may take 5 minutes to
/// load, models included, before it counts as broken.
///
/// In another owner's pods there is no readiness probe: an adapter that cannot take a
/// message must not keep others from the server in the same pod.
pub(crate) fn add(container: &mut Map<String, Value>, is_foreign: bool) {
    let alive = json!({"command": ["sh", "-c", ALIVE]});
    let ready = json!({"command": ["sh", "-c", READY]});
    let probes = [
        (
            "startupProbe",
            json!({
                "exec": alive, "initialDelaySeconds": 3, "periodSeconds": 2,
                "timeoutSeconds": 3, "failureThreshold": 150,
            }),
        ),
        (
            "livenessProbe",
            json!({"exec": alive, "periodSeconds": 30, "timeoutSeconds": 5, "failureThreshold": 3}),
        ),
        (
            "readinessProbe",
            json!({"exec": ready, "periodSeconds": 10, "timeoutSeconds": 3, "failureThreshold": 3}),
        ),
    ];
    for (field, probe) in probes {
        if is_foreign && field == "readinessProbe" {
            continue;
        }
        container.entry(field).or_insert(probe);
    }
}
