//! An actor with everything around it, through the steps that run in the cluster.

use std::collections::BTreeMap;

use actor::binding::ADAPTER_RESOURCE_NAME;
use actor::names::{FlavorName, PLATFORM, RUNTIME_CONTAINER};
use actor::spec::WorkloadKind;
use actor::status::ConditionType;
use actor::{ENVIRONMENT_CONFIG, labels};
use function_kit::value::struct_to_json;
use function_kit::{FACTS_KEY, Facts, value};
use merge::FieldPath;
use serde_json::{Map, Value, json};

use super::Linter;
use super::document::{Document, Role};
use super::finding::{Finding, Rule, Severity};
use super::nesting;
use super::place::Places;
use crate::pipeline::{
    Composite, EngineError, Inputs, Machinery, Object, Outcome, RenderError, Schemas, outcome,
};
use crate::steps::up_to_flavors;

/// What an actor may be made of.
#[derive(Debug, Default)]
pub(super) struct World<'a> {
    /// Flavors by name. Of two with the same name the later one counts, as in the
    /// pipeline.
    pub(super) flavors: BTreeMap<&'a str, &'a Document>,
    /// The platform's settings.
    pub(super) platform: Option<&'a Document>,
}

/// Runs the steps on an actor.
pub(super) fn check(
    linter: &Linter<'_>,
    document: &Document,
    world: &World<'_>,
    findings: &mut Vec<Finding>,
) {
    let missing = missing_flavors(document, world, findings);
    let inputs = match inputs(linter, document, world, &missing) {
        Ok(inputs) => inputs,
        Err(fault) => {
            let path = FieldPath::from(["metadata"]);
            findings.push(document.finding(Severity::Error, Rule::InvalidValue, path, fault));
            return;
        }
    };
    let (faults, left) = match outcome(&inputs, linter.functions) {
        Ok(outcome) => (Vec::new(), outcome),
        Err(RenderError::Engine(EngineError::Fatal {
            step,
            messages,
            left,
        })) => {
            let faults = messages
                .into_iter()
                .map(|message| (rule(&step, &message), message));
            (faults.collect(), *left)
        }
        Err(error) => {
            let path = FieldPath::default();
            findings.extend(error.lines().into_iter().map(|line| {
                document.finding(Severity::Error, Rule::InvalidValue, path.clone(), line)
            }));
            return;
        }
    };
    let facts = facts(&left);
    let places = Places {
        actor: document,
        flavors: named_flavors(document)
            .filter_map(|(_, name)| world.flavors.get(name).copied())
            .collect(),
        platform: world.platform,
        origins: facts.origins.clone(),
    };
    let faults = faults
        .into_iter()
        .map(|(rule, message)| (Severity::Error, rule, message));
    let notes = notes(facts, world.platform.is_some());
    for (severity, rule, message) in faults.chain(notes) {
        let (place, path) = places.of(&message);
        findings.push(found_with(document, place, severity, rule, path, message));
    }
    requests(&places, &left, findings);
    nesting::check_rendered(document, &left.desired, findings);
}

/// The names in the actor's list, each with its index.
fn named_flavors(document: &Document) -> impl Iterator<Item = (usize, &str)> {
    let list = document.get(&["spec", "flavors"]).and_then(Value::as_array);
    let names = list.into_iter().flatten().enumerate();
    names.filter_map(|(index, name)| Some((index, name.as_str()?)))
}

/// Flavors that the actor names and that are not there. Other faults of the list are
/// the first step's to tell.
fn missing_flavors<'a>(
    document: &'a Document,
    world: &World<'_>,
    findings: &mut Vec<Finding>,
) -> Vec<&'a str> {
    let is_missing = |name: &str| {
        name.parse::<FlavorName>().is_ok() && name != PLATFORM && !world.flavors.contains_key(name)
    };
    let missing: Vec<(usize, &str)> = named_flavors(document)
        .filter(|(_, name)| is_missing(name))
        .collect();
    for (index, name) in &missing {
        let path: FieldPath = vec!["spec".into(), "flavors".into(), (*index).into()].into();
        let message = format!(
            "flavor {name:?} is not among the files given: what it would set is not checked"
        );
        findings.push(document.finding(Severity::Warning, Rule::MissingFlavor, path, message));
    }
    missing.into_iter().map(|(_, name)| name).collect()
}

/// What is rendered. An empty flavor stands in for each that is missing, and the
/// pipeline then ends with the merge; lenient settings stand in for the platform's.
fn inputs(
    linter: &Linter<'_>,
    document: &Document,
    world: &World<'_>,
    missing: &[&str],
) -> Result<Inputs, String> {
    let mut object = document.object.clone();
    let (machinery, composition) = if document.is_legacy() {
        (Machinery::Legacy, linter.legacy_composition.clone())
    } else {
        if object.namespace().is_empty() {
            object.set_metadata("namespace", linter.namespace);
        }
        (Machinery::Modern, linter.composition.clone())
    };
    let composition = if missing.is_empty() {
        composition
    } else {
        up_to_flavors(composition.clone()).unwrap_or(composition)
    };
    let present = world.flavors.values().chain(&world.platform);
    let mut required: Vec<Object> = present.map(|config| config.object.clone()).collect();
    required.extend(missing.iter().map(|name| config(name, &json!({}))));
    if world.platform.is_none() {
        required.push(lenient_platform(document));
    }
    let composite = Composite::new(object, machinery).map_err(|error| error.to_string())?;
    Ok(Inputs {
        composite,
        composition,
        observed: Vec::new(),
        required,
        schemas: Schemas::default(),
        context: Map::new(),
    })
}

/// Settings with the actor's transport and no limits.
fn lenient_platform(document: &Document) -> Object {
    let named = document
        .get(&["spec", "transport"])
        .and_then(Value::as_str)
        .filter(|name| !name.is_empty());
    let transport = json!({"type": "sqs", "config": {"region": "us-east-1"}});
    let transports = Map::from_iter([(named.unwrap_or("any").to_owned(), transport)]);
    config(
        PLATFORM,
        &json!({"transports": transports, "maxGracePeriodSeconds": u32::MAX}),
    )
}

fn config(name: &str, data: &Value) -> Object {
    let (api_version, kind) = ENVIRONMENT_CONFIG;
    let document = json!({
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name, "labels": {labels::FLAVOR: name}},
        "data": data,
    });
    document
        .as_object()
        .cloned()
        .map(Object::from)
        .unwrap_or_default()
}

/// What a fault of a step breaks.
fn rule(step: &str, message: &str) -> Rule {
    if message.starts_with("flavor merge conflict: ") {
        Rule::FlavorConflict
    } else {
        Rule::Step(step.to_owned())
    }
}

fn facts(outcome: &Outcome) -> Facts {
    let context = outcome.context.as_ref();
    let facts = context.and_then(|context| value::map(context, &[FACTS_KEY]));
    facts
        .and_then(|facts| serde_json::from_value(struct_to_json(facts)).ok())
        .unwrap_or_default()
}

/// What the steps would tell in the actor's conditions. Of a transport that nobody
/// has named nothing can be told.
fn notes(facts: Facts, has_platform: bool) -> impl Iterator<Item = (Severity, Rule, String)> {
    let of_transport = ConditionType::TransportReady.as_str();
    let notes = facts.notes.into_iter();
    notes
        .filter(move |note| has_platform || note.condition != of_transport)
        .map(|note| {
            (
                Severity::Warning,
                Rule::Condition(note.condition),
                note.message,
            )
        })
}

/// Whether the runtime container says what it needs. A limit counts as a request, as
/// in Kubernetes.
fn requests(places: &Places<'_>, outcome: &Outcome, findings: &mut Vec<Finding>) {
    let workloads = [
        WorkloadKind::Deployment.resource_name(),
        WorkloadKind::StatefulSet.resource_name(),
        ADAPTER_RESOURCE_NAME,
    ];
    let Some(workload) = workloads
        .into_iter()
        .find_map(|name| outcome.desired.resources.get(name))
        .and_then(|workload| workload.resource.as_ref())
    else {
        return;
    };
    let containers = value::list(workload, &["spec", "template", "spec", "containers"]);
    let Some(container) = containers
        .iter()
        .filter_map(value::as_struct)
        .find(|container| value::text(container, &["name"]) == Some(RUNTIME_CONTAINER))
    else {
        return;
    };
    let is_given = |resource: &&str| {
        let given = |list| value::at(container, &["resources", list, resource]).is_some();
        given("requests") || given("limits")
    };
    let missing: Vec<&str> = ["cpu", "memory"]
        .into_iter()
        .filter(|resource| !is_given(resource))
        .collect();
    if missing.is_empty() {
        return;
    }
    let (document, path) = places.of_field(&field_of_resources(places.actor));
    let message = format!(
        "container {RUNTIME_CONTAINER:?} requests no {}: its pods are placed as if they needed none, and nothing can scale them by it",
        missing.join(" and no ")
    );
    let (severity, rule) = (Severity::Warning, Rule::Requests);
    findings.push(found_with(
        places.actor,
        document,
        severity,
        rule,
        path,
        message,
    ));
}

/// Something that was found with an actor, and stands in that document. In another
/// than the actor's own the message names the actor.
fn found_with(
    actor: &Document,
    document: &Document,
    severity: Severity,
    rule: Rule,
    path: FieldPath,
    message: String,
) -> Finding {
    let name = actor.object.name();
    let message = if document.role() == Role::Actor {
        message
    } else {
        format!("{message} (in actor {name:?})")
    };
    let mut finding = document.finding(severity, rule, path, message);
    finding.actor = Some(name.to_owned());
    finding
}

/// Where an actor says what its runtime container needs.
fn field_of_resources(document: &Document) -> String {
    const CONTAINERS: &str = "workload.template.spec.containers";
    if document.get(&["spec", "workloadRef"]).is_some() {
        return "runtime.resources".to_owned();
    }
    let keys = ["spec"].into_iter().chain(CONTAINERS.split('.'));
    let containers = document.get(&keys.collect::<Vec<_>>());
    let containers = containers.and_then(Value::as_array);
    let runtime = containers.and_then(|containers| {
        let mut containers = containers.iter();
        containers.position(|container| container["name"] == RUNTIME_CONTAINER)
    });
    match runtime {
        Some(index) => format!("{CONTAINERS}[{index}].resources"),
        None => "resources".to_owned(),
    }
}
