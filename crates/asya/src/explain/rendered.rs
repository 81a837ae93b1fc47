//! Defaults that the steps write into the rendered objects: probes, security contexts, HPA behaviour.

use std::collections::BTreeMap;

use actor::binding::{self, ADAPTER_RESOURCE_NAME};
use actor::names::{RUNTIME_CONTAINER, SIDECAR_CONTAINER, STATE_PROXY_PREFIX};
use actor::spec::{Form, Spec, WorkloadKind};
use merge::{FieldPath, Segment};
use pipeline::Object;
use serde_json::Value;

use super::{Explanation, Field, Origin, Resolved, at};

/// Composed resource of the ScaledObject, as render-scaledobject names it.
const SCALED_OBJECT: &str = "scaled-object";
/// Fields of the container `asya-runtime`, with their names among an actor's inline fields.
const RUNTIME: [(&str, &str); 7] = [
    ("imagePullPolicy", "imagePullPolicy"),
    ("lifecycle", "lifecycle"),
    ("livenessProbe", "livenessProbe"),
    ("readinessProbe", "readinessProbe"),
    ("resources", "resources"),
    ("securityContext", "containerSecurityContext"),
    ("startupProbe", "startupProbe"),
];
/// Fields of the pod that the steps may set.
const POD: [&str; 3] = [
    "securityContext",
    "serviceAccountName",
    "terminationGracePeriodSeconds",
];
/// Fields of the container `asya-sidecar`.
const SIDECAR: [&str; 4] = ["image", "imagePullPolicy", "resources", "securityContext"];

/// Adds each leaf of the rendered objects that is the value of a field that is not set.
pub(super) fn add(
    explanation: &mut Explanation,
    resolved: &Resolved<'_>,
    spec: &Spec,
    composed: &BTreeMap<String, Object>,
) {
    let mut defaults = RenderedDefaults {
        explanation,
        resolved,
    };
    if let Some(pod) = pod(composed) {
        defaults.pod(pod, spec);
    }
    let scaled = composed.get(SCALED_OBJECT);
    let behavior = [
        "spec",
        "advanced",
        "horizontalPodAutoscalerConfig",
        "behavior",
    ];
    if let Some(behavior) = scaled.and_then(|scaled| scaled.get(&behavior)) {
        let path = ["scaling", "advanced", "behavior"].map(Segment::from);
        defaults.leaves(&path, behavior, &Origin::Default(None));
    }
}

/// The pod spec that the steps render: of the actor's own workload, or for the target.
fn pod(composed: &BTreeMap<String, Object>) -> Option<&Value> {
    let own = [
        WorkloadKind::Deployment.resource_name(),
        WorkloadKind::StatefulSet.resource_name(),
        ADAPTER_RESOURCE_NAME,
    ];
    let own = own.iter().find_map(|name| composed.get(*name));
    let of_binding = || {
        let binding = composed.get(binding::RESOURCE_NAME)?;
        binding.get(&["spec", "forProvider", "template", "spec"])
    };
    own.and_then(|workload| workload.get(&["spec", "template", "spec"]))
        .or_else(of_binding)
}

struct RenderedDefaults<'a, 'r> {
    explanation: &'a mut Explanation,
    resolved: &'a Resolved<'r>,
}

impl RenderedDefaults<'_, '_> {
    fn pod(&mut self, pod: &Value, spec: &Spec) {
        let containers = pod.get("containers").and_then(Value::as_array);
        let containers: Vec<&Value> = containers.into_iter().flatten().collect();
        let named = |name: &str| containers.iter().find(|it| it["name"] == name).copied();
        match Form::of(spec).ok() {
            Some(Form::Inline) => {
                self.pod_fields(&[], pod, spec);
                for (field, inline) in RUNTIME {
                    let value = named(RUNTIME_CONTAINER).and_then(|it| it.get(field));
                    self.field(&[inline.into()], value);
                }
            }
            Some(Form::Workload) => {
                let template = ["workload", "template", "spec"].map(Segment::from);
                self.pod_fields(&template, pod, spec);
                if let Some(index) = self.index_of_runtime() {
                    for (field, _) in RUNTIME {
                        let own = ["containers".into(), index.into(), field.into()];
                        let path = [&template[..], &own].concat();
                        let value = named(RUNTIME_CONTAINER).and_then(|it| it.get(field));
                        self.field(&path, value);
                    }
                }
            }
            Some(Form::WorkloadRef) => {
                for field in ["image", "resources"] {
                    let value = named(RUNTIME_CONTAINER).and_then(|it| it.get(field));
                    self.field(&["runtime".into(), field.into()], value);
                }
            }
            None => {}
        }
        for field in SIDECAR {
            let value = named(SIDECAR_CONTAINER).and_then(|it| it.get(field));
            self.field(&["sidecar".into(), field.into()], value);
        }
        for (index, proxy) in spec.state_proxy.iter().enumerate() {
            let at = |field: &str| ["stateProxy".into(), index.into(), field.into()];
            self.leaf(
                &at("writeMode"),
                &Value::from("buffered"),
                &Origin::Default(None),
            );
            let container = named(&format!("{STATE_PROXY_PREFIX}{}", proxy.name));
            let context = container.and_then(|it| it.get("securityContext"));
            self.field(&at("securityContext"), context);
        }
    }

    fn pod_fields(&mut self, prefix: &[Segment], pod: &Value, spec: &Spec) {
        for field in POD {
            let path = [prefix, &[field.into()]].concat();
            let origin = match field {
                "terminationGracePeriodSeconds" => {
                    Origin::Default(Some("runtime timeout + 30s".to_owned()))
                }
                "serviceAccountName" => {
                    let transport = spec.transport.as_deref().unwrap_or_default();
                    Origin::Platform(format!("transports.{transport}.config.actorRoleArn"))
                }
                _ => Origin::Default(None),
            };
            if let Some(value) = pod.get(field) {
                self.leaves(&path, value, &origin);
            }
        }
    }

    /// Index of `asya-runtime` in the containers of the resolved template.
    fn index_of_runtime(&self) -> Option<usize> {
        let path = ["workload", "template", "spec", "containers"];
        let containers = at(&self.resolved.document, &path.into())?.as_array()?;
        let mut containers = containers.iter();
        containers.position(|container| container["name"] == RUNTIME_CONTAINER)
    }

    /// Adds the leaves of a field, from the platform's settings where these have them.
    fn field(&mut self, path: &[Segment], value: Option<&Value>) {
        for (path, value) in leaves(path, value) {
            let field = FieldPath::from(path.clone());
            let origin = match at(&self.resolved.platform, &field) {
                Some(_) => Origin::Platform(field.to_string()),
                None => Origin::Default(None),
            };
            self.leaf(&path, value, &origin);
        }
    }

    fn leaves(&mut self, path: &[Segment], value: &Value, origin: &Origin) {
        for (path, value) in leaves(path, Some(value)) {
            self.leaf(&path, value, origin);
        }
    }

    /// Adds a leaf unless it is set.
    fn leaf(&mut self, path: &[Segment], value: &Value, origin: &Origin) {
        let path = FieldPath::from(path.to_vec());
        if !self.explanation.is_set(&path) {
            self.explanation.fields.retain(|field| field.path != path);
            self.explanation.fields.push(Field {
                path,
                plain: value.clone(),
                value: value.clone(),
                origin: origin.clone(),
            });
        }
    }
}

/// Every leaf of a value with its path: scalars, empty maps and empty lists.
fn leaves<'a>(path: &[Segment], value: Option<&'a Value>) -> Vec<(Vec<Segment>, &'a Value)> {
    let below = |segment: Segment| [path, &[segment]].concat();
    match value {
        None => Vec::new(),
        Some(Value::Object(map)) if !map.is_empty() => map
            .iter()
            .flat_map(|(key, value)| leaves(&below(key.as_str().into()), Some(value)))
            .collect(),
        Some(Value::Array(items)) if !items.is_empty() => items
            .iter()
            .enumerate()
            .flat_map(|(index, item)| leaves(&below(index.into()), Some(item)))
            .collect(),
        Some(value) => vec![(path.to_vec(), value)],
    }
}
