//! Errors of a flavor that every actor with it would have: the steps run on an actor that names only this
//! flavor, and that has what the flavor does not give.

use actor::diagnostic::{Severity, Source};
use actor::names::FlavorName;
use actor::{GROUP, KIND, VERSION};
use serde_json::{Map, Value, json};

use super::Linter;
use super::actor::{World, config};
use super::completion::{bounds, is_of_flavor_alone, substitute};
use super::document::Document;
use super::finding::{Check, Finding};

/// Name of the actor, and of the flavor that completes the one to check.
const COMPLETION: &str = "asya-lint-completion";

/// Reports the errors. The steps end at the first group of errors, so what has one is removed, and the rest
/// is checked again.
pub(super) fn check(linter: &Linter<'_>, flavor: &Document, findings: &mut Vec<Finding>) {
    let name = flavor.object.name();
    if name.parse::<FlavorName>().is_err() {
        return;
    }
    let mut rest = flavor.clone();
    while let Some(Value::Object(data)) = rest.get(&["data"]).cloned() {
        if data.is_empty() {
            return;
        }
        let found = errors(linter, &rest, &data);
        let fields: Vec<&str> = found.iter().filter_map(top_level).collect();
        let is_left = |field: &&str| data.contains_key(*field);
        if !fields.iter().any(is_left) {
            findings.extend(found);
            return;
        }
        for field in fields {
            rest.object.map_mut(&["data"]).remove(field);
        }
        findings.extend(found);
    }
}

/// The field of `data` that a finding is in.
fn top_level(finding: &Finding) -> Option<&str> {
    match finding.place.path.segments() {
        [_, merge::Segment::Key(field), ..] => Some(field),
        _ => None,
    }
}

fn errors(linter: &Linter<'_>, flavor: &Document, data: &Map<String, Value>) -> Vec<Finding> {
    let name = flavor.object.name();
    let document = |object| Document {
        object,
        bare_keys: Vec::new(),
        ..flavor.clone()
    };
    let mut spec = json!({"flavors": [name, COMPLETION]});
    if data.contains_key("runtime") || data.contains_key("binding") {
        spec["workloadRef"] =
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "target"});
    }
    let own = spec.as_object().cloned().unwrap_or_default();
    let mut completion = substitute(&[data, &own]);
    if let Some(Value::Object(scaling)) = data.get("scaling") {
        completion["scaling"] = bounds(scaling);
    }
    let actor = json!({
        "apiVersion": format!("{GROUP}/{VERSION}"),
        "kind": KIND,
        "metadata": {"name": COMPLETION, "namespace": linter.namespace},
        "spec": spec,
    });
    let actor = document(actor.as_object().cloned().unwrap_or_default().into());
    let completion = document(config(COMPLETION, &completion));
    let mut world = World::default();
    world.flavors.insert(name, flavor);
    world.flavors.insert(COMPLETION, &completion);
    let mut findings = Vec::new();
    super::actor::check(linter, &actor, &world, &mut findings);
    let object = flavor.object.clone().into_value();
    findings.retain(|finding| {
        let place = &finding.place;
        finding.severity == Severity::Error
            && matches!(&place.source, Some(Source::Flavor(own)) if own == name)
            && is_of_flavor_alone(finding.code, place.path.segments(), &object)
    });
    let of_flavor = findings.into_iter().map(|finding| Finding {
        actor: None,
        check: Check::Document,
        related: Vec::new(),
        ..finding
    });
    of_flavor.collect()
}
