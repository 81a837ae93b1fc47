//! Three actors, small to large, each a pure function of its size.

use serde_json::{Map, Value, json};

/// Size of the measured actors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Size {
    /// An actor with an image and a handler: no flavors, no objects yet.
    Small,
    /// Three flavors, twenty environment variables, and all objects of a live actor.
    Realistic,
    /// Eight flavors, two hundred environment variables, and all objects of a live actor.
    Large,
}

impl Size {
    /// From small to large.
    pub const ALL: [Self; 3] = [Self::Small, Self::Realistic, Self::Large];

    /// Returns its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Realistic => "realistic",
            Self::Large => "large",
        }
    }

    /// Returns whether the objects of the actor exist already.
    pub fn is_live(self) -> bool {
        self != Self::Small
    }

    fn flavors(self) -> usize {
        match self {
            Self::Small => 0,
            Self::Realistic => 3,
            Self::Large => 8,
        }
    }

    fn variables(self) -> usize {
        match self {
            Self::Small => 0,
            Self::Realistic => 20,
            Self::Large => 200,
        }
    }
}

/// Documents of a user and of the platform team.
#[derive(Debug, Clone)]
pub struct Written {
    /// The actor, as the API server has it.
    pub xr: Value,
    /// The platform's settings and all flavors.
    pub environment_configs: Vec<Value>,
}

/// The actor of that size.
pub fn written(size: Size) -> Written {
    let names: Vec<String> = (0..size.flavors()).map(flavor_name).collect();
    let flavors = names.iter().enumerate();
    let mut environment_configs = vec![environment_config("asya-platform", &platform())];
    environment_configs
        .extend(flavors.map(|(index, name)| environment_config(name, &flavor(index))));
    Written {
        xr: xr(size, &names),
        environment_configs,
    }
}

pub(crate) fn flavor_name(index: usize) -> String {
    const KINDS: [&str; 4] = [
        "gpu-standard",
        "spot-tolerant",
        "s3-checkpoints",
        "team-defaults",
    ];
    match KINDS.get(index) {
        Some(name) => (*name).to_owned(),
        None => format!("extra-{index}"),
    }
}

pub(crate) fn environment_config(name: &str, data: &Value) -> Value {
    json!({
        "apiVersion": "apiextensions.crossplane.io/v1beta1",
        "kind": "EnvironmentConfig",
        "metadata": {
            "name": name,
            "uid": format!("uid-of-{name}"),
            "resourceVersion": "4711",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "generation": 3,
            "labels": {"asya.sh/flavor": name},
        },
        "data": data,
    })
}

fn platform() -> Value {
    json!({
        "defaultTransport": "sqs",
        "transports": {
            "sqs": {
                "enabled": true,
                "type": "sqs",
                "config": {
                    "region": "us-east-1",
                    "accountId": "123456789012",
                    "actorRoleArn": "arn:aws:iam::123456789012:role/asya-actor",
                },
                "providerConfigRef": {"kind": "ClusterProviderConfig", "name": "sqs"},
            },
            "rabbitmq": {
                "enabled": true,
                "type": "rabbitmq",
                "config": {
                    "host": "rabbitmq.default.svc.cluster.local",
                    "passwordSecretRef": {"name": "rabbitmq-secret", "key": "password"},
                },
            },
        },
        "sidecar": {
            "image": "ghcr.io/deliveryhero/asya-sidecar:v1.2.0",
            "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}},
        },
        "gatewayURL": "http://asya-gateway.asya-system.svc:8080",
    })
}

/// Flavors that have no leaf in common, for they shall merge.
pub(crate) fn flavor(index: usize) -> Value {
    match index {
        0 => json!({
            "scaling": {"minReplicaCount": 1, "maxReplicaCount": 20, "queueLength": 2},
            "resources": {
                "requests": {"cpu": 2, "memory": "8Gi", "nvidia.com/gpu": "1"},
                "limits": {"nvidia.com/gpu": "1"},
            },
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
            "nodeSelector": {"accelerator": "nvidia-t4"},
        }),
        1 => json!({
            "scaling": {"pollingInterval": 10, "cooldownPeriod": 600},
            "tolerations": [{
                "key": "cloud.google.com/gke-spot", "operator": "Equal", "value": "true",
                "effect": "NoSchedule",
            }],
            "nodeSelector": {"cloud.google.com/gke-spot": "true"},
        }),
        2 => json!({
            "stateProxy": [{
                "name": "checkpoints",
                "mount": {"path": "/state/checkpoints"},
                "connector": {
                    "image": "ghcr.io/deliveryhero/asya-state-proxy-s3-buffered-lww:v1.0.0",
                    "env": [
                        {"name": "STATE_BUCKET", "value": "my-checkpoints-bucket"},
                        {"name": "AWS_REGION", "value": "eu-west-1"},
                    ],
                },
            }],
            "secretRefs": [{"secretName": "model-registry", "keys": [
                {"key": "user", "envVar": "REGISTRY_USER"},
                {"key": "token", "envVar": "REGISTRY_TOKEN"},
            ]}],
            "sidecar": {"env": [{"name": "ASYA_LOG_LEVEL", "value": "info"}]},
        }),
        index => json!({
            "tolerations": [{"key": format!("pool-{index}"), "operator": "Exists"}],
            "nodeSelector": {format!("example.com/feature-{index}"): "true"},
            "podLabels": {format!("example.com/cost-centre-{index}"): "1234"},
            "volumes": [{"name": format!("cache-{index}"), "emptyDir": {"sizeLimit": "1Gi"}}],
            "volumeMounts": [{"name": format!("cache-{index}"), "mountPath": format!("/cache/{index}")}],
        }),
    }
}

/// Sixteen of twenty variables are literal, the others of every kind there is.
pub(crate) fn variable(index: usize) -> Value {
    let name = format!("SETTING_{index:03}");
    match index % 20 {
        16 | 17 => json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}),
        18 => json!({"name": name, "valueFrom": {"secretKeyRef": {"name": "app", "key": "token"}}}),
        19 => json!({"name": name, "valueFrom": {"resourceFieldRef": {
            "containerName": "asya-runtime", "resource": "limits.memory",
        }}}),
        _ => json!({"name": name, "value": format!("the value of setting {index}")}),
    }
}

fn xr(size: Size, flavors: &[String]) -> Value {
    let mut spec = json!({
        "actor": "text-processor",
        "image": "registry.example.com/team-a/text-processor:1.42.0",
        "handler": "text_processor.handlers.process",
    });
    if !flavors.is_empty() {
        spec["flavors"] = json!(flavors);
    }
    if size.is_live() {
        spec["imagePullPolicy"] = json!("IfNotPresent");
        spec["env"] = (0..size.variables()).map(variable).collect();
        spec["resiliency"] = json!({
            "actorTimeout": "10m",
            "retry": {
                "policy": "exponential", "maxAttempts": 5, "initialInterval": "1s",
                "maxInterval": "5m", "backoffCoefficient": 2, "jitter": true,
            },
            "nonRetryableErrors": ["ValueError", "json.JSONDecodeError"],
        });
        spec["podAnnotations"] = json!({"example.com/owner": "team-a"});
        let composition = json!({"name": "asyncactors.asya.sh"});
        spec["crossplane"] = json!({
            "compositionRef": composition,
            "compositionRevisionRef": {"name": "asyncactors.asya.sh-8a1c2d3"},
            "compositionUpdatePolicy": "Automatic",
        });
    }
    let metadata: Map<String, Value> = metadata("text-processor", size.is_live());
    json!({
        "apiVersion": "asya.sh/v1alpha1",
        "kind": "AsyncActor",
        "metadata": metadata,
        "spec": spec,
    })
}

fn metadata(name: &str, is_live: bool) -> Map<String, Value> {
    let mut metadata = Map::new();
    metadata.insert("name".to_owned(), json!(name));
    metadata.insert("namespace".to_owned(), json!("team-a"));
    metadata.insert(
        "uid".to_owned(),
        json!("6f1f6c1e-6a2e-4f0c-9d55-1d2f6e6a8b11"),
    );
    metadata.insert("generation".to_owned(), json!(4));
    if is_live {
        let labels = json!({
            "app": name, "team": "team-a", "example.com/tier": "batch",
            "crossplane.io/composite": name, "argocd.argoproj.io/instance": "team-a",
        });
        metadata.insert("labels".to_owned(), labels);
        metadata.insert(
            "finalizers".to_owned(),
            json!(["composite.apiextensions.crossplane.io"]),
        );
        metadata.insert("resourceVersion".to_owned(), json!("1234567"));
        metadata.insert(
            "creationTimestamp".to_owned(),
            json!("2026-01-01T00:00:00Z"),
        );
    }
    metadata
}
