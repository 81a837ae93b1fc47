//! The actor's spec: as its user wrote it, and as resolve-flavors resolved it.

use std::time::Duration;

use actor::diagnostic::{Code, Diagnostic, Location};
use actor::spec::{
    ALIASES, AliasError, Form, FormError, Spec, beside_exclusive, normalise_aliases,
    without_machinery,
};
use actor::status::ConditionType;
use actor::timeout::{TimeoutError, runtime_timeout};
use merge::FieldPath;
use pbjson_types::{Struct, value::Kind};
use serde_json::{Map, Value};

use super::Call;
use crate::identity::is_legacy;
use crate::value::to_map;
use crate::{SPEC_KEY, StepError, report, value};

impl Call {
    /// The actor's own spec, as its user wrote it: without Crossplane's fields,
    /// aliases normalised.
    pub fn own_spec(&self) -> Result<Map<String, Value>, StepError> {
        let spec = value::map(&self.xr, &["spec"])
            .map(to_map)
            .unwrap_or_default();
        let mut spec = without_machinery(spec, is_legacy(&self.xr));
        normalise_aliases(&mut spec).map_err(|error| alias_error(&error))?;
        Ok(spec)
    }

    /// The resolved spec, as a document: that of the desired XR, else that of
    /// the context, else the actor's own.
    pub fn resolved_document(&self) -> Result<Map<String, Value>, StepError> {
        match self.handed_on_spec() {
            Some(spec) => {
                let mut spec = to_map(spec);
                normalise_aliases(&mut spec).map_err(|error| alias_error(&error))?;
                Ok(spec)
            }
            None => self.own_spec(),
        }
    }

    /// Returns whether the resolved spec has that top-level field, which [`Spec`] may not know.
    pub fn spec_has(&self, field: &str) -> bool {
        let own = || value::map(&self.xr, &["spec"]);
        let value = self
            .handed_on_spec()
            .or_else(own)
            .and_then(|spec| spec.fields.get(field));
        value.is_some_and(|value| !matches!(value.kind, None | Some(Kind::NullValue(_))))
    }

    /// Returns the resolved spec that resolve-flavors wrote.
    fn handed_on_spec(&self) -> Option<&Struct> {
        let in_context = || value::map(self.context.as_ref()?, &[SPEC_KEY]);
        self.desired_xr("spec").or_else(in_context)
    }

    /// The resolved spec.
    ///
    /// # Errors
    /// The first field that does not have its type, with who set it.
    pub fn spec(&self) -> Result<Spec, StepError> {
        let handed_on = self.handed_on_spec().filter(|spec| !has_aliases(spec));
        if let Some(spec) = handed_on.and_then(|spec| value::read(spec).ok()) {
            return Ok(spec);
        }
        let document = Value::Object(self.resolved_document()?);
        Spec::parse(document).map_err(|error| {
            let location = self.locate(&error.path);
            let message = format!("{} (set by {})", error.under("spec"), location.source);
            StepError::config(Diagnostic::error(Code::InvalidValue, location, message))
                .on(ConditionType::WorkloadReady, "ConfigError")
        })
    }

    /// Checks that what the user wrote uses one of the three forms.
    ///
    /// # Errors
    /// The first field that does not go with the others.
    pub fn check_own_form(&self) -> Result<(), StepError> {
        beside_exclusive(&self.own_spec()?).map_err(|error| {
            let own = |field: &str| Location::actor(["spec", field]);
            form_error(&error, own)
        })
    }

    /// Returns the form that the resolved spec uses.
    ///
    /// # Errors
    /// When it uses none, or two.
    pub fn form(&self, spec: &Spec) -> Result<Form, StepError> {
        Form::of(spec)
            .map_err(|error| form_error(&error, |field| self.locate(&FieldPath::from([field]))))
    }

    /// The runtime timeout.
    ///
    /// # Errors
    /// When it cannot be read here, is not a duration or is zero.
    pub fn runtime_timeout(&self, spec: &Spec) -> Result<Duration, StepError> {
        runtime_timeout(spec).map_err(|error| {
            StepError::config(self.timeout_diagnostic(&error))
                .on(ConditionType::WorkloadReady, "ConfigError")
        })
    }

    /// Returns the diagnostic of a runtime timeout that cannot be used, with the place that sets it.
    pub fn timeout_diagnostic(&self, error: &TimeoutError) -> Diagnostic {
        Diagnostic::error(error.code(), self.locate(error.path()), report(error))
    }
}

/// Returns whether fields of the spec are there under other names.
fn has_aliases(spec: &Struct) -> bool {
    let scaling = value::map(spec, &["scaling"]);
    scaling.is_some_and(|scaling| {
        let mut aliases = ALIASES.iter();
        aliases.any(|(alias, _)| scaling.fields.contains_key(*alias))
    })
}

/// One document sets a field under two names.
fn alias_error(error: &AliasError) -> StepError {
    let field = |name: &str| Location::actor(["spec", "scaling", name]);
    let diagnostic = Diagnostic::error(
        Code::FieldSetTwice,
        field(error.alias),
        format!("spec.{error}"),
    );
    StepError::config(
        diagnostic
            .related([field(error.field)])
            .help(AliasError::HELP),
    )
}

/// The error for a spec with none of the three forms, or with two. `locate` finds a top-level field.
fn form_error(error: &FormError, locate: impl Fn(&str) -> Location) -> StepError {
    let location = match error.field() {
        Some(field) => locate(field),
        None => Location::actor(["spec"]),
    };
    let related = error.other_field().map(locate);
    let diagnostic = Diagnostic::error(error.code(), location, error.to_string()).related(related);
    StepError::config(diagnostic).on(ConditionType::WorkloadReady, "ConfigError")
}
