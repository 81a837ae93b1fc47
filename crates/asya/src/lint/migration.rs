//! Hints for the forms of the operator and of the charts with claims, which `docs/setup/migration.md`
//! lists.

use actor::diagnostic::{Code, Severity, Source};
use merge::{FieldPath, Segment};
use serde_json::Value;

use super::document::{Document, Role};
use super::finding::Finding;

/// The codes that report an old form.
const CODES: [Code; 4] = [
    Code::UnknownField,
    Code::InvalidValue,
    Code::InvalidPlatform,
    Code::InvalidFormula,
];

/// Old fields with a remedy; `*` stands for any name.
const FIELDS: [(&[&str], &str); 12] = [
    (
        &["timeout"],
        "write resiliency: {actorTimeout: 5m} for timeout: {processing: 300}; the grace period of pods is derived from it",
    ),
    (&["workload", "type"], "write workload.kind"),
    (&["socket"], "remove it: the socket is not configurable"),
    (
        &["sidecar", "image"],
        "write sidecar: {image: \"REPOSITORY:TAG\", imagePullPolicy: Always}",
    ),
    (&["sidecars"], "add the containers to workload.template"),
    (
        &["tracing"],
        "set OTEL_EXPORTER_OTLP_ENDPOINT in sidecar.env",
    ),
    (
        &["resourceRef"],
        "remove it: it refers to an object of the old Composition",
    ),
    (
        &["queueNameTemplate"],
        "write the names of the queues at your broker: asya-{namespace}-{actor}, or asya-{actor} for older operators",
    ),
    (&["roleArnPattern"], ROLE),
    (&["transports", "*", "roleArnPattern"], ROLE),
    (&["transports", "*", "config", "roleArnPattern"], ROLE),
    (
        &["scaling", "advanced", "formula"],
        "the queue's trigger is named \"queue\"",
    ),
];

const ROLE: &str = "write actorRoleArn in the transport's config; ServiceAccounts are named asya-<actor>, so the role must trust system:serviceaccount:<namespace>:asya-*";

/// Fields that no check reports, because the API server accepts them in claims or ignores them.
const UNREPORTED: [(&[&str], &str); 8] = [
    (
        &["spec", "compositionSelector"],
        "write spec.crossplane.compositionSelector",
    ),
    (
        &["spec", "compositionRef"],
        "write spec.crossplane.compositionRef",
    ),
    (
        &["spec", "compositionRevisionRef"],
        "write spec.crossplane.compositionRevisionRef",
    ),
    (
        &["spec", "compositionUpdatePolicy"],
        "write spec.crossplane.compositionUpdatePolicy",
    ),
    (&["spec", "compositeDeletePolicy"], "remove it"),
    (&["spec", "writeConnectionSecretToRef"], "remove it"),
    (
        &["status", "phase"],
        "read status.status, or condition ActorReady",
    ),
    (
        &["status", "infrastructure"],
        "read conditions TransportReady, ScalingReady, WorkloadReady, and status.replicas",
    ),
];

/// Label by which claims selected the Composition of their transport.
const TRANSPORT_LABEL: [&str; 4] = [
    "spec",
    "compositionSelector",
    "matchLabels",
    "asya.sh/transport",
];

/// Old names of the queue's URL and name in the status.
const QUEUE_STATUS: [(&str, &str); 2] = [
    ("queueUrl", "read status.queue.url"),
    ("queueIdentifier", "read status.queue.name"),
];

/// ServiceAccount of all actors of a namespace, which the charts create.
const SHARED_ACCOUNT: &str = "asya-actors";

/// Paths of a ServiceAccount's name below `spec` of an actor or `data` of a flavor.
const ACCOUNTS: [&[&str]; 2] = [
    &["serviceAccountName"],
    &["workload", "template", "spec", "serviceAccountName"],
];

/// Owners of labels that no user sets on an actor for its pods.
const SYSTEM_LABELS: [&str; 3] = ["asya.sh", "crossplane.io", "kubernetes.io"];

/// Sets the help of findings about an old form.
pub(super) fn add_hints(documents: &[Document], findings: &mut [Finding]) {
    for finding in findings {
        let Some(hint) = hint(documents, finding) else {
            continue;
        };
        finding.help = match finding.help.take() {
            // The formula may have another error too.
            Some(help) if finding.code == Code::InvalidFormula => Some(format!("{help}; {hint}")),
            _ => Some(hint.to_owned()),
        };
    }
}

fn hint(documents: &[Document], finding: &Finding) -> Option<&'static str> {
    let (Segment::Key(_), path) = finding.place.path.segments().split_first()? else {
        return None;
    };
    if !CODES.contains(&finding.code) {
        return None;
    }
    let (old, hint) = FIELDS.iter().find(|(old, _)| matches(old, path))?;
    let value = || value(documents, finding);
    let is_old = match *old.last()? {
        // Other values of these fields are wrong for another reason.
        "image" => value().is_some_and(Value::is_object),
        "queueNameTemplate" => {
            let text = value().and_then(Value::as_str).unwrap_or_default();
            text.contains("{{")
        }
        "formula" => names_a_numbered_trigger(value().and_then(Value::as_str)?),
        _ => true,
    };
    is_old.then_some(*hint)
}

fn matches(old: &[&str], path: &[Segment]) -> bool {
    let same = |(old, segment): (&&str, &Segment)| matches!(segment, Segment::Key(key) if *old == "*" || key == old);
    old.len() == path.len() && old.iter().zip(path).all(same)
}

/// The value at which a finding is.
fn value<'a>(documents: &'a [Document], finding: &Finding) -> Option<&'a Value> {
    let mut documents = documents.iter();
    let path = &finding.place.path;
    let is_of = |document: &&Document| {
        let place = &finding.place;
        // Names are compared before positions, which are searched in the document.
        let is_named =
            |name: &String| place.source == Some(Source::Actor) && document.object.name() != name;
        !finding.actor.as_ref().is_some_and(is_named)
            && document.file == place.file
            && document.place(path.clone()) == *place
    };
    let document = documents.find(is_of)?;
    let keys = path.segments().iter().map(|segment| match segment {
        Segment::Key(key) => Some(key.as_str()),
        Segment::Index(_) => None,
    });
    document.get(&keys.collect::<Option<Vec<_>>>()?)
}

/// Returns whether a formula has a name such as `s0`, by which KEDA calls triggers without a name.
fn names_a_numbered_trigger(formula: &str) -> bool {
    let mut words = formula.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    words.any(|word| {
        let number = word.strip_prefix('s').unwrap_or_default();
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Reports old forms of an actor or a flavor that no other check finds.
pub(super) fn check(document: &Document, findings: &mut Vec<Finding>) {
    findings.extend(shared_account(document));
    if document.role() == Role::Actor {
        findings.extend(labels(document));
        if !document.is_legacy() {
            unreported(document, findings);
        }
    }
}

/// The name of the charts' ServiceAccount.
fn shared_account(document: &Document) -> Option<Finding> {
    let root = match document.role() {
        Role::Actor => "spec",
        Role::Flavor => "data",
        _ => return None,
    };
    let paths = ACCOUNTS.map(|path| [&[root], path].concat());
    let path = paths.into_iter().find(|path| {
        document
            .get(path)
            .is_some_and(|name| name == SHARED_ACCOUNT)
    })?;
    let message = format!(
        "ServiceAccount {SHARED_ACCOUNT:?} belongs to the charts with claims, and is deleted with them"
    );
    let help = "create it with the annotation of its role, or remove the field: actors then get ServiceAccount asya-<actor> with the role of the platform's actorRoleArn";
    let path: FieldPath = path.into_iter().collect();
    Some(Finding {
        help: Some(help.to_owned()),
        ..document.finding(Severity::Info, Code::OtherEffect, path, message)
    })
}

/// Labels that were on the pods of an actor. Only of actors that adopt a queue: others never had other
/// pods.
fn labels(actor: &Document) -> Option<Finding> {
    let adopts = actor.get(&["spec", "queue", "adopt"]) == Some(&Value::Bool(true));
    let labels = actor.get(&["metadata", "labels"])?.as_object()?;
    let is_of_system = |label: &str| {
        let (owner, _) = label.split_once('/').unwrap_or_default();
        let is_of = |it: &&str| {
            owner
                .strip_suffix(*it)
                .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        SYSTEM_LABELS.iter().any(is_of)
    };
    let on_pods = actor.get(&["spec", "podLabels"]);
    let missing: Vec<&str> = labels
        .keys()
        .map(String::as_str)
        .filter(|label| !is_of_system(label) && on_pods.is_none_or(|it| it.get(label).is_none()))
        .collect();
    if !adopts || missing.is_empty() {
        return None;
    }
    let verb = if missing.len() == 1 { "is" } else { "are" };
    let message = format!(
        "{} {verb} on the actor's objects, and not on its pods",
        missing.join(", ")
    );
    let path = ["metadata", "labels"];
    Some(Finding {
        help: Some(
            "for pods, for example with a NetworkPolicy that selects them, write spec.podLabels"
                .to_owned(),
        ),
        ..actor.finding(Severity::Info, Code::OtherEffect, path, message)
    })
}

/// Fields of [`UNREPORTED`] and [`QUEUE_STATUS`].
fn unreported(actor: &Document, findings: &mut Vec<Finding>) {
    let queue = QUEUE_STATUS.map(|(key, hint)| (vec!["status", key], hint));
    let others = UNREPORTED.iter().map(|(path, hint)| (path.to_vec(), *hint));
    for (path, hint) in others.chain(queue) {
        if actor.get(&path).is_none() {
            continue;
        }
        let is_transport = path[1] == TRANSPORT_LABEL[1] && actor.get(&TRANSPORT_LABEL).is_some();
        let hint = if is_transport {
            "write spec.transport, or set the platform's defaultTransport"
        } else {
            hint
        };
        let message = match path[0] {
            "spec" => format!(
                "{} has effect only in claims of asya-legacy",
                path.join(".")
            ),
            _ => format!("{} is a field of another Asya", path.join(".")),
        };
        let path: FieldPath = path.into_iter().collect();
        let finding = actor.finding(Severity::Info, Code::UnknownField, path, message);
        findings.push(Finding {
            help: Some(hint.to_owned()),
            ..finding
        });
    }
}
