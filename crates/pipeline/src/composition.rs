//! The Composition: which functions run, in which order, with which input.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::composite::Composite;
use super::object::Object;

/// The API version and kind of a Composition.
pub const COMPOSITION: (&str, &str) = ("apiextensions.crossplane.io/v1", "Composition");

/// A pipeline of functions for one kind of XR.
#[derive(Debug, Clone, PartialEq)]
pub struct Composition {
    name: String,
    labels: Map<String, Value>,
    type_ref: TypeRef,
    pub(crate) steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    composite_type_ref: TypeRef,
    #[serde(default)]
    mode: Option<String>,
    #[serde(default)]
    pipeline: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TypeRef {
    api_version: String,
    kind: String,
}

/// One step of the pipeline.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Step {
    /// Its name, unique in the pipeline.
    #[serde(rename = "step")]
    pub(crate) name: String,
    /// The function that it runs.
    pub(crate) function_ref: FunctionRef,
    /// Input of the function.
    pub(crate) input: Option<Map<String, Value>>,
    /// Bootstrap requirements: resources and schemas that the function gets on its first call.
    pub(crate) requirements: Option<Bootstrap>,
}

/// A function by its name in the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct FunctionRef {
    pub(crate) name: String,
}

/// Bootstrap requirements of a step.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Bootstrap {
    pub(crate) required_resources: Vec<RequiredResource>,
    pub(crate) required_schemas: Vec<RequiredSchema>,
}

/// Objects that a step needs from the beginning.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RequiredResource {
    pub(crate) requirement_name: String,
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) name: Option<String>,
    pub(crate) match_labels: Option<std::collections::HashMap<String, String>>,
    pub(crate) namespace: Option<String>,
}

/// A schema that a step needs from the beginning.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RequiredSchema {
    pub(crate) requirement_name: String,
    pub(crate) api_version: String,
    pub(crate) kind: String,
}

/// Reason for which an object is no Composition that can be run, or not this XR's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompositionError {
    /// A field is missing or does not have its type.
    #[error("Composition {name:?}: spec.{path}: {problem}")]
    Malformed {
        /// Its name.
        name: String,
        /// The field, below `spec`.
        path: String,
        /// The problem.
        problem: String,
    },
    /// Crossplane 2 has no other mode.
    #[error("Composition {name:?}: spec.mode must be Pipeline")]
    NoPipeline {
        /// Its name.
        name: String,
    },
    /// Two steps have the same name.
    #[error("Composition {name:?}: two steps are called {step:?}")]
    StepTwice {
        /// Its name.
        name: String,
        /// The steps' name.
        step: String,
    },
    /// It composes another kind.
    #[error("Composition {name:?} composes {composes}, not {kind}")]
    OtherKind {
        /// Its name.
        name: String,
        /// Kind that it composes.
        composes: String,
        /// The XR's API version and kind.
        kind: String,
    },
    /// The XR selects Compositions by a label that this one does not have.
    #[error(
        "the XR selects Compositions with label {label}, which Composition {name:?} does not have"
    )]
    LabelMissing {
        /// Its name.
        name: String,
        /// The label with its value.
        label: String,
    },
}

impl Composition {
    /// Reads a Composition.
    ///
    /// # Errors
    /// When it is malformed or has no pipeline.
    pub fn read(object: &Object) -> Result<Self, CompositionError> {
        let name = object.name().to_owned();
        let spec = object.get(&["spec"]).cloned().unwrap_or_default();
        let spec: Spec = match serde_path_to_error::deserialize(spec) {
            Ok(spec) => spec,
            Err(error) => {
                return Err(CompositionError::Malformed {
                    name,
                    path: error.path().to_string(),
                    problem: error.into_inner().to_string(),
                });
            }
        };
        if spec.mode.as_deref().is_some_and(|mode| mode != "Pipeline") || spec.pipeline.is_empty() {
            return Err(CompositionError::NoPipeline { name });
        }
        for (position, step) in spec.pipeline.iter().enumerate() {
            if spec.pipeline[..position]
                .iter()
                .any(|earlier| earlier.name == step.name)
            {
                let step = step.name.clone();
                return Err(CompositionError::StepTwice { name, step });
            }
        }
        let labels = object
            .get(&["metadata", "labels"])
            .and_then(Value::as_object);
        Ok(Self {
            name,
            labels: labels.cloned().unwrap_or_default(),
            type_ref: spec.composite_type_ref,
            steps: spec.pipeline,
        })
    }

    /// API version and kind of the XRs that it composes.
    pub fn composes(&self) -> [&str; 2] {
        [&self.type_ref.api_version, &self.type_ref.kind]
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same Composition, with each function called by the name that `own` gives
    /// for it.
    #[must_use]
    pub fn with_functions(mut self, own: impl Fn(&str) -> String) -> Self {
        for step in &mut self.steps {
            step.function_ref.name = own(&step.function_ref.name);
        }
        self
    }

    /// The same Composition, ended behind the first step that runs `function`; none
    /// where no step does.
    pub fn up_to(mut self, function: &str) -> Option<Self> {
        let mut steps = self.steps.iter();
        let last = steps.position(|step| step.function_ref.name == function)?;
        self.steps.truncate(last + 1);
        Some(self)
    }

    /// The same Composition without the steps whose function is not `known`, and the names of these
    /// steps and functions.
    #[must_use]
    pub fn without_unknown(mut self, known: impl Fn(&str) -> bool) -> (Self, Vec<[String; 2]>) {
        let is_known = |step: &Step| known(&step.function_ref.name);
        let unknown = self.steps.iter().filter(|step| !is_known(step));
        let unknown = unknown.map(|step| [step.name.clone(), step.function_ref.name.clone()]);
        let unknown = unknown.collect();
        self.steps.retain(is_known);
        (self, unknown)
    }

    /// Returns whether it has no step.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The same Composition, with this field in the input of its last step.
    #[must_use]
    pub fn with_input_of_last(mut self, field: &str, value: Value) -> Self {
        if let Some(step) = self.steps.last_mut() {
            let input = step.input.get_or_insert_default();
            input.insert(field.to_owned(), value);
        }
        self
    }

    /// Checks that this Composition is one for the XR.
    ///
    /// # Errors
    /// When it composes another kind, or the XR selects others.
    pub(crate) fn check(&self, xr: &Composite) -> Result<(), CompositionError> {
        let object = xr.object();
        let name = || self.name.clone();
        let TypeRef { api_version, kind } = &self.type_ref;
        if (api_version.as_str(), kind.as_str()) != (object.api_version(), object.kind()) {
            return Err(CompositionError::OtherKind {
                name: name(),
                composes: format!("{api_version} {kind}"),
                kind: format!("{} {}", object.api_version(), object.kind()),
            });
        }
        let mut wanted = xr.composition_labels().into_iter().flatten();
        match wanted.find(|(key, value)| self.labels.get(*key) != Some(value)) {
            None => Ok(()),
            Some((key, value)) => Err(CompositionError::LabelMissing {
                name: name(),
                label: format!("{key}={}", value.as_str().unwrap_or_default()),
            }),
        }
    }
}
