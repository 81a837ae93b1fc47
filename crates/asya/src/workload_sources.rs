//! Sources of a rendered workload: the field of the spec that gave a field of it.

use actor::names::{
    RUNTIME_CONTAINER, RUNTIME_FILES_CONTAINER, SIDECAR_CONTAINER, STATE_PROXY_PREFIX,
};
use merge::Segment;
use serde_json::Value;

/// Sources of a rendered workload.
pub(crate) struct Sources<'a> {
    /// The resolved spec.
    pub(crate) spec: &'a Value,
    /// The rendered PodSpec.
    pub(crate) pod: &'a Value,
}

impl Sources<'_> {
    /// The field of the resolved spec that gave a field of the rendered workload.
    pub(crate) fn of(&self, path: &[Segment]) -> Option<Vec<Segment>> {
        let keys: Vec<&str> = path.iter().map(key).collect();
        let own = |field: &str, rest: usize| Some(joined(&[field], &path[rest..]));
        match keys.as_slice() {
            ["strategy" | "updateStrategy", ..] if self.spec["workload"].is_object() => {
                Some(joined(&["workload", "strategy"], &path[1..]))
            }
            ["strategy", ..] => own("strategy", 1),
            ["serviceName" | "volumeClaimTemplates", ..] => Some(joined(&["workload"], path)),
            [
                "template",
                "metadata",
                field @ ("labels" | "annotations"),
                rest @ ..,
            ] => {
                let template = &self.spec["workload"]["template"]["metadata"][*field];
                let is_in_template = rest.first().is_some_and(|key| !template[*key].is_null());
                match (is_in_template, *field) {
                    (true, _) => Some(joined(&["workload"], path)),
                    (false, "labels") => own("podLabels", 3),
                    (false, _) => own("podAnnotations", 3),
                }
            }
            [
                "template",
                "spec",
                list @ ("containers" | "initContainers"),
                _,
                ..,
            ] => {
                let Segment::Index(index) = path[3] else {
                    return None;
                };
                self.of_container(list, index, &path[4..])
            }
            ["template", "spec", field, ..] => self.of_pod(field, &path[3..]),
            _ => None,
        }
    }

    /// The path in the template of the spec that corresponds to a field of a rendered container.
    pub(crate) fn in_template(
        &self,
        list: &str,
        index: usize,
        rest: &[Segment],
    ) -> Option<Vec<Segment>> {
        let template = &self.spec["workload"]["template"]["spec"][list];
        let at = position(template, "name", &self.pod[list][index])?;
        let base = joined(&["workload", "template", "spec", list], &[at.into()]);
        Some([base, rest.to_vec()].concat())
    }

    fn of_pod(&self, field: &str, rest: &[Segment]) -> Option<Vec<Segment>> {
        let template = &self.spec["workload"]["template"]["spec"];
        let in_template = ["workload", "template", "spec", field];
        let Some((Segment::Index(index), inside)) = rest.split_first() else {
            let list = if template[field].is_null() {
                &in_template[3..]
            } else {
                &in_template[..]
            };
            return Some(joined(list, rest));
        };
        let item = &self.pod[field][*index];
        let (list, at) = if field == "volumes" || field == "imagePullSecrets" {
            match (
                position(&template[field], "name", item),
                position(&self.spec[field], "name", item),
            ) {
                (Some(at), _) => (&in_template[..], at),
                (None, Some(at)) => (&in_template[3..], at),
                (None, None) => return None,
            }
        } else {
            let of_template = items(template, field).len();
            match index.checked_sub(of_template) {
                None => (&in_template[..], *index),
                Some(at) => (&in_template[3..], at),
            }
        };
        Some([joined(list, &[at.into()]), inside.to_vec()].concat())
    }

    fn of_container(&self, list: &str, index: usize, rest: &[Segment]) -> Option<Vec<Segment>> {
        let container = &self.pod[list][index];
        let name = container["name"].as_str().unwrap_or_default();
        let template = &self.spec["workload"]["template"]["spec"][list];
        if let Some(at) = position(template, "name", container) {
            let base = joined(&["workload", "template", "spec", list], &[at.into()]);
            if let Some(rest) = inside(&template[at], container, rest) {
                return Some([base, rest].concat());
            }
            if name != RUNTIME_CONTAINER {
                return Some(base);
            }
        }
        if list == "initContainers" && name != RUNTIME_FILES_CONTAINER {
            let at = position(&self.spec[list], "name", container)?;
            return Some([joined(&[list], &[at.into()]), rest.to_vec()].concat());
        }
        let field = rest.first().map(key).unwrap_or_default();
        if name == RUNTIME_CONTAINER {
            let root = if self.spec["runtime"].is_object() {
                &["runtime"][..]
            } else {
                &[]
            };
            let (field, renamed) = match field {
                "securityContext" => ("containerSecurityContext", "securityContext"),
                field => (field, field),
            };
            let own = root.iter().fold(self.spec, |value, key| &value[*key]);
            let inner = match rest {
                [_, Segment::Index(at), inner @ ..] => {
                    let identity = if renamed == "volumeMounts" {
                        "mountPath"
                    } else {
                        "name"
                    };
                    let at = position(&own[field], identity, &container[renamed][*at])?;
                    [vec![at.into()], inner.to_vec()].concat()
                }
                [_, inner @ ..] => inner.to_vec(),
                [] => return Some(Vec::new()),
            };
            return Some([joined(root, &[field.into()]), inner].concat());
        }
        let is_of_sidecar = [SIDECAR_CONTAINER, RUNTIME_FILES_CONTAINER].contains(&name);
        let (base, own) = if is_of_sidecar {
            (joined(&["sidecar"], &[]), &self.spec["sidecar"])
        } else {
            let proxy = name.strip_prefix(STATE_PROXY_PREFIX)?;
            let at = items(self.spec, "stateProxy")
                .iter()
                .position(|it| it["name"] == proxy)?;
            let base = joined(&["stateProxy"], &[at.into()]);
            let own = &self.spec["stateProxy"][at];
            match field {
                "securityContext" => (base, own),
                _ => ([base, vec!["connector".into()]].concat(), &own["connector"]),
            }
        };
        let rest = inside(own, container, rest)?;
        Some([base, rest].concat())
    }
}

/// The path in a part of the spec that corresponds to a path in the rendered container; none if the
/// part does not give it.
fn inside(own: &Value, rendered: &Value, rest: &[Segment]) -> Option<Vec<Segment>> {
    let (Some(first), field) = (rest.first(), rest.first().map(key).unwrap_or_default()) else {
        return Some(Vec::new());
    };
    if own[field].is_null() {
        return None;
    }
    match rest {
        [_, Segment::Index(at), inner @ ..] => {
            // Other lists are rendered as they are written.
            let at = match field {
                "env" => position(&own[field], "name", &rendered[field][*at])?,
                "volumeMounts" => position(&own[field], "mountPath", &rendered[field][*at])?,
                _ => *at,
            };
            Some([vec![first.clone(), at.into()], inner.to_vec()].concat())
        }
        _ => Some(rest.to_vec()),
    }
}

/// The position of the item with the same identity.
fn position(list: &Value, identity: &str, item: &Value) -> Option<usize> {
    let list = list.as_array()?;
    let wanted = item.get(identity)?;
    list.iter().position(|it| it.get(identity) == Some(wanted))
}

/// The items of a list; none if the field is no list.
pub(crate) fn items<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value[field].as_array().map_or(&[], Vec::as_slice)
}

/// The key of a segment; empty for an index.
pub(crate) fn key(segment: &Segment) -> &str {
    match segment {
        Segment::Key(key) => key,
        Segment::Index(_) => "",
    }
}

/// The path of these keys and a rest.
pub(crate) fn joined(keys: &[&str], rest: &[Segment]) -> Vec<Segment> {
    let keys = keys.iter().map(|key| Segment::from(*key));
    keys.chain(rest.iter().cloned()).collect()
}
