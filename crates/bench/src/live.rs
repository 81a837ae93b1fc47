//! Fields and status that the API server, controllers and the provider add to the objects of a live actor.

use serde_json::{Map, Value, json};

/// The object as it is observed a while after it was applied.
pub fn observed(mut object: Value) -> Value {
    let kind = object["kind"].as_str().unwrap_or_default().to_owned();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        stamp(metadata);
    }
    if let Some(status) = status_of(&kind) {
        object["status"] = status;
    }
    if kind == "Deployment" {
        let spec = &mut object["spec"];
        spec["replicas"] = json!(3);
        spec["progressDeadlineSeconds"] = json!(600);
        spec["revisionHistoryLimit"] = json!(10);
        let pod = &mut spec["template"]["spec"];
        pod["restartPolicy"] = json!("Always");
        pod["dnsPolicy"] = json!("ClusterFirst");
        pod["schedulerName"] = json!("default-scheduler");
        for container in pod["containers"].as_array_mut().into_iter().flatten() {
            container["terminationMessagePath"] = json!("/dev/termination-log");
            container["terminationMessagePolicy"] = json!("File");
        }
    }
    object
}

fn stamp(metadata: &mut Map<String, Value>) {
    let name = metadata.get("name").cloned().unwrap_or_default();
    metadata.insert(
        "uid".to_owned(),
        json!(format!("uid-of-{}", name.as_str().unwrap_or_default())),
    );
    metadata.insert("resourceVersion".to_owned(), json!("1234568"));
    metadata.insert("generation".to_owned(), json!(5));
    metadata.insert(
        "creationTimestamp".to_owned(),
        json!("2026-01-01T00:00:00Z"),
    );
}

fn status_of(kind: &str) -> Option<Value> {
    let condition = |r#type: &str, reason: &str, message: &str| {
        json!({
            "type": r#type, "status": "True", "reason": reason, "message": message,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        })
    };
    Some(match kind {
        "Queue" => json!({
            "atProvider": {
                "name": "asya-text-processor", "queued": 4, "processing": 2,
                "url": "https://sqs.us-east-1.amazonaws.com/123456789012/asya-text-processor",
            },
            "conditions": [
                condition("Synced", "ReconcileSuccess", ""),
                condition("Ready", "Available", ""),
            ],
        }),
        "Deployment" => json!({
            "observedGeneration": 5, "replicas": 3, "updatedReplicas": 3, "readyReplicas": 3,
            "availableReplicas": 3,
            "conditions": [
                condition("Available", "MinimumReplicasAvailable", "Deployment has minimum availability."),
                condition("Progressing", "NewReplicaSetAvailable", "ReplicaSet has successfully progressed."),
            ],
        }),
        "ScaledObject" => json!({
            "hpaName": "keda-hpa-text-processor", "originalReplicaCount": 1,
            "externalMetricNames": ["s0-aws-sqs-asya-text-processor"],
            "conditions": [
                condition("Ready", "ScaledObjectReady", "ScaledObject is defined correctly and is ready for scaling"),
                condition("Active", "ScalerActive", "Scaling is performed because triggers are active"),
                condition("Fallback", "NoFallbackFound", "No fallbacks are active on this scaled object"),
                condition("Paused", "ScaledObjectUnpaused", "No pause annotation is set"),
            ],
        }),
        "ActorHealth" => json!({
            "atProvider": {
                "ready": 3, "failing": 0, "total": 3, "desired": 3, "everReady": true,
                "lastScale": {"time": "2026-01-01T00:00:00Z", "direction": "Up", "from": 1, "to": 3},
            },
            "conditions": [
                condition("Synced", "ReconcileSuccess", ""),
                condition("Ready", "Available", ""),
            ],
        }),
        _ => return None,
    })
}
