//! Defaults that the steps write into the rendered objects: probes, security contexts, HPA behaviour.

use std::collections::BTreeMap;

use actor::names::{RUNTIME_CONTAINER, SIDECAR_CONTAINER, STATE_PROXY_PREFIX};
use actor::spec::{Form, Spec};
use function_kit::redacted;
use merge::{FieldPath, Segment};
use pipeline::Object;
use serde_json::Value;

use super::leaves::{Leaf, is_rendered_as, template};
use super::{Explanation, Field, Origin, Resolved, at, leaves};

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
    if let Some(pod) = template(composed).and_then(|template| template.get("spec")) {
        let shown = pod.as_object().map(redacted).unwrap_or_default();
        let shown = Value::Object(shown);
        defaults.pod(
            Both {
                plain: pod,
                shown: &shown,
            },
            spec,
        );
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
        defaults.leaves(&path, Both::of(behavior), &Origin::Default(None));
    }
}

/// A rendered value, as it is and with secret values masked.
#[derive(Clone, Copy)]
struct Both<'a> {
    plain: &'a Value,
    shown: &'a Value,
}

impl<'a> Both<'a> {
    /// A value without secrets.
    fn of(value: &'a Value) -> Self {
        Self {
            plain: value,
            shown: value,
        }
    }

    fn get(self, key: &str) -> Option<Self> {
        Some(Self {
            plain: self.plain.get(key)?,
            shown: self.shown.get(key)?,
        })
    }

    fn items(self, key: &str) -> Vec<Self> {
        let list = |value: &'a Value| value.get(key).and_then(Value::as_array);
        let plain = list(self.plain).into_iter().flatten();
        let shown = list(self.shown).into_iter().flatten();
        let both = plain.zip(shown);
        both.map(|(plain, shown)| Self { plain, shown }).collect()
    }

    fn leaves(self, path: &[Segment]) -> Vec<Leaf<'a>> {
        leaves::leaves(path, self.plain, self.shown)
    }
}

struct RenderedDefaults<'a, 'r> {
    explanation: &'a mut Explanation,
    resolved: &'a Resolved<'r>,
}

impl RenderedDefaults<'_, '_> {
    fn pod(&mut self, pod: Both<'_>, spec: &Spec) {
        let containers = pod.items("containers");
        let named = |name: &str| {
            let mut containers = containers.iter();
            containers.find(|it| it.plain["name"] == name).copied()
        };
        let of_runtime = |field: &str| named(RUNTIME_CONTAINER).and_then(|it| it.get(field));
        match Form::of(spec).ok() {
            Some(Form::Inline) => {
                self.pod_fields(&[], pod, spec);
                for (field, inline) in RUNTIME {
                    self.field(&[inline.into()], of_runtime(field));
                }
            }
            Some(Form::Workload) => {
                let template = ["workload", "template", "spec"].map(Segment::from);
                self.pod_fields(&template, pod, spec);
                if let Some(index) = self.index_of_runtime() {
                    for (field, inline) in RUNTIME {
                        let own = ["containers".into(), index.into(), field.into()];
                        let path = [&template[..], &own].concat();
                        self.copied_field(&path, inline, of_runtime(field));
                    }
                }
            }
            Some(Form::WorkloadRef) => {
                for field in ["image", "resources"] {
                    let path = ["runtime".into(), field.into()];
                    self.copied_field(&path, field, of_runtime(field));
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
            let mode = Value::from("buffered");
            self.leaves(&at("writeMode"), Both::of(&mode), &Origin::Default(None));
            let container = named(&format!("{STATE_PROXY_PREFIX}{}", proxy.name));
            let context = container.and_then(|it| it.get("securityContext"));
            self.field(&at("securityContext"), context);
        }
    }

    fn pod_fields(&mut self, prefix: &[Segment], pod: Both<'_>, spec: &Spec) {
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
            for leaf in pod
                .get(field)
                .map(|it| it.leaves(&path))
                .unwrap_or_default()
            {
                let copied = self.copied(field, &leaf.path[path.len()..], leaf.plain);
                self.leaf(&leaf, copied.as_ref().unwrap_or(&origin));
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
    fn field(&mut self, path: &[Segment], value: Option<Both<'_>>) {
        for leaf in value.map(|it| it.leaves(path)).unwrap_or_default() {
            let origin = self.origin(&leaf.path);
            self.leaf(&leaf, &origin);
        }
    }

    /// The same for a field into which the steps copy the actor's `inline` field.
    fn copied_field(&mut self, path: &[Segment], inline: &str, value: Option<Both<'_>>) {
        for leaf in value.map(|it| it.leaves(path)).unwrap_or_default() {
            let copied = self.copied(inline, &leaf.path[path.len()..], leaf.plain);
            let origin = copied.unwrap_or_else(|| self.origin(&leaf.path));
            self.leaf(&leaf, &origin);
        }
    }

    fn origin(&self, path: &[Segment]) -> Origin {
        let field = FieldPath::from(path.to_vec());
        match at(&self.resolved.platform, &field) {
            Some(_) => Origin::Platform(field.to_string()),
            None => Origin::Default(None),
        }
    }

    /// Origin of a leaf of the actor's `inline` field, if it has this value.
    fn copied(&self, inline: &str, rest: &[Segment], value: &Value) -> Option<Origin> {
        let path = FieldPath::from([&[inline.into()], rest].concat());
        let mut fields = self.explanation.fields.iter();
        let field =
            fields.find(|field| field.path == path && is_rendered_as(&field.plain, value))?;
        Some(field.origin.clone())
    }

    fn leaves(&mut self, path: &[Segment], value: Both<'_>, origin: &Origin) {
        for leaf in value.leaves(path) {
            self.leaf(&leaf, origin);
        }
    }

    /// Adds a leaf unless it is set.
    fn leaf(&mut self, leaf: &Leaf<'_>, origin: &Origin) {
        let path = FieldPath::from(leaf.path.clone());
        if !self.explanation.is_set(&path) {
            self.explanation.fields.retain(|field| field.path != path);
            self.explanation.fields.push(Field {
                path,
                plain: leaf.plain.clone(),
                value: leaf.shown.clone(),
                origin: origin.clone(),
                is_replaced: false,
            });
        }
    }
}
