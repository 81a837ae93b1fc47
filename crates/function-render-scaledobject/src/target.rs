//! The workload that KEDA scales.

use actor::binding::ObjectReference;
use actor::spec::{Spec, WorkloadKind};
use actor::status::ConditionType;
use function_kit::{Call, Code, Diagnostic, Identity, Location, StepError, value};
use pbjson_types::{Struct, value::Kind};

/// Composition-resource names of workloads, of which an actor has one.
const WORKLOADS: [&str; 3] = ["deployment", "statefulset", "adapter"];

/// The workload that KEDA scales.
pub(crate) struct Target<'a> {
    pub(crate) api_version: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) name: &'a str,
    object: Option<&'a Struct>,
}

impl<'a> Target<'a> {
    /// The workload: the one that the step's input names, else the one that an
    /// earlier step desires, else a workload called like the actor.
    ///
    /// # Errors
    /// When the step's input names one that is neither desired nor observed.
    pub(crate) fn find(
        call: &'a Call,
        identity: &'a Identity,
        spec: &Spec,
        named: Option<&str>,
    ) -> Result<Self, StepError> {
        let object = match named {
            None => WORKLOADS.into_iter().find_map(|name| call.desired(name)),
            Some(name) => {
                let found = call.desired(name).or_else(|| call.observed(name));
                Some(found.ok_or_else(|| {
                    let message = format!(
                        "the step's input names {name:?} as target, which no step before it desires"
                    );
                    let location = Location::input(["target"]);
                    let error = Diagnostic::error(Code::NoTarget, location, message)
                        .help("name the composed resource of the workload to scale");
                    StepError::config(error).on(ConditionType::ScalingReady, "ConfigError")
                })?)
            }
        };
        let text = |path: &[&str]| object.and_then(|object| value::text(object, path));
        let kind = spec
            .workload
            .as_ref()
            .map_or(WorkloadKind::Deployment, |workload| workload.kind);
        Ok(Self {
            api_version: text(&["apiVersion"]).unwrap_or("apps/v1"),
            kind: text(&["kind"]).unwrap_or(kind.as_str()),
            name: text(&["metadata", "name"]).unwrap_or(identity.actor.as_str()),
            object,
        })
    }

    /// An object of another owner's. Nothing is known of its pods.
    pub(crate) fn foreign(object: &'a ObjectReference) -> Self {
        Self {
            api_version: &object.api_version,
            kind: &object.kind,
            name: &object.name,
            object: None,
        }
    }

    /// Names of the containers that neither request nor limit some of `resource`; only
    /// of the container called `only`, if that is given. Empty where the target's
    /// pods are not known.
    pub(crate) fn without(&self, resource: &str, only: Option<&str>) -> Vec<&'a str> {
        let path = ["spec", "template", "spec", "containers"];
        let containers = self
            .object
            .map_or(&[][..], |object| value::list(object, &path));
        containers
            .iter()
            .filter_map(value::as_struct)
            .filter(|container| {
                let is_set = |kind| {
                    value::at(container, &["resources", kind, resource]).is_some_and(is_something)
                };
                !is_set("requests") && !is_set("limits")
            })
            .filter_map(|container| value::text(container, &["name"]))
            .filter(|name| only.is_none_or(|only| only == *name))
            .collect()
    }
}

/// Returns whether a quantity is above zero, which has no other digit in any notation.
fn is_something(quantity: &pbjson_types::Value) -> bool {
    match &quantity.kind {
        Some(Kind::NumberValue(number)) => *number > 0.0,
        Some(Kind::StringValue(text)) => text.contains(|c: char| ('1'..='9').contains(&c)),
        _ => false,
    }
}
