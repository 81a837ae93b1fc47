//! The XR that is rendered, and what exists of it already.

use serde_json::{Map, Value, json};

use super::conditions::{Condition, Conditions};
use super::names::stable_uid;
use super::object::Object;

/// The annotation by which Crossplane knows which composed resource an object is.
pub const RESOURCE_NAME: &str = "crossplane.io/composition-resource-name";
/// The label that names the XR, on itself and on everything composed.
pub const COMPOSITE: &str = "crossplane.io/composite";

/// Location of Crossplane's own fields in an XR.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Machinery {
    /// Under `spec.crossplane`: every XR of a v2 XRD.
    #[default]
    Modern,
    /// Directly under `spec`: XRs with claims.
    Legacy,
}

impl Machinery {
    /// Path of the map that holds Crossplane's own things.
    pub fn path(self) -> &'static [&'static str] {
        match self {
            Self::Modern => &["spec", "crossplane"],
            Self::Legacy => &["spec"],
        }
    }
}

/// An XR as its user wrote it.
#[derive(Debug, Clone, PartialEq)]
pub struct Composite {
    object: Object,
    machinery: Machinery,
    uid: String,
}

/// Reason for which an object cannot be rendered as an XR.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompositeError {
    /// It has no kind or no API version.
    #[error("it has no {field}")]
    NoKind {
        /// The field that is missing.
        field: &'static str,
    },
    /// It has no name.
    #[error("{kind} has no metadata.name")]
    NoName {
        /// Its kind.
        kind: String,
    },
}

impl Composite {
    /// Takes an object for an XR.
    ///
    /// # Errors
    /// When it has no API version, kind or name.
    pub fn new(object: Object, machinery: Machinery) -> Result<Self, CompositeError> {
        let missing = [
            ("apiVersion", object.api_version()),
            ("kind", object.kind()),
        ];
        if let Some((field, _)) = missing.into_iter().find(|(_, text)| text.is_empty()) {
            return Err(CompositeError::NoKind { field });
        }
        if object.name().is_empty() {
            let kind = object.kind().to_owned();
            return Err(CompositeError::NoName { kind });
        }
        let uid = match object.metadata("uid") {
            "" => stable_uid(
                object.api_version(),
                object.kind(),
                object.namespace(),
                object.name(),
            ),
            uid => uid.to_owned(),
        };
        Ok(Self {
            object,
            machinery,
            uid,
        })
    }

    /// The object as its user wrote it.
    pub fn object(&self) -> &Object {
        &self.object
    }

    /// Returns the location of Crossplane's own fields in it.
    pub fn machinery(&self) -> Machinery {
        self.machinery
    }

    /// Its UID: its own, else one that follows from kind, namespace and name.
    pub fn uid(&self) -> &str {
        &self.uid
    }

    /// Returns whether a claim may show its conditions: only legacy XRs have claims.
    pub(crate) fn shows_conditions_on_a_claim(&self) -> bool {
        self.machinery == Machinery::Legacy
    }

    /// Prefix of the names of composed objects, also their label.
    pub(crate) fn root_name(&self) -> &str {
        match self.object.label(COMPOSITE) {
            "" => self.object.name(),
            name => name,
        }
    }

    /// Name of the Composition that the user chose; empty for none.
    pub(crate) fn chosen_composition(&self) -> &str {
        let path = [self.machinery.path(), &["compositionRef", "name"]].concat();
        let chosen = self.object.get(&path).and_then(Value::as_str);
        chosen.unwrap_or_default()
    }

    /// The labels that the user wants the Composition to have.
    pub(crate) fn composition_labels(&self) -> Option<&Map<String, Value>> {
        let path = [
            self.machinery.path(),
            &["compositionSelector", "matchLabels"],
        ]
        .concat();
        self.object.get(&path)?.as_object()
    }

    /// The XR as functions observe it: with what Crossplane adds before the pipeline runs.
    pub(crate) fn observed(&self, composition: &str, composed: &[Observed]) -> Object {
        let mut xr = self.object.clone();
        xr.set_metadata("uid", &self.uid);
        xr.set_metadata("resourceVersion", "999");
        let labels = xr.map_mut(&["metadata", "labels"]);
        labels.insert(COMPOSITE.to_owned(), Value::from(self.root_name()));
        let machinery = xr.map_mut(self.machinery.path());
        machinery.insert("compositionRef".to_owned(), json!({"name": composition}));
        if !composed.is_empty() {
            let objects = composed.iter().map(|observed| &observed.object);
            let references = objects.map(|object| self.reference(object)).collect();
            machinery.insert("resourceRefs".to_owned(), Value::Array(references));
        }
        let conditions = self.initial_conditions();
        conditions.write(xr.map_mut(&["status"]));
        xr
    }

    /// The conditions that the XR has when the pipeline begins.
    pub(crate) fn initial_conditions(&self) -> Conditions {
        let generation = self.object.get(&["metadata", "generation"]);
        let mut conditions = Conditions::of(self.object.get(&["status"]));
        conditions.set(Condition {
            observed_generation: generation.and_then(Value::as_i64).unwrap_or_default(),
            ..Condition::new("Responsive", "True", "WatchCircuitClosed")
        });
        conditions
    }

    /// Returns the reference of the XR to a composed object.
    pub(crate) fn reference(&self, composed: &Object) -> Value {
        let mut reference = json!({
            "apiVersion": composed.api_version(),
            "kind": composed.kind(),
            "name": composed.name(),
        });
        // A namespaced XR has objects in its own namespace only.
        if self.object.namespace().is_empty() && !composed.namespace().is_empty() {
            reference["namespace"] = Value::from(composed.namespace());
        }
        reference
    }
}

/// A composed object that exists already.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Observed {
    /// Name of its composed resource.
    pub(crate) resource_name: String,
    /// The object.
    pub(crate) object: Object,
}

/// Reason for which an object cannot be one that this XR composed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ObservedError {
    /// It lacks the annotation with the name of its composed resource.
    #[error("observed {object} has no annotation {RESOURCE_NAME}")]
    NoResourceName {
        /// Kind and name.
        object: String,
    },
    /// Another owner controls it; functions would not observe it.
    #[error("observed {object} is controlled by {controller}, not by the XR (UID {uid})")]
    ForeignController {
        /// Kind and name.
        object: String,
        /// Kind, name and UID of its controller.
        controller: String,
        /// UID of the XR.
        uid: String,
    },
    /// A namespaced XR composes into its own namespace only.
    #[error("observed {object} is in namespace {namespace:?}, the XR in {expected:?}")]
    OtherNamespace {
        /// Kind and name.
        object: String,
        /// Its namespace.
        namespace: String,
        /// The XR's namespace.
        expected: String,
    },
}

impl Composite {
    /// Takes an object as one that this XR composed on an earlier reconciliation.
    ///
    /// # Errors
    /// When it lacks the annotation with the name of its composed resource, or cannot be the XR's.
    pub(crate) fn own(&self, object: &Object) -> Result<Observed, ObservedError> {
        let resource_name = object.annotation(RESOURCE_NAME);
        let named = object.to_string();
        if resource_name.is_empty() {
            return Err(ObservedError::NoResourceName { object: named });
        }
        if let Some(owner) = controller(object).filter(|owner| owner["uid"] != *self.uid) {
            let text = |key: &str| owner[key].as_str().unwrap_or_default();
            return Err(ObservedError::ForeignController {
                object: named,
                controller: format!("{} {:?} (UID {})", text("kind"), text("name"), text("uid")),
                uid: self.uid.clone(),
            });
        }
        let expected = self.object.namespace();
        if !expected.is_empty() && object.namespace() != expected {
            return Err(ObservedError::OtherNamespace {
                object: named,
                namespace: object.namespace().to_owned(),
                expected: expected.to_owned(),
            });
        }
        Ok(Observed {
            resource_name: resource_name.to_owned(),
            object: object.clone(),
        })
    }
}

/// The owner that controls an object.
pub(crate) fn controller(object: &Object) -> Option<&Value> {
    let owners = object.get(&["metadata", "ownerReferences"])?.as_array()?;
    owners.iter().find(|owner| owner["controller"] == true)
}
