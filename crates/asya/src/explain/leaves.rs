//! Leaves of the rendered pod that no field of the actor shows.

use std::collections::BTreeMap;

use actor::binding::{self, ADAPTER_RESOURCE_NAME};
use actor::names::{SIDECAR_CONTAINER, STATE_PROXY_PREFIX};
use actor::spec::{Spec, WorkloadKind};
use function_kit::redacted;
use merge::{FieldPath, Segment};
use pipeline::Object;
use serde_json::Value;

use super::{Explanation, Resolved};
use crate::workload_sources::Sources;

/// A leaf of a rendered object that is no leaf of [`Explanation::fields`]: a default of the steps, such
/// as an injected volume or a variable of the sidecar.
#[derive(Debug, Clone, PartialEq)]
pub struct RenderedLeaf {
    /// Kind of the object, `Pod` for the pod template.
    pub object: String,
    /// Its path in the pod template, or in the object with `annotations` beside `spec`.
    pub path: FieldPath,
    /// The same with the names of list items, `spec.containers[asya-sidecar].ports[metrics]`, and with the
    /// kind of another object than the pod, `Queue: spec.forProvider.region`.
    pub field: String,
    /// Its value; `***` where that may be secret.
    pub value: Value,
}

/// A leaf of a document: a scalar, an empty map or an empty list.
pub(super) struct Leaf<'a> {
    pub(super) path: Vec<Segment>,
    pub(super) plain: &'a Value,
    /// Masked where it may be secret.
    pub(super) shown: &'a Value,
}

/// Every leaf of a value. `shown` is the value with secrets masked: what is masked as a whole is one
/// leaf.
pub(super) fn leaves<'a>(path: &[Segment], plain: &'a Value, shown: &'a Value) -> Vec<Leaf<'a>> {
    let below = |segment: Segment| [path, &[segment]].concat();
    match (plain, shown) {
        (Value::Object(map), Value::Object(masked)) if !map.is_empty() => map
            .iter()
            .filter_map(|(key, value)| Some((key, value, masked.get(key)?)))
            .flat_map(|(key, value, shown)| leaves(&below(key.as_str().into()), value, shown))
            .collect(),
        (Value::Array(items), Value::Array(masked)) if !items.is_empty() => items
            .iter()
            .zip(masked)
            .enumerate()
            .flat_map(|(index, (item, shown))| leaves(&below(index.into()), item, shown))
            .collect(),
        _ => vec![Leaf {
            path: path.to_vec(),
            plain,
            shown,
        }],
    }
}

/// Returns whether the steps render a field with this value so: they may write numbers as texts.
pub(super) fn is_rendered_as(field: &Value, rendered: &Value) -> bool {
    match (field, rendered) {
        (Value::Number(number), Value::String(text)) => number.to_string() == *text,
        (field, rendered) => field == rendered,
    }
}

/// Adds the leaves of the pod template that no field shows.
pub(super) fn add(
    explanation: &mut Explanation,
    resolved: &Resolved<'_>,
    spec: &Spec,
    composed: &BTreeMap<String, Object>,
) {
    let Some(template) = template(composed) else {
        return;
    };
    let document = Value::Object(resolved.document.clone());
    let shown = Value::Object(template.as_object().map(redacted).unwrap_or_default());
    let fields = explanation.fields.iter();
    let pod = Pod {
        template,
        sources: Sources {
            spec: &document,
            pod: &template["spec"],
        },
        spec,
        fields: fields.map(|field| (&field.path, &field.plain)).collect(),
    };
    let leaves = leaves(&[], template, &shown).into_iter();
    let hidden = leaves.filter(|leaf| !pod.is_identity(leaf) && !pod.is_field(leaf));
    explanation.rendered = hidden
        .map(|leaf| RenderedLeaf {
            object: "Pod".to_owned(),
            field: pod.named(&leaf.path),
            value: leaf.shown.clone(),
            path: leaf.path.into(),
        })
        .collect();
}

struct Pod<'a> {
    template: &'a Value,
    sources: Sources<'a>,
    spec: &'a Spec,
    /// The fields that are shown, with their values.
    fields: BTreeMap<&'a FieldPath, &'a Value>,
}

impl Pod<'_> {
    fn at(&self, path: &[Segment]) -> &Value {
        path.iter()
            .fold(self.template, |value, segment| match segment {
                Segment::Key(key) => &value[key.as_str()],
                Segment::Index(index) => &value[*index],
            })
    }

    /// Returns whether the leaf is the name by which its list item is shown.
    fn is_identity(&self, leaf: &Leaf<'_>) -> bool {
        let [item @ .., Segment::Key(key)] = &leaf.path[..] else {
            return false;
        };
        let is_alone = self.at(item).as_object().is_some_and(|map| map.len() == 1);
        !is_alone
            && self
                .identity(item)
                .is_some_and(|(identity, _)| identity == key)
    }

    /// Key and value that name a list item.
    fn identity(&self, item: &[Segment]) -> Option<(&'static str, &str)> {
        let [.., Segment::Key(list), Segment::Index(_)] = item else {
            return None;
        };
        let key = if list == "volumeMounts" {
            "mountPath"
        } else {
            "name"
        };
        Some((key, self.at(item)[key].as_str()?))
    }

    /// The path with the names of list items.
    fn named(&self, path: &[Segment]) -> String {
        let mut text = String::new();
        for (index, segment) in path.iter().enumerate() {
            match segment {
                Segment::Key(key) if text.is_empty() => text.push_str(key),
                // Keys of labels and annotations contain dots.
                Segment::Key(key) if key.contains('.') => text.push_str(&format!("[{key}]")),
                Segment::Key(key) => text.push_str(&format!(".{key}")),
                Segment::Index(at) => match self.identity(&path[..=index]) {
                    Some((_, name)) => text.push_str(&format!("[{name}]")),
                    None => text.push_str(&format!("[{at}]")),
                },
            }
        }
        text
    }

    /// Returns whether a field shows the leaf.
    fn is_field(&self, leaf: &Leaf<'_>) -> bool {
        let in_workload = [&["template".into()], &leaf.path[..]].concat();
        let mut paths: Vec<Vec<Segment>> = self.sources.of(&in_workload).into_iter().collect();
        paths.push([&["workload".into()], &in_workload[..]].concat());
        match &leaf.path[..] {
            [
                Segment::Key(_),
                Segment::Key(list),
                Segment::Index(index),
                rest @ ..,
            ] if list == "containers" => {
                let name = self.sources.pod[list.as_str()][*index]["name"].as_str();
                paths.extend(self.injected(name.unwrap_or_default(), rest));
                let of_template = self.sources.in_template(list, *index, rest);
                paths.extend(of_template);
            }
            [Segment::Key(_), rest @ ..] => paths.push(rest.to_vec()),
            _ => {}
        }
        paths.into_iter().any(|path| {
            let shown = self.fields.get(&FieldPath::from(path));
            shown.is_some_and(|value| is_rendered_as(value, leaf.plain))
        })
    }

    /// The field that shows a field of an injected container.
    fn injected(&self, name: &str, rest: &[Segment]) -> Option<Vec<Segment>> {
        let base = if name == SIDECAR_CONTAINER {
            vec!["sidecar".into()]
        } else {
            let proxy = name.strip_prefix(STATE_PROXY_PREFIX)?;
            let at = self
                .spec
                .state_proxy
                .iter()
                .position(|it| it.name == proxy)?;
            vec!["stateProxy".into(), at.into()]
        };
        Some([base, rest.to_vec()].concat())
    }
}

/// The pod template that the steps render: of the actor's own workload, or for the target.
pub(super) fn template(composed: &BTreeMap<String, Object>) -> Option<&Value> {
    let own = [
        WorkloadKind::Deployment.resource_name(),
        WorkloadKind::StatefulSet.resource_name(),
        ADAPTER_RESOURCE_NAME,
    ];
    let own = own.iter().find_map(|name| composed.get(*name));
    let of_binding = || {
        let binding = composed.get(binding::RESOURCE_NAME)?;
        binding.get(&["spec", "forProvider", "template"])
    };
    own.and_then(|workload| workload.get(&["spec", "template"]))
        .or_else(of_binding)
}
