//! Checks an actor with its flavors and settings, through the steps that run in the cluster.

use std::collections::BTreeMap;
use std::sync::Arc;

use actor::binding::{ADAPTER_RESOURCE_NAME, RESOURCE_NAME as BINDING};
use actor::diagnostic::{Code, Diagnostic, Location, Severity, Source};
use actor::names::{FlavorName, PLATFORM, RUNTIME_CONTAINER};
use actor::spec::WorkloadKind;
use actor::status::ConditionType;
use actor::{ENVIRONMENT_CONFIG, labels};
use function_kit::{Facts, value};
use merge::{FieldPath, Segment};
use serde_json::{Map, Value, json};

use super::Linter;
use super::across::{Binding, Rendered};
use super::after_fatal::{self, Checked, Invalid, REST, is_of_whole};
use super::completion::{could_be_repaired, substitute};
use super::document::Document;
use super::finding::{Check, Finding, Place};
use super::queues::Queue;
use super::{nesting, scaling, workload};
use crate::nearest::nearest;
use crate::render_result::resolved_spec;
use crate::steps::up_to_scaling;
use pipeline::{Composite, Inputs, Machinery, Object, Outcome, Schemas};

/// Documents that an actor can be made of.
#[derive(Debug, Default)]
pub(super) struct World<'a> {
    /// Flavors by name. Of two with the same name the later one counts, as in the
    /// pipeline.
    pub(super) flavors: BTreeMap<&'a str, &'a Document>,
    /// The platform's settings.
    pub(super) platform: Option<&'a Document>,
}

/// Runs the steps on an actor; returns what it renders, if it renders anything: its queue only with
/// the platform's settings.
pub(super) fn check<'a>(
    linter: &Linter<'_>,
    document: &'a Document,
    world: &World<'_>,
    findings: &mut Vec<Finding>,
) -> Option<Rendered<'a>> {
    let missing = missing_flavors(document, world, findings);
    let inputs = match inputs(linter, document, world, &missing) {
        Ok(inputs) => inputs,
        Err(problem) => {
            let path = FieldPath::from(["metadata"]);
            findings.push(document.finding(Severity::Error, Code::InvalidValue, path, problem));
            return None;
        }
    };
    let checked = match after_fatal::run(inputs, linter.functions) {
        Ok(checked) => checked,
        Err(error) => {
            let path = FieldPath::default();
            findings.extend(error.lines().into_iter().map(|line| {
                document.finding(Severity::Error, Code::InvalidValue, path.clone(), line)
            }));
            return None;
        }
    };
    let is_lenient = world.platform.is_none();
    let mut diagnostics = diagnostics(document, &checked, is_lenient);
    diagnostics.extend(of_rest(linter, document, world, &missing, &diagnostics));
    diagnostics.retain(|it| !could_be_repaired(it, &missing));
    let documents = Documents {
        actor: document,
        world,
    };
    findings.extend(diagnostics.into_iter().map(|it| documents.finding(it)));
    let outcome = checked.outcome;
    nesting::check_rendered(document, &outcome.desired, findings);
    // Flavors decide about dead letters, retries, the strategy of a binding and timeouts.
    let is_complete = missing.is_empty();
    let queue = Queue::of(&outcome).filter(|_| !is_lenient);
    Some(Rendered {
        document,
        queue: if is_complete {
            queue
        } else {
            queue.map(Queue::without_derived)
        },
        binding: binding(&outcome).filter(|_| is_complete),
    })
}

/// Everything that steps reported, and what is wrong with the objects that they rendered.
fn diagnostics(document: &Document, checked: &Checked, is_lenient: bool) -> Vec<Diagnostic> {
    let Checked { facts, outcome } = checked;
    // Warnings about the transport of lenient settings mean nothing.
    let of_transport = ConditionType::TransportReady.as_str();
    let notes = facts.diagnostics.iter().filter(|note| {
        let is_error = note.diagnostic.severity == Severity::Error;
        is_error || !is_lenient || note.condition != of_transport
    });
    let rendered = workload::problems(facts, outcome).into_iter();
    let rendered = rendered
        .chain(scaling::problems(facts, outcome))
        .chain(handler(document, facts, outcome));
    // Lenient settings have no place to report anything at.
    let rendered = rendered.filter(|it| !is_lenient || it.code != Code::DefaultSidecarImage);
    notes
        .map(|note| note.diagnostic.clone())
        .chain(requests(document, facts, outcome))
        .chain(rendered)
        .collect()
}

/// Errors that the steps find if the fields with the errors found so far are left out. A flavor gives what
/// these would have given.
fn of_rest(
    linter: &Linter<'_>,
    document: &Document,
    world: &World<'_>,
    missing: &[&str],
    found: &[Diagnostic],
) -> Vec<Diagnostic> {
    let mut invalid = Invalid::default();
    let mut all: Vec<Diagnostic> = found.to_vec();
    let with_rest: Vec<&str> = [REST].into_iter().chain(missing.iter().copied()).collect();
    while invalid.add(all.iter()) {
        let mut actor = invalid.removed_from(document);
        let spec = actor.object.map_mut(&["spec"]);
        let names = spec.entry("flavors").or_insert_with(|| json!([]));
        if let Value::Array(names) = names {
            names.push(json!(REST));
        }
        let flavors = world.flavors.iter();
        let flavors: BTreeMap<&str, Document> = flavors
            .filter(|(name, _)| named_flavors(document).any(|(_, named)| named == **name))
            .map(|(name, flavor)| (*name, invalid.removed_from(flavor)))
            .collect();
        let rest = World {
            flavors: flavors.iter().map(|(name, it)| (*name, it)).collect(),
            platform: world.platform.filter(|_| !invalid.is_platform),
        };
        let inputs = inputs(linter, &actor, &rest, &with_rest);
        let checked = inputs.map(|inputs| after_fatal::run(inputs, linter.functions));
        let Ok(Ok(checked)) = checked else {
            break;
        };
        let is_new = |it: &Diagnostic| {
            let same = |other: &Diagnostic| {
                (other.code, &other.source, &other.path) == (it.code, &it.source, &it.path)
            };
            !all.iter().any(same)
        };
        let diagnostics = diagnostics(&actor, &checked, rest.platform.is_none());
        let diagnostics = diagnostics.into_iter().filter(|it| {
            is_of_whole(it, document)
                && !could_be_repaired(it, missing)
                && !invalid.may_cause(it)
                && is_new(it)
        });
        let diagnostics: Vec<Diagnostic> = diagnostics.collect();
        all.extend(diagnostics);
    }
    all.split_off(found.len())
}

/// Returns the requirements of a rendered actor on the workload in whose pods it runs; none without one.
fn binding(outcome: &Outcome) -> Option<Binding> {
    let binding = outcome.desired.resources.get(BINDING)?.resource.as_ref()?;
    let field = |key| ["spec", "forProvider", key];
    let minimum = value::integer(binding, &field("minimumGracePeriodSeconds"))?;
    let target = value::map(binding, &field("targetRef"))?;
    let text = |key| value::text(target, &[key]).unwrap_or_default().to_owned();
    Some(Binding {
        api_version: text("apiVersion"),
        kind: text("kind"),
        name: text("name"),
        grace_period: u64::try_from(minimum).ok()?,
    })
}

/// The documents that an actor is made of.
struct Documents<'a> {
    actor: &'a Document,
    world: &'a World<'a>,
}

impl Documents<'_> {
    /// Place of the field in the files; that of the actor if the document is not among them.
    fn place(&self, location: &Location) -> Place {
        let document = match &location.source {
            Source::Actor => Some(self.actor),
            Source::Flavor(name) => self.world.flavors.get(name.as_str()).copied(),
            Source::Platform => self.world.platform,
            Source::Input => None,
        };
        match document {
            Some(document) => document.place(location.path.clone()),
            None => self.actor.place(FieldPath::default()),
        }
    }

    fn finding(&self, diagnostic: Diagnostic) -> Finding {
        let related = diagnostic.related.iter();
        // What the platform sets for all actors is reported once.
        let is_of_all = diagnostic.code == Code::DefaultSidecarImage;
        Finding {
            place: self.place(&diagnostic.location()),
            severity: diagnostic.severity,
            code: diagnostic.code,
            related: related.map(|location| self.place(location)).collect(),
            message: diagnostic.message,
            help: diagnostic.help,
            actor: (!is_of_all).then(|| self.actor.object.name().to_owned()),
            check: Check::Steps,
        }
    }
}

/// The names in the actor's list, each with its index.
fn named_flavors(document: &Document) -> impl Iterator<Item = (usize, &str)> {
    let list = document.get(&["spec", "flavors"]).and_then(Value::as_array);
    let names = list.into_iter().flatten().enumerate();
    names.filter_map(|(index, name)| Some((index, name.as_str()?)))
}

/// Flavors that the actor names and that are missing. Other errors of the list are reported by
/// the first step.
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
        let message = format!("flavor {name:?} is not among the files given");
        findings.push(Finding {
            help: Some(match nearest(name, world.flavors.keys().copied()) {
                Some(meant) => format!("did you mean {meant:?}?"),
                None => "what it would set is not checked".to_owned(),
            }),
            ..document.finding(Severity::Warning, Code::FlavorNotGiven, path, message)
        });
    }
    missing.into_iter().map(|(_, name)| name).collect()
}

/// Inputs of the pipeline. A substitute replaces the first missing flavor and an empty one each other;
/// lenient settings replace missing platform settings.
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
    let composition = up_to_scaling(composition);
    // Only what it names: all flavors for each of thousands of actors would be millions of copies.
    let named = named_flavors(document).filter_map(|(_, name)| world.flavors.get(name));
    let present = named.chain(&world.platform);
    let mut required: Vec<Arc<Object>> = present
        .map(|config| Arc::new(config.object.clone()))
        .collect();
    if let Some((first, others)) = missing.split_first() {
        required.push(config(first, &substitute(&layers(document, world))).into());
        required.extend(others.iter().map(|name| config(name, &json!({})).into()));
    }
    if world.platform.is_none() {
        required.push(lenient_platform(document).into());
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

/// The spec of the actor and the data of its flavors.
fn layers<'a>(document: &'a Document, world: &World<'a>) -> Vec<&'a Map<String, Value>> {
    let named = named_flavors(document).filter_map(|(_, name)| world.flavors.get(name));
    let data = named.filter_map(|flavor| flavor.get(&["data"]));
    let spec = document.get(&["spec"]);
    let layers = spec.into_iter().chain(data);
    layers.filter_map(Value::as_object).collect()
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

/// An EnvironmentConfig with the label of its name.
pub(super) fn config(name: &str, data: &Value) -> Object {
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

/// Returns whether the runtime container has resource requests. A limit counts as a request, as
/// in Kubernetes.
fn requests(actor: &Document, facts: &Facts, outcome: &Outcome) -> Option<Diagnostic> {
    let workloads = [
        WorkloadKind::Deployment.resource_name(),
        WorkloadKind::StatefulSet.resource_name(),
        ADAPTER_RESOURCE_NAME,
    ];
    let workload = workloads
        .into_iter()
        .find_map(|name| outcome.desired.resources.get(name))?;
    let workload = workload.resource.as_ref()?;
    let containers = value::list(workload, &["spec", "template", "spec", "containers"]);
    let container = containers
        .iter()
        .filter_map(value::as_struct)
        .find(|container| value::text(container, &["name"]) == Some(RUNTIME_CONTAINER))?;
    let is_given = |resource: &&str| {
        let given = |list| value::at(container, &["resources", list, resource]).is_some();
        given("requests") || given("limits")
    };
    let missing: Vec<&str> = ["cpu", "memory"]
        .into_iter()
        .filter(|resource| !is_given(resource))
        .collect();
    if missing.is_empty() {
        return None;
    }
    let message = format!(
        "container {RUNTIME_CONTAINER:?} requests no {}",
        missing.join(" and no ")
    );
    let location = facts.locate(&field_of_resources(actor));
    let help = "its pods are placed as if they needed none, and nothing can scale them by it";
    Some(Diagnostic::warning(Code::NoRequests, location, message).help(help))
}

/// The handler, if it does not have the form that the runtime imports.
fn handler(actor: &Document, facts: &Facts, outcome: &Outcome) -> Option<Diagnostic> {
    let spec = resolved_spec(outcome)?;
    let path: FieldPath = match actor.get(&["spec", "workloadRef"]) {
        Some(_) if spec["runtime"]["handler"].is_string() => ["runtime", "handler"].into(),
        _ => ["handler"].into(),
    };
    let handler = match path.segments() {
        [_] => &spec["handler"],
        _ => &spec["runtime"]["handler"],
    };
    let handler = handler.as_str()?;
    let is_name = |part: &str| {
        let mut letters = part.chars();
        letters
            .next()
            .is_some_and(|first| first.is_alphabetic() || first == '_')
            && letters.all(|letter| letter.is_alphanumeric() || letter == '_')
    };
    if handler.is_empty() || (handler.contains('.') && handler.split('.').all(is_name)) {
        return None;
    }
    let location = facts.locate(&path);
    let message = format!("{}: {handler:?} is not module.function", location.path);
    let help = match handler.split_once(':') {
        Some((module, function)) if is_name(function) => {
            format!("did you mean \"{module}.{function}\"?")
        }
        _ => "write module.function or module.Class.method".to_owned(),
    };
    Some(Diagnostic::error(Code::InvalidHandler, location, message).help(help))
}

/// Path of the runtime container's resources in the resolved spec.
fn field_of_resources(document: &Document) -> FieldPath {
    const CONTAINERS: [&str; 4] = ["workload", "template", "spec", "containers"];
    if document.get(&["spec", "workloadRef"]).is_some() {
        return ["runtime", "resources"].into();
    }
    let keys: Vec<&str> = ["spec"].into_iter().chain(CONTAINERS).collect();
    let containers = document.get(&keys).and_then(Value::as_array);
    let runtime = containers.and_then(|containers| {
        let mut containers = containers.iter();
        containers.position(|container| container["name"] == RUNTIME_CONTAINER)
    });
    match runtime {
        Some(index) => CONTAINERS
            .map(Segment::from)
            .into_iter()
            .chain([index.into(), "resources".into()])
            .collect(),
        None => ["resources"].into(),
    }
}
