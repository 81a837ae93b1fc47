//! Checks of actors, flavors and platform settings together.
//!
//! The steps decide whether an actor is valid, run in process on the actor with
//! its flavors; none of their rules is repeated here. Further checks find problems that no step can
//! see: fields that nothing reads, and data that is lost before a step runs.
//!
//! Pure: [`crate::inputs`] reads the files.

mod across;
mod actor;
mod after_fatal;
mod completion;
mod document;
mod fields;
mod finding;
mod flavor;
mod flavor_alone;
mod form;
mod kind;
mod migration;
mod names;
mod nesting;
mod platform;
mod queues;
mod sarif;
mod scaling;
#[cfg(test)]
mod tests;
mod workload;

use std::collections::BTreeSet;
use std::path::PathBuf;

use ::actor::schema;
use ::actor::spec::without_machinery;
use merge::{FieldPath, Segment};
use serde_json::Value;

pub use ::actor::diagnostic::{Code, Severity, Source};
pub use document::{Document, Role};
pub(crate) use finding::Check;
pub use finding::{Finding, Place};
pub use form::{github, json, lines};
pub use sarif::sarif;

use self::actor::World;
use crate::inputs::bare_key;
use crate::ordered;
use pipeline::{Composition, Functions};

/// Functions, Compositions and options of the checks.
#[derive(Debug)]
pub struct Linter<'a> {
    /// The steps.
    pub functions: &'a Functions,
    /// Composition of actors.
    pub composition: Composition,
    /// Composition of legacy XRs of actors.
    pub legacy_composition: Composition,
    /// Namespace of actors that name none.
    pub namespace: &'a str,
}

impl Linter<'_> {
    /// Returns the findings in documents that belong together, sorted.
    pub fn lint(&self, documents: &[Document]) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut rendered = Vec::new();
        let spec = fields::object("spec", schema::spec());
        let data = fields::object("data", schema::spec());
        let settings = fields::object("data", schema::settings());
        let world = world(documents);
        let label_is_required = world
            .platform
            .and_then(platform::settings)
            .is_some_and(|settings| settings.require_flavor_label);
        let check = |document| {
            let mut findings = Vec::new();
            let mut rendered = None;
            let role = Document::role(document);
            if !matches!(role, Role::UnknownKind { .. } | Role::None) {
                common(document, &mut findings);
            }
            match role {
                Role::Actor => {
                    migration::check(document, &mut findings);
                    let own = without_crossplanes(document);
                    fields::check(&own, &spec, Severity::Error, &mut findings);
                    if !document.object.name().is_empty() {
                        rendered = self::actor::check(self, document, &world, &mut findings);
                    }
                }
                Role::Flavor
                    if world.platform.is_none()
                        && platform::check_name(document, [&data, &settings], &mut findings) =>
                {
                    check_platform(document, &settings, &mut findings);
                }
                Role::Flavor => {
                    migration::check(document, &mut findings);
                    let rest = flavor::without_ignored(document, &mut findings);
                    fields::check(&rest, &data, Severity::Warning, &mut findings);
                    flavor::label(document, label_is_required, &mut findings);
                    flavor::resiliency(document, &mut findings);
                    flavor_alone::check(self, document, &mut findings);
                }
                Role::Platform => check_platform(document, &settings, &mut findings),
                Role::OtherVersion { served } => findings.push(other_version(document, &served)),
                Role::UnknownKind { remedy } => findings.push(kind::unknown(document, remedy)),
                Role::None => {}
            }
            (findings, rendered)
        };
        for (found, it) in ordered::all(documents, check) {
            findings.extend(found);
            rendered.extend(it);
        }
        across::check(documents, &rendered, self.namespace, &mut findings);
        migration::add_hints(documents, &mut findings);
        without_repetitions(findings)
    }
}

/// Checks of the platform's settings.
fn check_platform(document: &Document, settings: &Value, findings: &mut Vec<Finding>) {
    let set = platform::without_empty_texts(document);
    fields::check(&set, settings, Severity::Warning, findings);
    platform::check(document, findings);
}

/// Flavors and settings among the documents.
fn world(documents: &[Document]) -> World<'_> {
    let mut world = World::default();
    for document in documents {
        match document.role() {
            Role::Flavor => {
                world.flavors.insert(document.object.name(), document);
            }
            Role::Platform => world.platform = Some(document),
            _ => {}
        }
    }
    world
}

/// Checks of every document.
fn common(document: &Document, findings: &mut Vec<Finding>) {
    nesting::check(document, findings);
    for path in &document.bare_keys {
        if let Some(Segment::Key(key)) = path.segments().last() {
            let (code, path) = (Code::BareKey, path.clone());
            findings.push(document.finding(Severity::Warning, code, path, bare_key(key)));
        }
    }
    let name = document.get(&["metadata", "name"]);
    if name.is_none_or(|name| name == "") {
        let message = format!("{} has no metadata.name", document.object.kind());
        let (code, path) = (Code::ActorUnnamed, ["metadata"]);
        findings.push(document.finding(Severity::Error, code, path, message));
    }
    names::check(document, findings);
}

/// The actor without the fields that are Crossplane's. A claim and a v2 XR are the
/// same, so a claim's are allowed in both.
fn without_crossplanes(document: &Document) -> Document {
    let mut own = document.clone();
    if let Some(Value::Object(spec)) = document.object.get(&["spec"]) {
        *own.object.map_mut(&["spec"]) = without_machinery(spec.clone(), true);
    }
    own
}

fn other_version(document: &Document, served: &str) -> Finding {
    let message = format!(
        "{} of {:?} is not served",
        document.object.kind(),
        document.object.api_version()
    );
    let (severity, code) = (Severity::Error, Code::VersionNotServed);
    Finding {
        help: Some(format!("write apiVersion: {served}")),
        ..document.finding(severity, code, ["apiVersion"], message)
    }
}

/// The findings sorted, and each once. A value of the wrong type is found by the schema's check
/// and again by the step that reads it; an error of a flavor or of the platform by a check of the
/// document itself and again with each actor that uses it.
fn without_repetitions(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.sort();
    findings.dedup();
    // Only findings of one place repeat each other, and these stand together.
    let of_place = |a: &Finding, b: &Finding| {
        a.place.file == b.place.file && a.place.position == b.place.position
    };
    let groups = findings.chunk_by(of_place);
    let repeated: Vec<bool> = groups
        .flat_map(|group| {
            let repeats = |finding: &Finding| group.iter().any(|earlier| finding.repeats(earlier));
            group.iter().map(repeats).collect::<Vec<bool>>()
        })
        .collect();
    let inner = inner_values(&findings);
    let kept = findings.into_iter().zip(repeated);
    kept.filter(|(finding, is_repeated)| !is_repeated && !has_inner(finding, &inner))
        .map(|(finding, _)| finding)
        .collect()
}

/// File, actor and path of a value that the schema's check found to be invalid.
type Invalid = (PathBuf, Option<String>, FieldPath);

fn inner_values(findings: &[Finding]) -> BTreeSet<Invalid> {
    let of_schema = findings
        .iter()
        .filter(|it| it.check == Check::Schema && it.code == Code::InvalidValue);
    let key = |it: &Finding| {
        (
            it.place.file.clone(),
            it.actor.clone(),
            it.place.path.clone(),
        )
    };
    of_schema.map(key).collect()
}

/// Returns whether a step reports a whole item as invalid, of which the schema's check has named the field.
fn has_inner(finding: &Finding, inner: &BTreeSet<Invalid>) -> bool {
    let is_of_step = finding.check != Check::Schema && finding.code == Code::InvalidValue;
    let place = &finding.place;
    is_of_step && {
        let from = (
            place.file.clone(),
            finding.actor.clone(),
            place.path.clone(),
        );
        let mut inside = inner.range(from..);
        inside.next().is_some_and(|(file, actor, path)| {
            let starts = path.segments().starts_with(place.path.segments());
            *file == place.file && *actor == finding.actor && starts
        })
    }
}
