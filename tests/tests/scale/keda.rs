//! Statuses that KEDA's operator writes to a ScaledObject: it is ready and there are messages, so that
//! each actor keeps the one pod that its Deployment begins with.

use futures::StreamExt as _;
use kube::ResourceExt as _;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::runtime::{WatchStreamExt as _, watcher};
use serde_json::{Value, json};

/// Writes it to each ScaledObject without a status, until this future is dropped.
pub(crate) async fn speak(scaled_objects: Api<DynamicObject>) {
    let changes = watcher(scaled_objects.clone(), watcher::Config::default())
        .default_backoff()
        .applied_objects();
    let mut changes = Box::pin(changes);
    while let Some(change) = changes.next().await {
        let Ok(object) = change else { continue };
        if object.data.get("status").is_some() {
            continue;
        }
        let name = object.name_any();
        let body = Patch::Merge(json!({ "status": status(&name) }));
        let user = PatchParams::default();
        let written = scaled_objects.patch_status(&name, &user, &body).await;
        written.unwrap_or_else(|error| panic!("ScaledObject {name}: {error}"));
    }
}

fn status(name: &str) -> Value {
    let condition = |kind: &str, status: &str, reason: &str| json!({"type": kind, "status": status, "reason": reason});
    json!({
        "conditions": [
            condition("Ready", "True", "ScaledObjectReady"),
            condition("Active", "True", "ScalerActive"),
            condition("Fallback", "False", "NoFallbackFound"),
            condition("Paused", "False", "Unpaused"),
        ],
        "externalMetricNames": ["s0-aws-sqs-queue"],
        "hpaName": format!("keda-hpa-{name}"),
        "originalReplicaCount": 1,
        "scaleTargetGVKR": {"group": "apps", "kind": "Deployment", "resource": "deployments", "version": "v1"},
        "scaleTargetKind": "apps/v1.Deployment",
    })
}
