//! The platform's settings by themselves, as every step reads them. A step reads
//! only the transport that its actor uses; here all are read.

use actor::diagnostic::{Code, Diagnostic, Location, Severity};
use actor::names::PLATFORM;
use actor::platform::Platform;
use actor::transport::TransportError;
use merge::{FieldPath, Segment};
use serde_json::{Value, json};

use super::document::Document;
use super::finding::Finding;

/// Letters by which a misspelt name of the settings may differ.
const TYPO_MAX: usize = 2;

/// The settings; none where there are none, or they cannot be read.
pub(super) fn settings(document: &Document) -> Option<Platform> {
    let data = document.get(&["data"])?.clone();
    Platform::parse(data).ok()
}

/// The document without what counts as not set, which may have any type.
pub(super) fn without_empty_texts(document: &Document) -> Document {
    let mut set = document.clone();
    if let Some(data @ Value::Object(_)) = document.object.get(&["data"])
        && let Value::Object(data) = without_empty(data)
    {
        *set.object.map_mut(&["data"]) = data;
    }
    set
}

fn without_empty(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let set = fields.iter().filter(|(_, value)| **value != "");
            set.map(|(key, value)| (key.clone(), without_empty(value)))
                .collect()
        }
        other => other.clone(),
    }
}

/// Reports an EnvironmentConfig that is probably meant as the platform's settings: it would count as a
/// flavor, and actors would have no settings. `flavor` and `settings` are the schemas of both. Returns whether
/// it is one.
pub(super) fn check_name(
    document: &Document,
    [flavor, settings]: [&Value; 2],
    findings: &mut Vec<Finding>,
) -> bool {
    let name = document.object.name();
    let is_setting = |field: &String| {
        let is_of =
            |schema: &Value| !schema["properties"]["data"]["properties"][field.as_str()].is_null();
        is_of(settings) && !is_of(flavor)
    };
    let data = document.get(&["data"]).and_then(Value::as_object);
    let has_setting = || data.is_some_and(|data| data.keys().any(is_setting));
    let is_near = strsim::osa_distance(&name.to_lowercase(), PLATFORM) <= TYPO_MAX;
    if !is_near && !has_setting() {
        return false;
    }
    let message = format!(
        "EnvironmentConfig {name:?} is a flavor by its name: the platform's settings are in {PLATFORM:?}"
    );
    findings.push(Finding {
        help: Some(format!("did you mean {PLATFORM:?}?")),
        ..document.finding(
            Severity::Warning,
            Code::PlatformMissing,
            ["metadata", "name"],
            message,
        )
    });
    true
}

/// Problems of the settings.
pub(super) fn check(document: &Document, findings: &mut Vec<Finding>) {
    let data = document.get(&["data"]).cloned();
    let platform = match Platform::parse(data.unwrap_or_else(|| json!({}))) {
        Ok(platform) => platform,
        Err(error) => {
            let error = error.under("data");
            let message = format!("EnvironmentConfig {:?}: {error}", document.object.name());
            let code = Code::InvalidPlatform;
            findings.push(document.finding(Severity::Error, code, error.path, message));
            return;
        }
    };
    let mut report = |named_at: FieldPath, error: &TransportError| {
        let diagnostic = error.diagnostic(Location::platform(named_at), |path| {
            let path = path.segments().iter().cloned();
            let path: FieldPath = std::iter::once(Segment::from("data")).chain(path).collect();
            Location::platform(path)
        });
        findings.push(finding(document, diagnostic));
    };
    for name in platform.transports.keys() {
        match platform.transport(name) {
            Ok(_) | Err(TransportError::Disabled { .. }) => {}
            Err(error) => report(["data", "transports", name].into(), &error),
        }
    }
    match &platform.default_transport {
        Some(name) => match platform.transport(name) {
            Ok(_) | Err(TransportError::Misconfigured { .. }) => {}
            Err(error) => report(["data", "defaultTransport"].into(), &error),
        },
        None => {
            if let Err(error @ TransportError::NoneEnabled) = platform.default_transport() {
                report(["data", "transports"].into(), &error);
            }
        }
    }
}

/// A diagnostic of the document itself.
fn finding(document: &Document, diagnostic: Diagnostic) -> Finding {
    let related = diagnostic.related.into_iter();
    Finding {
        related: related.map(|other| document.place(other.path)).collect(),
        help: diagnostic.help,
        ..document.finding(
            diagnostic.severity,
            diagnostic.code,
            diagnostic.path,
            diagnostic.message,
        )
    }
}
