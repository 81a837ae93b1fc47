//! The kinds on a real API server: each rule refuses with its message, and accepts the neighbour case.

use crate::rig::Shared;
use crate::rig::cluster::Cluster;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use serde_json::{Value, json};

// Its tests use one name: each is alone.
static SERVED: Shared<Served> = Shared::new("schemas of kinds", || Box::pin(Served::start()));

/// An API server with the provider's kinds.
struct Served {
    client: Client,
    _cluster: Cluster,
}

impl Served {
    async fn start() -> Self {
        let cluster = Cluster::start().await;
        cluster.install_kinds().await;
        Self {
            client: cluster.client().await,
            _cluster: cluster,
        }
    }
}

fn api(client: &Client, kind: &str) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("provider.asya.sh", "v1alpha1", kind);
    let resource = kube::api::ApiResource::from_gvk(&kind);
    if kind.kind == "ClusterProviderConfig" {
        Api::all_with(client.clone(), &resource)
    } else {
        Api::namespaced_with(client.clone(), "default", &resource)
    }
}

fn object(kind: &str, spec: &Value) -> DynamicObject {
    let object = json!({
        "apiVersion": "provider.asya.sh/v1alpha1", "kind": kind, "metadata": {"name": "main"}, "spec": spec});
    serde_json::from_value(object).unwrap()
}

fn rabbitmq() -> Value {
    json!({"forProvider": {"rabbitmq": {"host": "broker"}}})
}

fn sqs() -> Value {
    json!({"forProvider": {"sqs": {"region": "us-east-1"}}})
}

#[test]
fn the_api_server_sets_the_defaults_of_a_queue() {
    SERVED.run_alone(async |served| {
        let client = &served.client;
    let queues = api(client, "Queue");
    let made = queues
        .create(&PostParams::default(), &object("Queue", &rabbitmq()))
        .await
        .unwrap();
    assert_eq!(
        made.data["spec"],
        json!({
            "forProvider": {"adopt": false, "deleteOnlyIfEmpty": false, "rabbitmq": {
                "host": "broker", "vhost": "/", "exchange": "asya", "routingKeys": [], "queueType": "quorum",
                "deadLetter": {"enabled": false, "maxReceiveCount": 20}}},
            "managementPolicies": ["*"],
            "providerConfigRef": {"kind": "ClusterProviderConfig", "name": "default"},
        })
    );
    queues
        .delete("main", &DeleteParams::default())
        .await
        .unwrap();
    });
}

/// A binding of that strategy to Deployment `phi`.
fn binding(strategy: &str) -> Value {
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "phi"});
    json!({"forProvider": {"actor": "embedder", "targetRef": target, "strategy": strategy}})
}

/// A binding that adds a container of that name.
fn binding_of(container: &str) -> Value {
    let mut binding = binding("Inject");
    binding["forProvider"]["template"] = json!({
        "metadata": {"labels": {"asya.sh/actor": "embedder"}},
        "spec": {"containers": [{"name": container, "image": "x:1"}]},
    });
    binding
}

#[test]
fn rules_of_bindings_refuse_with_their_messages() {
    SERVED.run_alone(async |served| {
        let client = &served.client;
        let only_with_inject =
            Some("'template' must be set with the strategy 'Inject', and only then");
        let adapter_with_template = {
            let mut binding = binding_of("asya-runtime");
            binding["forProvider"]["strategy"] = json!("Adapter");
            binding
        };
        let cases = [
            (binding("Adapter"), None),
            (binding_of("asya-runtime"), None),
            (binding("Inject"), only_with_inject),
            (adapter_with_template, only_with_inject),
            (binding("Auto"), Some("Unsupported value")),
            (
                binding_of("kserve-container"),
                Some("a binding adds containers of its own, whose names begin with 'asya-'"),
            ),
        ];
        let bindings = api(client, "WorkloadBinding");
        let dry_run = PostParams {
            dry_run: true,
            ..PostParams::default()
        };
        for (spec, expected) in cases {
            let made = object("WorkloadBinding", &spec);
            let answer = bindings.create(&dry_run, &made).await;
            check(&format!("{spec}"), answer.map(drop), expected);
        }
        let made = object("WorkloadBinding", &binding("Adapter"));
        bindings
            .create(&PostParams::default(), &made)
            .await
            .unwrap();
        let changes = [
            (json!({"targetRef": {"name": "llama"}}), None),
            (
                json!({"actor": "other"}),
                Some("the actor of a binding cannot change"),
            ),
        ];
        for (change, expected) in changes {
            let patch = Patch::Merge(json!({"spec": {"forProvider": change}}));
            let answer = bindings
                .patch("main", &PatchParams::default(), &patch)
                .await;
            check(&format!("to {change}"), answer.map(drop), expected);
        }
    });
}

#[test]
fn rules_of_creation_refuse_with_their_messages() {
    SERVED.run_alone(async |served| {
        let client = &served.client;
    let secret = json!({"name": "login", "key": "x"});
    let elsewhere = json!({"name": "login", "key": "x", "namespace": "other"});
    let broker = |reference: &Value| {
        json!({"rabbitmq": {"endpoint": "http://broker:15672", "credentials": {
            "usernameSecretRef": reference, "passwordSecretRef": secret}}})
    };
    let with = |mut spec: Value, path: &str, value: Value| {
        let (parent, key) = path.rsplit_once('/').unwrap();
        spec.pointer_mut(parent).unwrap()[key] = value;
        spec
    };
    let queue = |path: &str, value: Value| with(sqs(), path, value);
    let routed =
        |key: &str| json!({"forProvider": {"rabbitmq": {"host": "broker", "routingKeys": [key]}}});
    let cases = [
        ("Queue", sqs(), None),
        (
            "Queue",
            json!({"forProvider": {}}),
            Some("exactly one of 'rabbitmq' and 'sqs' must be set"),
        ),
        (
            "Queue",
            queue("/forProvider/rabbitmq", json!({"host": "broker"})),
            Some("exactly one of 'rabbitmq' and 'sqs' must be set"),
        ),
        (
            "Queue",
            queue("/forProvider/sqs/visibilityTimeoutSeconds", json!(43_200)),
            None,
        ),
        (
            "Queue",
            queue("/forProvider/sqs/visibilityTimeoutSeconds", json!(43_201)),
            Some("should be less than or equal to 43200"),
        ),
        (
            "Queue",
            queue("/forProvider/sqs/messageRetentionSeconds", json!(59)),
            Some("should be greater than or equal to 60"),
        ),
        (
            "Queue",
            queue("/forProvider/sqs/accountId", json!("12")),
            Some("should match"),
        ),
        ("Queue", routed("orders.eu"), None),
        ("Queue", routed("#"), Some("should match")),
        ("Queue", routed("orders.*"), Some("should match")),
        ("Queue", queue("/managementPolicies", json!([])), None),
        (
            "Queue",
            queue("/managementPolicies", json!(["Everything"])),
            Some("Unsupported value"),
        ),
        ("ProviderConfig", broker(&secret), None),
        (
            "ProviderConfig",
            broker(&elsewhere),
            Some("a ProviderConfig reads Secrets of its own namespace: leave 'namespace' out"),
        ),
        ("ClusterProviderConfig", broker(&elsewhere), None),
        (
            "ProviderConfig",
            json!({}),
            Some("exactly one of 'rabbitmq' and 'sqs' must be set"),
        ),
        ("ClusterProviderConfig", json!({"sqs": {}}), None),
        (
            "ProviderConfig",
            json!({"sqs": {}}),
            Some("a ProviderConfig uses keys of its own namespace"),
        ),
        (
            "ProviderConfig",
            json!({"sqs": {"credentials": {"source": "Secret"}}}),
            Some("'secretRef' must be set with the source 'Secret', and only then"),
        ),
        (
            "ProviderConfig",
            json!({"sqs": {"credentials": {"source": "Secret", "secretRef": {"name": "keys"}}}}),
            None,
        ),
        (
            "ClusterProviderConfig",
            json!({"sqs": {}, "countersInterval": "0s"}),
            None,
        ),
        (
            "ClusterProviderConfig",
            json!({"sqs": {}, "countersInterval": "often"}),
            Some("must be a duration such as"),
        ),
        (
            "ProviderConfig",
            json!({"sqs": {"endpoint": "broker"}}),
            Some("should match"),
        ),
        (
            "ClusterProviderConfig",
            json!({"sqs": {}, "ownerID": "a/b"}),
            Some("should match"),
        ),
    ];
    let dry_run = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    for (kind, spec, expected) in cases {
        let answer = api(client, kind)
            .create(&dry_run, &object(kind, &spec))
            .await;
        check(&format!("{kind} {spec}"), answer.map(drop), expected);
    }
    });
}

#[test]
fn rules_of_changes_refuse_with_their_messages() {
    SERVED.run_alone(async |served| {
        let client = &served.client;
        let identity = "of a queue cannot change, since its messages would stay behind";
        let cases = [
            (
                rabbitmq(),
                json!({"forProvider": {"rabbitmq": {"exchange": "other"}}}),
                None,
            ),
            (
                rabbitmq(),
                json!({"forProvider": {"rabbitmq": {"host": "other"}}}),
                Some("host"),
            ),
            (
                rabbitmq(),
                json!({"forProvider": {"rabbitmq": {"vhost": "other"}}}),
                Some("vhost"),
            ),
            (
                rabbitmq(),
                json!({"forProvider": {"rabbitmq": {"queueType": "classic"}}}),
                Some("queueType"),
            ),
            (
                rabbitmq(),
                json!({"forProvider": {"rabbitmq": null, "sqs": {"region": "us-east-1"}}}),
                Some("the transport"),
            ),
            (
                rabbitmq(),
                json!({"providerConfigRef": {"name": "other"}}),
                Some("providerConfigRef"),
            ),
            (rabbitmq(), json!({"managementPolicies": ["Observe"]}), None),
            (
                sqs(),
                json!({"forProvider": {"sqs": {"visibilityTimeoutSeconds": 30}}}),
                None,
            ),
            (
                sqs(),
                json!({"forProvider": {"sqs": {"region": "eu-west-1"}}}),
                Some("region"),
            ),
            (
                sqs(),
                json!({"forProvider": {"sqs": {"accountId": "123456789012"}}}),
                Some("accountId"),
            ),
            (
                sqs(),
                json!({"forProvider": {"sqs": {"endpoint": "http://other"}}}),
                Some("endpoint"),
            ),
        ];
        let queues = api(client, "Queue");
        for (spec, change, expected) in cases {
            queues
                .create(&PostParams::default(), &object("Queue", &spec))
                .await
                .unwrap();
            let patch = Patch::Merge(json!({"spec": change}));
            let answer = queues.patch("main", &PatchParams::default(), &patch).await;
            let expected = expected.map(|what| format!("{what} {identity}"));
            check(
                &format!("{spec} to {change}"),
                answer.map(drop),
                expected.as_deref(),
            );
            queues
                .delete("main", &DeleteParams::default())
                .await
                .unwrap();
        }
    });
}

fn check(reason: &str, answer: kube::Result<()>, expected: Option<&str>) {
    match (answer, expected) {
        (Ok(()), None) => {}
        (Err(error), Some(expected)) if error.to_string().contains(expected) => {}
        (answer, expected) => panic!("{reason}: {answer:?}, expected {expected:?}"),
    }
}
