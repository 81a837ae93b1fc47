//! The pod template.
//!
//! An actor with a template of its own and one without are rendered alike: where
//! there is no template, the inline fields lie under one that holds nothing but the
//! container `asya-runtime`.

use actor::duration::{format, seconds_up};
use actor::labels;
use actor::names::RUNTIME_CONTAINER;
use actor::pod::problem_of_state_proxy;
use actor::status::ConditionType;
use actor::timeout::{grace_period_seconds, runtime_timeout};
use function_kit::{Code, Diagnostic};
use merge::{FieldPath, Segment};
use serde_json::{Map, Value, json};

use crate::findings::{Findings, below};
use crate::list::{List, maps};
use crate::place::Place;
use crate::{Actor, containers, defaults, service_account};

const SERVICE_ACCOUNT: &str = "serviceAccountName";
const GRACE_PERIOD: &str = "terminationGracePeriodSeconds";

/// The template, and the ServiceAccount that its pods need, where one is rendered.
pub(crate) fn render(actor: &Actor, findings: &mut Findings) -> (Value, Option<Value>) {
    let path = FieldPath::from(["workload", "template"]);
    let spec = actor.spec;
    let container = match &actor.bound {
        Some(bound) => bound.container(),
        None => json!({"name": RUNTIME_CONTAINER}),
    };
    let mut template = match &spec.workload {
        Some(workload) => workload.template.clone(),
        None => Map::from_iter([("spec".to_owned(), json!({"containers": [container]}))]),
    };
    let mut metadata = take_map(actor, &mut template, &path, "metadata", findings);
    let mut pod = take_map(actor, &mut template, &path, "spec", findings);
    lay_metadata(actor, &mut metadata, &below(&path, "metadata"), findings);

    let path = below(&path, "spec");
    containers::render(actor, &mut pod, &path, findings);
    lay_named_lists(actor, &mut pod, &path, findings);
    lay_unnamed_lists(actor, &mut pod, &path, findings);
    lay_fields(actor, &mut pod, &path, findings);
    check_state_proxies(actor, findings);
    set_grace_period(actor, &mut pod, &path, findings);
    let own_account = [SERVICE_ACCOUNT, "serviceAccount"]
        .into_iter()
        .find_map(|field| pod.get(field)?.as_str().filter(|name| !name.is_empty()));
    let account = service_account::render(actor, own_account, findings);
    if account.is_some() {
        let name = actor.identity.actor.asya_prefixed();
        pod.insert(SERVICE_ACCOUNT.to_owned(), Value::String(name));
    }
    template.insert("metadata".to_owned(), Value::Object(metadata));
    template.insert("spec".to_owned(), Value::Object(pod));
    (Value::Object(template), account)
}

/// Labels and annotations of the pods. Not those of the XR: a relabelled actor
/// would restart. Ours win, because the workload selects its pods by them.
fn lay_metadata(
    actor: &Actor,
    metadata: &mut Map<String, Value>,
    path: &FieldPath,
    findings: &mut Findings,
) {
    let texts = |texts: &std::collections::BTreeMap<String, String>| -> Map<String, Value> {
        let entries = texts.iter();
        entries
            .map(|(key, text)| (key.clone(), json!(text)))
            .collect()
    };
    for (field, given) in [
        ("labels", &actor.spec.pod_labels),
        ("annotations", &actor.spec.pod_annotations),
    ] {
        defaults::apply_to_field(
            (metadata, path),
            field,
            texts(given),
            1,
            (actor.call, findings),
        );
    }
    let labels = metadata.entry("labels").or_insert_with(|| json!({}));
    if let Value::Object(labels) = labels {
        let component = if actor.bound.is_some() {
            "adapter"
        } else {
            "actor"
        };
        labels.insert(labels::COMPONENT.to_owned(), json!(component));
        labels.insert(labels::PART_OF.to_owned(), json!(labels::ASYA));
        labels.extend(texts(&labels::selector(&actor.identity.actor)));
    }
}

/// Lists to which items can be added without touching those of others.
pub(crate) fn lay_named_lists(
    actor: &Actor,
    pod: &mut Map<String, Value>,
    path: &FieldPath,
    findings: &mut Findings,
) {
    let spec = actor.spec;
    let name = Some("name");
    let mut volumes = List::take(actor.call, pod, path, "volumes", name, findings);
    volumes.append("volumes", maps(&spec.volumes));
    findings.repeated(actor.call, "volume", volumes.names());
    volumes.write(pod, "volumes");

    let mut secrets = List::take(actor.call, pod, path, "imagePullSecrets", name, findings);
    secrets.append("imagePullSecrets", maps(&spec.image_pull_secrets));
    secrets.drop_repeated();
    secrets.write(pod, "imagePullSecrets");
}

fn lay_unnamed_lists(
    actor: &Actor,
    pod: &mut Map<String, Value>,
    path: &FieldPath,
    findings: &mut Findings,
) {
    let spec = actor.spec;
    let unnamed = [
        ("tolerations", &spec.tolerations),
        (
            "topologySpreadConstraints",
            &spec.topology_spread_constraints,
        ),
    ];
    for (field, given) in unnamed {
        let mut list = List::take(actor.call, pod, path, field, None, findings);
        list.append(field, maps(given));
        list.write(pod, field);
    }
}

fn lay_fields(
    actor: &Actor,
    pod: &mut Map<String, Value>,
    path: &FieldPath,
    findings: &mut Findings,
) {
    let spec = actor.spec;
    let selector = &spec.node_selector;
    let selector = selector
        .iter()
        .map(|(key, value)| (key.clone(), json!(value)));
    for (field, given) in [
        ("nodeSelector", selector.collect()),
        ("affinity", spec.affinity.clone().unwrap_or_default()),
        (
            "securityContext",
            spec.security_context.clone().unwrap_or_default(),
        ),
    ] {
        defaults::apply_to_field((pod, path), field, given, 1, (actor.call, findings));
    }
    for (field, given) in [
        (SERVICE_ACCOUNT, &spec.service_account_name),
        ("priorityClassName", &spec.priority_class_name),
        ("runtimeClassName", &spec.runtime_class_name),
    ] {
        if let Some(given) = given.as_ref().filter(|name| !name.is_empty()) {
            pod.entry(field).or_insert_with(|| json!(given));
        }
    }
    if let Some(seconds) = spec.termination_grace_period_seconds {
        pod.entry(GRACE_PERIOD).or_insert_with(|| json!(seconds));
    }
}

/// Checks state proxies, which the runtime finds in its environment; inject-sidecar renders
/// them.
pub(crate) fn check_state_proxies(actor: &Actor, findings: &mut Findings) {
    let proxies = &actor.spec.state_proxy;
    let places: Vec<Place> = (0..proxies.len())
        .map(|index| Place::Spec(FieldPath::from([Segment::from("stateProxy"), index.into()])))
        .collect();
    for (proxy, place) in proxies.iter().zip(&places) {
        if let (Some(problem), Some(location)) =
            (problem_of_state_proxy(proxy), place.locate(actor.call))
        {
            let place = place.describe(actor.call);
            let message = format!("state proxy given by {place}: {problem}");
            findings.error(Diagnostic::error(
                Code::InvalidStateProxy,
                location,
                message,
            ));
        }
    }
    let names = proxies.iter().map(|proxy| proxy.name.as_str());
    findings.repeated(actor.call, "state proxy", names.zip(&places));
    let paths = proxies.iter().map(|proxy| proxy.mount.path.as_str());
    findings.repeated(
        actor.call,
        "mount path of a state proxy",
        paths.zip(&places),
    );
}

/// Grace period of a pod: the user's, else what follows
/// from the runtime timeout.
fn set_grace_period(
    actor: &Actor,
    pod: &mut Map<String, Value>,
    path: &FieldPath,
    findings: &mut Findings,
) {
    let timeout = match runtime_timeout(actor.spec) {
        Ok(timeout) => timeout,
        Err(error) => return findings.error(actor.call.timeout_diagnostic(&error)),
    };
    let mut setting = GRACE_PERIOD;
    let template = actor.spec.workload.as_ref().map(|it| &it.template);
    let own = template.and_then(|template| template.get("spec")?.get(GRACE_PERIOD));
    let mut location = actor.call.locate(&match own {
        Some(_) => below(path, GRACE_PERIOD),
        None => [GRACE_PERIOD].into(),
    });
    let seconds = pod.entry(GRACE_PERIOD).or_insert_with(|| {
        setting = "the platform's maxGracePeriodSeconds";
        location = actor.call.locate_setting(&["maxGracePeriodSeconds"].into());
        let max = actor.platform.max_grace_period_seconds();
        json!(grace_period_seconds(timeout, max))
    });
    let Some(seconds) = seconds.as_u64() else {
        let path = below(path, GRACE_PERIOD);
        let problem = "expected a whole number of 0 or more";
        return findings.error_at(actor.call, Code::InvalidValue, &path, problem);
    };
    if seconds < seconds_up(timeout) {
        let timeout = format(timeout);
        let message = format!(
            "work longer than {seconds} s would be killed when its pod ends: {setting} is below the runtime timeout of {timeout}"
        );
        let note = Diagnostic::warning(Code::GracePeriodTooShort, location, message);
        findings.note(ConditionType::WorkloadReady, note);
    }
}

fn take_map(
    actor: &Actor,
    parent: &mut Map<String, Value>,
    path: &FieldPath,
    field: &'static str,
    findings: &mut Findings,
) -> Map<String, Value> {
    match parent.remove(field) {
        None => Map::new(),
        Some(Value::Object(map)) => map,
        Some(_) => {
            let path = below(path, field);
            findings.error_at(actor.call, Code::InvalidValue, &path, "expected a map");
            Map::new()
        }
    }
}
