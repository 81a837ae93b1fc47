//! Errors between documents: the same object twice, shared names, queues and targets, unused flavors,
//! targets whose pods end too early.

use std::collections::{BTreeMap, BTreeSet};

use actor::binding::targets::group_of;
use actor::diagnostic::{Code, Severity};
use merge::{FieldPath, Segment};
use serde_json::Value;

use super::document::{Document, Role};
use super::finding::Finding;
use super::queues::{self, Queue};

/// Default of `terminationGracePeriodSeconds`. Source: Kubernetes,
/// `DefaultTerminationGracePeriodSeconds`.
const DEFAULT_GRACE_PERIOD: u64 = 30;

/// An actor that the steps rendered.
#[derive(Debug)]
pub(super) struct Rendered<'a> {
    /// The actor.
    pub(super) document: &'a Document,
    /// Its queue, if it is known.
    pub(super) queue: Option<Queue>,
    /// The workload in whose pods it works, where these are not its own.
    pub(super) binding: Option<Binding>,
}

/// Requirements of an actor on the workload in whose pods it runs.
#[derive(Debug)]
pub(super) struct Binding {
    /// The workload's version.
    pub(super) api_version: String,
    /// Its kind.
    pub(super) kind: String,
    /// Its name.
    pub(super) name: String,
    /// Seconds that its pods need to end.
    pub(super) grace_period: u64,
}

/// Checks documents that belong together against each other.
pub(super) fn check(
    documents: &[Document],
    rendered: &[Rendered<'_>],
    namespace: &str,
    findings: &mut Vec<Finding>,
) {
    duplicates(documents, namespace, findings);
    names(documents, namespace, findings);
    queues::check(rendered, namespace, findings);
    targets(rendered, namespace, findings);
    grace_periods(documents, rendered, namespace, findings);
    unused_flavors(documents, findings);
}

/// The namespace of an actor; that of the command line if it has none.
pub(super) fn namespace_of<'a>(document: &'a Document, namespace: &'a str) -> &'a str {
    match document.object.namespace() {
        "" if !document.is_legacy() => namespace,
        own => own,
    }
}

/// Objects of one kind, namespace and name: applied one after the other, the last one wins.
fn duplicates(documents: &[Document], namespace: &str, findings: &mut Vec<Finding>) {
    let mut first: BTreeMap<(&str, &str, &str), &Document> = BTreeMap::new();
    for document in documents {
        let (is_config, code) = match document.role() {
            Role::Actor => (false, Code::ActorTwice),
            Role::Flavor | Role::Platform => (true, Code::FlavorTwice),
            Role::OtherVersion { .. } | Role::UnknownKind { .. } | Role::None => continue,
        };
        let namespace = if is_config {
            ""
        } else {
            namespace_of(document, namespace)
        };
        let (kind, name) = (document.object.kind(), document.object.name());
        if name.is_empty() {
            continue;
        }
        match first.get(&(kind, namespace, name)) {
            None => {
                first.insert((kind, namespace, name), document);
            }
            Some(earlier) => {
                let message = format!("{kind} {name:?} is defined twice");
                findings.push(beside(
                    document,
                    earlier,
                    code,
                    ["metadata", "name"].into(),
                    message,
                ));
            }
        }
    }
}

/// Actors of one namespace whose names for workload and queue are the same, by `spec.actor`.
fn names(documents: &[Document], namespace: &str, findings: &mut Vec<Finding>) {
    let mut first: BTreeMap<(&str, &str), &Document> = BTreeMap::new();
    for document in documents.iter().filter(|it| it.role() == Role::Actor) {
        let own = document.object.name();
        let name = actor_name(document);
        let key = (namespace_of(document, namespace), name);
        match first.get(&key) {
            Some(earlier) if earlier.object.name() != own => {
                let path = if name == own {
                    ["metadata", "name"]
                } else {
                    ["spec", "actor"]
                };
                let message = format!(
                    "actors {:?} and {own:?} have the same workload and queue, named {name:?}",
                    earlier.object.name()
                );
                let code = Code::ActorNameShared;
                findings.push(beside(document, earlier, code, path.into(), message));
            }
            Some(_) => {}
            None => {
                first.insert(key, document);
            }
        }
    }
}

/// The name of an actor's workload, from which that of its queue follows.
pub(super) fn actor_name(document: &Document) -> &str {
    let given = document.get(&["spec", "actor"]).and_then(Value::as_str);
    let given = given.filter(|name| !name.is_empty());
    given.unwrap_or_else(|| document.object.name())
}

/// Actors that inject into one workload: its pods can serve one queue only.
fn targets(rendered: &[Rendered<'_>], namespace: &str, findings: &mut Vec<Finding>) {
    let mut first: BTreeMap<_, &Document> = BTreeMap::new();
    for actor in rendered {
        let Some(binding) = &actor.binding else {
            continue;
        };
        let document = actor.document;
        let identity = |it| (namespace_of(it, namespace), it.object.name());
        let key = (
            group_of(&binding.api_version),
            binding.kind.as_str(),
            binding.name.as_str(),
            namespace_of(document, namespace),
        );
        match first.get(&key) {
            Some(earlier) if identity(earlier) != identity(document) => {
                let message = format!(
                    "actors {:?} and {:?} both inject containers into {} {:?}, which can serve one queue only",
                    earlier.object.name(),
                    document.object.name(),
                    binding.kind,
                    binding.name
                );
                let path = ["spec", "workloadRef"];
                findings.push(Finding {
                    related: vec![earlier.place(path)],
                    help: Some(
                        "bind one of them to another workload, or set binding.strategy: Adapter for one"
                            .to_owned(),
                    ),
                    ..document.finding(Severity::Error, Code::TargetBoundTwice, path, message)
                });
            }
            Some(_) => {}
            None => {
                first.insert(key, document);
            }
        }
    }
}

/// Targets among the files whose pods end before the work of an actor in them may be done.
fn grace_periods(
    documents: &[Document],
    rendered: &[Rendered<'_>],
    namespace: &str,
    findings: &mut Vec<Finding>,
) {
    let bound = rendered
        .iter()
        .filter_map(|it| Some((it.document, it.binding.as_ref()?)));
    let mut named: BTreeMap<(&str, &str), Vec<&Document>> = BTreeMap::new();
    for document in documents {
        let key = (document.object.kind(), document.object.name());
        named.entry(key).or_default().push(document);
    }
    for (actor, binding) in bound {
        let same = named.get(&(binding.kind.as_str(), binding.name.as_str()));
        let is_target = |it: &&Document| {
            let object = &it.object;
            group_of(object.api_version()) == group_of(&binding.api_version)
                && namespace_of(it, namespace) == namespace_of(actor, namespace)
        };
        for target in same.into_iter().flatten().copied().filter(is_target) {
            let Some(pod) = target.get(&["spec", "template", "spec"]) else {
                continue;
            };
            let given = pod.get("terminationGracePeriodSeconds");
            let seconds = given.map_or(Some(DEFAULT_GRACE_PERIOD), Value::as_u64);
            let Some(seconds) = seconds.filter(|seconds| *seconds < binding.grace_period) else {
                continue;
            };
            let mut path = vec!["spec", "template", "spec"];
            if given.is_some() {
                path.push("terminationGracePeriodSeconds");
            }
            let path: FieldPath = path.into_iter().map(Segment::from).collect();
            let message = format!(
                "work of actor {:?} in pods of {} {:?} would be killed after {seconds} s when a pod ends: \
                 terminationGracePeriodSeconds is below the runtime timeout of {} s",
                actor.object.name(),
                binding.kind,
                binding.name,
                binding.grace_period,
            );
            let code = Code::TargetGracePeriodTooShort;
            findings.push(Finding {
                related: vec![actor.place(["spec", "workloadRef"])],
                actor: Some(actor.object.name().to_owned()),
                ..target.finding(Severity::Warning, code, path, message)
            });
        }
    }
}

/// Flavors that no actor among the files names. Without actors, nothing is reported.
fn unused_flavors(documents: &[Document], findings: &mut Vec<Finding>) {
    let mut named = BTreeSet::new();
    let mut has_actors = false;
    for document in documents.iter().filter(|it| it.role() == Role::Actor) {
        has_actors = true;
        let list = document.get(&["spec", "flavors"]).and_then(Value::as_array);
        named.extend(list.into_iter().flatten().filter_map(Value::as_str));
    }
    if !has_actors {
        return;
    }
    for flavor in documents.iter().filter(|it| it.role() == Role::Flavor) {
        let name = flavor.object.name();
        if !named.contains(name) {
            let message = format!("no actor among the files names flavor {name:?}");
            let path = ["metadata", "name"];
            findings.push(flavor.finding(Severity::Info, Code::FlavorUnused, path, message));
        }
    }
}

/// An error of a document that an earlier one is part of.
pub(super) fn beside(
    document: &Document,
    earlier: &Document,
    code: Code,
    path: FieldPath,
    message: String,
) -> Finding {
    let other = earlier.place(["metadata", "name"]);
    let (file, line) = (other.file.display().to_string(), other.position.line);
    Finding {
        related: vec![other],
        help: Some(format!("see {file}:{line}")),
        ..document.finding(Severity::Error, code, path, message)
    }
}
