//! Checks of a flavor by itself.

use actor::diagnostic::{Code, Severity};
use actor::labels;
use actor::spec::{INFRASTRUCTURE, MACHINERY, Resiliency};
use merge::{FieldPath, Segment};
use serde::Deserialize as _;
use serde_json::Value;

use super::document::Document;
use super::finding::Finding;

/// The flavor without the keys that are ignored, each of which is reported.
pub(super) fn without_ignored(flavor: &Document, findings: &mut Vec<Finding>) -> Document {
    let mut rest = flavor.clone();
    let name = flavor.object.name();
    for key in INFRASTRUCTURE.into_iter().chain([MACHINERY]) {
        if flavor.object.get(&["data", key]).is_none() {
            continue;
        }
        rest.object.map_mut(&["data"]).remove(key);
        let message = format!("flavor {name:?} sets {key:?}, which is ignored");
        let (severity, code) = (Severity::Warning, Code::KeyIgnoredInFlavor);
        findings.push(Finding {
            help: Some("only an actor can set it".to_owned()),
            ..flavor.finding(severity, code, ["data", key], message)
        });
    }
    rest
}

/// Checks that the label for discovery has the flavor's name. `required`: whether the platform
/// requires the label.
pub(super) fn label(flavor: &Document, required: bool, findings: &mut Vec<Finding>) {
    let (name, label) = (flavor.object.name(), flavor.object.label(labels::FLAVOR));
    if name.is_empty() || name == label {
        return;
    }
    let wanted = format!("{}: {name}", labels::FLAVOR);
    let (severity, path, message, help) = if label.is_empty() {
        (
            Severity::Info,
            vec!["metadata"],
            format!("flavor {name:?} has no label {wanted}, by which people find flavors"),
            None,
        )
    } else {
        (
            Severity::Warning,
            vec!["metadata", "labels", labels::FLAVOR],
            format!("flavor {name:?} is labelled {label:?}"),
            Some(format!("set {wanted}, for the name is what actors use")),
        )
    };
    let severity = if required { Severity::Error } else { severity };
    let path: merge::FieldPath = path.into_iter().collect();
    findings.push(Finding {
        help,
        ..flavor.finding(severity, Code::FlavorLabel, path, message)
    });
}

/// Checks the values of `resiliency`, so that they are found before an actor uses the flavor. A rule may
/// name a policy of another flavor.
pub(super) fn resiliency(flavor: &Document, findings: &mut Vec<Finding>) {
    let given = flavor.object.get(&["data", "resiliency"]);
    // Other forms are found by the schema.
    let given = given.and_then(|given: &Value| Resiliency::deserialize(given).ok());
    let problems = given.map(|given| given.problems()).unwrap_or_default();
    for problem in problems.into_iter().filter(|it| !it.needs_policies) {
        let path: FieldPath = ["data", "resiliency"]
            .map(Segment::from)
            .into_iter()
            .chain(problem.path.segments().iter().cloned())
            .collect();
        let message = format!("{path}: {}", problem.message);
        findings.push(flavor.finding(Severity::Error, Code::InvalidRetry, path, message));
    }
}
