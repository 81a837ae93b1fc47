//! The CustomResourceDefinitions of the provider's kinds, in the shape that
//! Crossplane and its tools expect of managed resources and of their configs.
//!
//! Unlike the XRD they have defaults: nothing is merged with these objects, and
//! a Queue written by hand should not need to repeat what everybody wants.

use schemars::JsonSchema;
use serde_json::{Value, json};

use super::{provider_rules as rules, structural};
use crate::managed::MANAGEMENT_POLICIES;
use crate::{VERSION, binding, health, provider_config, queue};

/// Group of the provider's kinds.
const GROUP: &str = "provider.asya.sh";

/// The CustomResourceDefinition of `Queue`.
pub fn queue_crd() -> Value {
    let mut schema = object::<queue::QueueSpec, queue::QueueStatus>("A queue on RabbitMQ or SQS.");
    let spec = &mut schema["properties"]["spec"];
    managed(spec);
    rules::of_queue(spec);
    conditions(&mut schema);
    let columns = [
        condition_column("READY"),
        condition_column("SYNCED"),
        json!({"name": "EXTERNAL-NAME", "type": "string",
               "jsonPath": r".metadata.annotations.crossplane\.io/external-name"}),
        json!({"name": "QUEUED", "type": "integer", "priority": 1,
               "jsonPath": ".status.atProvider.queued"}),
        json!({"name": "PROCESSING", "type": "integer", "priority": 1,
               "jsonPath": ".status.atProvider.processing"}),
        json!({"name": "DEAD-LETTERED", "type": "integer", "priority": 1,
               "jsonPath": ".status.atProvider.deadLettered"}),
    ];
    let kind = Names::managed(queue::KIND, "queues");
    kind.definition(&schema, &columns)
}

/// The CustomResourceDefinition of `WorkloadBinding`.
pub fn binding_crd() -> Value {
    let mut schema = object::<binding::BindingSpec, binding::BindingStatus>(
        "An actor on a workload that another controller owns.",
    );
    let spec = &mut schema["properties"]["spec"];
    management_policies(spec);
    rules::of_binding(spec);
    let at_provider = &mut schema["properties"]["status"]["properties"]["atProvider"];
    at_provider["properties"]["podSelector"]["maxProperties"] = json!(64);
    conditions(&mut schema);
    let columns = [
        condition_column("READY"),
        condition_column("SYNCED"),
        json!({"name": "TARGET-KIND", "type": "string", "jsonPath": ".spec.forProvider.targetRef.kind"}),
        json!({"name": "TARGET", "type": "string", "jsonPath": ".spec.forProvider.targetRef.name"}),
        json!({"name": "STRATEGY", "type": "string", "jsonPath": ".spec.forProvider.strategy"}),
        json!({"name": "CONFLICTS", "type": "integer",
               "jsonPath": ".status.atProvider.conflictCount"}),
        json!({"name": "WORKLOAD", "type": "string", "priority": 1,
               "jsonPath": ".status.atProvider.resolvedTarget.name"}),
    ];
    let kind = Names::managed(binding::KIND, "workloadbindings");
    kind.definition(&schema, &columns)
}

/// The CustomResourceDefinition of `ActorHealth`, whose plural is its singular.
pub fn health_crd() -> Value {
    let mut schema = object::<health::HealthSpec, health::HealthStatus>(
        "State of one actor's pods, written by the provider.",
    );
    let for_provider = &mut schema["properties"]["spec"]["properties"]["forProvider"];
    for_provider["properties"]["podSelector"]["maxProperties"] = json!(16);
    conditions(&mut schema);
    let columns = [
        condition_column("READY"),
        condition_column("SYNCED"),
        json!({"name": "RUNNING", "type": "integer", "jsonPath": ".status.atProvider.ready"}),
        json!({"name": "FAILING", "type": "integer", "jsonPath": ".status.atProvider.failing"}),
        json!({"name": "SIGNAL", "type": "string", "jsonPath": ".status.atProvider.signal.reason"}),
    ];
    let kind = Names::managed(health::KIND, "actorhealths");
    kind.definition(&schema, &columns)
}

/// The CustomResourceDefinition of `ProviderConfig`.
pub fn provider_config_crd() -> Value {
    let mut schema =
        object::<provider_config::ProviderConfigSpec, provider_config::ProviderConfigStatus>(
            "Endpoint and credentials of a broker, for the objects of one namespace.",
        );
    let spec = &mut schema["properties"]["spec"];
    rules::of_config(spec);
    rules::own_secrets_only(spec);
    conditions(&mut schema);
    let kind = Names::of_provider(provider_config::KIND, "providerconfigs", "Namespaced");
    kind.definition(&schema, &config_columns())
}

/// The CustomResourceDefinition of `ClusterProviderConfig`.
pub fn cluster_provider_config_crd() -> Value {
    let mut schema = object::<
        provider_config::ClusterProviderConfigSpec,
        provider_config::ProviderConfigStatus,
    >(
        "Endpoint and credentials of a broker, for the objects of many namespaces."
    );
    rules::of_config(&mut schema["properties"]["spec"]);
    conditions(&mut schema);
    let kind = Names::of_provider(
        provider_config::CLUSTER_KIND,
        "clusterproviderconfigs",
        "Cluster",
    );
    kind.definition(&schema, &config_columns())
}

/// The CustomResourceDefinition of `ProviderConfigUsage`.
pub fn usage_crd() -> Value {
    let mut schema = structural::of::<provider_config::Usage>();
    schema["description"] = json!("The record that an object uses a config.");
    identify(&mut schema);
    let columns = [
        json!({"name": "CONFIG-NAME", "type": "string", "jsonPath": ".providerConfigRef.name"}),
        json!({"name": "RESOURCE-KIND", "type": "string", "jsonPath": ".resourceRef.kind"}),
        json!({"name": "RESOURCE-NAME", "type": "string", "jsonPath": ".resourceRef.name"}),
    ];
    let kind = Names::of_provider(
        provider_config::USAGE_KIND,
        "providerconfigusages",
        "Namespaced",
    );
    let mut definition = kind.definition(&schema, &columns);
    if let Some(version) = definition["spec"]["versions"][0].as_object_mut() {
        version.remove("subresources");
    }
    definition
}

/// Names and scope of a definition.
struct Names {
    kind: &'static str,
    plural: &'static str,
    scope: &'static str,
    category: &'static str,
}

impl Names {
    fn managed(kind: &'static str, plural: &'static str) -> Self {
        let (scope, category) = ("Namespaced", "managed");
        Self {
            kind,
            plural,
            scope,
            category,
        }
    }

    fn of_provider(kind: &'static str, plural: &'static str, scope: &'static str) -> Self {
        Self {
            kind,
            plural,
            scope,
            category: "provider",
        }
    }

    fn definition(&self, schema: &Value, columns: &[Value]) -> Value {
        let age = json!({"name": "AGE", "type": "date", "jsonPath": ".metadata.creationTimestamp"});
        let columns: Vec<&Value> = columns.iter().chain([&age]).collect();
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{}.{GROUP}", self.plural)},
            "spec": {
                "group": GROUP,
                "names": {
                    "categories": ["crossplane", self.category],
                    "kind": self.kind,
                    "listKind": format!("{}List", self.kind),
                    "plural": self.plural,
                    "singular": self.kind.to_ascii_lowercase(),
                },
                "scope": self.scope,
                "versions": [{
                    "name": VERSION,
                    "served": true,
                    "storage": true,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": columns,
                    "schema": {"openAPIV3Schema": schema},
                }],
            },
        })
    }
}

/// The schema of an object with this spec and status.
fn object<Spec: JsonSchema, Status: JsonSchema>(description: &str) -> Value {
    let mut schema = json!({
        "type": "object",
        "description": description,
        "required": ["spec"],
        "properties": {
            "spec": structural::of::<Spec>(),
            "status": structural::of::<Status>(),
        },
    });
    identify(&mut schema);
    schema
}

/// Adds what every object has.
fn identify(schema: &mut Value) {
    let properties = &mut schema["properties"];
    properties["apiVersion"] = json!({"type": "string"});
    properties["kind"] = json!({"type": "string"});
    properties["metadata"] = json!({"type": "object"});
}

/// The fields of every managed resource, with the defaults that Crossplane gives them.
fn managed(spec: &mut Value) {
    management_policies(spec);
    let reference = &mut spec["properties"]["providerConfigRef"];
    reference["default"] = json!({"kind": provider_config::CLUSTER_KIND, "name": "default"});
    reference["required"] = json!(["kind", "name"]);
}

fn management_policies(spec: &mut Value) {
    spec["required"] = json!(["forProvider"]);
    let policies = &mut spec["properties"]["managementPolicies"];
    policies["default"] = json!(["*"]);
    policies["maxItems"] = json!(MANAGEMENT_POLICIES.len());
    policies["items"]["enum"] = json!(MANAGEMENT_POLICIES);
}

/// One condition of each type.
fn conditions(schema: &mut Value) {
    let conditions = &mut schema["properties"]["status"]["properties"]["conditions"];
    conditions["x-kubernetes-list-type"] = json!("map");
    conditions["x-kubernetes-list-map-keys"] = json!(["type"]);
    conditions["maxItems"] = json!(16);
}

fn condition_column(name: &str) -> Value {
    let of = if name == "READY" {
        crate::managed::READY
    } else {
        crate::managed::SYNCED
    };
    let path = format!(".status.conditions[?(@.type=='{of}')].status");
    json!({"name": name, "type": "string", "jsonPath": path})
}

fn config_columns() -> [Value; 2] {
    [
        json!({"name": "USERS", "type": "integer", "jsonPath": ".status.users"}),
        json!({"name": "SECRET-NAME", "type": "string", "priority": 1,
               "jsonPath": ".spec.sqs.credentials.secretRef.name"}),
    ]
}
