//! Requests and limits.

use actor::diagnostic::Code;
use serde_json::{Map, Value};

use super::super::quantity::billionths;
use super::super::values::Format;
use super::super::walk::Walk;
use super::inner;
use crate::nearest::nearest;

/// Resources without a domain that containers have; beside them `hugepages-…`.
const OWN: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];
const HUGE: &str = "hugepages-";
const ONE: i128 = 1_000_000_000;

pub(super) fn requirements(walk: &mut Walk, map: &Map<String, Value>) {
    if walk
        .keys()
        .any(|key| ["volumeClaimTemplates", "volumeClaimTemplate"].contains(&key))
    {
        return; // the resources of a claim are other ones
    }
    let none = Map::new();
    let [requests, limits] = ["requests", "limits"].map(|field| inner(map, field).unwrap_or(&none));
    for (field, quantities) in [("requests", requests), ("limits", limits)] {
        for (name, value) in quantities {
            let path = [field.into(), name.as_str().into()];
            resource_name(walk, &path, name);
            let Some(amount) = billionths(value) else {
                continue;
            };
            if amount < 0 {
                walk.report(&path, Code::InvalidQuantity, "is below 0");
            }
            if is_extended(name) && amount % ONE != 0 {
                walk.report(&path, Code::InvalidQuantity, "must be a whole number");
            }
        }
    }
    for (name, request) in requests {
        let path = ["requests".into(), name.as_str().into()];
        let is_strict = is_extended(name) || name.starts_with(HUGE);
        match limits.get(name) {
            Some(limit) => {
                let (Some(requested), Some(most)) = (billionths(request), billionths(limit)) else {
                    continue;
                };
                let shown = |value: &Value| {
                    value
                        .as_str()
                        .map_or_else(|| value.to_string(), str::to_owned)
                };
                let (asked, limit) = (shown(request), shown(limit));
                if is_strict && requested != most {
                    let problem = format!("{asked} must equal the limit, {limit}");
                    walk.report(&path, Code::RequestAboveLimit, problem);
                } else if requested > most {
                    let problem = format!("{asked} is above the limit, {limit}");
                    walk.report(&path, Code::RequestAboveLimit, problem);
                }
            }
            None if is_strict && walk.is_whole() => {
                let problem = "needs a limit of the same amount";
                walk.report(&path, Code::RequestAboveLimit, problem);
            }
            None => {}
        }
    }
    let has = |quantities: &Map<String, Value>, wanted: fn(&str) -> bool| {
        quantities.keys().any(|it| wanted(it))
    };
    let is_huge = |it: &str| it.starts_with(HUGE);
    let is_basic = |it: &str| ["cpu", "memory"].contains(&it);
    let has_huge = has(requests, is_huge) || has(limits, is_huge);
    if has_huge && !has(requests, is_basic) && !has(limits, is_basic) && walk.is_whole() {
        walk.report(
            &[],
            Code::ExclusiveFields,
            "hugepages need cpu or memory as well",
        );
    }
}

fn resource_name(walk: &mut Walk, path: &[merge::Segment], name: &str) {
    if Format::QualifiedName.problem(name).is_some() {
        let problem = format!("{name:?} is no name of a resource");
        return walk.report(path, Code::InvalidKubernetesValue, problem);
    }
    if name.contains('/') || OWN.contains(&name) || name.starts_with(HUGE) {
        return;
    }
    let problem = format!(
        "{name:?} is no resource: those without a domain are {} and hugepages-…",
        OWN.join(", ")
    );
    match nearest(name, OWN.into_iter()) {
        Some(meant) => walk.report_with(
            path,
            Code::InvalidKubernetesValue,
            problem,
            format!("did you mean {meant:?}?"),
        ),
        None => walk.report(path, Code::InvalidKubernetesValue, problem),
    }
}

/// Returns whether the resource is an extended resource, as device plugins provide: its name has a domain
/// other than Kubernetes' own.
fn is_extended(name: &str) -> bool {
    name.contains('/') && !name.contains("kubernetes.io/")
}
